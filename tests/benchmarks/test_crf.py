import json

import pytest

from tests.helpers.installed import require_installed


@pytest.mark.benchmark
def test_it_compares_and_measures(benchmark, tmp_path, capsys):
    require_installed("torchcrf")
    out = tmp_path / "out.json"
    sizes = ["--batch-size", "3", "--tokens", "5", "--tags", "4"]
    arguments = [*sizes, "--repeats", "1", "--calls", "1", "--out", str(out)]
    benchmark("crf").main(arguments)
    result = json.loads(out.read_text(encoding="utf-8"))
    for row in result["rows"]:
        systems = {"keras_elmo", "pytorch-crf"}
        if "associative" in row["what"]:
            systems = {"keras_elmo"}
        assert row["ms"].keys() == systems
        assert all(ms > 0 for figures in row["ms"].values() for ms in figures)
    assert capsys.readouterr().out.count("| 3 x 5 x 4 |") == 5
