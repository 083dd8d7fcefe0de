"""The subcommands of `keras-elmo` that run until they are stopped."""

import argparse
import contextlib
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from keras_elmo.cli.parsing import (
    Given,
    Run,
    add_force,
    add_options,
    add_tokenizer,
    check_model,
    check_not_empty,
    check_text,
    command,
    import_keras,
    take_options,
)
from keras_elmo.utils.lazy import import_extra


@command(
    "serve",
    "answer requests over the network",
    "serve --model elmo-en --port 8501",
)
def _serve(parser: argparse.ArgumentParser) -> Run:
    """Serves an exported model as TensorFlow Serving does: REST and gRPC.

    SIGTERM finishes the requests under way. Needs: pip install 'keras-elmo[serve]'
    """
    from keras_elmo.serving.limits import Limits, ServeOptions

    parser.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="An exported model, a shipped model's name, an .onnx file (no gRPC), or a "
        "folder of exported models named 1, 2, ...: the newest that loads is served",
    )
    add_options(parser, ServeOptions)
    add_options(parser, Limits)

    def run(given: Given) -> None:
        needed = ["httptools", "orjson", "prometheus_client", "starlette", "uvicorn"]
        if not given["model"].endswith(".onnx"):
            needed += ["grpc", "tensorflow_serving"]
        _import_extra(needed, "serve")
        limits = take_options(Limits, given)
        # Checked before the model is read; `serve` takes the values themselves.
        take_options(ServeOptions, {**given})
        import_keras(given["model"])
        from keras_elmo.serving.server import serve

        _until_stopped(serve, **given, limits=limits)

    return run


@command(
    "explore",
    "look at words in context in a browser",
    "explore --model elmo-en elmo-ko --text 'text/*.txt'",
    model="--model",
)
def _explore(parser: argparse.ArgumentParser) -> Run:
    """Opens a page about the words of a sentence, until it is stopped by Ctrl-C.

    It shows their neighbours in a text, substitutes, how unlikely they are, and how a
    word's vectors part by its meanings from layer to layer. Needs: pip install
    'keras-elmo[explore]'
    """
    from keras_elmo.explorer.options import ExploreOptions

    parser.add_argument(
        "--model",
        required=True,
        nargs="+",
        metavar="DIR",
        dest="models",
        help="Runs, exported models, shipped names such as elmo-en",
    )
    parser.add_argument(
        "--text",
        nargs="+",
        metavar="GLOB",
        help="Where neighbours are looked for, a sentence a line; if not given, a "
        "sample of a thousand sentences and more",
    )
    parser.add_argument(
        "--mix",
        nargs="+",
        metavar="FILE",
        help="Trained .keras models, and CSV files of MixWeightsLogger",
    )
    parser.add_argument(
        "--no-browser",
        action="store_false",
        dest="browser",
        help="Print the address alone",
    )
    add_tokenizer(parser)
    add_force(parser)
    add_options(parser, ExploreOptions)

    def run(given: Given) -> None:
        _import_extra(("httptools", "orjson", "starlette", "uvicorn"), "explore")
        options = take_options(ExploreOptions, given)
        check_text(given, "text")
        if "text" in given:
            check_not_empty(given["text"])
        for name in given["models"]:
            check_model(name)
        import_keras()
        from keras_elmo.explorer.server import explore

        _until_stopped(explore, **given, options=options)

    return run


def _import_extra(modules: Sequence[str], extra: str) -> None:
    for module in modules:
        import_extra(module, f"keras-elmo {extra}", extra)


def _until_stopped(run: Callable[..., signal.Signals], **kwargs: Any) -> None:
    """Runs a server until a signal; that of Ctrl-C is an interrupt, as elsewhere."""

    def log(sentence: str) -> None:
        # A server does not need anybody to read its log.
        with contextlib.suppress(OSError):
            print(f"keras-elmo: {sentence}", flush=True)

    if run(log=log, **kwargs) == signal.SIGINT:
        raise KeyboardInterrupt("stopped")
    print("keras-elmo: stopped", file=sys.stderr)
