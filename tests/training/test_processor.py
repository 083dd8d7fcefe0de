import pytest

from keras_elmo.training import hardware as processor
from keras_elmo.training.hardware import dtype_message, multiplies_bfloat16

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
def test_what_linux_says_of_it(text, expected, tmp_path):
    (tmp_path / "cpuinfo").write_text(text)
    assert multiplies_bfloat16(tmp_path / "cpuinfo") is expected


def test_a_system_that_does_not_say(tmp_path):
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
def test_it_is_told_where_it_matters(dtype, able, told, monkeypatch):
    """The tests run on a processor."""
    monkeypatch.setattr(processor, "multiplies_bfloat16", lambda: able)
    assert (dtype_message(dtype) is not None) is told
