"""Seeds random generators for the time of a run."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import keras
import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seeds what initial weights and dropout are drawn with, and restores it.

    Keras draws the seeds of layers from Python's generator. Dropout on PyTorch uses
    the generator of PyTorch, since Keras gives it none. TensorFlow's global seed, which
    cannot be restored, is used by nothing here.
    """
    python, numpy = random.getstate(), np.random.get_state()
    with ExitStack() as stack:
        stack.callback(np.random.set_state, numpy)
        stack.callback(random.setstate, python)
        if keras.backend.backend() == "torch":
            import torch

            gpus = [torch.cuda.current_device()] if torch.cuda.is_available() else []
            stack.enter_context(torch.random.fork_rng(gpus))
            torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        yield
