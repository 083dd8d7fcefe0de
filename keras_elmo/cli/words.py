"""Subcommands of `keras-elmo` that ask a model about words and sentences."""

import contextlib
import dataclasses
import io
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import keras_elmo
from keras_elmo.cli.parsing import (
    CORPUS,
    FORCE,
    INPUT,
    LANGUAGE_MODEL,
    MODEL,
    OUT,
    TOKENIZER,
    Arguments,
    check_new,
    command,
    import_keras,
)
from keras_elmo.cli.process import STANDARD, not_empty, written
from keras_elmo.text.lines import check_files, expand_files, read_lines
from keras_elmo.utils.checks import check_positive
from keras_elmo.utils.files import check_free
from keras_elmo.utils.options import Option
from keras_elmo.utils.progress import Progress

if TYPE_CHECKING:
    from keras_elmo.words.score import Score

# Digits of a likelihood after the decimal point.
_DECIMALS = 5


def utf8(argument: str) -> str:
    """Returns a text argument as UTF-8, whatever the locale's encoding."""
    return os.fsencode(argument).decode()


def _check_positive(argument: str, number: int) -> None:
    check_positive(**{argument: number})


_SENTENCE = Option(
    "sentence",
    "The sentence, which is split into words as --tokenizer says",
    "TEXT",
    parse=utf8,
    required=True,
)
_WORD = Option("word", "A token of the sentence", "WORD", parse=utf8, required=True)
_NUM = Option("num", "Lines to print", default=10, check=_check_positive)


@command(
    "score",
    "measure how likely sentences are",
    "score --model elmo-en --input sentences.txt --out scores.jsonl",
    LANGUAGE_MODEL,
    INPUT,
    OUT,
    TOKENIZER,
    FORCE,
)
def _score(arguments: Arguments) -> None:
    """Writes the log likelihoods of every line of a text, in nats, as JSON lines.

    One object per line: tokens; forward, backward and pseudo of the sentence;
    token_forward, token_backward and token_pseudo of each token; and unknown, the
    tokens that the vocabulary lacks. pseudo is given both sides of each token.
    """
    out = arguments.get("out", STANDARD)
    with _lines(arguments["input"]) as (lines, total):
        import_keras()
        tokenizer = arguments.get("tokenizer")
        lines = not_empty(lines, arguments["input"])
        scores = keras_elmo.score(arguments["model"], lines, tokenizer=tokenizer)
        bar = Progress("Scoring", total, visible=out != STANDARD)
        with written(out) as file, bar:
            for number, score in enumerate(scores, start=1):
                file.write(_json(score) + "\n")
                bar.update(len(score.tokens), total and number)


@command(
    "substitutes",
    "find words that could stand in place of one",
    "substitutes --model elmo-en --sentence 'We sat on the bank .' --word bank",
    LANGUAGE_MODEL,
    _SENTENCE,
    TOKENIZER,
    dataclasses.replace(_WORD, one_of="place"),
    Option(
        "position",
        "Position of the token, from 0",
        type=int,
        required=True,
        one_of="place",
    ),
    _NUM,
    Option(
        "skip_punctuation", "Leave out words without a letter or a digit", type=bool
    ),
    Option("skip_word", "Leave out the token itself", type=bool),
)
def _substitutes(arguments: Arguments) -> None:
    """Prints one probability and word per line, the most likely first."""
    if "word" in arguments:
        arguments["position"] = arguments.pop("word")
    import_keras()
    for substitute in keras_elmo.substitutes(**arguments):
        print(f"{substitute.probability:.4f}\t{substitute.word}")


