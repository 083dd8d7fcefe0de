"""The subcommands of `keras-elmo classify`."""

import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from keras_elmo.cli.parsing import GROUPS, OUT, TOKENIZER, Arguments, command
from keras_elmo.cli.tasks import (
    DEV,
    JSON,
    PREDICTS,
    TRAIN_OUT,
    check_column,
    evaluate,
    predict,
    setting,
    train,
    train_options,
)
from keras_elmo.text.columns import Columns
from keras_elmo.text.labelled_files import read_labelled, read_texts
from keras_elmo.utils.options import Option

if TYPE_CHECKING:
    import keras_elmo

GROUPS["classify"] = "label texts, such as with their sentiment"

# Texts that are read before the first labels are written.
_AHEAD = 1024
_FILES = "Files or glob patterns: TSV, CSV or JSON lines; plain, .gz or .xz"
_TEXT, _PAIR, _LABEL = (
    Option(
        f"{name}_column",
        f"Column of the {what}: name, or, in files without a header, number from 0 on; "
        f"if not given, {name}, or the {place} one",
        "NAME",
        parse=check_column,
    )
    for name, what, place in (
        ("text", "texts", "first"),
        ("pair", "second texts of pairs", "second"),
        ("label", "labels", "last"),
    )
)
_PAIRS = Option("pairs", "Label pairs of texts", type=bool)
_MULTI_LABEL = Option(
    "multi_label",
    "A text has any number of labels: with commas between, in JSON a list",
    type=bool,
)


@command(
    "classify train",
    "train a classifier",
    "classify train --train train.tsv --dev dev.tsv --model elmo-en --out mood.keras",
    Option("texts", _FILES, "GLOB", flag="--train", many=True, required=True),
    DEV,
    _TEXT,
    _PAIR,
    _LABEL,
    _MULTI_LABEL,
    _PAIRS,
    TOKENIZER,
    TRAIN_OUT,
    *train_options(lstm_units=64, epochs=10, patience=3),
    setting("hidden", "Units of a hidden layer; 0 for none", 0),
    encoder="--model",
)
def _train(arguments: Arguments) -> None:
    """Trains a biLSTM on the vectors of a frozen biLM, pooled over the words of a text.

    Ctrl-C and SIGTERM stop it and keep the best epoch so far. In TSV a quotation mark
    is a character like any other, CSV is quoted as usual, and JSON lines are objects.
    """
    columns = _columns(arguments)
    kinds = arguments.get("pairs", False), arguments.get("multi_label", False)
    train(
        "TextClassifier",
        arguments,
        lambda files: read_labelled(files, columns, *kinds),
        "texts",
    )


@command(
    "classify predict",
    "label texts",
    "classify predict --model mood.keras --input reviews.txt --out labels.txt",
    PREDICTS,
    Option(
        "input",
        "Text, one on each line, or by its name or its first line TSV, CSV or JSON "
        "lines; - for standard input",
        "FILE",
        required=True,
    ),
    OUT,
    _TEXT,
    _PAIR,
    Option(
        "json",
        "Write JSON lines, with the labels and the probability of each",
        type=bool,
    ),
    TOKENIZER,
)
def _predict(arguments: Arguments) -> None:
    """Writes the label of each text on a line; several with commas between.

    A blank line of text stays one. Labels are written while texts are still being read.
    """
    columns = _columns(arguments)

    def lines(
        model: "keras_elmo.TextClassifier", path: str, stream: BinaryIO | None
    ) -> Iterator[str]:
        names = [*map(str, model.labels or ())]
        texts = read_texts(path, stream, columns, model.pairs, names)
        while window := list(itertools.islice(texts, _AHEAD)):
            kept = [text for text in window if text is not None]
            rows = iter(model.predict_proba(kept) if kept else [])
            for text in window:
                row = None if text is None else next(rows)
                labels = [] if row is None else model.labels_of(row)
                if "json" not in arguments:
                    yield ",".join(map(str, labels))
                    continue
                pairs = zip(names, () if row is None else row, strict=False)
                numbers = {name: round(float(x), 6) for name, x in pairs}
                about = {"labels": labels, "probabilities": numbers}
                yield json.dumps(about, ensure_ascii=False)

    predict("TextClassifier", arguments, lines)


@command(
    "classify evaluate",
    "compare a classifier's labels with the right ones",
    "classify evaluate --model mood.keras --corpus dev.tsv",
    PREDICTS,
    Option("texts", _FILES, "GLOB", flag="--corpus", many=True, required=True),
    _TEXT,
    _PAIR,
    _LABEL,
    TOKENIZER,
    JSON,
)
def _evaluate(arguments: Arguments) -> None:
    """Prints precision, recall and F1 by label."""
    files, columns = arguments["texts"], _columns(arguments)
    evaluate(
        "TextClassifier",
        arguments,
        lambda task: read_labelled(files, columns, task.pairs, task.multi_label),
    )


def _columns(arguments: Arguments) -> Columns:
    names = (f"{name}_column" for name in Columns._fields)
    return Columns(*(arguments.pop(name, None) for name in names))
