"""Batches by length, or rows packed with several sentences? Words/s and perplexity.

Trains on the batches of `keras_elmo.Corpus`, and on the same sentences packed into
rows of one length, in turn, for their speeds. A recurrence over packed rows has to set
its state back between two sentences; that is left out here, which favours packing.

Then one model for each reads as many words as its speed gives it in the same time, and
held-out perplexity is measured. With its state set back, a packed row teaches what its
sentences teach one by one, so here they are rows of their own.

    python benchmarks/batching.py --out batching.json
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import common
import keras
import numpy as np
from common import markdown_table, spread

import keras_elmo
from keras_elmo.text.lines import read_lines
from keras_elmo.text.vocabulary import START, UNKNOWN
from keras_elmo.training.optimizers import PublishedAdagrad

Batch = dict[str, np.ndarray]
# Character ids and token ids of one row, without padding.
Sentence = tuple[np.ndarray, np.ndarray]

_VOCABULARY_SIZE = 30_000
MAX_TOKENS = 66
# As many sentences as `keras_elmo.Corpus` sorts by length at a time.
_WINDOW = 8_192


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/train-00-of-04.txt.xz",
        lines=(10_000, "paragraphs"),
        preset="mini",
        num_sampled=1024,
        batch_tokens=1280,
        steps=(40, "of a repetition"),
        repeats=5,
        validation=("enwiki/dev.txt.xz", "of the data", {"metavar": "FILE"}),
        validation_lines=300,
        minutes=(3.0, "of training before perplexity is measured"),
    )
    validation = common.data_folder() / options.validation
    paragraphs = list(islice(read_lines([str(options.corpus)]), options.lines))
    held_out = list(islice(read_lines([str(validation)]), options.validation_lines))
    rows = [
        *compare("paragraph", paragraphs, held_out, options),
        *compare(
            "sentence",
            list(common.sentences(paragraphs)),
            list(common.sentences(held_out)),
            options,
        ),
    ]
    common.publish(options, table, rows=rows)


def compare(
    text: str,
    lines: Sequence[str],
    held_out: Sequence[str],
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Measures both kinds of batches on the same lines."""
    with tempfile.TemporaryDirectory() as folder:
        train, validate = Path(folder, "train.txt"), Path(folder, "held-out.txt")
        for file, part in ((train, lines), (validate, held_out)):
            file.write_text("\n".join(part) + "\n", encoding="utf-8")
        vocabulary = keras_elmo.Vocabulary.count(train, max_size=_VOCABULARY_SIZE)
        by_length, validation = (
            _read(file, vocabulary, options.batch_tokens) for file in (train, validate)
        )
    kinds = {
        "by length": by_length,
        "packed": list(packed_batches(by_length, options.batch_tokens)),
    }
    # A model for each kind, which sees the shapes of that kind only. Setting a seed has
    # graphs traced again, so all models are made before any is timed.
    timed = {
        name: _trainer(_model(len(vocabulary), options), batches, options.steps)
        for name, batches in kinds.items()
    }
    speeds = common.in_turn(timed, options.repeats, f"words/s, {text}, ")
    rows = []
    for name, batches in kinds.items():
        median = statistics.median(speeds[name])
        words = round(60 * options.minutes * median)
        model = _model(len(vocabulary), options)
        _train_on_words(model, batches, words)
        perplexity = keras_elmo.perplexity(model, validation)["mean"]
        print(f"{text}, {name}: perplexity {perplexity:.1f}", file=sys.stderr)
        rows.append(
            {
                "text": text,
                "batches": name,
                "median": median,
                "words_per_second": speeds[name],
                "padding": padding(batches),
                "shapes": len({batch["token_ids"].shape for batch in batches}),
                "number_of_batches": len(batches),
                "words": words,
                "perplexity": perplexity,
            }
        )
    return rows


def _read(
    file: Path, vocabulary: keras_elmo.Vocabulary, batch_tokens: int
) -> list[Batch]:
    corpus = keras_elmo.Corpus(
        file, vocabulary, batch_tokens=batch_tokens, max_tokens=MAX_TOKENS
    )
    return [
        {name: np.asarray(value) for name, value in batch.items()}
        for batch in corpus.batches()
    ]


def _model(vocabulary_size: int, options: argparse.Namespace) -> Any:
    keras.utils.set_random_seed(0)
    config = keras_elmo.ElmoConfig.preset(options.preset)
    model = keras_elmo.build_pretraining_model(
        config, vocabulary_size, options.num_sampled
    )
    model.compile(optimizer=PublishedAdagrad(0.2), jit_compile=False)
    return model