@command(
    "nearest",
    "find words that mean the same in a text",
    "nearest --model elmo-en --corpus 'text/*.txt' --index runs/index \\\n"
    "      --sentence 'We sat on the bank .' --word bank",
    dataclasses.replace(MODEL, required=False),
    dataclasses.replace(CORPUS, required=False, default=None),
    Option("index", "The folder of an index, which is built if it is not there", "DIR"),
    Option(
        "approximate",
        "Build the index for approximate search, beyond a million words",
        type=bool,
    ),
    _SENTENCE,
    TOKENIZER,
    _WORD,
    _NUM,
    Option(
        "layer",
        "Layer of the vectors: 0 is the word without its context; the last if "
        "not given",
        type=int,
    ),
    Option(
        "same_word", "Compare the same word alone, in upper or lower case", type=bool
    ),
    FORCE,
    words="--same-word",
    path="--index",
)
def _nearest(arguments: Arguments) -> None:
    """Prints one cosine and sentence per line, the word that was found in brackets.

    With --index, the vectors of the text are kept there; later calls need neither
    --model nor --corpus.
    """
    path = arguments.pop("index", None)
    if arguments.pop("same_word", False):
        arguments["words"] = "same"
    exists = path is not None and os.path.exists(path)
    new = {"model", "corpus", "layer", "approximate", "tokenizer"}
    built = new & arguments.keys()
    if exists and built:
        raise ValueError(
            f"--{min(built)} applies only to a new index; {path} exists already: name "
            "another, or remove it"
        )
    if path is None and "approximate" in arguments:
        raise ValueError("--approximate must have an --index to build")
    if not exists and not {"model", "corpus"} <= arguments.keys():
        if path is None:
            raise ValueError("--model and --corpus must be given, or an --index")
        raise ValueError(
            f"--index {path}: no such folder; --model and --corpus must be given to "
            "build it"
        )
    if path is not None and not exists:
        check_free(path)
    import_keras()
    if path is None:
        occurrences = keras_elmo.nearest(**arguments)
    else:
        if exists:
            index = keras_elmo.Index.load(path)
        else:
            index = _new_index(path, arguments, built)
        occurrences = index.query(**arguments)
    for occurrence in occurrences:
        words = [*occurrence.sentence]
        words[occurrence.position] = f"[{occurrence.word}]"
        print(f"{occurrence.cosine:.3f}\t{' '.join(words)}")
    if not occurrences:
        word = arguments["word"]
        print(f"the text does not have {word} elsewhere", file=sys.stderr)


def _new_index(path: str, arguments: Arguments, built: set[str]) -> "keras_elmo.Index":
    """Builds and saves an index that can answer the query."""
    from keras_elmo.files.loading import open_model

    build = {name: arguments.pop(name) for name in built}
    model = build.pop("model")
    encoder = open_model(model).encoder()
    # A query without a text checks the word and the layer.
    checked = {name: build[name] for name in ("layer", "tokenizer") if name in build}
    keras_elmo.nearest(encoder, **arguments, **checked, corpus=[[]])
    index = keras_elmo.Index.build(encoder, **build, progress=True)
    index.model = model
    index.save(path)
    return index


@command(
    "distill",
    "write a vector for each word of a text",
    "distill --model elmo-en --corpus 'text/*.txt' --out vectors.txt",
    MODEL,
    CORPUS,
    Option(
        "out",
        "The file to write, in word2vec's text format",
        "FILE",
        required=True,
        check=check_new,
    ),
    Option(
        "layer",
        "Layer of the vectors: 0 is the word without its context; the mix of all if "
        "not given",
        type=int,
    ),
    Option(
        "min_count", "How often a word has to occur", default=5, check=_check_positive
    ),
    Option(
        "senses",
        "Write a vector for each group that a word's occurrences form: word#1, word#2",
        type=bool,
    ),
    TOKENIZER,
    FORCE,
)
def _distill(arguments: Arguments) -> None:
    """Writes the mean of each word's contextual vectors, for gensim, spaCy and others.

    The text is read twice, first to count its words. Words stand in the file by their
    frequency.
    """
    import_keras(arguments["model"])
    num_vectors = keras_elmo.distill(**arguments, progress=True)
    print(f"wrote {arguments['out']}; vectors: {num_vectors:,}")


@contextlib.contextmanager
def _lines(path: str) -> Iterator[tuple[Iterator[str], int | None]]:
    """Yields all lines of a text, and their number if it is known."""
    if path != STANDARD:
        files = expand_files(path)
        total = sum(1 for _ in read_lines(files, keep_blank=True))
        yield read_lines(files, keep_blank=True), total
        return
    if peek := getattr(sys.stdin.buffer, "peek", None):
        # The whole lines that a pipe has so far.
        lines = peek().rpartition(b"\n")[0]
        check_files({path: "standard input"}, lambda path: io.BytesIO(lines))
    text = io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "replace", newline="\n")
    try:
        yield (line.rstrip("\r\n") for line in text), None
    finally:
        # Otherwise standard input is closed with the wrapper.
        text.detach()


def _json(score: "Score") -> str:
    """Returns a score as a JSON object with lists for arrays."""
    values = score._asdict()
    for name in ("forward", "backward", "pseudo"):
        values[name] = round(values[name], _DECIMALS)
        of_tokens = values[f"token_{name}"].tolist()
        values[f"token_{name}"] = [round(value, _DECIMALS) for value in of_tokens]
    return json.dumps(values, ensure_ascii=False)
