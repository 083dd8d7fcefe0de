"""Subcommands of `keras-elmo` that run until they are stopped."""

import contextlib
import dataclasses
import signal
import sys
from collections.abc import Callable
from typing import Any

from keras_elmo.cli.parsing import (
    FORCE,
    MODEL,
    TOKENIZER,
    Arguments,
    check_not_blank,
    command,
    import_keras,
    take_options,
)
from keras_elmo.files.exported_sources import KerasFile
from keras_elmo.files.finding import needs_no_keras
from keras_elmo.files.loading import open_trained
from keras_elmo.serving.limits import ExploreOptions, Limits, ServeOptions
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.options import Option, options_of


@command(
    "serve",
    "answer requests over the network",
    "serve --model elmo-en --port 8501",
    dataclasses.replace(
        MODEL,
        help="An exported model, a shipped model's name, a .keras file of tag or "
        "classify, an .onnx or .tflite file (no gRPC), or a folder of exported models "
        "named 1, 2, ...: the newest that loads is served",
        check=None,
    ),
    *options_of(ServeOptions).values(),
    *options_of(Limits).values(),
)
def _serve(arguments: Arguments) -> None:
    """Serves an exported model as TensorFlow Serving does: REST and gRPC.

    SIGTERM finishes the requests under way. Needs the extra "serve".
    """
    needed = ["httptools", "orjson", "prometheus_client", "starlette", "uvicorn"]
    if not needs_no_keras(arguments["model"]):
        needed += ["grpc", "tensorflow_serving"]
    for module in needed:
        import_extra(module, "keras-elmo serve", "serve")
    limits = take_options(Limits, arguments)
    options = take_options(ServeOptions, arguments)
    import_keras(arguments["model"])
    from keras_elmo.serving.server import serve

    _until_stopped(serve, **arguments, options=options, limits=limits)


@command(
    "explore",
    "look at words in context in a browser",
    "explore --model elmo-en --text 'text/*.txt'",
    dataclasses.replace(
        MODEL,
        name="models",
        help="Runs, exported models, shipped names; if not given, elmo-en and elmo-ko",
        many=True,
        required=False,
    ),
    Option(
        "text",
        "Where neighbours are looked for, one sentence per line; if not given, a "
        "sample of a thousand sentences and more",
        "GLOB",
        many=True,
        check=check_not_blank,
    ),
    Option(
        "mix",
        "Trained .keras models, and CSV files of MixWeightsLogger",
        "FILE",
        many=True,
    ),
    Option(
        "tagger",
        "A .keras file of a tagger: the page shows the tags of a sentence, and how "
        "probable they are",
        "FILE",
        check=lambda argument, path: open_trained(
            path, "Tagger", (KerasFile,), argument
        ),
    ),
    Option(
        "browser",
        "Print the address alone",
        flag="--no-browser",
        default=True,
    ),
    TOKENIZER,
    FORCE,
    *options_of(ExploreOptions).values(),
    model="--model",
)
def _explore(arguments: Arguments) -> None:
    """Opens a page about the words of a sentence, until it is stopped by Ctrl-C.

    It shows their neighbours in a text, substitutes, how unlikely they are, and how a
    word's vectors part by its meanings from layer to layer; with --tagger, their tags
    and the probabilities of all tags. Needs the extra "explore".
    """
    for module in ("httptools", "orjson", "starlette", "uvicorn"):
        import_extra(module, "keras-elmo explore", "explore")
    options = take_options(ExploreOptions, arguments)
    arguments.setdefault("models", ["elmo-en", "elmo-ko"])
    import_keras()
    from keras_elmo.explorer.page_server import explore

    _until_stopped(explore, **arguments, options=options)


def _until_stopped(run: Callable[..., signal.Signals], **kwargs: Any) -> None:
    """Runs a server until a signal; Ctrl-C raises `KeyboardInterrupt`."""

    def log(sentence: str) -> None:
        # A server goes on if nobody reads its log.
        with contextlib.suppress(OSError):
            print(f"keras-elmo: {sentence}", flush=True)

    if run(log=log, **kwargs) == signal.SIGINT:
        raise KeyboardInterrupt("stopped")
    print("keras-elmo: stopped", file=sys.stderr)
