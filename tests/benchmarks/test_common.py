"""What the command lines of all benchmarks refuse before they measure."""

import pytest


@pytest.fixture(scope="module")
def common(benchmark):
    return benchmark("common")


@pytest.mark.parametrize(
    ("arguments", "data", "message"),
    [
        (["--corpus", "nothing"], ".", "--corpus: there is no file or folder nothing"),
        ([], "nothing", "no folder nothing; KERAS_ELMO_DATA names another one"),
    ],
)
def test_text_that_is_not_there(
    common, arguments, data, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_ELMO_DATA", data)
    with pytest.raises(SystemExit) as stopped:
        common.options("A benchmark.", arguments, default_corpus="dev.txt")
    assert stopped.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(message)


def test_instructions(common):
    """What ONNX Runtime uses, and what variables keep TensorFlow from using."""
    flags = ["fpu", "avx2", "avx512f", "avx512_vnni"]
    assert common.instructions(flags, {"HOME": "/"}) == "AVX2, AVX-512, VNNI"
    limited = common.instructions(flags[:2], {"ONEDNN_MAX_CPU_ISA": "AVX2"})
    assert limited == "AVX2; ONEDNN_MAX_CPU_ISA=AVX2"


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ({"instructions": "AVX2"}, "Some CPU, 2 cores: AVX2"),
        # As results have it that are older.
        ({}, "Some CPU, 2 cores"),
    ],
)
def test_caption(common, instructions, expected):
    environment = {"machine": "Some CPU", "cores": 2, **instructions}
    assert common.caption({"environment": environment}) == expected


def test_environment_names_the_processor(common, monkeypatch):
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    found = common.environment()
    assert found["machine"] and "ONEDNN_MAX_CPU_ISA=AVX2" in found["instructions"]
