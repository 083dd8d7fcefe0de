"""Devices that compute the updates: one interface, chosen by the backend."""

import keras

from keras_elmo.training.devices.base import Devices
from keras_elmo.training.devices.jax import choose_jax_devices
from keras_elmo.training.devices.tensorflow import choose_tensorflow_devices


def choose_devices(count: int | None = None) -> Devices:
    """Returns where to compute, as the environment and the user say.

    Several processes: those of `TF_CONFIG` on TensorFlow, of
    `KERAS_DISTRIBUTION_JOB_ADDRESSES`, `_NUM_PROCESSES` and `_PROCESS_ID` on JAX. It
    has to be called before anything else is computed.

    Args:
        count: devices of this process. `None`: all GPUs, or the CPU. With more than
            one and no GPU, so many devices are made of the CPU, which shows that all
            is well and gains nothing.

    Raises:
        ValueError: there are fewer GPUs, or the backend has no such thing.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return choose_tensorflow_devices(count)
    if backend == "jax":
        return choose_jax_devices(count)
    if count is not None and count > 1:
        raise ValueError(
            f"`devices` must be 1 on the {backend} backend. Received: devices={count}"
        )
    return Devices()
