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
