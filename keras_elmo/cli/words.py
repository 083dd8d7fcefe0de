"""The subcommands of `keras-elmo` that ask a model about sentences."""

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

import keras_elmo
from keras_elmo.cli.parsing import (
    Given,
    Run,
    add_force,
    add_model,
    add_tokenizer,
    check_model,
    check_not_empty,
    check_text,
    command,
    import_keras,
    utf8,
)
from keras_elmo.text.lines import check_files, expand_files, read_lines
from keras_elmo.utils.checks import check_positive
from keras_elmo.utils.files import check_free, replacing_text
from keras_elmo.utils.progress import Progress

if TYPE_CHECKING:
    from keras_elmo.words.score import Score

_STANDARD = "-"
# Likelihoods are written with so many decimals.
_DECIMALS = 5


@command(
    "score",
    "measure how likely sentences are",
    "score --model elmo-en --input sentences.txt --out scores.jsonl",
)
def _score(parser: argparse.ArgumentParser) -> Run:
    """Writes the log likelihoods of every line of a text, in nats, as JSON lines.

    An object a line: tokens; forward, backward and pseudo of the sentence;
    token_forward, token_backward and token_pseudo of each token; and unknown, the
    tokens that the vocabulary lacks. pseudo is given both sides of each token.
    """
    add_model(parser, "model", "A run, a model exported with --language-model")
    parser.add_argument(
        "--input",
        required=True,
        metavar="FILE",
        help="A text, a sentence a line; - is standard input",
    )
    parser.add_argument(
        "--out",
        default=_STANDARD,
        metavar="FILE",
        help="The file of JSON lines to write; if not given, standard output",
    )
    add_tokenizer(parser)
    add_force(parser)

    def run(given: Given) -> None:
        out = given["out"]
        if out != _STANDARD:
            check_free(out)
        check_text(given, "input")
        check_model(given["model"])
        with _lines(given["input"]) as (lines, total):
            import_keras()
            tokenizer = given.get("tokenizer")
            scores = keras_elmo.score(given["model"], lines, tokenizer=tokenizer)
            to_file = out != _STANDARD
            written: contextlib.AbstractContextManager[TextIO] = (
                replacing_text(out) if to_file else contextlib.nullcontext(sys.stdout)
            )
            with written as file, Progress("Scoring", total, visible=to_file) as bar:
                for number, each in enumerate(scores, start=1):
                    file.write(_json(each) + "\n")
                    bar.update(len(each.tokens), total and number)

    return run


@command(
    "substitutes",
    "find words that could stand in place of one",
    "substitutes --model elmo-en --sentence 'We sat on the bank .' --word bank",
    position="--word or --position",
)
def _substitutes(parser: argparse.ArgumentParser) -> Run:
    """Prints a probability and a word a line, the most likely first."""
    add_model(parser, "model", "A run, a model exported with --language-model")
    _add_sentence(parser)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument(
        "--word",
        type=utf8,
        metavar="WORD",
        dest="position",
        help="The token to replace",
    )
    place.add_argument(
        "--position",
        type=int,
        metavar="N",
        dest="position",
        help="Its position, from 0",
    )
    _add_num(parser)
    parser.add_argument(
        "--skip-punctuation",
        action="store_true",
        help="Leave out words without a letter or a digit",
    )
    parser.add_argument(
        "--skip-word", action="store_true", help="Leave out the token itself"
    )

    def run(given: Given) -> None:
        check_positive(num=given.get("num"))
        check_model(given["model"])
        import_keras()
        for each in keras_elmo.substitutes(**given):
            print(f"{each.probability:.4f}\t{each.word}")

    return run


