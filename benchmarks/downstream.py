"""What are the vectors worth to a task? Frozen ELMo, random weights, static vectors.

Trains the same head on three kinds of word vectors: of a pretrained encoder, frozen,
with a trainable mix; of one encoder of the same sizes with random weights, the same
way; and trainable static ones of the same size. Same epochs, batches, and optimizer;
the accuracy is that of the last epoch on the development set.

    python benchmarks/downstream.py --model runs/en --task ewt --out ewt.json
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from markdown_table import markdown_table
from tasks import TASKS, read_task

OPTIONS = ("model", "task", "seeds", "train_size", "epochs")

WORDS = {
    "elmo": "Frozen ELMo",
    "random": "Frozen random encoder",
    "static": "Static vectors",
}

_TASK_NAMES = {
    "ewt": "UD EWT, part-of-speech tags",
    "sst2": "SST-2, sentiment",
    "nsmc": "NSMC, sentiment",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    import downstream_runs
    import heads

    import keras_elmo

    options = _parser().parse_args(arguments)
    encoder = keras_elmo.load(options.model)
    task = read_task(
        options.task,
        common.data_folder(),
        encoder.tokenizer or "unicode",
        options.train_size,
    )
    sizes = f"{len(task.train):,} + {len(task.dev):,}"
    downstream_runs.say(f"{task.name}: {sizes} sentences")
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
            name: downstream_runs.measure(
                name, encoder, task, options.seeds, options.epochs
            )
            for name in WORDS
        },
    }
    common.publish(result, table, options.out)


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


def _portable(model: str) -> str:
    """A path as it was given, unless it means something on this machine only."""
    return Path(model).name if Path(model).is_absolute() else model


def table(results: Sequence[common.Result]) -> str:
    """Returns the accuracies, a row a task."""
    header = [
        "Task",
        "Model",
        "Sentences (train + dev)",
        *(f"{name}, %" for name in WORDS.values()),
        "ELMo's mix (h_0, h_1, ..; gamma)",
    ]
    return markdown_table(header, map(_table_row, results))


def _table_row(result: common.Result) -> list[str]:
    return [
        _TASK_NAMES[result["task"]],
        Path(result["model"]).name,
        f"{result['train_sentences']:,} + {result['dev_sentences']:,}",
        *(_accuracy(result["words"][name]) for name in WORDS),
        _mix(result["words"]["elmo"]["mix"]),
    ]


def _accuracy(words: dict[str, Any]) -> str:
    deviation = words["standard_deviation"]
    mean = f"{100 * words['mean']:.2f}"
    return mean if deviation is None else f"{mean} ± {100 * deviation:.2f}"


def _mix(mixes: Sequence[dict[str, Any]]) -> str:
    """The mean over the seeds."""
    weights = zip(*(mix["weights"] for mix in mixes), strict=True)
    gamma = statistics.mean(mix["gamma"] for mix in mixes)
    shown = ", ".join(f"{statistics.mean(layer):.2f}" for layer in weights)
    return f"{shown}; {gamma:.2f}"


if __name__ == "__main__":
    main()
