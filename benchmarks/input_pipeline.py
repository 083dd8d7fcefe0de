"""The second question of `training.py`: what does reading text add to an update?"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from trainer_keras_elmo import TOKENIZER, train

import keras_elmo
from keras_elmo.training.data import Batch, EpochIterator


def compare(
    text: str, vocabulary_file: str, preset: str, number: int, repeats: int
) -> dict[str, Any]:
    """Trains on the same batches out of memory and out of files, in turn.

    Args:
        text: a glob pattern.
        vocabulary_file: a word a line.
        preset: the sizes.
        number: of batches.
        repeats: of each kind.
    """
    vocabulary = keras_elmo.Vocabulary.load(vocabulary_file)
    corpus = keras_elmo.Corpus(text, vocabulary, TOKENIZER)
    kept = list(islice(EpochIterator(corpus), number))
    with tempfile.TemporaryDirectory() as folder:
        # This also makes the graphs of every shape.
        model = train(preset, kept, len(vocabulary), str(Path(folder) / "model"))
    kinds: dict[str, tuple[Any, Callable[[Batch], Any]]] = {
        "memory": (kept, model.train_on_batch),
        "files": (corpus, model.train_on_batch),
        "reading_alone": (corpus, lambda batch: None),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(repeats):
        for name, (source, use) in kinds.items():
            batches = islice(EpochIterator(source), number)
            seconds[name].append(seconds_a_batch(batches, use))
            print(f"{name}: {seconds[name][-1]:.4f} s a batch", file=sys.stderr)
    return {"batches": number, **summary(seconds), "seconds_a_batch": seconds}


def seconds_a_batch(batches: Iterable[Batch], use: Callable[[Batch], Any]) -> float:
    """Returns the mean time to get a batch and use it, the wait for the first too."""
    number = 0
    began = time.perf_counter()
    for batch in batches:
        use(batch)
        number += 1
    return (time.perf_counter() - began) / number


def summary(seconds: dict[str, Sequence[float]]) -> dict[str, Any]:
    """Returns the medians, and how much longer an update takes out of files."""
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return {"median": median, "longer": median["files"] / median["memory"] - 1}
