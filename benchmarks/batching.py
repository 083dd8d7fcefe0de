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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import common
import keras
import numpy as np

import keras_elmo
from keras_elmo.text.lines import read_lines
from keras_elmo.text.vocabulary import START, UNKNOWN
from keras_elmo.training.optimizer import PublishedAdagrad

Batch = dict[str, np.ndarray]
# Character ids and token ids of one row, without padding.
Sentence = tuple[np.ndarray, np.ndarray]

_VOCABULARY_SIZE = 30_000
_MAX_TOKENS = 66
# As many sentences as `Corpus` sorts by length at a time.
_WINDOW = 8_192


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    corpus = common.corpus(options)
    validation = options.validation or common.data_folder() / "enwiki/dev.txt.xz"
    paragraphs = _paragraphs(corpus, options.lines)
    held_out = _paragraphs(validation, options.validation_lines)
    rows = [
        *_compare("paragraph", paragraphs, held_out, options),
        *_compare(
            "sentence",
            list(common.sentences(paragraphs)),
            list(common.sentences(held_out)),
            options,
        ),
    ]
    names = ("preset", "lines", "num_sampled", "batch_tokens", "steps", "repeats")
    names += ("minutes", "validation_lines")
    result = {
        "benchmark": "batching",
        **{name: getattr(options, name) for name in names},
        "rows": rows,
    }
    common.publish(result, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__, corpus="enwiki/train-00-of-04.txt.xz")
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
    parser.add_argument(
        "--validation",
        type=Path,
        metavar="FILE",
        help="held-out text (the development text of enwiki of the data)",
    )
    parser.add_argument(
        "--validation-lines", type=int, default=300, metavar="N", help="(300)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=3.0,
        metavar="N",
        help="of training before perplexity is measured (3)",
    )
    return parser


def _paragraphs(path: Path, number: int) -> list[str]:
    return list(islice(read_lines([str(path)]), number))


def _compare(
    text: str,
    lines: Sequence[str],
    held_out: Sequence[str],
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Measures both kinds of batches on the same lines."""
    vocabulary = _vocabulary(lines)
    by_length = _read(lines, vocabulary, options.batch_tokens)
    kinds = {
        "by length": by_length,
        "packed": list(packed_batches(by_length, options.batch_tokens)),
    }
    speeds = _speeds(text, kinds, len(vocabulary), options)
    validation = _read(held_out, vocabulary, options.batch_tokens)
    rows = []
    for name, batches in kinds.items():
        median = statistics.median(speeds[name])
        words = round(60 * options.minutes * median)
        model = _model(len(vocabulary), options)
        _train_on_words(model, batches, words)
        held_out_perplexity = keras_elmo.perplexity(model, validation)["mean"]
        _say(f"{text}, {name}: {words:,} words, perplexity {held_out_perplexity:.1f}")
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
                "perplexity": held_out_perplexity,
            }
        )
    return rows


def _vocabulary(lines: Sequence[str]) -> keras_elmo.Vocabulary:
    with _text_file(lines) as file:
        return keras_elmo.Vocabulary.count(file, max_size=_VOCABULARY_SIZE)


def _read(
    lines: Sequence[str], vocabulary: keras_elmo.Vocabulary, batch_tokens: int
) -> list[Batch]:
    with _text_file(lines) as file:
        corpus = keras_elmo.Corpus(
            file, vocabulary, batch_tokens=batch_tokens, max_tokens=_MAX_TOKENS
        )
        return [
            {name: np.asarray(value) for name, value in batch.items()}
            for batch in corpus.batches()
        ]


@contextmanager
def _text_file(lines: Sequence[str]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield file


def _speeds(
    text: str,
    kinds: dict[str, list[Batch]],
    vocabulary_size: int,
    options: argparse.Namespace,
) -> dict[str, list[float]]:
    """Returns words/s of each kind, one figure a repetition."""
    # A model of its own for each kind, which sees the shapes of that kind only.
    trainers = {
        name: _Trainer(_model(vocabulary_size, options), batches, options.steps)
        for name, batches in kinds.items()
    }
    # New shapes trace the graph, a few times until it takes any: not timed. All the
    # models are there by now, because setting a seed has graphs prepared anew.
    for trainer in trainers.values():
        trainer.words_per_second()
    speeds: dict[str, list[float]] = {name: [] for name in kinds}
    # In turn, so that what else the machine does meets both.
    for _ in range(options.repeats):
        for name, trainer in trainers.items():
            speeds[name].append(trainer.words_per_second())
            _say(f"{text}, {name}: {speeds[name][-1]:,.0f} words/s")
    return speeds


def _model(vocabulary_size: int, options: argparse.Namespace) -> Any:
    keras.utils.set_random_seed(0)
    model = keras_elmo.build_pretraining_model(
        keras_elmo.ElmoConfig.preset(options.preset),
        vocabulary_size,
        options.num_sampled,
    )
    model.compile(optimizer=PublishedAdagrad(0.2), jit_compile=False)
    return model


class _Trainer:
    """Trains on some of the batches, the same ones each time."""

    def __init__(self, model: Any, batches: Sequence[Batch], steps: int) -> None:
        chosen = np.random.default_rng(0).permutation(len(batches))[:steps]
        self._words = sum(count_words(batches[place]) for place in chosen)
        self._batches = [
            {
                name: keras.ops.convert_to_tensor(value)
                for name, value in batches[place].items()
            }
            for place in chosen
        ]
        self._model = model

    def words_per_second(self) -> float:
        """Trains once on each of the chosen batches."""
        began = time.perf_counter()
        for batch in self._batches:
            self._model.train_on_batch(batch)
        return self._words / (time.perf_counter() - began)


def _train_on_words(model: Any, batches: Sequence[Batch], words: int) -> None:
    """Trains until `words` words are read, each sentence a row of its own."""
    for batch in cycle(batches):
        if words <= 0:
            return
        model.train_on_batch(separated(batch))
        words -= count_words(batch)


def separated(batch: Batch) -> Batch:
    """Returns a batch whose rows hold one sentence each."""
    char_ids, token_ids = _flat(batch)
    places = np.flatnonzero(token_ids == START)[1:]
    return _rows(
        list(zip(np.split(char_ids, places), np.split(token_ids, places), strict=True))
    )


def _flat(batch: Batch) -> Sentence:
    """Returns what the positions hold that are no padding, one after the other."""
    known = batch["token_ids"] >= 0
    return batch["char_ids"][known], batch["token_ids"][known]


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
    num_rows = batch_tokens // _MAX_TOKENS
    for start in range(0, len(rows), num_rows):
        yield _rows(
            [
                _joined([sentences[place] for place in row])
                for row in rows[start : start + num_rows]
            ],
            _MAX_TOKENS,
        )


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    char_ids, token_ids = map(np.concatenate, zip(*sentences, strict=True))
    return char_ids, token_ids


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


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
