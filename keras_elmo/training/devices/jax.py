"""Several devices on JAX: `keras.distribution`, in one process or in several."""

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import ops

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.batch_shapes import pad_batch
from keras_elmo.training.devices.base import (
    Devices,
    WorkerStatus,
    most_cpu_devices,
    no_rows,
    spelled_out,
)
from keras_elmo.training.training_data import Batch
from keras_elmo.utils.checks import refuse
from keras_elmo.utils.types import Tensor

# The values of variables, and the name and sizes of each array of a batch.
Values: TypeAlias = list[list[Tensor]]
Shapes: TypeAlias = tuple[tuple[str | int, ...], ...]

# The environment variables of keras.distribution.
_ADDRESSES = "KERAS_DISTRIBUTION_JOB_ADDRESSES"
_NUM_PROCESSES = "KERAS_DISTRIBUTION_NUM_PROCESSES"
_PROCESS = "KERAS_DISTRIBUTION_PROCESS_ID"

# A process ends when another one is silent for this long.
_HEARTBEAT_SECONDS = 30


class JaxDevices(Devices):
    """The devices of JAX; several are a `keras.distribution.DataParallel`.

    JAX computes with sharded arrays as with any array, so losses, gradients and dropout
    masks equal those of one device. All processes have to pass parts of one shape.

    An update is compiled for each shape of a batch. Its values stay on the devices for
    the next update, and are written to the variables before these are read.
    """

    compiles = True

    def __init__(self, num_replicas: int) -> None:
        import jax

        self.on_gpu = self.compiles_ahead = jax.default_backend() != "cpu"
        self.worker = jax.process_index()
        self.num_workers = jax.process_count()
        self.num_replicas = num_replicas
        # The shape of an update of several workers depends on all of them.
        self.batches_ahead = int(self.num_workers == 1)
        devices = [
            device
            for worker in range(self.num_workers)
            for device in jax.local_devices(worker)[:num_replicas]
        ]
        self._distribution: keras.distribution.Distribution | None = None
        if len(devices) > 1:
            self._distribution = keras.distribution.DataParallel(
                devices=[f"{device.platform}:{device.id}" for device in devices],
                auto_shard_dataset=False,
            )
        mesh = jax.sharding.Mesh(np.array(devices), ("batch",))
        self._copied, self._divided = (
            jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
            for axes in ((), ("batch",))
        )
        self._updates: dict[Shapes, Future[Callable[..., Any]]] = {}
        self._compiling = ThreadPoolExecutor(os.cpu_count())
        self._values: Values | None = None

    def scope(self) -> contextlib.AbstractContextManager[object]:
        return self._distribution.scope() if self._distribution else super().scope()

    def gather_rows(self, row: np.ndarray) -> np.ndarray:
        from jax.experimental import multihost_utils

        return np.asarray(multihost_utils.process_allgather(row.astype("int32")))

    def place(self, batch: Batch) -> Batch:
        return self._divide(batch) if self.num_workers == 1 else spelled_out(batch)

    def _divide(self, batch: Batch, rows: int = 0, tokens: int = 0) -> Batch:
        """Returns a batch on the devices, padded up to `rows` and `tokens`."""
        import jax

        def divisible(size: int) -> int:
            return self.num_replicas * -(-size // self.num_replicas)

        rows = divisible(max(rows, len(batch["token_ids"])))
        num_words = divisible(len(batch.get("words", ())))
        padded = pad_batch(batch, rows, tokens, num_words)
        return {
            name: jax.make_array_from_process_local_data(self._divided, value)
            for name, value in padded.items()
        }

    def compile(self, model: PretrainingModel, batches: Sequence[Batch]) -> bool:
        import jax

        for batch in batches:
            shapes = _read_shapes(batch)
            if shapes not in self._updates:
                update = jax.jit(
                    _make_update(model), donate_argnums=0, out_shardings=self._copied
                )
                # Keras traces in one thread, XLA compiles in several.
                with self.scope():
                    lowered = update.lower(self._last_values(model), batch)
                self._updates[shapes] = self._compiling.submit(lowered.compile)
        self._updates[_read_shapes(batches[0])].result()
        return True

    def close(self) -> None:
        self._compiling.shutdown(wait=False, cancel_futures=True)

    def update(
        self, model: PretrainingModel, batch: Batch | None, statuses: list[WorkerStatus]
    ) -> dict[str, Tensor]:
        if batch is None or self.num_workers > 1:
            batch = self._divide(
                no_rows(model.config.ids_per_token) if batch is None else batch,
                max(status.rows for status in statuses),
                max(status.tokens for status in statuses),
            )
        self.compile(model, [batch])
        update = self._updates[_read_shapes(batch)].result()
        self._values, metrics = update(self._last_values(model), batch)
        return metrics

    def set_learning_rate(self, model: PretrainingModel, rate: float) -> None:
        import jax

        if self._values is None:
            super().set_learning_rate(model, rate)
            return
        (at,) = _places(model.optimizer.variables, model.optimizer.learning_rate)
        value = np.asarray(rate, "float32")
        self._values[-1][at] = jax.device_put(value, self._copied)

    def _last_values(self, model: PretrainingModel) -> Values:
        """Returns the values after the last update, or else those of the variables."""
        import jax

        if self._values is None:
            values = [[v.value for v in variables] for variables in _variables(model)]
            self._values = jax.device_put(values, self._copied)
        return self._values

    def write_variables(self, model: PretrainingModel) -> None:
        if self._values is not None:
            for variables, values in zip(_variables(model), self._values, strict=True):
                for variable, value in zip(variables, values, strict=True):
                    variable.assign(value)
            # They may change before the next update, which gives their memory away.
            self._values = None


def _variables(model: PretrainingModel) -> tuple[list[keras.Variable], ...]:
    """Returns what an update reads and writes, as `keras.Model.train_step` has it."""
    return (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
    )


def _places(variables: list[keras.Variable], variable: object) -> list[int]:
    """Returns the place of a variable in a list, if it is there."""
    return [k for k, other in enumerate(variables) if other is variable]


def _make_update(
    model: PretrainingModel,
) -> Callable[[Values, Batch], tuple[Values, dict[str, Tensor]]]:
    norm = getattr(model.optimizer, "gradient_norm", None)
    places = _places(model.optimizer.variables, norm)

    def update(values: Values, batch: Batch) -> tuple[Values, dict[str, Tensor]]:
        # The metrics of this step alone.
        metrics = [ops.zeros(v.shape, v.dtype) for v in model.metrics_variables]
        logs, (*values, _) = model.train_step((*values, metrics), (batch,))
        if places:
            logs["gradient_norm"] = values[-1][places[0]]
        return values, logs

    return update


def _read_shapes(batch: Batch) -> Shapes:
    return tuple(sorted((name, *value.shape) for name, value in batch.items()))


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
    elif not jax.config.jax_compilation_cache_dir:
        # What is compiled for a CPU may not run on another one.
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(home, "keras-elmo", "jax")
        jax.config.update("jax_compilation_cache_dir", folder)
    if count is not None and count > local:
        refuse("devices", f"at most {local}, the number of devices of JAX", count)
    return JaxDevices(count or local)


def _number(variable: str) -> int:
    value = os.environ.get(variable, "")
    if not value.isdecimal():
        raise ValueError(
            f"the environment variable {variable} must be a number where {_ADDRESSES} "
            f"is set. Received: {variable}={value!r}"
        )
    return int(value)
