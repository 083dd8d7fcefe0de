"""Runs of some steps in a process of their own, one after the other.

python run_elsewhere.py WORKERS HOLD DIRECTORY DEVICES STEPS [DIRECTORY ...]

Each worker trains on every WORKERS-th row of the same batches, so the batches of all
of them together are the same however many there are. Dropout is off: its masks are
drawn by each device for itself. With HOLD, the last worker stands still before that
step; 0 for none. The first run has the most devices. Those whose name begins with
`all` predict all words, without candidates, and are not validated. XLA compiles those
that end in `xla`; other runs on one device make no graphs.
"""

import contextlib
import os
import sys
import time
from functools import partial
from unittest import mock

import keras
import numpy as np

from keras_elmo.training import devices as devices_module
from keras_elmo.training.devices import choose_devices
from keras_elmo.training.devices import jax as jax_devices
from keras_elmo.training.pretrain import pretrain
from tests.helpers.runs import ready_made
from tests.helpers.small import SMALLER
from tests.helpers.without_graphs import without_graphs


class Rows:
    """A worker's rows of the batches."""

    def __init__(self, worker, workers, hold):
        self._worker, self._workers, self._hold = worker, workers, hold
        self._made = 0

    def __iter__(self):
        for batch in ready_made(5, rows=7):
            self._made += 1
            if self._made == self._hold and self._worker == self._workers - 1:
                time.sleep(1000)
            yield {name: v[self._worker :: self._workers] for name, v in batch.items()}


def run(directory, devices, steps, workers, hold):
    name = os.path.basename(directory)
    if not name.endswith("xla"):
        alone = keras.backend.backend() == "tensorflow" and devices == workers == 1
        with without_graphs() if alone else contextlib.nullcontext():
            return train(directory, devices, steps, workers, hold)
    choose = partial(devices_module.choose_tensorflow_devices, compiled=True)
    with mock.patch.object(devices_module, "choose_tensorflow_devices", choose):
        return train(directory, devices, steps, workers, hold)


def train(directory, devices, steps, workers, hold):
    strategy = choose_devices(devices)
    assert strategy.num_workers == workers
    assert strategy.num_replicas == devices
    keras.utils.set_random_seed(0)
    all_words = os.path.basename(directory).startswith("all")
    model = pretrain(
        SMALLER,
        Rows(strategy.worker, workers, hold),
        None if all_words else ready_made(2),
        directory,
        vocabulary_size=13,
        num_sampled=13 if all_words else 4,
        optimizer="adagrad",
        devices=devices,
        steps=steps,
        validate_every=2,
        checkpoint_every=1,
        resume=os.path.isdir(directory),
        progress=False,
    )
    for variable in [*model.trainable_variables, *model.optimizer.variables]:
        # Copies that differ in a bit would be lost by a checkpoint, which has one.
        copies = getattr(variable.value, "values", [variable.value])
        assert len({np.asarray(copy).tobytes() for copy in copies}) == 1, variable.path


def main(workers, hold, *runs):
    if int(hold):
        # The others notice sooner that it is killed.
        jax_devices._HEARTBEAT_SECONDS = 3
    for first in range(0, len(runs), 3):
        directory, devices, steps = runs[first : first + 3]
        run(directory, int(devices), int(steps), int(workers), int(hold))


if __name__ == "__main__":
    main(*sys.argv[1:])
