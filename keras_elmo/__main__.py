"""The command line: one function a subcommand, each a thin cover of the library."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

_BAD_INPUT = 2
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand.

    Args:
        arguments: without the program's name; those of the process if `None`.

    Returns:
        The exit status: 0, 2 after bad input, 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except KeyboardInterrupt as interrupt:
        print(f"keras-elmo: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return _INTERRUPTED
    except (ValueError, TypeError, RuntimeError, OSError, ImportError) as error:
        if os.environ.get("KERAS_ELMO_TRACEBACK"):
            raise
        # One line, whatever a library put into its message.
        message = " ".join(str(error).split()) or type(error).__name__
        print(f"keras-elmo: error: {message}", file=sys.stderr)
        return _BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="keras-elmo",
        description="Contextual word vectors: pretrain them, export them, embed text.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_pretrain(commands)
    _add_evaluate(commands)
    _add_export(commands)
    _add_import(commands)
    _add_embed(commands)
    return parser


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows the defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False):
            return action.help
        return super()._get_help_string(action)


def _add_pretrain(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "pretrain",
        help="train a model on text",
        description="Trains a biLM on text: UTF-8, a sentence or paragraph a line, "
        "plain, .gz or .xz. Ctrl-C stops it after writing a checkpoint.",
        formatter_class=_HelpFormatter,
    )
    command.set_defaults(run=_pretrain)
    required = command.add_argument_group("required")
    required.add_argument(
        "--corpus",
        required=True,
        nargs="+",
        metavar="GLOB",
        help="the text files to train on; several patterns are mixed",
    )
    required.add_argument(
        "--out", required=True, metavar="DIR", help="the directory of the run"
    )
    command.add_argument(
        "--validation",
        nargs="+",
        metavar="GLOB",
        help="held-out text, to measure perplexity on",
    )
    command.add_argument(
        "--preset",
        default="mini",
        help="sizes: tiny, mini, or a published one: small, medium, original",
    )
    command.add_argument(
        "--tokenizer",
        default="unicode",
        choices=("unicode", "whitespace"),
        help="unicode splits raw text of any language; whitespace is for text that is "
        "tokenised already",
    )
    command.add_argument(
        "--vocabulary-size",
        type=int,
        default=50_000,
        metavar="N",
        help="words that are predicted; all words get vectors",
    )
    command.add_argument(
        "--num-sampled",
        type=int,
        default=8192,
        metavar="N",
        help="candidates of the sampled softmax; fewer are faster on a CPU",
    )
    command.add_argument(
        "--dtype",
        default="float32",
        choices=("float32", "mixed_bfloat16"),
        help="what products are computed in; mixed_bfloat16 is faster where the "
        "processor multiplies it",
    )
    command.add_argument("--steps", type=int, metavar="N", help="updates to stop after")
    command.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="passes over the corpus to stop after; 10 if nothing else is given",
    )
    command.add_argument(
        "--minutes", type=float, metavar="N", help="time to stop after"
    )
    command.add_argument(
        "--batch-tokens",
        type=int,
        default=1280,
        metavar="N",
        help="tokens of an update",
    )
    command.add_argument(
        "--validate-every",
        type=int,
        default=1000,
        metavar="N",
        help="updates between two measurements and checkpoints",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="any number")
    command.add_argument(
        "--resume", action="store_true", help="go on with the run that --out holds"
    )


def _pretrain(options: argparse.Namespace) -> None:
    from keras_elmo.config import ElmoConfig
    from keras_elmo.training.pretrain import pretrain

    try:
        pretrain(
            ElmoConfig.preset(options.preset),
            options.corpus,
            options.validation,
            options.out,
            tokenizer=options.tokenizer,
            vocabulary_size=options.vocabulary_size,
            num_sampled=options.num_sampled,
            batch_tokens=options.batch_tokens,
            dtype=options.dtype,
            seed=options.seed,
            steps=options.steps,
            epochs=options.epochs,
            minutes=options.minutes,
            validate_every=options.validate_every,
            resume=options.resume,
        )
    except KeyboardInterrupt as interrupt:
        if not interrupt.args:
            raise
        raise KeyboardInterrupt(
            f"{interrupt}\nkeras-elmo: repeat the command with --resume to go on"
        ) from None


def _add_evaluate(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "evaluate",
        help="measure perplexity on held-out text",
        description="Prints the perplexity of each direction as JSON, by the exact "
        "softmax over the model's vocabulary.",
    )
    command.set_defaults(run=_evaluate)
    command.add_argument("--model", required=True, metavar="DIR")
    command.add_argument("--corpus", required=True, nargs="+", metavar="GLOB")


def _evaluate(options: argparse.Namespace) -> None:
    from keras_elmo.files.directory import PretrainingDirectory
    from keras_elmo.text.corpus import Corpus
    from keras_elmo.training.perplexity import perplexity

    directory = PretrainingDirectory(options.model)
    model = directory.read_model()
    corpus = Corpus(
        options.corpus,
        directory.read_vocabulary(),
        model.encoder.tokenizer or "whitespace",
    )
    print(json.dumps(perplexity(model, corpus)))
    for message in corpus.report.messages():
        print(message, file=sys.stderr)


def _add_export(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "export",
        help="write a SavedModel",
        description="Writes a SavedModel with the signatures of the TF Hub module, "
        "default (strings) and tokens.",
    )
    command.set_defaults(run=_export)
    command.add_argument("--model", required=True, metavar="DIR")
    command.add_argument("--out", required=True, metavar="DIR")
    command.add_argument(
        "--tokenizer",
        choices=("unicode", "whitespace", "none"),
        help="what signature default cuts strings with; the one of the training text "
        "if not given; none leaves the signature out",
    )
    command.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        help="what the model computes in; bfloat16 has half the size",
    )


def _export(options: argparse.Namespace) -> None:
    from keras_elmo.files.export import export_saved_model
    from keras_elmo.files.loading import load

    _refuse_existing(options.out)
    # Published weights do not say; their models were trained on tokenised text.
    tokenizer = options.tokenizer or load(options.model).tokenizer or "whitespace"
    export_saved_model(
        options.model,
        options.out,
        None if tokenizer == "none" else tokenizer,
        options.dtype,
    )


def _add_import(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "import",
        help="take published weights over",
        description="Checks a model in the published format and makes a directory of "
        "it that every other command takes.",
    )
    command.set_defaults(run=_import)
    command.add_argument("--options", required=True, metavar="FILE")
    command.add_argument("--weights", required=True, metavar="FILE")
    command.add_argument("--out", required=True, metavar="DIR")


def _import(options: argparse.Namespace) -> None:
    from keras_elmo.files.directory import PretrainingDirectory
    from keras_elmo.files.published import (
        load_published_weights,
        save_published_weights,
    )

    _refuse_existing(options.out)
    encoder = load_published_weights(options.options, options.weights)
    directory = PretrainingDirectory(options.out)
    save_published_weights(encoder, directory.options, directory.weights)


def _add_embed(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "embed",
        help="write the vectors of a file's sentences",
        description="Writes the contextual vectors of every line of a text file. HDF5 "
        "has the published layout: a dataset a sentence, named by its number.",
    )
    command.set_defaults(run=_embed)
    command.add_argument("--model", required=True, metavar="DIR")
    command.add_argument("--input", required=True, metavar="FILE")
    command.add_argument(
        "--out", required=True, metavar="FILE", help="a name in .hdf5 or .parquet"
    )
    command.add_argument(
        "--layers",
        choices=("all", "mix"),
        default="all",
        help="every layer, or their average (all)",
    )
    command.add_argument(
        "--resume", action="store_true", help="go on with an interrupted --out"
    )


def _embed(options: argparse.Namespace) -> None:
    from keras_elmo.files.embed_file import embed_file

    embed_file(
        options.model,
        options.input,
        options.out,
        layers=options.layers,
        resume=options.resume,
        progress=True,
    )


def _refuse_existing(path: str) -> None:
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise ValueError(f"{path} exists already; name another folder, or remove it")


if __name__ == "__main__":
    sys.exit(main())