@command(
    "nearest",
    "find words that mean the same in a text",
    "nearest --model elmo-en --corpus 'text/*.txt' --index runs/index \\\n"
    "      --sentence 'We sat on the bank .' --word bank",
    words="--same-word",
    path="--index",
)
def _nearest(parser: argparse.ArgumentParser) -> Run:
    """Prints a cosine and a sentence a line, the word that was found in brackets.

    With --index, the vectors of the text are kept there; later calls need neither
    --model nor --corpus.
    """
    add_model(parser, "model", required=False)
    parser.add_argument("--corpus", nargs="+", metavar="GLOB", help="The text")
    parser.add_argument(
        "--index",
        metavar="DIR",
        help="The folder of an index, which is built if it is not there",
    )
    parser.add_argument(
        "--approximate",
        action="store_true",
        help="Build the index for approximate search, beyond a million words",
    )
    _add_sentence(parser)
    parser.add_argument(
        "--word",
        type=utf8,
        required=True,
        metavar="WORD",
        help="A token of the sentence",
    )
    _add_num(parser)
    parser.add_argument(
        "--layer",
        type=int,
        metavar="N",
        help="Of the vectors: 0 is the word without its context (default: the last)",
    )
    parser.add_argument(
        "--same-word",
        action="store_const",
        const="same",
        dest="words",
        help="Compare the same word alone, in upper or lower case",
    )
    add_force(parser)

    def run(given: Given) -> None:
        path = given.pop("index", None)
        exists = path is not None and os.path.exists(path)
        new = {"model", "corpus", "layer", "approximate", "tokenizer"}
        built = new & given.keys()
        if exists and built:
            raise ValueError(
                f"--{min(built)} is of a new index; {path} exists already: name "
                "another, or remove it"
            )
        if path is None and "approximate" in given:
            raise ValueError("--approximate must have an --index to build")
        if not exists and not {"model", "corpus"} <= given.keys():
            raise ValueError("--model and --corpus must be given, or an --index")
        check_positive(num=given.get("num"))
        if not exists:
            check_text(given, "corpus")
            check_not_empty(given["corpus"])
            check_model(given["model"])
        given.pop("force", None)
        if path is not None and not exists:
            check_free(path)
        import_keras()
        if path is None:
            found = keras_elmo.nearest(**given)
        else:
            if exists:
                index = keras_elmo.Index.load(path)
            else:
                index = _new_index(path, given, built)
            found = index.query(**given)
        for each in found:
            words = [*each.sentence]
            words[each.position] = f"[{each.word}]"
            print(f"{each.cosine:.3f}\t{' '.join(words)}")
        if not found:
            word = given["word"]
            print(f"the text does not have {word} elsewhere", file=sys.stderr)

    return run


def _new_index(path: str, given: Given, built: set[str]) -> "keras_elmo.Index":
    """Builds and saves an index, if what is asked of it can be answered."""
    from keras_elmo.files.loading import open_model

    build = {name: given.pop(name) for name in built}
    model = build.pop("model")
    encoder = open_model(model).encoder()
    # Without a text, this checks the word and the layer.
    checked = {name: build[name] for name in ("layer", "tokenizer") if name in build}
    keras_elmo.nearest(encoder, **given, **checked, corpus=[[]])
    index = keras_elmo.Index.build(encoder, **build, progress=True)
    index.model = model
    index.save(path)
    return index


def _add_sentence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sentence",
        type=utf8,
        required=True,
        metavar="TEXT",
        help="The sentence, which is split into words as --tokenizer says",
    )
    add_tokenizer(parser)


def _add_num(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--num", type=int, metavar="N", help="Lines to print (default: 10)"
    )


@contextlib.contextmanager
def _lines(path: str) -> Iterator[tuple[Iterator[str], int | None]]:
    """Yields the lines of a text, blank ones included, and their number, if known."""
    if path != _STANDARD:
        files = expand_files(path)
        total = sum(1 for _ in read_lines(files, keep_blank=True))
        yield read_lines(files, keep_blank=True), total
        return
    if peek := getattr(sys.stdin.buffer, "peek", None):
        # What has been written to a pipe so far, in whole lines.
        lines = peek().rpartition(b"\n")[0]
        check_files({path: "standard input"}, lambda path: io.BytesIO(lines))
    text = io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "replace", newline="\n")
    try:
        yield (line.rstrip("\r\n") for line in text), None
    finally:
        # It would be closed with the wrapper.
        text.detach()


def _json(score: "Score") -> str:
    """Returns a score as a JSON object, the array of each token's as a list."""
    values = score._asdict()
    for name in ("forward", "backward", "pseudo"):
        values[name] = round(values[name], _DECIMALS)
        of_tokens = values[f"token_{name}"].tolist()
        values[f"token_{name}"] = [round(each, _DECIMALS) for each in of_tokens]
    return json.dumps(values, ensure_ascii=False)
