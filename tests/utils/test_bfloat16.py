import warnings
from types import SimpleNamespace

import keras
import pytest

from keras_elmo.utils import bfloat16
from keras_elmo.utils.bfloat16 import multiplies_bfloat16, warn_if_slow

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
    monkeypatch.setattr(bfloat16.ops, "zeros", lambda shape: tensor)
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is True


def test_multiplies_bfloat16_unknown(tmp_path):
    """A system that does not say."""
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is None


@pytest.mark.parametrize(
    ("dtype", "able", "warns"),
    [
        ("mixed_bfloat16", False, True),
        ("bfloat16", False, True),
        ("mixed_bfloat16", True, False),
        ("mixed_bfloat16", None, False),
        ("float32", False, False),
        ("mixed_float16", False, False),
    ],
)
def test_warn_if_slow(dtype, able, warns, monkeypatch):
    """It names the policy, where that matters."""
    monkeypatch.setattr(bfloat16, "multiplies_bfloat16", lambda: able)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_slow(keras.DTypePolicy(dtype))
    expected = f"no instructions for bfloat16: {dtype} is many times slower"
    assert [expected in str(warning.message) for warning in caught] == [True] * warns
