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
    monkeypatch.setitem(quality("language_models").TEXTS, "en", ("enwiki",))
    model = quality("measured_model").MeasuredModel("en", run)
    return model, quality("scores").Scores(tmp_path / "scores.json")


def add_all(jobs, model, scores):
    """Measures what is missing; returns how many jobs were."""
    missing = [job for job in jobs if not scores.have(job)]
    for job in missing:
        scores.add(job, job.measure(model, *job.arguments))
    return len(missing)


def test_pairs(quality, measured):
    """All pairs, and those without unknown words; Korean has none."""
    model, scores = measured
    jobs = quality("language_models").blimp_jobs
    model.language = "ko"
    assert not list(jobs(model))
    model.language = "en"
    assert add_all(jobs(model), model, scores) == 2
    wanted = {"vectors": model.digest("elmo"), **FIGURES}
    assert scores == {"blimp, some_pairs": wanted, "blimp, the_same_again": wanted}
    page = quality("page")
    table = page.table("blimp", "", scores)
    row = "2 | 50.0 | 50.0 | 50.0 | 8 | 50.0 | 50.0 | 50.0 |"
    assert table.endswith(f"| island effects | {row}\n| all | {row}")


def test_measured_paradigms_are_kept(quality, measured, monkeypatch):
    model, scores = measured
    jobs = quality("language_models").blimp_jobs
    assert add_all(list(jobs(model))[:1], model, scores) == 1
    assert add_all(jobs(model), model, scores) == 1
    # Another model has measured nothing yet.
    monkeypatch.setattr(model, "digest", lambda name: "another")
    assert add_all(jobs(model), model, scores) == 2


def test_perplexities(quality, measured):
    model, scores = measured
    add_all(quality("language_models").perplexity_jobs(model), model, scores)
    rows, paragraphs = (
        scores[f"perplexity, enwiki, {name}"] for name in ("rows", "paragraphs")
    )
    # The last line is cut into rows, and each predicts a boundary.
    assert rows["tokens"] > paragraphs["tokens"]
    assert 1 < rows["score"] < 100 and rows["score"] == rows["mean"]
    page = quality("page")
    table = page.table("perplexity", "en", scores)
    shown = f"{rows['score']:.1f} | {paragraphs['score']:.1f} |"
    assert table.endswith(f"| enwiki/dev | {shown}")
    assert page.table("perplexity", "ko", scores) == page._NOT_YET


def test_no_known_words(quality):
    figures = {"phenomenon": "a", "vectors": "v", "all": [2, 50.0, 0.0, 100.0]}
    table = quality("page").table("blimp", "", {"blimp, b": figures})
    assert "| a | 1 | 50.0 | 0.0 | 100.0 | 0 |  |  |  |" in table


def test_scores_of_a_former_model_are_left_out(quality):
    """The newest model is that of the perplexity, which is measured first."""
    page, tasks = quality("page"), quality("tasks")
    scores = {
        "perplexity, enwiki, rows": {"score": 62.7, "vectors": "new"},
        "perplexity, enwiki, paragraphs": {"score": 58.8, "vectors": "old"},
        "semcor, elmo:0": {"score": 60.0, "vectors": "old"},
        "semcor by means, elmo:0": {"score": 61.0, "vectors": "new"},
        "semcor, random:0": {"score": 50.0, "vectors": "sizes"},
    }
    cost = {"seconds": 90.4, "bytes": 52e6}
    for kind, vectors in (("elmo", "old"), ("both", "text+new"), ("static", "text")):
        scores[tasks.key("wnut17", kind, 0)] = {
            "score": 45.0,
            "vectors": vectors,
            **cost,
        }
    assert "| enwiki/dev | 62.7 |  |" in page.table("perplexity", "en", scores)
    table = page.table("layers", "en", scores)
    assert "60.00" not in table and "61.00" in table and "50.00" in table
    table = page.table("tasks", "en", scores)
    assert table.endswith("| 45.00 |  | 45.00 |  | 0 % | 90 | 52 |")
