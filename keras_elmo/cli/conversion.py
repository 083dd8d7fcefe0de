"""Subcommands of `keras-elmo` that convert and describe models."""

import dataclasses
import json
import math
import os
import shlex
from collections.abc import Iterator

import keras_elmo
from keras_elmo.cli.parsing import (
    MODEL,
    Arguments,
    check_model,
    check_new,
    command,
    import_keras,
)
from keras_elmo.cli.tasks import export_trained
from keras_elmo.config import TOKENIZERS
from keras_elmo.files.exported_sources import KerasFile
from keras_elmo.files.finding import (
    FOREIGN_FORMATS,
    LITERT_SUFFIX,
    ONNX_SUFFIX,
    check_folder_name,
)
from keras_elmo.utils.checks import counted, received
from keras_elmo.utils.options import Option

_ONNX = (
    Option(
        "quantize",
        "Store matrices in 8 bits, a quarter of the room, and faster",
        group="ONNX file",
        choices=("int8",),
    ),
)
_SAVED_MODEL = (
    Option(
        "tokenizer",
        "How signature default, and every command, splits text; if not given, as "
        "the training text was split, or by whitespace where that is not known; none "
        "leaves the signature out",
        group="SavedModel",
        choices=(*TOKENIZERS, "none"),
    ),
    Option(
        "dtype",
        "What the model computes in; bfloat16 has half the size",
        group="SavedModel",
        choices=("float32", "bfloat16"),
    ),
    Option(
        "half_weights",
        "Store the encoder's weights in float16, whatever it computes in",
        group="SavedModel",
        type=bool,
    ),
    Option(
        "language_model",
        "Keep the vocabulary and the softmax, too, for perplexity, substitutes "
        "and further training",
        group="SavedModel",
        type=bool,
    ),
)


@command(
    "export",
    "write a SavedModel, an ONNX or a LiteRT file",
    "export --model runs/my-elmo --out saved_models/my-elmo",
    dataclasses.replace(
        MODEL,
        name="source",
        help=f"{MODEL.help}; or a .keras file of tag or classify",
        check=None,
    ),
    Option(
        "average",
        "Average the weights with those of earlier stages of the same training: "
        "runs, checkpoints or models exported with --language-model",
        "DIR",
        many=True,
        check=check_model,
    ),
    Option(
        "path",
        "The folder to write, or a name in .onnx, or, of a tagger or a classifier, "
        "in .tflite",
        "DIR",
        flag="--out",
        required=True,
        check=check_new,
    ),
    *_ONNX,
    *_SAVED_MODEL,
    models="--average",
)
def _export(arguments: Arguments) -> None:
    """Writes a SavedModel with the signatures of the TF Hub module, or an ONNX file.

    The signatures are default, which takes strings, and tokens. An ONNX file, if --out
    ends in .onnx, takes character ids. docs/models.md compares their speed, their size
    and what they need. A tagger or a classifier is written whole.
    """
    out = arguments["path"]
    to_onnx = out.endswith(ONNX_SUFFIX)
    is_task = KerasFile.matches(arguments["source"]) and "average" not in arguments
    is_file = to_onnx or (is_task and out.endswith(LITERT_SUFFIX))
    for option in _SAVED_MODEL if is_file else _ONNX:
        if option.name in arguments:
            rule = "applies only to an ONNX file"
            if is_task:
                rule = "applies only to a file in .onnx or .tflite"
            if is_file:
                kind = "an ONNX file" if to_onnx else "a LiteRT file"
                rule = f"applies only to a SavedModel; {kind} takes character ids"
                rule += " and computes in float32"
            raise ValueError(f"{option.flag} {rule}. {received(path=out)}")
    if not is_file:
        check_folder_name(path=out)
    if is_task:
        export_trained(arguments)
        return
    check_model("source", arguments["source"])
    others = arguments.pop("average", [])
    import_keras()
    if others:
        stages = [arguments["source"], *others]
        arguments["source"] = keras_elmo.average_models(stages)
    if to_onnx:
        for name, cosine in keras_elmo.export_onnx(**arguments).items():
            least = math.floor(cosine * 1e4) / 1e4
            print(f"{name}: cosine with float32 {least:.4f} or more")
    else:
        if arguments.get("tokenizer") == "none":
            arguments["tokenizer"] = None
        keras_elmo.export_saved_model(**arguments)
    print(f"wrote {out}, {'an ONNX file' if to_onnx else 'a SavedModel'}")
    shown = shlex.join(["embed", "--model", out, "--input", "text.txt"])
    print(f"next: keras-elmo {shown} --out vectors.hdf5")


_FORMATS = [
    Option(key, foreign.help, foreign.value, one_of="what")
    for key, foreign in FOREIGN_FORMATS.items()
]
_FLAGS = ", ".join(option.flag for option in _FORMATS)


