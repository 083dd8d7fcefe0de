"""The subcommands of `keras-elmo classify`."""

import itertools
import json
from collections.abc import Iterator

import keras_elmo
from keras_elmo.cli.parsing import (
    GROUPS,
    TOKENIZER,
    Arguments,
    check_model,
    command,
    import_keras,
)
from keras_elmo.cli.tasks import (
    FIT,
    JSON,
    OUT,
    PREDICTS,
    TRAIN_OPTIONS,
    TRAIN_OUT,
    check_column,
    check_new_model,
    check_output,
    input_file,
    load_trained,
    open_trained,
    standard_input,
    taken,
    train,
    written,
)
from keras_elmo.text.labelled_files import (
    Labels,
    Texts,
    read_labelled,
    read_texts,
)
from keras_elmo.text.lines import expand_files
from keras_elmo.text.table_rows import Columns
from keras_elmo.utils.options import Option

GROUPS["classify"] = "label texts, such as with their sentiment"

# Texts that are read before the first labels are written.
_AHEAD = 1024
_FILES = "Files or glob patterns: TSV, CSV or JSON lines; plain, .gz or .xz"
_DEFAULT = "name, or, in files without a header, number from 0 on; if not given, "
_TEXT = Option(
    "text_column",
    f"Column of the texts: {_DEFAULT}text, or the first one",
    "NAME",
    parse=check_column,
)
_PAIR = Option(
    "pair_column",
    f"Column of the second texts of pairs: {_DEFAULT}pair, or the second one",
    "NAME",
    parse=check_column,
)
_LABEL = Option(
    "label_column",
    f"Column of the labels: {_DEFAULT}label, or the last one",
    "NAME",
    parse=check_column,
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
    Option(
        "validation_data",
        "Files that are scored after each epoch; the best epoch is kept",
        "GLOB",
        flag="--dev",
        many=True,
    ),
    _TEXT,
    _PAIR,
    _LABEL,
    _MULTI_LABEL,
    _PAIRS,
    TOKENIZER,
    TRAIN_OUT,
    *TRAIN_OPTIONS,
    Option("hidden", "Units of a hidden layer; 0 for none", type=int, group="training"),
    encoder="--model",
    labels="--train",
)
def _train(arguments: Arguments) -> None:
    """Trains a biLSTM on the vectors of a frozen biLM, pooled over the words of a text.

    Ctrl-C and SIGTERM stop it and keep the best epoch so far. In TSV a quotation mark
    is a character like any other, CSV is quoted as usual, and JSON lines are objects.
    """
    out = arguments.pop("out")
    check_new_model(out)
    columns = _columns(arguments)
    kinds = arguments.get("pairs", False), arguments.get("multi_label", False)
    texts, labels = read_labelled(arguments.pop("texts"), columns, *kinds)
    data: Arguments = {"texts": texts, "labels": labels}
    if "validation_data" in arguments:
        files = arguments.pop("validation_data")
        data["validation_data"] = read_labelled(files, columns, *kinds)
    if "static" in arguments:
        expand_files(arguments["static"], of_sentences=False)
    check_model(arguments["model"])
    fit, seed = taken(arguments, *FIT), arguments.pop("seed", 0)
    import_keras()
    import keras

    keras.utils.set_random_seed(seed)
    encoder, tokenizer = arguments.pop("model"), arguments.pop("tokenizer", None)
    classifier = keras_elmo.TextClassifier(encoder, **arguments)
    if tokenizer is not None:
        # Of the file that is written, too.
        classifier.elmo.encoder.tokenizer = tokenizer
    train(classifier, out, data, **fit)


@command(
    "classify predict",
    "label texts",
    "classify predict --model mood.keras --input reviews.txt --out labels.txt",
    PREDICTS,
    Option(
        "input",
        "Text, one on each line, or by its name TSV, CSV or JSON lines; - for "
        "standard input",
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
    out, path = arguments.get("out"), arguments["input"]
    check_output(out)
    path = input_file(path)
    source = open_trained(arguments["model"], "TextClassifier")
    model = load_trained(source, arguments.get("tokenizer"))
    stream = standard_input(path)
    texts = read_texts(path, stream, _columns(arguments), model.pairs)
    with written(out) as file:
        for labels, probabilities in _labelled(model, texts):
            line = ",".join(map(str, labels))
            if "json" in arguments:
                line = json.dumps(
                    {"labels": labels, "probabilities": probabilities},
                    ensure_ascii=False,
                )
            file.write(f"{line}\n")


def _labelled(
    model: "keras_elmo.TextClassifier", texts: Iterator[Texts]
) -> Iterator[tuple[Labels, dict[str, float]]]:
    """Yields the labels, and the probability of each label, none of a blank line."""
    while window := list(itertools.islice(texts, _AHEAD)):
        kept = [text for text in window if text is not None]
        rows = iter(model.predict_proba(kept) if kept else [])
        for text in window:
            if text is None:
                yield [], {}
                continue
            row = next(rows)
            names = map(str, model.labels or ())
            probabilities = {
                name: round(float(x), 6) for name, x in zip(names, row, strict=True)
            }
            yield model.labels_of(row), probabilities


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
    labels="--corpus",
)
def _evaluate(arguments: Arguments) -> None:
    """Prints precision, recall and F1 by label."""
    paths = expand_files(arguments["texts"], of_sentences=False)
    source = open_trained(arguments["model"], "TextClassifier")
    model = load_trained(source, arguments.get("tokenizer"))
    from keras_elmo.text.tag_scores import label_table

    columns = _columns(arguments)
    texts, labels = read_labelled(paths, columns, model.pairs, model.multi_label)
    scores = model.evaluate(texts, labels)
    print(json.dumps(scores) if "json" in arguments else label_table(scores))


def _columns(arguments: Arguments) -> Columns:
    names = (f"{name}_column" for name in Columns._fields)
    return Columns(*(arguments.pop(name, None) for name in names))
