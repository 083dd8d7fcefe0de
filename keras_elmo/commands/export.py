"""keras-elmo export: write a SavedModel, or an ONNX file."""

import argparse

from keras_elmo.commands.outputs import refuse_existing


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "export",
        help="write a SavedModel, or an ONNX file",
        description="Writes a SavedModel with the signatures of the TF Hub module, "
        "default (strings) and tokens; or, if --out ends in .onnx, an ONNX file that "
        "takes character ids.",
    )
    command.set_defaults(
        run=run,
        arguments={"name_or_path": "--model", "source": "--model", "path": "--out"},
    )
    command.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="a run, imported weights, an exported model, or a shipped one by its name",
    )
    command.add_argument(
        "--out", required=True, metavar="DIR", help="or a name in .onnx"
    )
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
    command.add_argument(
        "--half-weights",
        action="store_true",
        help="store the encoder's weights in float16, for half the size, whatever it "
        "computes in",
    )
    command.add_argument(
        "--language-model",
        action="store_true",
        help="keep the words and the softmax, too, to measure perplexity, to find "
        "substitutes, and to train on",
    )


def run(options: argparse.Namespace) -> None:
    from keras_elmo.files.export import export_saved_model
    from keras_elmo.files.loading import load

    refuse_existing(options.out)
    if options.out.endswith(".onnx"):
        _export_onnx(options)
        return
    # Published weights do not say; their models were trained on tokenised text.
    tokenizer = options.tokenizer or load(options.model).tokenizer or "whitespace"
    export_saved_model(
        options.model,
        options.out,
        None if tokenizer == "none" else tokenizer,
        options.dtype,
        options.language_model,
        options.half_weights,
    )


def _export_onnx(options: argparse.Namespace) -> None:
    from keras_elmo.files.onnx import export_onnx

    for name in ("tokenizer", "dtype", "half_weights", "language_model"):
        if getattr(options, name):
            option = "--" + name.replace("_", "-")
            raise ValueError(
                f"{option} is of a SavedModel; an ONNX file takes character ids and "
                f"computes in float32. Received: --out {options.out}"
            )
    export_onnx(options.model, options.out)
