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
import packing
from common import markdown_table, spread

import keras_elmo
from keras_elmo.text.lines import read_lines
from keras_elmo.training.optimizers import PublishedAdagrad

_VOCABULARY_SIZE = 30_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        corpus="enwiki/train-00-of-04.txt.xz",
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
    vocabulary = _vocabulary(lines)
    by_length = _read(lines, vocabulary, options.batch_tokens)
    kinds = {
        "by length": by_length,
        "packed": list(packing.packed_batches(by_length, options.batch_tokens)),
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
                "padding": packing.padding(batches),
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
) -> list[packing.Batch]:
    with _text_file(lines) as file:
        corpus = keras_elmo.Corpus(
            file, vocabulary, batch_tokens=batch_tokens, max_tokens=packing.MAX_TOKENS
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
    kinds: dict[str, list[packing.Batch]],
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

    def __init__(
        self, model: Any, batches: Sequence[packing.Batch], steps: int
    ) -> None:
        chosen = np.random.default_rng(0).permutation(len(batches))[:steps]
        self._words = sum(packing.count_words(batches[place]) for place in chosen)
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


def _train_on_words(model: Any, batches: Sequence[packing.Batch], words: int) -> None:
    """Trains until `words` words are read, each sentence a row of its own."""
    for batch in cycle(batches):
        if words <= 0:
            return
        model.train_on_batch(packing.separated(batch))
        words -= packing.count_words(batch)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def table(result: common.Result) -> str:
    """Returns the figures, a row a text and a kind of batches."""
    header = [
        "Preset",
        "A line is a",
        "Batches",
        "Words/s, median",
        "least to most",
        "Padding, %",
        "Shapes",
        "Perplexity",
        "after words",
    ]
    rows = (_table_row(result, row) for row in result["rows"])
    return markdown_table(header, rows)


def _table_row(result: common.Result, row: dict[str, Any]) -> list[str]:
    return [
        result["preset"],
        row["text"],
        row["batches"],
        *spread(row["words_per_second"]),
        f"{100 * row['padding']:.2f}",
        str(row["shapes"]),
        f"{row['perplexity']:,.1f}",
        f"{row['words']:,}",
    ]


if __name__ == "__main__":
    main()
