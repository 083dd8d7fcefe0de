"""Perplexities and pairs of sentences are measured as they are meant."""

import json
import lzma

import pytest

from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG
from tests.words.test_substitutes import ALL_WORDS

pytestmark = pytest.mark.graph

FIGURES = {
    "phenomenon": "island_effects",
    "score": 50,
    "all": [8, 50, 50, 50],
    "known": [4, 50, 50, 50],
}


@pytest.fixture
def measured(quality, tmp_path, monkeypatch):
    """A model, its scores, and the data: two paradigms of one phenomenon, a text."""
    run = tmp_path / "run"
    write_pretrained(run, CONFIG, ALL_WORDS)
    pairs = [("the boat", "the river"), ("of the xylophone", "the of bank")] * 2
    rows = [{"sentence_good": good, "sentence_bad": bad} for good, bad in pairs]
    # Each sentence beside itself in the other order: one of two is right.
    rows += [{"sentence_good": bad, "sentence_bad": good} for good, bad in pairs]
    files = {"enwiki/dev.txt.xz": "the boat of the river\n" + "the bank " * 50 + "\n"}
    for name in ("some_pairs", "the_same_again"):
        files[f"blimp/{name}.jsonl.xz"] = "".join(
            json.dumps({**row, "linguistics_term": "island_effects"}) + "\n"
            for row in rows
        )
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with lzma.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write(text)
    monkeypatch.setenv("KERAS_ELMO_DATA", str(tmp_path))
    monkeypatch.setitem(quality("experiments").TEXTS, "en", ("enwiki",))
    encoders = quality("encoders").Encoders(run)
    return encoders, quality("scores").Scores(tmp_path / "scores.json")


def nothing(message):
    """Stands for a line of progress."""


def test_pairs(quality, measured):
    """All pairs, and those without unknown words; Korean has none."""
    encoders, scores = measured
    models = quality("language_models")
    models.measure_blimp("ko", encoders, scores, nothing)
    assert not scores
    models.measure_blimp("en", encoders, scores, nothing)
    wanted = {"vectors": encoders.digest("elmo"), **FIGURES}
    assert scores == {"blimp, some_pairs": wanted, "blimp, the_same_again": wanted}
    page = quality("page")
    table = page._table("blimp", "", page.Found(scores, 1), ())
    row = "2 | 50.0 | 50.0 | 50.0 | 8 | 50.0 | 50.0 | 50.0 |"
    assert table.endswith(f"| island effects | {row}\n| all | {row}")


def test_measured_paradigms_are_kept(quality, measured, monkeypatch):
    encoders, scores = measured
    models = quality("language_models")
    seen = []

    def stopped(model, path):
        if seen:
            raise KeyboardInterrupt
        seen.append(path)
        return FIGURES

    monkeypatch.setattr(models, "measure_pairs", stopped)
    with pytest.raises(KeyboardInterrupt):
        models.measure_blimp("en", encoders, scores, nothing)
    again = []
    monkeypatch.setattr(
        models, "measure_pairs", lambda *given: again.append(given) or FIGURES
    )
    models.measure_blimp("en", encoders, scores, nothing)
    assert len(seen) == len(again) == 1
    # Another model has measured nothing yet.
    monkeypatch.setattr(encoders, "digest", lambda name: "another")
    models.measure_blimp("en", encoders, scores, nothing)
    assert len(again) == 3


def test_perplexities(quality, measured):
    encoders, scores = measured
    quality("language_models").measure_perplexity("en", encoders, scores, nothing)
    rows, paragraphs = (
        scores[f"perplexity, enwiki, {name}"] for name in ("rows", "paragraphs")
    )
    # The last line is cut into rows, and each predicts a boundary.
    assert rows["tokens"] > paragraphs["tokens"]
    assert 1 < rows["score"] < 100 and rows["score"] == rows["mean"]
    page = quality("page")
    table = page._table("perplexity", "en", page.Found(scores, 1), ())
    shown = f"{rows['score']:.1f} | {paragraphs['score']:.1f} |"
    assert table.endswith(f"| enwiki/dev | {shown}")
    assert page._table("perplexity", "ko", page.Found(scores, 1), ()) == page._NOT_YET


def test_no_known_words(quality):
    page = quality("page")
    figures = {"phenomenon": "a", "vectors": "v", "all": [2, 50.0, 0.0, 100.0]}
    found = page.Found({"blimp, b": figures}, 1)
    table = page._table("blimp", "", found, ())
    assert "| a | 1 | 50.0 | 0.0 | 100.0 | 0 |  |  |  |" in table


def test_a_model_of_before_is_told(quality):
    experiments, page = quality("experiments"), quality("page")
    linear = experiments.Run("ewt", "elmo", head="linear")
    scores = {linear.key(0): {"score": 90.0, "vectors": "new"}}
    scores["perplexity, enwiki, rows"] = {"score": 62.7, "vectors": "old"}
    assert "62.7 †" in page._table("perplexity", "en", page.Found(scores, 1), ())
