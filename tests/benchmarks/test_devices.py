"""The whole benchmark at tiny size: what it reports is what it ran."""

import json

import pytest

from tests.helpers.runs import write_text


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    text = write_text(tmp_path / "text.txt")
    out = tmp_path / "devices.json"
    sizes = "--presets tiny --devices 2 --vocabulary-size 17 --num-sampled 8"
    sizes += " --batch-tokens 132"
    times = "--steps 6 --measure-every 2 --repeats 1"
    arguments = [*f"{sizes} {times}".split(), "--corpus", text, "--out", out]
    benchmark("devices").main(list(map(str, arguments)))
    result = json.loads(out.read_text(encoding="utf-8"))
    (run,) = result["runs"]
    assert (run["preset"], run["devices"]) == ("tiny", 2)
    # Three measurements, the first of which has made the graphs.
    assert len(run["words_per_second"]) == 2
    # How much it was cannot be said here: on Linux the peak of a new process begins
    # with the memory of the one that starts it.
    assert run["peak_bytes"] > 5e8
    assert 1.1e9 <= run["estimated_bytes"] < 1.2e9
    capsys.readouterr()
    benchmark("report").main([str(out)])
    reported = capsys.readouterr().out
    assert f"python benchmarks/devices.py {sizes} {times}" in reported
    assert "| tiny | 2 |" in reported


@pytest.mark.slow
def test_a_run_that_fails_is_not_measured(benchmark, tmp_path):
    out = tmp_path / "devices.json"
    empty = tmp_path / "empty.txt"
    empty.touch()
    arguments = ["--corpus", str(empty), "--out", str(out)]
    with pytest.raises(SystemExit, match="there is no text in"):
        benchmark("devices").main(["--presets", "tiny", *arguments])
    assert not out.exists()
