"""The subcommands of `keras-elmo tag`."""

import dataclasses
from functools import partial

from keras_elmo.cli.parsing import (
    CORPUS,
    GROUPS,
    INPUT,
    OUT,
    TOKENIZER,
    Arguments,
    command,
)
from keras_elmo.cli.tasks import (
    DEV,
    JSON,
    PREDICTS,
    TRAIN_OUT,
    check_column,
    evaluate,
    predict,
    train,
    train_options,
)
from keras_elmo.text.tagged_lines import FORMATS, json_lines, tagged_lines
from keras_elmo.text.tagged_text import read_tagged
from keras_elmo.utils.options import Option

GROUPS["tag"] = "tag words, such as with parts of speech or named entities"

_FILES = (
    "Files or glob patterns: CoNLL-U, or columns as in CoNLL-2003, the word first; "
    "plain, .gz or .xz"
)
_COLUMN = Option(
    "column",
    "Column of the tags: a name such as xpos or ner, or a number from 0 on; if not "
    "given, upos in CoNLL-U, otherwise the last one",
    "NAME",
    parse=check_column,
)


@command(
    "tag train",
    "train a tagger",
    "tag train --train train.conll --dev dev.conll --model elmo-en --out ner.keras",
    Option("x", _FILES, "GLOB", flag="--train", many=True, required=True),
    DEV,
    _COLUMN,
    TRAIN_OUT,
    *train_options(lstm_units=128, epochs=30, patience=5),
    Option(
        "crf",
        "Choose the tag of each word by itself",
        flag="--no-crf",
        default=True,
    ),
    encoder="--model",
)
def _train(arguments: Arguments) -> None:
    """Trains a biLSTM and a CRF on the vectors of a frozen biLM.

    Ctrl-C and SIGTERM stop it and keep the best epoch so far.
    """
    column = arguments.pop("column", None)
    train("Tagger", arguments, lambda files: read_tagged(files, column), "x")


@command(
    "tag predict",
    "tag words or text",
    "tag predict --model ner.keras --input text.txt --out tagged.conll",
    PREDICTS,
    # Tags are no sentences.
    dataclasses.replace(INPUT, check=None),
    OUT,
    Option(
        "format",
        "What the input is: text, a sentence on each line; columns, a word on each "
        "line; or conllu. If not given, its name tells, such as .conll, or else "
        "its first lines",
        choices=FORMATS,
    ),
    dataclasses.replace(
        _COLUMN, help="Column of CoNLL-U to replace: upos if not given"
    ),
    Option(
        "json",
        "Write JSON lines, with the words of a sentence, their tags and the "
        "probabilities of tags",
        type=bool,
    ),
    TOKENIZER,
)
def _predict(arguments: Arguments) -> None:
    """Writes a word and its tag on each line, and a blank line after each sentence.

    Columns stay, with the tag as another one at the end; in CoNLL-U the tag replaces a
    column. Blank lines, comments and -DOCSTART- stay where they are. Sentences are
    written while others are still being read.
    """
    options: Arguments = {name: arguments.get(name) for name in ("format", "column")}
    lines = json_lines if "json" in arguments else tagged_lines
    predict("Tagger", arguments, partial(lines, **options))


@command(
    "tag evaluate",
    "compare a tagger's tags with the right ones",
    "tag evaluate --model ner.keras --corpus dev.conll",
    PREDICTS,
    Option("x", _FILES, CORPUS.metavar, flag="--corpus", many=True, required=True),
    _COLUMN,
    JSON,
)
def _evaluate(arguments: Arguments) -> None:
    """Prints precision, recall and F1 by type, as the script conlleval does."""
    files, column = arguments["x"], arguments.get("column")
    evaluate("Tagger", arguments, lambda task: read_tagged(files, column))
