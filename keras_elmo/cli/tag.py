"""The subcommands of `keras-elmo tag`."""

import dataclasses
import json

import keras_elmo
from keras_elmo.cli.parsing import (
    CORPUS,
    GROUPS,
    INPUT,
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
from keras_elmo.text.lines import expand_files
from keras_elmo.text.tagged_lines import FORMATS, tagged_lines
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
    Option(
        "validation_data",
        "Files that are scored after each epoch; the best epoch is kept",
        "GLOB",
        flag="--dev",
        many=True,
    ),
    _COLUMN,
    TRAIN_OUT,
    *TRAIN_OPTIONS,
    Option(
        "crf",
        "Choose the tag of each word by itself",
        flag="--no-crf",
        type=bool,
        default=True,
    ),
    encoder="--model",
)
def _train(arguments: Arguments) -> None:
    """Trains a biLSTM and a CRF on the vectors of a frozen biLM.

    Ctrl-C and SIGTERM stop it and keep the best epoch so far.
    """
    out = arguments.pop("out")
    check_new_model(out)
    column = arguments.pop("column", None)
    data = {
        name: read_tagged(files, column)
        for name, files in taken(arguments, "x", "validation_data").items()
    }
    if "static" in arguments:
        expand_files(arguments["static"], of_sentences=False)
    check_model(arguments["model"])
    fit, seed = taken(arguments, *FIT), arguments.pop("seed", 0)
    import_keras()
    import keras

    keras.utils.set_random_seed(seed)
    tagger = keras_elmo.Tagger(arguments.pop("model"), **arguments)
    train(tagger, out, data, **fit)


@command(
    "tag predict",
    "tag words or text",
    "tag predict --model ner.keras --input text.txt --out tagged.conll",
    PREDICTS,
    INPUT,
    OUT,
    Option(
        "format",
        "What the input is: text, a sentence on each line; columns, a word on each "
        "line; or conllu. If not given, its name tells, such as .conll, or else a "
        "first line of CoNLL-U",
        choices=FORMATS,
    ),
    dataclasses.replace(
        _COLUMN, help="Column of CoNLL-U to replace: upos if not given"
    ),
    TOKENIZER,
)
def _predict(arguments: Arguments) -> None:
    """Writes a word and its tag on each line, and a blank line after each sentence.

    Columns stay, with the tag as another one at the end; in CoNLL-U the tag replaces a
    column. Blank lines, comments and -DOCSTART- stay where they are. Sentences are
    written while others are still being read.
    """
    out, path = arguments.pop("out", None), arguments.pop("input")
    check_output(out)
    path = input_file(path)
    source = open_trained(arguments.pop("model"), "Tagger")
    tagger = load_trained(source, arguments.pop("tokenizer", None))
    with written(out) as file:
        stream = standard_input(path)
        for line in tagged_lines(path, tagger.tag, stream, **arguments):
            file.write(f"{line}\n")


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
    sentences = read_tagged(arguments["x"], arguments.get("column"))
    source = open_trained(arguments["model"], "Tagger")
    scores = load_trained(source).evaluate(sentences)
    from keras_elmo.text.tag_scores import conlleval_table

    print(json.dumps(scores) if "json" in arguments else conlleval_table(scores))
