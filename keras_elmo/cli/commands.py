"""The subcommands of `keras-elmo`: the options of each, and what it calls.

Keras and TensorFlow are imported when the options are known to be good.
"""

import argparse
import json
import math
import os
import sys

import keras_elmo
from keras_elmo.cli.parsing import (
    Given,
    Run,
    add_force,
    add_model,
    add_options,
    add_out,
    add_tokenizer,
    check_model,
    check_text,
    command,
    import_keras,
    take_options,
)
from keras_elmo.config import PRESETS, TOKENIZERS, ElmoConfig
from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.training.options import TrainingOptions
from keras_elmo.utils.files import check_free, check_parent


@command(
    "pretrain",
    "train a model on text",
    "pretrain --corpus 'text/train-*.txt' --validation text/dev.txt \\\n"
    "      --preset mini --out runs/my-elmo --resume",
    config="--preset or --options",
    name="--preset",
    model="--init",
    max_size="--vocabulary-size",
)
def _pretrain(parser: argparse.ArgumentParser) -> Run:
    """Trains a biLM on text.

    Ctrl-C and SIGTERM stop it after writing a checkpoint; a run that was stopped or
    killed goes on with --resume and ends with the same bits.
    """
    groups = add_options(parser, TrainingOptions, required={"directory"})
    sizes = groups["model and vocabulary"].add_mutually_exclusive_group()
    sizes.add_argument(
        "--preset",
        metavar="NAME",
        help=f"Sizes of the model: {', '.join(PRESETS)}. If not given, those of "
        "the run to resume, of --init, or mini",
    )
    sizes.add_argument(
        "--options",
        metavar="FILE",
        help="Sizes of the model from a file in the form of the published options.json",
    )
    add_force(parser)

    def run(given: Given) -> None:
        preset, sizes = given.pop("preset", None), given.pop("options", None)
        begun = os.path.join(given["directory"], "options.json")
        if preset is None and "resume" in given and os.path.exists(begun):
            sizes = sizes or begun
        config = None
        if sizes is not None:
            config = ElmoConfig.from_options(sizes)
        elif preset is not None or "init" not in given:
            config = ElmoConfig.preset(preset or "mini")
        # Checked before TensorFlow is imported.
        force = given.pop("force", False)
        TrainingOptions(config, **given)
        check_text({**given, "force": force}, "corpus", "validation")
        check_parent(given["directory"])
        # A run that goes on needs no model to start from.
        if "init" in given and "resume" not in given:
            check_model(given["init"])
        import_keras()
        keras_elmo.pretrain(config, **given)

    return run


@command(
    "evaluate",
    "measure perplexity on held-out text",
    "evaluate --model runs/my-elmo --corpus text/dev.txt",
)
def _evaluate(parser: argparse.ArgumentParser) -> Run:
    """Prints the perplexity of each direction as JSON, by the exact softmax."""
    add_model(parser, "model", "A run, a model exported with --language-model")
    parser.add_argument(
        "--corpus",
        required=True,
        nargs="+",
        metavar="GLOB",
        help="Held-out text files, as paths or glob patterns",
    )
    parser.add_argument(
        "--max-tokens",
        type=int,
        default=66,
        metavar="N",
        help="Tokens of the longest row, the two boundaries included; longer lines are "
        "split (default: 66, as that of pretrain)",
    )
    add_tokenizer(parser)
    add_force(parser)

    def run(given: Given) -> None:
        check_text(given, "corpus")
        check_model(given["model"])
        import_keras()
        from keras_elmo.embedding.sentences import tokenizer_of
        from keras_elmo.files.loading import open_model

        model = open_model(given["model"]).language_model()
        if model.vocabulary is None:
            raise ValueError(f"{given['model']}: does not say which words it predicts")
        corpus = keras_elmo.Corpus(
            given["corpus"],
            model.vocabulary,
            str(tokenizer_of(model.encoder, given.get("tokenizer"))),
            batch_tokens=max(1280, given["max_tokens"]),
            max_tokens=given["max_tokens"],
            token_vocabulary=model.config.token_vocabulary,
        )
        found = keras_elmo.perplexity(model, corpus)
        # JSON has no infinity, which is that of a model that has diverged.
        finite = {k: each if math.isfinite(each) else None for k, each in found.items()}
        print(json.dumps(finite))
        for message in corpus.report.messages(model.config):
            print(message, file=sys.stderr)

    return run