@command(
    "import",
    "convert a model of another program",
    "import elmo-dutch --out runs/dutch\n"
    "  keras-elmo import --checkpoint ckpt --vocabulary vocab.txt --out runs/mine",
    Option(
        "source",
        "A folder or file with any of these; what it holds is found out",
        flag="DIR",
        one_of="what",
    ),
    *_FORMATS,
    Option("options", "Published sizes, with --weights", "FILE", one_of="what"),
    Option("weights", "Published weights", "FILE"),
    Option(
        "vocabulary",
        "The words that the softmax of a checkpoint predicts, or of which "
        "published weights have an embedding, one per line",
        "FILE",
    ),
    Option(
        "tokenizer",
        "How the model's text was split, remembered with it: published for the "
        "original English models; if not given, text is taken as tokenized",
        choices=TOKENIZERS,
    ),
    Option(
        "directory",
        "The directory to write",
        "DIR",
        flag="--out",
        required=True,
        check=check_new,
    ),
    kind=f"{_FLAGS}, or --options with --weights,",
)
def _import(arguments: Arguments) -> None:
    """Checks a model that another program made and writes one that every command takes.

    From a TF Hub module, that is an exported model; from all others, a directory that
    embed, export and pretrain --init take.
    """
    if ("options" in arguments) != ("weights" in arguments):
        raise ValueError("--options and --weights must be given together")
    if "options" in arguments:
        import_keras()
        from keras_elmo.files.run_directory import import_published

        import_published(**arguments)
        return
    for kind in FOREIGN_FORMATS:
        if kind in arguments:
            arguments |= {"source": arguments.pop(kind), "kind": kind}
    if "source" not in arguments:
        raise ValueError(
            f"one of DIR, {_FLAGS}, and --options with --weights, must say what to "
            "import"
        )
    import_keras()
    keras_elmo.import_model(**arguments)


@command(
    "inspect",
    "tell what a model is",
    "inspect saved_models/my-elmo",
    Option(
        "model",
        "A folder, or what --model takes elsewhere",
        flag="MODEL",
        required=True,
    ),
    Option("json", "Print JSON", type=bool),
)
def _inspect(arguments: Arguments) -> None:
    """Prints a model's kind, sizes, words and mix, and what can be done with it.

    The model may be of another program: then it has to be imported first.
    """
    if not os.path.exists(arguments["model"]):
        check_model("model", arguments["model"])
    import_keras()
    described = keras_elmo.inspect_model(arguments["model"])
    if "json" in arguments:
        print(json.dumps(described, ensure_ascii=False))
        return
    for name, text in _lines(described):
        print(f"{name:<12}{text}")


def _lines(model: Arguments) -> Iterator[tuple[str, str]]:
    """Yields names and texts that describe a model to people."""
    cnn, lstm = model["config"]["char_cnn"], model["config"]["lstm"]
    numbers = model["parameters"]
    yield "model", model["path"]
    yield "kind", model["kind"]
    yield (
        "sizes",
        f"{counted(lstm['n_layers'], 'layer')} of {lstm['dim']:,} LSTM units, "
        "projected to "
        f"{lstm['projection_dim']:,}; {lstm['n_layers'] + 1} vectors of "
        f"{model['vector_units']:,} for each word",
    )
    count = sum(number for _, number in cnn["filters"])
    if count:
        yield (
            "characters",
            f"{count:,} filters of widths "
            f"{', '.join(str(w) for w, _ in cnn['filters'])}, "
            f"{counted(cnn['n_highway'], 'highway layer')}",
        )
    if table := model["config"].get("token_vocabulary"):
        looked_up = (
            f"{count:,} {entries}" for entries, count in table.items() if count
        )
        yield "looks up", " and ".join(looked_up)
    softmax = f", {numbers['softmax']:,} in the softmax" if numbers["softmax"] else ""
    yield "parameters", f"{numbers['encoder']:,} in the encoder{softmax}"
    yield "computes in", model["dtype"]
    yield "tokenizer", model["tokenizer"] or "not known"
    if model["languages"]:
        yield "languages", ", ".join(model["languages"])
    words = model["vocabulary"]
    yield "vocabulary", f"{words:,} words" if words else "none: it predicts no words"
    if model["scripts"]:
        shares = model["scripts"].items()
        yield "scripts", ", ".join(f"{name} {share:.1%}" for name, share in shares)
    if mix := model["mix"]:
        weights = " ".join(f"{weight:.3f}" for weight in mix["weights"])
        yield "mix", f"{weights}, gamma {mix['gamma']:.3f}"
    if model["step"] is not None:
        yield "step", f"{model['step']:,}"
    if model["perplexity"] is not None:
        yield "perplexity", f"{model['perplexity']:.2f}, the lowest of the run"
    yield "for", ", ".join(model["uses"])
    more, page = (", LiteRT", "tagging") if model["task"] else ("", "models")
    yield (
        "forms",
        f"Keras, SavedModel, ONNX{more} and int8: docs/{page}.md compares them",
    )
