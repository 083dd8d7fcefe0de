"""keras_elmo as a child of `training.py`: pretrains by the library's own loop.

`training.py` says what the arguments are and what is written; it also calls
`compare_sources`: what does reading text add to an update?
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import common
import numpy as np

import keras_elmo
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.training.training_data import Batch, batches_from

TOKENIZER = "whitespace"
# What a batch of the published trainer predicts in a direction: 64 rows of 20 tokens.
_TOKENS_OF_A_BATCH = 64 * 20
# Updates that are timed as one. The first ones, in which graphs are made, are not.
_GROUP = 10


class TimedBatches:
    """The batches of a corpus, read again when it ends, up to a number of tokens.

    `tokens` are the predictions of each update in one direction, `moments` when
    training began and when each update was over: that is when the next batch is asked
    for, so reading it is part of the next update's time.
    """

    def __init__(self, corpus: keras_elmo.Corpus, most_tokens: int) -> None:
        self._corpus = corpus
        self._most_tokens = most_tokens
        self.tokens: list[int] = []
        self.moments: list[float] = []

    def __iter__(self) -> Iterator[Batch]:
        self.tokens, self.moments = [], [time.perf_counter()]
        for batch, _ in batches_from(self._corpus):
            tokens = count_predictions(batch)
            if sum(self.tokens) + tokens > self._most_tokens:
                return
            yield batch
            self.tokens.append(tokens)
            self.moments.append(time.perf_counter())


def count_predictions(batch: Batch) -> int:
    """Returns what one direction predicts: the words, and a boundary a sentence."""
    token_ids = np.asarray(batch["token_ids"])
    return int((token_ids != PADDING_ID).sum()) - len(token_ids)


def speeds(tokens: Sequence[int], moments: Sequence[float]) -> list[float]:
    """Returns the tokens a second of each whole group but the first."""
    starts = range(_GROUP, len(tokens) - _GROUP + 1, _GROUP)
    ends = (start + _GROUP for start in starts)
    return [
        sum(tokens[start:end]) / (moments[end] - moments[start])
        for start, end in zip(starts, ends, strict=True)
    ]


def train(
    preset: str,
    batches: Iterable[Batch],
    vocabulary_size: int,
    directory: str,
    seed: int = 0,
    dtype: str = "float32",
) -> Any:
    """Pretrains on each of the batches once; returns the model."""
    return keras_elmo.pretrain(
        keras_elmo.ElmoConfig.preset(preset),
        batches,
        directory=directory,
        vocabulary_size=vocabulary_size,
        recipe="published",
        num_sampled=1024,
        seed=seed,
        dtype=dtype,
        epochs=1,
        progress=False,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, evaluates, and writes what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("text", "vocab", "heldout", "dir", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--batches", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args(arguments)
    vocabulary = keras_elmo.Vocabulary.load(options.vocab)
    corpus = keras_elmo.Corpus(options.text, vocabulary, TOKENIZER, seed=options.seed)
    batches = TimedBatches(corpus, _TOKENS_OF_A_BATCH * options.batches)
    model = train(
        options.preset,
        batches,
        len(vocabulary),
        options.dir,
        options.seed,
        options.dtype,
    )
    # Before held-out text is read, which takes memory of its own.
    peak_bytes = common.peak_bytes()
    # Rows long enough for any sentence: none is split.
    held_out = keras_elmo.Corpus(
        options.heldout, vocabulary, TOKENIZER, max_tokens=corpus.batch_tokens
    )
    perplexity = keras_elmo.perplexity(model, held_out)["mean"]
    measured = {
        "system": f"keras_elmo, {options.dtype}",
        "words_per_second": speeds(batches.tokens, batches.moments),
        "tokens": sum(batches.tokens),
        "perplexity": {"fresh_state": perplexity},
        "peak_bytes": peak_bytes,
    }
    common.write_json(options.out, measured)


def compare_sources(
    text: str, vocabulary_file: str, preset: str, number: int, repeats: int
) -> dict[str, Any]:
    """Trains on the same batches out of memory and out of files, in turn."""
    vocabulary = keras_elmo.Vocabulary.load(vocabulary_file)
    corpus = keras_elmo.Corpus(text, vocabulary, TOKENIZER)
    kept = [batch for batch, _ in islice(batches_from(corpus), number)]
    with tempfile.TemporaryDirectory() as folder:
        # This also traces the graphs of every shape.
        model = train(preset, kept, len(vocabulary), f"{folder}/model")
    kinds: dict[str, tuple[Any, Callable[[Batch], Any]]] = {
        "memory": (kept, model.train_on_batch),
        "files": (corpus, model.train_on_batch),
        "reading_alone": (corpus, lambda batch: None),
    }

    def measure(source: Any, use: Callable[[Batch], Any]) -> float:
        batches = (batch for batch, _ in islice(batches_from(source), number))
        return seconds_a_batch(batches, use)

    timed = {name: partial(measure, *kind) for name, kind in kinds.items()}
    seconds = common.in_turn(timed, repeats, "seconds a batch, ")
    return {"batches": number, **summary(seconds), "seconds_a_batch": seconds}


def seconds_a_batch(batches: Iterable[Batch], use: Callable[[Batch], Any]) -> float:
    """Returns the mean time to get a batch and use it, the wait for the first too."""
    number = 0
    began = time.perf_counter()
    for batch in batches:
        use(batch)
        number += 1
    return (time.perf_counter() - began) / number


def summary(seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Returns the medians, and how much longer an update takes out of files."""
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return {"median": median, "longer": median["files"] / median["memory"] - 1}


if __name__ == "__main__":
    main()
