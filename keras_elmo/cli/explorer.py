"""The subcommand of `keras-elmo` that opens a page."""

import argparse
import signal
import sys

from keras_elmo.cli.parsing import Given, Run, add_options, command, import_keras
from keras_elmo.text.lines import expand_files
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.options import declared_options


@command(
    "explore",
    "look at words in context in a browser",
    "explore --model elmo-en elmo-ko --text 'text/*.txt'",
    name_or_path="--model",
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
    add_options(parser, ExploreOptions)

    def run(given: Given) -> None:
        for module in ("httptools", "orjson", "starlette", "uvicorn"):
            import_extra(module, "keras-elmo explore", "explore")
        if "text" in given:
            expand_files(given["text"])
        declared = {each.name for each in declared_options(ExploreOptions)}
        options = ExploreOptions(**{k: given.pop(k) for k in declared & given.keys()})
        import_keras()
        from keras_elmo.explorer.server import explore

        def log(sentence: str) -> None:
            print(f"keras-elmo: {sentence}", flush=True)

        if explore(**given, log=log, options=options) == signal.SIGINT:
            raise KeyboardInterrupt("stopped")
        print("keras-elmo: stopped", file=sys.stderr)

    return run
