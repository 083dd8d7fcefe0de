"""Batches by length, or rows packed with several sentences? Words/s and padding.

Trains on the batches of `keras_elmo.Corpus`, and on the same sentences packed into
rows of one length, in turn. A recurrence over packed rows has to set its state back
between two sentences; that is left out here, which favours packing.

    python benchmarks/batching.py --out batching.json
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
import keras
import numpy as np
import report

import keras_elmo
from keras_elmo.text.lines import read_lines
from keras_elmo.text.vocabulary import UNKNOWN
from keras_elmo.training.optimizer import PublishedAdagrad

Batch = dict[str, np.ndarray]

_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"'(])")
_VOCABULARY_SIZE = 30_000
_MAX_TOKENS = 66
# As many sentences as `Corpus` sorts by length at a time.
_WINDOW = 8_192


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    corpus = options.corpus or common.data_folder() / "enwiki/train-00-of-04.txt.xz"
    paragraphs = list(islice(read_lines([str(corpus)]), options.lines))
    sentences = [
        sentence for line in paragraphs for sentence in _SENTENCE_END.split(line)
    ]
    rows = [
        *_compare("paragraph", paragraphs, options),
        *_compare("sentence", sentences, options),
    ]
    names = ("preset", "lines", "num_sampled", "batch_tokens", "steps", "repeats")
    result = {
        "benchmark": "batching",
        **{name: getattr(options, name) for name in names},
        "rows": rows,
        "environment": common.environment(),
    }
    common.write_json(options.out, result)
    print(report.batching([result]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        help="of a paragraph a line (the first shard of enwiki of the data)",
    )
    parser.add_argument(
        "--lines", type=int, default=10_000, metavar="N", help="paragraphs (10,000)"
    )
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument(
        "--num-sampled", type=int, default=1024, metavar="N", help="(1,024)"
    )
    parser.add_argument(
        "--batch-tokens", type=int, default=1280, metavar="N", help="(1,280)"
    )
    parser.add_argument(
        "--steps", type=int, default=40, metavar="N", help="of a repetition (40)"
    )
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="(5)")
    parser.add_argument("--out", required=True, metavar="FILE", help="JSON")
    return parser


def _compare(
    text: str, lines: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Measures both kinds of batches on the same lines."""
    vocabulary, by_length = _read(lines, options.batch_tokens)
    kinds = {
        "by length": by_length,
        "packed": list(packed_batches(by_length, options.batch_tokens)),
    }
    trainers = {
        name: _Trainer(batches, len(vocabulary), options)
        for name, batches in kinds.items()
    }
    speeds: dict[str, list[float]] = {name: [] for name in kinds}
    # New shapes trace the graph, a few times until it takes any: not timed. All the
    # models are there by now, because setting a seed has graphs prepared anew.
    for trainer in trainers.values():
        trainer.words_per_second()
    # In turn, so that what else the machine does meets both.
    for _ in range(options.repeats):
        for name, trainer in trainers.items():
            speeds[name].append(trainer.words_per_second())
            print(f"{text}, {name}: {speeds[name][-1]:,.0f} words/s", file=sys.stderr)
    return [
        {
            "text": text,
            "batches": name,
            "median": statistics.median(speeds[name]),
            "words_per_second": speeds[name],
            "padding": padding(batches),
            "shapes": len({batch["token_ids"].shape for batch in batches}),
            "number_of_batches": len(batches),
        }
        for name, batches in kinds.items()
    ]


def _read(
    lines: Sequence[str], batch_tokens: int
) -> tuple[keras_elmo.Vocabulary, list[Batch]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        vocabulary = keras_elmo.Vocabulary.count(file, max_size=_VOCABULARY_SIZE)
        corpus = keras_elmo.Corpus(
            file, vocabulary, batch_tokens=batch_tokens, max_tokens=_MAX_TOKENS
        )
        batches = [
            {name: np.asarray(value) for name, value in batch.items()}
            for batch in corpus.batches()
        ]
    return vocabulary, batches


class _Trainer:
    """A model of its own, which sees the shapes of one kind of batches only."""

    def __init__(
        self, batches: Sequence[Batch], vocabulary_size: int, options: Any
    ) -> None:
        random = np.random.default_rng(0)
        chosen = random.permutation(len(batches))[: options.steps]
        batches = [batches[place] for place in chosen]
        self._words = sum(
            int((batch["token_ids"] >= UNKNOWN).sum()) for batch in batches
        )
        self._batches = [
            {name: keras.ops.convert_to_tensor(value) for name, value in batch.items()}
            for batch in batches
        ]
        keras.utils.set_random_seed(0)
        self._model = keras_elmo.build_pretraining_model(
            keras_elmo.ElmoConfig.preset(options.preset),
            vocabulary_size,
            options.num_sampled,
        )
        self._model.compile(optimizer=PublishedAdagrad(0.2), jit_compile=False)

    def words_per_second(self) -> float:
        """Trains once on each of the chosen batches."""
        began = time.perf_counter()
        for batch in self._batches:
            self._model.train_on_batch(batch)
        return self._words / (time.perf_counter() - began)


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
    num_rows = batch_tokens // _MAX_TOKENS
    for start in range(0, len(rows), num_rows):
        yield _packed_batch(sentences, rows[start : start + num_rows])


def packed_rows(lengths: Sequence[int], places: np.ndarray) -> list[list[int]]:
    """Puts each sentence into the fullest row that has room, the longest first."""
    rows: list[list[int]] = []
    # By the room that is left, the rows that have it.
    rooms: list[list[list[int]]] = [[] for _ in range(_MAX_TOKENS + 1)]
    for place in sorted(places, key=lambda place: -lengths[place]):
        length = lengths[place]
        room = next((r for r in range(length, _MAX_TOKENS + 1) if rooms[r]), None)
        if room is None:
            room, row = _MAX_TOKENS, list[int]()
            rows.append(row)
        else:
            row = rooms[room].pop()
        row.append(place)
        rooms[room - length].append(row)
    return rows


def _packed_batch(
    sentences: Sequence[tuple[np.ndarray, np.ndarray]], rows: Sequence[Sequence[int]]
) -> Batch:
    num_characters = sentences[0][0].shape[-1]
    char_ids = np.zeros((len(rows), _MAX_TOKENS, num_characters), np.int32)
    token_ids = np.full((len(rows), _MAX_TOKENS), -1, np.int32)
    for number, row in enumerate(rows):
        parts = zip(*(sentences[place] for place in row), strict=True)
        spelt, ids = map(np.concatenate, parts)
        char_ids[number, : len(ids)] = spelt
        token_ids[number, : len(ids)] = ids
    return {"char_ids": char_ids, "token_ids": token_ids}


def padding(batches: Sequence[Batch]) -> float:
    """Returns the share of positions that hold nothing."""
    positions = sum(batch["token_ids"].size for batch in batches)
    empty = sum(int((batch["token_ids"] < 0).sum()) for batch in batches)
    return empty / positions


if __name__ == "__main__":
    main()
