"""What does the loop of `pretrain` cost where XLA compiles, and how often does it?

`pretrain` reads text and trains. After each block of updates the same batches are given
to the same compiled update again, without anything between: the bare loop. So the two
alternate in one process. A block in which a new shape of batches came, which is
compiled, counts for neither.

    python benchmarks/training_loop.py --out training_loop.json
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import common
from common import markdown_table, spread


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark on each backend in a process of its own; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        backends=["jax", "tensorflow"],
        preset="tiny",
        vocabulary_size=(30_000, "words that are predicted"),
        num_sampled=(512, "candidates of the softmax"),
        batch_tokens=(1280, "positions of a batch"),
        steps=(200, "updates"),
        block=(10, "updates that are timed as one"),
    )
    given = {**options.settings, "corpus": str(options.corpus)}
    runs = []
    for backend in options.backends:
        call = json.dumps({**given, "backend": backend})
        printed = common.call_in_process("training_loop", "measure", call)
        runs.append(json.loads(printed.splitlines()[-1]))
        print(runs[-1], file=sys.stderr)
    common.publish(options, table, runs=runs)


class Blocks:
    """An update of devices that is repeated in blocks, and timed."""

    def __init__(self, devices: Any, size: int) -> None:
        self._update, self._size = devices.update, size
        self._batches: list[Any] = []
        self._began = time.perf_counter()
        self._is_new = True
        self.shapes: set[Any] = set()
        self.positions = self.live = 0
        self.seconds: dict[str, list[float]] = {"loop": [], "bare": []}
        self.words: list[int] = []

    def __call__(self, model: Any, batch: Any, statuses: Any) -> Any:
        shapes = tuple(sorted((name, *value.shape) for name, value in batch.items()))
        self._is_new |= shapes not in self.shapes
        self.shapes.add(shapes)
        rows, tokens = batch["token_ids"].shape
        self.positions += rows * tokens
        # A row of n words has n + 2 positions and n + 1 predictions.
        self.live += 2 * statuses[0].predictions - statuses[0].words
        metrics = self._update(model, batch, statuses)
        self._batches.append((batch, statuses))
        if len(self._batches) == self._size:
            # The device has computed.
            float(metrics["loss"])
            loop = time.perf_counter() - self._began
            self._repeat(model, loop)
        return metrics

    def _repeat(self, model: Any, loop: float) -> None:
        began = time.perf_counter()
        for batch, statuses in self._batches:
            metrics = self._update(model, batch, statuses)
        float(metrics["loss"])
        bare = time.perf_counter() - began
        if not self._is_new:
            self.seconds["loop"].append(loop)
            self.seconds["bare"].append(bare)
            self.words.append(sum(status[0].words for _, status in self._batches))
        self._batches, self._is_new = [], False
        self._began = time.perf_counter()


def measure(call: str) -> None:
    """Trains on one backend; prints what was measured as JSON."""
    given = json.loads(call)
    os.environ["KERAS_BACKEND"] = given["backend"]
    import keras_elmo
    from keras_elmo.training import devices, pretrain

    made: list[Blocks] = []

    def choose(count: int | None) -> Any:
        if given["backend"] == "tensorflow":
            # Else on a GPU alone.
            found = devices.choose_tensorflow_devices(count, compiled=True)
        else:
            found = devices.choose_devices(count)
        made.append(Blocks(found, given["block"]))
        found.update = made[0]
        return found

    pretrain.choose_devices = choose
    with tempfile.TemporaryDirectory() as folder:
        keras_elmo.pretrain(
            keras_elmo.ElmoConfig.preset(given["preset"]),
            given["corpus"],
            directory=f"{folder}/run",
            vocabulary_size=given["vocabulary_size"],
            num_sampled=given["num_sampled"],
            batch_tokens=given["batch_tokens"],
            steps=given["steps"],
            progress=False,
        )
    (blocks,) = made
    speeds = {
        name: [words / second for words, second in zip(blocks.words, its, strict=True)]
        for name, its in blocks.seconds.items()
    }
    measured = {
        "backend": given["backend"],
        "compilations": len(blocks.shapes),
        "padding": 1 - blocks.live / blocks.positions,
        "words_per_second": speeds,
    }
    print(json.dumps(measured))


def table(result: common.Result) -> str:
    """Returns the figures, one row per backend."""
    header = ["Backend", "Preset", "Updates", "Compilations", "Padding, %"]
    header += ["Words/s of pretrain, median", "least to most", "of the bare loop's"]
    rows = []
    for run in result["runs"]:
        loop, bare = (run["words_per_second"][name] for name in ("loop", "bare"))
        # Of the same batches.
        ratios = [one / other for one, other in zip(loop, bare, strict=True)]
        rows.append(
            [
                run["backend"],
                result["preset"],
                f"{result['steps']:,}",
                str(run["compilations"]),
                f"{100 * run['padding']:.1f}",
                *spread(loop),
                f"{statistics.median(ratios):.3f}",
            ]
        )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
