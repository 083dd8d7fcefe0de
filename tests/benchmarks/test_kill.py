import json
import random
import shutil

import numpy as np
import pytest

from keras_elmo.files.checkpoint import PROGRESS
from keras_elmo.training.pretrain import pretrain
from tests.training.runs import CONFIG, ready_made, write_text


def test_the_words_are_counted_before_all_else(benchmark):
    phases = benchmark("kill")._PHASES
    aims = benchmark("killing").aims(phases, 30, random.Random(0), ["count"])
    assert len(aims) == 30
    assert set(aims[:2]) == {"count"} and "count" not in aims[3:]
    assert set(aims) == set(phases)


def test_one_bit_is_a_difference(benchmark, tmp_path):
    differences = benchmark("kill").differences
    pretrain(
        CONFIG,
        ready_made(2),
        directory=tmp_path / "one",
        vocabulary_size=13,
        num_sampled=4,
        steps=1,
        progress=False,
    )
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    assert differences(tmp_path / "one", tmp_path / "other") == []
    (checkpoint,) = (tmp_path / "other" / "checkpoints").iterdir()
    with np.load(checkpoint) as file:
        arrays = {name: file[name] for name in file.files if name != PROGRESS}
    last = max(arrays)
    arrays[last] = np.nextafter(arrays[last], np.inf, dtype=arrays[last].dtype)
    np.savez(checkpoint, **arrays)
    assert differences(tmp_path / "one", tmp_path / "other") == [
        f"{checkpoint.name}: {last}"
    ]


@pytest.mark.benchmark
def test_a_run_that_is_killed_ends_as_one_that_is_not(benchmark, tmp_path):
    """Twice, in whichever phases; thirty times when somebody measures it."""
    out = tmp_path / "kill.json"
    text = write_text(tmp_path / "text.txt", repeats=20)
    options = ["--corpus", text, "--lines", 400, "--steps", 60, "--kills", 2]
    benchmark("kill").main([*map(str, options), "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["same_state"] and result["same_history"]
    assert len(result["killed"]) == 2
    assert "bit-identical" in benchmark("kill").table(result)