def _trainer(model: Any, batches: Sequence[Batch], steps: int) -> Callable[[], float]:
    """Returns what trains once on some of the batches, and returns words/s."""
    chosen = np.random.default_rng(0).permutation(len(batches))[:steps]
    words = sum(count_words(batches[place]) for place in chosen)
    tensors = [
        keras.tree.map_structure(keras.ops.convert_to_tensor, batches[place])
        for place in chosen
    ]

    def words_per_second() -> float:
        began = time.perf_counter()
        for batch in tensors:
            model.train_on_batch(batch)
        return words / (time.perf_counter() - began)

    return words_per_second


def _train_on_words(model: Any, batches: Sequence[Batch], words: int) -> None:
    """Trains until `words` words are read, each sentence a row of its own."""
    for batch in cycle(batches):
        if words <= 0:
            return
        model.train_on_batch(separated(batch))
        words -= count_words(batch)


def separated(batch: Batch) -> Batch:
    """Returns a batch whose rows hold one sentence each."""
    known = batch["token_ids"] >= 0
    token_ids = batch["token_ids"][known]
    starts = np.flatnonzero(token_ids == START)[1:]
    char_ids = np.split(batch["char_ids"][known], starts)
    return _rows(list(zip(char_ids, np.split(token_ids, starts), strict=True)))


def count_words(batch: Batch) -> int:
    """Returns the number of tokens without the sentences' boundaries."""
    return int((batch["token_ids"] >= UNKNOWN).sum())


def packed_batches(batches: Sequence[Batch], batch_tokens: int) -> Iterator[Batch]:
    """Yields the sentences of `batches` again, in rows of one length."""
    sentences = [
        (char_ids[token_ids >= 0], token_ids[token_ids >= 0])
        for batch in batches
        for char_ids, token_ids in zip(
            batch["char_ids"], batch["token_ids"], strict=True
        )
    ]
    random = np.random.default_rng(0)
    lengths = [len(token_ids) for _, token_ids in sentences]
    rows: list[list[int]] = []
    order = random.permutation(len(sentences))
    for start in range(0, len(order), _WINDOW):
        window = packed_rows(lengths, order[start : start + _WINDOW])
        random.shuffle(window)
        rows += window
    num_rows = batch_tokens // MAX_TOKENS
    for start in range(0, len(rows), num_rows):
        yield _rows(
            [
                _joined([sentences[place] for place in row])
                for row in rows[start : start + num_rows]
            ],
            MAX_TOKENS,
        )


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    char_ids, token_ids = map(np.concatenate, zip(*sentences, strict=True))
    return char_ids, token_ids


def packed_rows(lengths: Sequence[int], places: np.ndarray) -> list[list[int]]:
    """Puts each sentence into the fullest row that has room, the longest first."""
    rows: list[list[int]] = []
    # By the room that is left, the rows that have it.
    rooms: list[list[list[int]]] = [[] for _ in range(MAX_TOKENS + 1)]
    for place in sorted(places, key=lambda place: -lengths[place]):
        length = lengths[place]
        room = next((r for r in range(length, MAX_TOKENS + 1) if rooms[r]), None)
        if room is None:
            room, row = MAX_TOKENS, list[int]()
            rows.append(row)
        else:
            row = rooms[room].pop()
        row.append(place)
        rooms[room - length].append(row)
    return rows


def _rows(rows: Sequence[Sentence], length: int | None = None) -> Batch:
    """Returns a batch, padded to `length` or to the longest row."""
    length = length or max(len(token_ids) for _, token_ids in rows)
    num_characters = rows[0][0].shape[-1]
    char_ids = np.zeros((len(rows), length, num_characters), np.int32)
    token_ids = np.full((len(rows), length), -1, np.int32)
    for number, (spelt, ids) in enumerate(rows):
        char_ids[number, : len(ids)] = spelt
        token_ids[number, : len(ids)] = ids
    return {"char_ids": char_ids, "token_ids": token_ids}


def padding(batches: Sequence[Batch]) -> float:
    """Returns the share of positions that hold nothing."""
    positions = sum(batch["token_ids"].size for batch in batches)
    empty = sum(int((batch["token_ids"] < 0).sum()) for batch in batches)
    return empty / positions


def table(result: common.Result) -> str:
    """Returns the figures, a row a text and a kind of batches."""
    header = ["Preset", "A line is a", "Batches", "Words/s, median", "least to most"]
    header += ["Padding, %", "Shapes", "Perplexity", "after words"]
    rows = (
        [
            result["preset"],
            row["text"],
            row["batches"],
            *spread(row["words_per_second"]),
            f"{100 * row['padding']:.2f}",
            str(row["shapes"]),
            f"{row['perplexity']:,.1f}",
            f"{row['words']:,}",
        ]
        for row in result["rows"]
    )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
