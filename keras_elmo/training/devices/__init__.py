"""Chooses the devices that compute the updates."""

import keras

from keras_elmo.training.devices.base import Devices
from keras_elmo.training.devices.jax import choose_jax_devices
from keras_elmo.training.devices.tensorflow import choose_tensorflow_devices
from keras_elmo.utils.checks import refuse


def choose_devices(count: int | None = None) -> Devices:
    """Returns the devices that the environment and the user name.

    `TF_CONFIG` on TensorFlow, and `KERAS_DISTRIBUTION_JOB_ADDRESSES`, `_NUM_PROCESSES`
    and `_PROCESS_ID` on JAX, name several processes. Call it before anything else is
    computed.

    Args:
        count: devices of this process; if `None`, all GPUs, or one CPU. Without a
            GPU, the CPU is divided into this number of devices.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return choose_tensorflow_devices(count)
    if backend == "jax":
        return choose_jax_devices(count)
    if count is not None and count > 1:
        refuse("devices", f"1 on the {backend} backend", count)
    devices = Devices()
    if backend == "torch":
        import torch

        devices.on_gpu = torch.cuda.is_available()
    return devices
