"""The subcommand of `keras-elmo` that prepares text."""

import dataclasses

import keras_elmo
from keras_elmo.cli.parsing import (
    CORPUS,
    FORCE,
    Arguments,
    check_text,
    command,
    import_keras,
)
from keras_elmo.config import TOKENIZERS
from keras_elmo.text.lines import is_prepared, matching_files
from keras_elmo.utils.files import check_free
from keras_elmo.utils.options import Option


@command(
    "prepare",
    "split text into words once, for pretraining",
    "prepare --corpus 'text/train-*.xz' --out text/prepared",
    dataclasses.replace(
        CORPUS,
        help="Text files, as paths or glob patterns: UTF-8, one sentence or paragraph "
        "per line, plain, .gz or .xz. With {column}, JSON lines or Parquet",
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
    if "column" in arguments:
        arguments.pop("force", None)
        matching_files(arguments["corpus"])
    else:
        check_text(arguments, "corpus")
    if not is_prepared(arguments["out"]):
        check_free(arguments["out"])
    import_keras()
    keras_elmo.prepare(**arguments, progress=True)
