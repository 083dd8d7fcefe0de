import os
import signal
import time

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.utils import forks
from tests.helpers.small import CONFIG, random_encoder

on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="of TensorFlow's threads"
)


def uses(encoder):
    """What would wait forever."""
    layer = keras_elmo.ElmoEmbedding(encoder)
    ids = np.ones((1, 4, 50), "int32")
    return {
        "embed": lambda: list(keras_elmo.embed(encoder, [["a", "bank"]])),
        "layer": lambda: layer(ids),
        "encoder": lambda: encoder(ids),
        "another encoder": lambda: keras_elmo.Encoder(CONFIG),
    }


@on_tensorflow
def test_uses_of_a_fork(monkeypatch):
    calls = uses(random_encoder())
    monkeypatch.setattr(forks, "_computing", os.getpid() + 1)
    for call in calls.values():
        with pytest.raises(RuntimeError, match="in a fork of a process .* spawn"):
            call()


def test_other_backends(monkeypatch):
    """Only TensorFlow's threads are known to be missing."""
    monkeypatch.setattr(forks, "_computing", os.getpid() + 1)
    forks.check_not_forked("jax")


@on_tensorflow
@pytest.mark.filterwarnings("ignore")
def test_fork():
    """A forked process is refused instead of waiting; this one goes on."""
    call = uses(random_encoder())["embed"]
    call()
    child = os.fork()
    if not child:
        try:
            call()
        except RuntimeError:
            os._exit(7)
        os._exit(0)
    until = time.monotonic() + 60
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)
    assert os.waitstatus_to_exitcode(done[1]) == 7
    call()