@command(
    "export",
    "write a SavedModel, or an ONNX file",
    "export --model runs/my-elmo --out saved_models/my-elmo",
    model="--model or --average",
    models="--average",
)
def _export(parser: argparse.ArgumentParser) -> Run:
    """Writes a SavedModel with the signatures of the TF Hub module, or an ONNX file.

    The signatures are default, which takes strings, and tokens. An ONNX file, if --out
    ends in .onnx, takes character ids. docs/models.md compares their speed, their size
    and what they need.
    """
    add_model(parser, "source")
    parser.add_argument(
        "--average",
        nargs="+",
        metavar="DIR",
        help="Average the weights with those of earlier stages of the same training, "
        "runs, checkpoints or models exported with --language-model",
    )
    add_out(parser, "path", "DIR", "The folder to write, or a name in .onnx")
    onnx = parser.add_argument_group("of an ONNX file")
    onnx.add_argument(
        "--quantize",
        choices=("int8",),
        help="Store matrices in 8 bits, a quarter of the room, and faster",
    )
    saved_model = parser.add_argument_group("of a SavedModel")
    saved_model.add_argument(
        "--tokenizer",
        choices=(*TOKENIZERS, "none"),
        help="How signature default, and every command, splits text; if not given, as "
        "the training text was split, or by whitespace where that is not known; none "
        "leaves the signature out",
    )
    saved_model.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        help="What the model computes in; bfloat16 has half the size",
    )
    saved_model.add_argument(
        "--half-weights",
        action="store_true",
        help="Store the encoder's weights in float16, whatever it computes in",
    )
    saved_model.add_argument(
        "--language-model",
        action="store_true",
        help="Keep the vocabulary and the softmax, too, for perplexity, substitutes "
        "and further training",
    )

    def run(given: Given) -> None:
        out = given["path"]
        check_free(out)
        is_onnx = out.endswith(".onnx")
        stages = [given["source"], *given.pop("average", [])]
        others = (
            given.keys() - {"source", "path"} - ({"quantize"} if is_onnx else set())
        )
        if is_onnx and others:
            raise ValueError(
                f"--{min(others).replace('_', '-')} is of a SavedModel; an ONNX file "
                f"takes character ids and computes in float32. Received: --out {out}"
            )
        if "quantize" in others:
            raise ValueError(f"--quantize is of an ONNX file. Received: --out {out}")
        for stage in stages:
            check_model(stage)
        import_keras()
        if len(stages) > 1:
            given["source"] = keras_elmo.average_models(stages)
        if is_onnx:
            for name, cosine in keras_elmo.export_onnx(**given).items():
                least = math.floor(cosine * 1e4) / 1e4
                print(f"{name}: cosine with float32 {least:.4f} or more")
            return
        if given.get("tokenizer") == "none":
            given["tokenizer"] = None
        keras_elmo.export_saved_model(**given)

    return run


@command(
    "embed",
    "write the vectors of a file's sentences",
    "embed --model elmo-en --input text.txt --out vectors.hdf5",
)
def _embed(parser: argparse.ArgumentParser) -> Run:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout: a dataset a sentence, named by its number. Parquet
    is a table of tokens, or of sentences. Standard output gets a JSON object for each
    line. A command that was killed goes on with --resume, and the file is the same in
    the end.
    """
    add_model(parser, "model")
    parser.add_argument(
        "--input",
        required=True,
        metavar="FILE",
        help="The text, UTF-8; - for standard input",
    )
    out = "A name in .hdf5, .h5 or .parquet; - for standard output"
    add_out(parser, "out", "FILE", out)
    add_options(parser, EmbedOptions)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="Go on with an interrupted command; start if there is none",
    )
    add_force(parser)

    def run(given: Given) -> None:
        check_text(given, "input")
        check_model(given["model"])
        from keras_elmo.embedding.embed_file import check_out, embed_file

        options = take_options(EmbedOptions, {**given})
        check_out(given["out"], options, given.get("resume", False))
        import_keras(given["model"])
        embed_file(**given, progress=True)

    return run
