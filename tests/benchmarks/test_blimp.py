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


@pytest.fixture
def folder(tmp_path):
    """A model, and two paradigms of one phenomenon."""
    write_pretrained(tmp_path / "run", CONFIG, ALL_WORDS)
    pairs = [("the boat", "the river"), ("of the xylophone", "the of bank")] * 2
    rows = [{"sentence_good": good, "sentence_bad": bad} for good, bad in pairs]
    # Each sentence beside itself in the other order: one of two is right.
    rows += [{"sentence_good": bad, "sentence_bad": good} for good, bad in pairs]
    for name in ("some_pairs", "the_same_again"):
        with lzma.open(tmp_path / f"{name}.jsonl.xz", "wt", encoding="utf-8") as file:
            for row in rows:
                row = {**row, "linguistics_term": "island_effects"}
                file.write(json.dumps(row) + "\n")
    return tmp_path


FIGURES = {
    "phenomenon": "island_effects",
    "all": [8, 50, 50, 50],
    "known": [4, 50, 50, 50],
}


def test_pairs(blimp, folder, capsys):
    """All pairs, and those without unknown words."""
    out = folder / "blimp.json"
    run = str(folder / "run")
    blimp.main(["--model", run, "--pairs", str(folder), "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["paradigms"] == {"some_pairs": FIGURES, "the_same_again": FIGURES}
    row = "2 | 50.0 | 50.0 | 50.0 | 8 | 50.0 | 50.0 | 50.0 |"
    printed = capsys.readouterr().out
    assert f"| island effects | {row}\n| all | {row}\n" in printed
    assert not list(folder.glob("*.part"))


def test_measured_paradigms_are_kept(blimp, folder, monkeypatch):
    run, out = str(folder / "run"), folder / "blimp.json"
    arguments = ["--model", run, "--pairs", str(folder), "--out", str(out)]
    measured = []

    def stopped(model, pairs):
        if measured:
            raise KeyboardInterrupt
        measured.append(pairs)
        return FIGURES

    with monkeypatch.context() as patch:
        patch.setattr(blimp, "measure", stopped)
        with pytest.raises(KeyboardInterrupt):
            blimp.main(arguments)
    part = folder / "blimp.json.part"
    assert blimp.read_part(part, run) == {"some_pairs": FIGURES}
    # Another model has measured nothing yet.
    assert blimp.read_part(part, "elmo-en") == {}
    seen = []
    monkeypatch.setattr(blimp, "measure", lambda *given: seen.append(1) or FIGURES)
    blimp.main(arguments)
    assert len(seen) == 1 and not part.exists()
    paradigms = json.loads(out.read_text(encoding="utf-8"))["paradigms"]
    assert list(paradigms) == ["some_pairs", "the_same_again"]


def test_no_known_words(blimp):
    figures = {"phenomenon": "a", "all": [2, 50.0, 0.0, 100.0]}
    found = {"paradigms": {"b": figures}}
    assert "| a | 1 | 50.0 | 0.0 | 100.0 | 0 |  |  |  |" in blimp.table(found)
