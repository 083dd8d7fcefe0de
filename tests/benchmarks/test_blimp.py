"""Pairs of sentences are compared as they are meant."""

import json
import lzma

import pytest

from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG
from tests.words.test_substitutes import ALL_WORDS


@pytest.fixture(scope="module")
def blimp(benchmark):
    return benchmark("blimp")


def test_pairs(blimp, tmp_path, capsys):
    """All pairs, and those without unknown words."""
    write_pretrained(tmp_path / "run", CONFIG, ALL_WORDS)
    pairs = [("the boat", "the river"), ("of the xylophone", "the of bank")] * 2
    rows = [{"sentence_good": good, "sentence_bad": bad} for good, bad in pairs]
    # Each sentence beside itself in the other order: one of two is right.
    rows += [{"sentence_good": bad, "sentence_bad": good} for good, bad in pairs]
    with lzma.open(tmp_path / "some_pairs.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    out = tmp_path / "blimp.json"
    run = str(tmp_path / "run")
    blimp.main(["--model", run, "--pairs", str(tmp_path), "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    found = {"all": [8, 50, 50, 50], "known": [4, 50, 50, 50]}
    assert result["paradigms"] == {"some_pairs": found}
    row = "50.0 | 50.0 | 50.0 | 4 | 50.0 | 50.0 | 50.0 |"
    printed = capsys.readouterr().out
    assert f"| some pairs | {row}\n| all pairs | {row}\n" in printed


def test_no_known_words(blimp):
    found = {"paradigms": {"a": {"all": [2, 50.0, 0.0, 100.0]}}}
    assert "| a | 50.0 | 0.0 | 100.0 | 0 |  |  |  |" in blimp.table(found)
