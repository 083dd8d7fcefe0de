"""The subcommands of `keras-elmo` that make and apply models.

Keras and TensorFlow are imported when the options are known to be good.
"""

import dataclasses
import json
import math
import os
import shlex
import sys

import keras_elmo
from keras_elmo.cli.parsing import (
    CORPUS,
    FORCE,
    INPUT,
    LANGUAGE_MODEL,
    MODEL,
    TOKENIZER,
    Arguments,
    check_corpus,
    check_model,
    check_text,
    command,
    import_keras,
    option_of,
    take_options,
)
from keras_elmo.cli.tasks import LITERT_SUFFIX, export_trained
from keras_elmo.config import PRESETS, TOKENIZERS, ElmoConfig
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.files.exported_sources import KerasFile
from keras_elmo.files.finding import check_folder_name, is_onnx
from keras_elmo.text.lines import matching_files
from keras_elmo.training.training_options import BATCH_TOKENS, TrainingOptions
from keras_elmo.utils.checks import received
from keras_elmo.utils.files import check_free, check_parent
from keras_elmo.utils.options import Option, options_of

_SIZES = "model and vocabulary"


@command(
    "pretrain",
    "train a model on text",
    "pretrain --corpus 'text/train-*.txt' --validation text/dev.txt \\\n"
    "      --preset mini --out runs/my-elmo --resume",
    *options_of(TrainingOptions).values(),
    Option(
        "preset",
        f"Sizes of the model: {', '.join(PRESETS)}. If not given, those "
        "of the run to resume, of --init, or mini",
        "NAME",
        group=_SIZES,
        one_of="sizes",
    ),
    Option(
        "options",
        "Sizes of the model from a file in the form of the published options.json",
        "FILE",
        group=_SIZES,
        one_of="sizes",
    ),
    FORCE,
    config="--preset or --options",
    name="--preset",
    model="--init",
    max_size="--vocabulary-size",
)
def _pretrain(arguments: Arguments) -> None:
    """Trains a biLM on text.

    Ctrl-C and SIGTERM stop it after writing a checkpoint; a run that was stopped or
    killed goes on with --resume and ends with the same bits.
    """
    preset, sizes = arguments.pop("preset", None), arguments.pop("options", None)
    begun = os.path.join(arguments["directory"], "options.json")
    if preset is None and "resume" in arguments and os.path.exists(begun):
        sizes = sizes or begun
    config = None
    if sizes is not None:
        config = ElmoConfig.from_options(sizes)
    elif preset is not None or "init" not in arguments:
        config = ElmoConfig.preset(preset or "mini")
    # Checked before TensorFlow is imported.
    force = arguments.pop("force", False)
    TrainingOptions(config, **arguments)
    if "column" in arguments:
        for name in arguments.keys() & {"corpus", "validation"}:
            matching_files(arguments[name])
    else:
        check_corpus({**arguments, "force": force}, "corpus", "validation")
    check_parent(arguments["directory"])
    # A run that goes on needs no model to start from.
    if "init" in arguments and "resume" not in arguments:
        check_model(arguments["init"])
    import_keras()
    keras_elmo.pretrain(config, **arguments)


@command(
    "evaluate",
    "measure perplexity on held-out text",
    "evaluate --model runs/my-elmo --corpus text/dev.txt",
    LANGUAGE_MODEL,
    CORPUS,
    option_of(TrainingOptions, "max_tokens"),
    TOKENIZER,
    FORCE,
)
def _evaluate(arguments: Arguments) -> None:
    """Prints the perplexity of each direction as JSON, by the exact softmax."""
    check_corpus(arguments, "corpus")
    check_model(arguments["model"])
    import_keras()
    from keras_elmo.files.encoder_tokenizer import tokenizer_of
    from keras_elmo.files.loading import open_model

    model = open_model(arguments["model"]).language_model()
    if model.vocabulary is None:
        raise ValueError(f"{arguments['model']}: does not say which words it predicts")
    max_tokens = arguments.get("max_tokens", TrainingOptions.max_tokens)
    corpus = keras_elmo.Corpus(
        arguments["corpus"],
        model.vocabulary,
        str(tokenizer_of(model.encoder, arguments.get("tokenizer"))),
        batch_tokens=max(BATCH_TOKENS, max_tokens),
        max_tokens=max_tokens,
        token_vocabulary=model.config.token_vocabulary,
    )
    perplexity = keras_elmo.perplexity(model, corpus)
    # JSON has no infinity, the perplexity of a model that has diverged.
    finite = {
        name: value if math.isfinite(value) else None
        for name, value in perplexity.items()
    }
    print(json.dumps(finite))
    for message in corpus.report.messages(model.config):
        print(message, file=sys.stderr)


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
        MODEL, name="source", help=f"{MODEL.help}; or a .keras file of tag or classify"
    ),
    Option(
        "average",
        "Average the weights with those of earlier stages of the same training: "
        "runs, checkpoints or models exported with --language-model",
        "DIR",
        many=True,
    ),
    Option(
        "path",
        "The folder to write, or a name in .onnx, or, of a tagger or a classifier, "
        "in .tflite",
        "DIR",
        flag="--out",
        required=True,
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
    check_free(out)
    to_onnx = is_onnx(out)
    is_task = KerasFile.matches(arguments["source"]) and "average" not in arguments
    is_file = to_onnx or (is_task and out.endswith(LITERT_SUFFIX))
    for option in _SAVED_MODEL if is_file else _ONNX:
        if option.name in arguments:
            rule = "applies only to an ONNX file"
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
    others = arguments.pop("average", [])
    check_model(arguments["source"], "source")
    for other in others:
        check_model(other, "average")
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


@command(
    "embed",
    "write the vectors of a file's sentences",
    "embed --model elmo-en --input text.txt --out vectors.hdf5",
    MODEL,
    INPUT,
    Option(
        "out",
        "A name in .hdf5, .h5 or .parquet; - for standard output",
        "FILE",
        required=True,
    ),
    *options_of(EmbedOptions).values(),
    Option(
        "resume", "Go on with an interrupted command; start if there is none", type=bool
    ),
    FORCE,
)
def _embed(arguments: Arguments) -> None:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout: a dataset per sentence, named by its number. Parquet
    is a table of tokens, or of sentences. Standard output gets a JSON object for each
    line. A command that was killed goes on with --resume, and the file is the same in
    the end.
    """
    check_text(arguments, "input")
    check_model(arguments["model"])
    from keras_elmo.embedding.embed_file import check_out, embed_file

    options = take_options(EmbedOptions, {**arguments})
    check_out(arguments["out"], options, arguments.get("resume", False))
    import_keras(arguments["model"])
    embed_file(**arguments, progress=True)
