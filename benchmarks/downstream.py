"""What are the vectors worth to a task? Frozen ELMo, random weights, static vectors.

Trains the same head on three kinds of word vectors: of a pretrained encoder, frozen,
with a trainable mix; of one encoder of the same sizes with random weights, the same
way; and trainable static ones of the same size. Same epochs, batches, and optimizer;
the accuracy is that of the last epoch on the development set.

    python benchmarks/downstream.py --model runs/en --task ewt --out ewt.json
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import heads
import keras
import numpy as np
import report
from tasks import TASKS, Task, read_task
from words import CachedLayers, StaticWords, Words

import keras_elmo

_RANDOM_ENCODER_SEED = 1000
_TOLERANCE = 1e-5


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    encoder = keras_elmo.load(options.model)
    task = read_task(
        options.task,
        common.data_folder(),
        encoder.tokenizer or "unicode",
        options.train_size,
    )
    _say(f"{task.name}: {len(task.train):,} + {len(task.dev):,} sentences")
    result = {
        "benchmark": "downstream",
        "task": task.name,
        "model": _portable(options.model),
        "sizes": encoder.config.to_options(),
        "train_size": options.train_size,
        "train_sentences": len(task.train),
        "dev_sentences": len(task.dev),
        "seeds": options.seeds,
        "epochs": options.epochs,
        "batch_size": heads.BATCH_SIZE,
        "learning_rate": heads.LEARNING_RATE,
        "dropout": heads.DROPOUT,
        "lstm_units": heads.UNITS,
        "words": {
            name: _measure(name, encoder, task, options.seeds, options.epochs)
            for name in report.WORDS
        },
    }
    common.publish(result, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--model", required=True, metavar="DIR", help="a pretrained model"
    )
    parser.add_argument("--task", required=True, choices=TASKS)
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="runs of each kind (3)"
    )
    parser.add_argument("--epochs", type=int, default=10, metavar="N", help="(10)")
    parser.add_argument(
        "--train-size",
        type=int,
        metavar="N",
        help="training sentences to draw (all; of nsmc 10,000)",
    )
    return parser


def _measure(
    name: str, encoder: keras_elmo.Encoder, task: Task, seeds: int, epochs: int
) -> dict[str, Any]:
    """Trains and scores a head on one kind of words, once a seed."""
    began = time.monotonic()
    words, difference = _make_words(name, encoder, task)
    result: dict[str, Any] = {
        "seconds_to_prepare": round(time.monotonic() - began, 1),
        "difference_from_elmo_embedding": difference,
        "accuracy": [],
        "mix": [],
        "seconds_to_train": [],
    }
    for seed in range(seeds):
        began = time.monotonic()
        model = heads.train(words, task, seed, epochs)
        seconds = time.monotonic() - began
        result["seconds_to_train"].append(round(seconds, 1))
        result["accuracy"].append(heads.accuracy(model, words, task))
        if isinstance(words, CachedLayers):
            result["mix"].append(_mix(model.get_layer("mix")))
        result["trainable_parameters"] = int(
            sum(np.prod(weight.shape) for weight in model.trainable_weights)
        )
        score = 100 * result["accuracy"][-1]
        _say(f"{name}, seed {seed}: {score:.2f} % after {seconds:.0f} s")
    result["mean"] = statistics.mean(result["accuracy"])
    result["standard_deviation"] = (
        statistics.stdev(result["accuracy"]) if seeds > 1 else None
    )
    return result


def _make_words(
    name: str, encoder: keras_elmo.Encoder, task: Task
) -> tuple[Words, float | None]:
    if name == "static":
        units = 2 * encoder.config.projection_units
        return StaticWords(task.sentences, task.num_train, units), None
    if name == "random":
        keras.utils.set_random_seed(_RANDOM_ENCODER_SEED)
        encoder = keras_elmo.build_encoder(encoder.config)
    words = CachedLayers(encoder, task.sentences)
    difference = words.greatest_difference(encoder, task.sentences)
    if difference > _TOLERANCE:
        raise RuntimeError(
            f"the cached layers differ from ElmoEmbedding's by {difference:.1e}"
        )
    return words, difference


def _mix(mix: keras_elmo.ScalarMix) -> dict[str, Any]:
    scalars = np.asarray(mix.scalars)
    weights = np.exp(scalars) / np.exp(scalars).sum()
    return {"weights": weights.tolist(), "gamma": float(np.asarray(mix.gamma))}


def _portable(model: str) -> str:
    """A path as it was given, unless it means something on this machine only."""
    return Path(model).name if Path(model).is_absolute() else model


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
