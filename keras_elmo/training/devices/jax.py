"""Several devices on JAX: `keras.distribution`, in one process or in several."""

import contextlib
import dataclasses
import os

import keras
import numpy as np

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.training.data import Batch
from keras_elmo.training.devices.base import (
    Devices,
    WorkerStatus,
    most_cpu_devices,
    pad_batch,
    step_metrics,
)
from keras_elmo.utils.checks import refuse

# The environment variables of keras.distribution.
_ADDRESSES = "KERAS_DISTRIBUTION_JOB_ADDRESSES"
_NUM_PROCESSES = "KERAS_DISTRIBUTION_NUM_PROCESSES"
_PROCESS = "KERAS_DISTRIBUTION_PROCESS_ID"

# A process ends when another one was silent for so long.
_HEARTBEAT_SECONDS = 30


class JaxDevices(Devices):
    """The devices of a `keras.distribution.DataParallel`.

    JAX computes with sharded arrays as with any others, so losses, gradients and
    dropout masks are those of one device. All processes have to pass parts of the same
    shape.
    """

    def __init__(self, num_replicas: int) -> None:
        import jax

        self.worker = jax.process_index()
        self.num_workers = jax.process_count()
        self.num_replicas = num_replicas
        devices = [
            f"{device.platform}:{device.id}"
            for worker in range(self.num_workers)
            for device in jax.local_devices(worker)[:num_replicas]
        ]
        self._distribution = keras.distribution.DataParallel(
            devices=devices, auto_shard_dataset=False
        )

    def scope(self) -> contextlib.AbstractContextManager[object]:
        return self._distribution.scope()

    def all_gather(self, status: WorkerStatus) -> list[WorkerStatus]:
        if self.num_workers == 1:
            return [status]
        from jax.experimental import multihost_utils

        row = np.asarray(dataclasses.astuple(status), "int32")
        rows = np.asarray(multihost_utils.process_allgather(row))
        return [WorkerStatus(*row) for row in rows.tolist()]

    def update(
        self, model: PretrainingModel, batch: Batch | None, statuses: list[WorkerStatus]
    ) -> dict[str, float]:
        rows = max(status.rows for status in statuses)
        rows = self.num_replicas * -(-rows // self.num_replicas)
        tokens = max(status.tokens for status in statuses)
        padded = pad_batch(batch, rows, tokens, model.config.ids_per_token)
        with self.scope():
            return step_metrics(model.train_on_batch(padded, return_dict=True), model)


def choose_jax_devices(count: int | None) -> Devices:
    """Returns the devices that the environment and the user name."""
    import jax

    if count is not None and count > 1:
        with contextlib.suppress(RuntimeError):
            # Only before JAX has looked for devices, and only where it finds no GPU.
            parts = min(count, most_cpu_devices())
            jax.config.update("jax_num_cpu_devices", parts)
    if os.environ.get(_ADDRESSES) and not jax.distributed.is_initialized():
        # As keras.distribution.initialize does, but with a shorter heartbeat.
        jax.distributed.initialize(
            os.environ[_ADDRESSES].split(",")[0],
            _number(_NUM_PROCESSES),
            _number(_PROCESS),
            heartbeat_timeout_seconds=_HEARTBEAT_SECONDS,
        )
    local = jax.local_device_count()
    if jax.default_backend() == "cpu":
        # The CPU is one device, unless more are asked for.
        count = count or 1
    if count is not None and count > local:
        refuse("devices", f"at most {local}, the number of devices of JAX", count)
    count = count or local
    if count == 1 and jax.process_count() == 1:
        return Devices()
    return JaxDevices(count)


def _number(variable: str) -> int:
    value = os.environ.get(variable, "")
    if not value.isdecimal():
        raise ValueError(
            f"the environment variable {variable} must be a number where {_ADDRESSES} "
            f"is set. Received: {variable}={value!r}"
        )
    return int(value)
