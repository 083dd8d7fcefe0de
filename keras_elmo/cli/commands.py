"""Subcommands of `keras-elmo` that train models on text and compute vectors.

Keras and TensorFlow are imported after the options are checked.
"""

import dataclasses
import json
import math
import os
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
    command,
    import_keras,
    option_of,
    take_options,
)
from keras_elmo.config import PRESETS, TOKENIZERS, ElmoConfig
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.text.lines import expand_files, is_prepared, matching_files
from keras_elmo.training.training_options import BATCH_TOKENS, TrainingOptions
from keras_elmo.utils.files import check_free, check_parent
from keras_elmo.utils.options import Option, options_of


@command(
    "prepare",
    "split text into words once, for pretraining",
    "prepare --corpus 'text/train-*.xz' --out text/prepared",
    dataclasses.replace(
        CORPUS,
        help="Text files, as paths or glob patterns: UTF-8, one sentence or paragraph "
        "per line, plain, .gz or .xz. With {column}, JSON lines or Parquet",
        check=None,
    ),
    Option("out", "The folder to write", "DIR", required=True),
    Option(
        "column",
        "Name of the text in JSON lines or Parquet: a string, or a list of tokens",
        "NAME",
    ),
    Option(
        "tokenizer",
        'How text is split into words, as for pretrain; "unicode" if not given',
        choices=TOKENIZERS,
    ),
    FORCE,
)
def _prepare(arguments: Arguments) -> None:
    """Writes a folder that pretrain and evaluate take as --corpus.

    They read it several times as fast as text, and without TensorFlow. A command that
    was stopped or killed goes on where it was, and the folder is the same in the end.
    """
    # Files of rows need not look like text.
    find = matching_files if "column" in arguments else expand_files
    find(arguments["corpus"])
    if not is_prepared(arguments["out"]):
        check_free(arguments["out"])
    import_keras()
    keras_elmo.prepare(**arguments, progress=True)


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
    TrainingOptions(config, **arguments)
    for name in arguments.keys() & {"corpus", "validation"}:
        if "column" in arguments:
            matching_files(arguments[name])
        else:
            check_corpus(name, arguments[name])
    check_parent(arguments["directory"])
    # A resumed run needs no model to start from.
    if "init" in arguments and "resume" not in arguments:
        check_model("init", arguments["init"])
    import_keras()
    keras_elmo.pretrain(config, **arguments)


@command(
    "evaluate",
    "measure perplexity on held-out text",
    "evaluate --model runs/my-elmo --corpus text/dev.txt",
    LANGUAGE_MODEL,
    dataclasses.replace(CORPUS, check=check_corpus),
    option_of(TrainingOptions, "max_tokens"),
    TOKENIZER,
    FORCE,
)
def _evaluate(arguments: Arguments) -> None:
    """Prints the perplexity of each direction as JSON, by the exact softmax."""
    import_keras()
    from keras_elmo.files.loading import open_model
    from keras_elmo.files.sources import tokenizer_of

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
    # A model that has diverged has infinite perplexity, which JSON cannot express.
    finite = {
        name: value if math.isfinite(value) else None
        for name, value in perplexity.items()
    }
    print(json.dumps(finite))
    for message in corpus.report.messages(model.config):
        print(message, file=sys.stderr)


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
    from keras_elmo.embedding.embed_file import check_out, embed_file

    options = take_options(EmbedOptions, {**arguments})
    check_out(arguments["out"], options, arguments.get("resume", False))
    import_keras(arguments["model"])
    embed_file(**arguments, progress=True)


_RUN = Option("run", "A run of pretrain that was validated", flag="RUN", required=True)
_LICENSE = Option(
    "license",
    "Licence of the weights, as the Hub calls it, such as cc-by-sa-4.0 or mit",
    "NAME",
)
_LANGUAGE = Option("language", "Language of the text, such as en", "CODE")


@command(
    "card",
    "print the card of a run",
    "card runs/my-elmo --license cc-by-sa-4.0 --language en",
    _RUN,
    _LICENSE,
    _LANGUAGE,
)
def _card(arguments: Arguments) -> None:
    """Prints the README.md that publish would upload; nothing is sent anywhere.

    Saved as RUN/README.md and edited, it is what publish uploads.
    """
    import_keras()
    from keras_elmo.training.publishing import run_card

    print(run_card(**arguments), end="")


@command(
    "publish",
    "upload a run to the Hugging Face Hub",
    "publish runs/my-elmo hf://me/my-elmo --license cc-by-sa-4.0 --language en",
    _RUN,
    Option(
        "repository",
        "The repository, hf://OWNER/NAME, which is made if it is not there",
        flag="REPOSITORY",
        required=True,
    ),
    dataclasses.replace(_LICENSE, required=True),
    _LANGUAGE,
    Option("private", "Make a new repository private", type=bool),
)
def _publish(arguments: Arguments) -> None:
    """Uploads the weights of a run, its vocabulary and a card, as one commit.

    Then hf://OWNER/NAME stands for the model wherever one is asked for. Needs the extra
    "hub", and a token: call "hf auth login", or set HF_TOKEN.
    """
    from keras_elmo.training.publishing import publish

    import_keras()
    print(f"published {arguments['repository']}: {publish(**arguments)}")
