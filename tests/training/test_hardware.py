from types import SimpleNamespace

import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training import hardware
from keras_elmo.training.hardware import (
    dtype_message,
    estimate_memory,
    memory_message,
    multiplies_bfloat16,
)


def test_estimate_memory():
    """Weights are what they are."""
    model = build_pretraining_model(ElmoConfig.preset("tiny"), 1000)
    parts = estimate_memory(model, 1, 1280, num_replicas=1)
    assert parts["weights"] == parts["optimizer"] == 4 * model.count_params()
    of_adam = estimate_memory(model, 2, 1280, num_replicas=1)
    assert of_adam["optimizer"] == 2 * of_adam["weights"]
    twice = estimate_memory(model, 1, 1280, num_replicas=2)
    assert twice["weights"] == 2 * parts["weights"]
    assert twice["a batch"] == parts["a batch"]
    assert estimate_memory(model, 1, 2560, 1)["a batch"] == 2 * parts["a batch"]


def test_memory_message():
    """It is told in megabytes."""
    model = build_pretraining_model(ElmoConfig.preset("tiny"), 1000)
    message = memory_message(model, 1, 1280, 1)
    total = sum(estimate_memory(model, 1, 1280, 1).values())
    assert message.startswith(f"Memory: about {total / 1e6:,.0f} MB (process 1,100, ")
    assert total == pytest.approx(1.5e9, rel=0.2)


X86 = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx512f {}\nbugs\t: x\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd {}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (X86.format("avx512_bf16 amx_bf16"), True),
        (X86.format("avx512_vnni"), False),
        (ARM.format("i8mm bf16"), True),
        (ARM.format("i8mm"), False),
        ("nothing of the kind\n", None),
    ],
)
def test_multiplies_bfloat16(text, expected, tmp_path):
    """What Linux says of it."""
    (tmp_path / "cpuinfo").write_text(text)
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is expected


def test_multiplies_bfloat16_on_a_gpu(tmp_path, monkeypatch):
    """What its host cannot."""
    (tmp_path / "cpuinfo").write_text(X86.format("avx512_vnni"))
    tensor = SimpleNamespace(device="/job:localhost/task:0/device:GPU:0")
    monkeypatch.setattr(hardware.ops, "zeros", lambda shape: tensor)
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is True


def test_multiplies_bfloat16_unknown(tmp_path):
    """A system that does not say."""
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is None


@pytest.mark.parametrize(
    ("dtype", "able", "told"),
    [
        ("mixed_bfloat16", False, True),
        ("mixed_bfloat16", True, False),
        ("mixed_bfloat16", None, False),
        ("float32", False, False),
    ],
)
def test_dtype_message(dtype, able, told, monkeypatch):
    """It is told where it matters.

    The tests run on a processor.
    """
    monkeypatch.setattr(hardware, "multiplies_bfloat16", lambda: able)
    assert (dtype_message(dtype) is not None) is told
