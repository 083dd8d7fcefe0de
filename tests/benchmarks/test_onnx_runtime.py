import json

import pytest


@pytest.mark.benchmark
def test_it_compares_and_measures(benchmark, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("One sentence . And another one .\nA third .\n" * 20)
    out = tmp_path / "out.json"
    arguments = ["--preset", "tiny", "--repeats", "1", "--out", str(out)]
    benchmark("onnx_runtime").main([*arguments, "--corpus", str(text)])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [(row["order"], row["batch_size"]) for row in result["rows"]] == [
        ("like length", 1),
        ("like length", 32),
        ("natural", 1),
        ("natural", 32),
    ]
    for row in result["rows"]:
        assert row["greatest_difference"] < 1e-5
        assert all(speed > 0 for (speed,) in row["words_per_second"].values())
    table = capsys.readouterr().out
    assert table.count("| tiny |") == 4
