"""Several devices on TensorFlow: `tf.distribute`, in one process or in several."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np

from keras_elmo.models.language_model_head import predicted_pairs
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.training.devices.base import (
    Devices,
    WorkerStatus,
    most_cpu_devices,
    read_gradient_norm,
    spelled_out,
    split_batch,
)
from keras_elmo.training.training_data import Batch
from keras_elmo.utils.checks import refuse
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.one_graph import compiled_by_xla
from keras_elmo.utils.types import Tensor

_LOSSES = ("forward_loss", "backward_loss")
# Updates a model by a replica's part of a batch, given the number of its predictions,
# and their mean over the replicas; returns the sum of each direction's losses.
TrainStep: TypeAlias = Callable[[Batch, Tensor, Tensor], dict[str, Tensor]]


class WorkerLost(RuntimeError):
    """Another process of the run has died."""


class TensorFlowDevices(Devices):
    """The replicas of a `tf.distribute` strategy; one, of the default strategy.

    Each replica gets a part of the rows of its worker's batch. The predictions of all
    replicas are counted, and the optimizer sums their gradients before it clips, so the
    update equals an update on one device with all rows. Only the dropout masks differ
    between the replicas.

    A step is one graph for batches of all shapes. Where XLA `compiles`, it is a graph
    for each shape, and a program computes the gradients of a replica. The sums over
    replicas and the update, which reads few rows of the softmax, are not compiled.
    """

    def __init__(
        self,
        strategy: "tf.distribute.Strategy",
        worker: int = 0,
        num_workers: int = 1,
        compiles: bool = False,
    ) -> None:
        self.worker = worker
        self.num_workers = num_workers
        self.num_replicas = strategy.num_replicas_in_sync // num_workers
        self.compiles = compiles
        self.batches_ahead = int(compiles)
        self._strategy = strategy
        self.on_gpu = bool(tf.config.list_physical_devices("GPU"))
        self._step: Callable[[list[Batch]], dict[str, Tensor]] | None = None

    def scope(self) -> contextlib.AbstractContextManager[object]:
        return self._strategy.scope()

    def gather_rows(self, row: np.ndarray) -> np.ndarray:
        with _reports_lost_workers():
            rows = self._gather(tf.constant(row, "int64")).numpy()
        return rows[:: self.num_replicas]

    @cached_property
    def _gather(self) -> Callable[[Tensor], Tensor]:
        def on_replica(row: Tensor) -> Tensor:
            context = tf.distribute.get_replica_context()
            return context.all_gather(row[None], axis=0)

        @tf.function(autograph=False)
        def gather(row: Tensor) -> Tensor:
            rows = self._strategy.run(on_replica, args=(row,))
            return self._strategy.experimental_local_results(rows)[0]

        return gather

    def place(self, batch: Batch) -> Batch:
        if self.compiles:
            return batch
        # The graph finds distinct words, and a run may have begun on another backend.
        return spelled_out(batch)

    def update(
        self, model: PretrainingModel, batch: Batch | None, statuses: list[WorkerStatus]
    ) -> dict[str, Tensor]:
        if self._step is None:
            self._step = self._make_step(model)
        parts = split_batch(batch, self.num_replicas, model.config.ids_per_token)
        with _reports_lost_workers():
            metrics = self._step(parts)
        return {**metrics, **read_gradient_norm(model)}

    def after_restore(self, model: PretrainingModel) -> None:
        """Gives each replica dropout seeds of its own, and the same candidates."""
        shared = model.head.softmax.seed_generator.state
        first = self.worker * self.num_replicas
        for variable in model.variables:
            if "seed_generator" in variable.path and variable is not shared:
                locals_ = self._strategy.experimental_local_results(variable.value)
                seed, count = locals_[0].numpy()
                for k, local in enumerate(locals_):
                    local.assign([seed + first + k, count])

    def _make_step(
        self, model: PretrainingModel
    ) -> Callable[[list[Batch]], dict[str, Tensor]]:
        strategy = self._strategy
        train = _compiled_step(model) if self.compiles else _traced_step(model)

        def on_replica(parts: list[Batch]) -> dict[str, Tensor]:
            context = tf.distribute.get_replica_context()
            # Known while the function is traced, which it is for every replica.
            replica = tf.get_static_value(context.replica_id_in_sync_group)
            part = parts[replica % self.num_replicas]
            count = tf.reduce_sum(predicted_pairs(part["token_ids"]))
            total = context.all_reduce("SUM", count)
            sums = train(part, count, total / context.num_replicas_in_sync)
            return {
                name: context.all_reduce("SUM", value) / total
                for name, value in sums.items()
            }

        specs = {
            "char_ids": tf.TensorSpec(
                (None, None, model.config.ids_per_token), "int32"
            ),
            "token_ids": tf.TensorSpec((None, None), "int32"),
        }
        signature = None if self.compiles else [[specs] * self.num_replicas]

        @tf.function(autograph=False, input_signature=signature)
        def step(parts: list[Batch]) -> dict[str, Tensor]:
            metrics = {
                name: strategy.experimental_local_results(value)[0]
                for name, value in strategy.run(on_replica, args=(parts,)).items()
            }
            loss = (metrics["forward_loss"] + metrics["backward_loss"]) / 2
            return {"loss": loss, **metrics}

        return step


def _traced_step(model: PretrainingModel) -> TrainStep:
    def train(part: Batch, count: Tensor, mean: Tensor) -> dict[str, Tensor]:
        for metric in model.metrics:
            metric.reset_state()
        means = model.train_step((part,))
        return {name: means[name] * count for name in _LOSSES}

    return train


def _compiled_step(model: PretrainingModel) -> TrainStep:
    """Returns a step of which XLA compiles the gradients."""
    optimizer, weights = model.optimizer, model.trainable_variables

    @tf.function(autograph=False, jit_compile=True)
    def gradients(part: Batch, factor: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
        with compiled_by_xla(), tf.GradientTape() as tape:
            losses = model(part, training=True)
            # The head takes the mean over the predictions of this part.
            loss = optimizer.scale_loss(factor * model.compute_loss(part))
        computed = tape.gradient(loss, [weight.value for weight in weights])
        sums = (tf.reduce_sum(losses[name]) for name in ("forward", "backward"))
        return computed, *sums

    def train(part: Batch, count: Tensor, mean: Tensor) -> dict[str, Tensor]:
        factor = tf.maximum(count, 1.0) / tf.maximum(mean, 1.0)
        computed, *sums = gradients(part, factor)
        optimizer.apply_gradients(zip(computed, weights, strict=True))
        return dict(zip(_LOSSES, sums, strict=True))

    return train


@contextlib.contextmanager
def _reports_lost_workers() -> Iterator[None]:
    try:
        yield
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        raise WorkerLost(
            "another worker was lost; start all of them again, to go on from the last "
            f"checkpoint: {error.message.splitlines()[0]}"
        ) from error


def choose_tensorflow_devices(
    count: int | None, compiled: bool | None = None
) -> Devices:
    """Returns the devices that `TF_CONFIG` and the user name.

    XLA compiles the gradients if `compiled`; on a GPU alone if that is `None`, because
    on a processor its loops are slower.
    """
    config = os.environ.get("TF_CONFIG") or "{}"
    try:
        is_object = isinstance(json.loads(config), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise ValueError(
            "the environment variable TF_CONFIG must be a JSON object. "
            f"Received: TF_CONFIG={config!r}"
        )
    names = _local_devices(count)
    if compiled is None:
        compiled = bool(tf.config.list_physical_devices("GPU"))
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    jobs = cluster.cluster_spec().as_dict() if os.environ.get("TF_CONFIG") else {}
    num_chiefs, num_others = (len(jobs.get(name, ())) for name in ("chief", "worker"))
    num_workers = num_chiefs + num_others
    if num_workers > 1:
        worker = cluster.task_id + num_chiefs * (cluster.task_type == "worker")
        strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=cluster)
        return TensorFlowDevices(strategy, worker, num_workers, compiled)
    strategy = tf.distribute.get_strategy()
    if len(names) > 1:
        strategy = tf.distribute.MirroredStrategy(names)
    return TensorFlowDevices(strategy, compiles=compiled)


_TOO_LATE = "chosen before TensorFlow computes in the process"


def _local_devices(count: int | None) -> list[str]:
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        if count is not None and count > len(gpus):
            refuse("devices", f"at most {len(gpus)}, the number of GPUs", count)
        try:
            tf.config.set_visible_devices(gpus[:count], "GPU")
        except RuntimeError:
            refuse("devices", _TOO_LATE, count)
        return [f"GPU:{k}" for k in range(len(gpus[:count]))]
    count, most = count or 1, most_cpu_devices()
    if count > most:
        rule = f"at most {most}, into which the CPU is divided where there is no GPU"
        refuse("devices", rule, count)
    if count > 1:
        (cpu,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration()] * count
        try:
            tf.config.set_logical_device_configuration(cpu, parts)
        except RuntimeError:
            if len(tf.config.list_logical_devices("CPU")) < count:
                refuse("devices", _TOO_LATE, count)
    return [f"CPU:{k}" for k in range(count)]
