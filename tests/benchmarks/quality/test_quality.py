"""The whole benchmark on made-up data, and the pages it fills."""

import json
import multiprocessing
import os
import time

import pytest

import keras_elmo

pytestmark = pytest.mark.graph

PAGE = """# Results

<!-- table tasks -->
old
<!-- end -->
Said by a person.
<!-- table layers -->
<!-- end -->
"""
CARD = """# A model

<!-- table tasks ko -->
<!-- end -->
<!-- table layers ko -->
<!-- end -->
"""


@pytest.fixture
def pages(tmp_path):
    """The options that name a page and a card, and both files."""
    card, page = tmp_path / "card.md", tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    page.write_text(PAGE, encoding="utf-8")
    card.write_text(CARD, encoding="utf-8")
    return ["--page", str(page), "--cards", str(card)], page, card


@pytest.mark.whole
@pytest.mark.usefixtures("eagerly")
def test_the_whole_benchmark(quality, data, encoder, pages, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    options, page, card = pages
    model = tmp_path / "model"
    model.mkdir()
    keras_elmo.save_published_weights(
        encoder, model / "options.json", model / "weights.hdf5"
    )
    scores = tmp_path / "scores.json"
    arguments = ["--elmo", f"en={model}", f"ko={model}"]
    arguments += ["--experiments", "tasks", "layers", "--tasks", "sst2", "gsd"]
    arguments += ["--vectors", "elmo", "--seeds", "1", "--processes", "1"]
    arguments += ["--epochs", "1", "--scores", str(scores), *options]
    main = quality("run").main
    main(arguments)
    kept = json.loads(scores.read_text(encoding="utf-8"))
    assert all(0 <= score["score"] <= 100 for score in kept.values())
    tasks = {key for key in kept if key.startswith("task")}
    assert tasks == {"task, sst2, elmo, seed 0", "task, gsd, elmo, seed 0"}
    assert {key.split(",")[0] for key in kept.keys() - tasks} == {
        *("semcor", "semcor by means", "kobest wic", "kobest wic by places")
    }
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and "Said by a person." in text
    assert "| SST-2, sentiment |  |" in text
    assert str(tmp_path) not in text + scores.read_text(encoding="utf-8")
    text_of_card = card.read_text(encoding="utf-8")
    assert "| UD GSD, parts of speech (Korean) |" in text_of_card
    assert "| KoBEST, word in context (Korean), ELMo |" in text_of_card
    assert "SST" not in text_of_card and "SemCor" not in text_of_card
    figures = {path.name for path in (page.parent / "figures").iterdir()}
    assert figures == {f"perplexity-elmo-{language}.png" for language in ("en", "ko")}

    # Nothing is measured again, and the page stays the same.
    monkeypatch.setattr(quality("run"), "_measure", None)
    main(arguments)
    assert page.read_text(encoding="utf-8") == text
    assert json.loads(scores.read_text(encoding="utf-8")) == kept


def test_a_page_without_scores_has_empty_tables(quality, pages, tmp_path):
    pytest.importorskip("matplotlib")
    options, page, _ = pages
    quality("run").main(["--scores", str(tmp_path / "scores.json"), *options])
    text = page.read_text(encoding="utf-8")
    assert "|" not in text and text.count("Not measured yet.") == 2


def test_layers_have_columns(quality):
    scores = {"semcor, most frequent": {"score": 62.0}}
    for layer in range(3):
        scores[f"semcor, elmo:{layer}"] = {"score": 60.0 + layer}
    header, _, *rows = quality("page").table("layers", "en", scores).splitlines()
    assert header.endswith("| Layer 1 | Layer 2 |")
    assert rows[0].endswith("ELMo | 60.00 | 61.00 | 62.00 |")
    assert rows[1].endswith("most frequent sense | 62.00 | 62.00 | 62.00 |")
    assert len(rows) == 2


def test_a_cell_is_a_mean_and_a_deviation(quality):
    page, key = quality("page"), quality("tasks").key
    cost = {"seconds": 60.0, "bytes": 1e6, "vectors": "v"}
    scores = {
        key("sst2", vectors, seed): {"score": value, **cost}
        for vectors, values in (("static", (80, 82)), ("both", (88,)))
        for seed, value in enumerate(values)
    }
    (row,) = page.table("tasks", "en", scores).splitlines()[2:]
    cells = "81.00 ± 1.41 |  | 88.00 |  | 37 % | 60 | 1 |"
    assert row == f"| SST-2, sentiment | {cells}"
    # A mean has one kind of vectors.
    scores[key("sst2", "static", 1)]["vectors"] = "other"
    assert "| 80.00 |  | 88.00 |  | 40 % |" in page.table("tasks", "en", scores)


def test_a_job_adds_all_its_scores_or_none(quality, tmp_path):
    module = quality("scores")
    scores, job = module.Scores(tmp_path / "scores.json"), module.Job
    one, two = {"score": 1.0}, {"score": 2.0}
    scores.add(job(("b", "a"), {"vectors": "v"}, None, ()), [one, two])
    again = module.Scores(tmp_path / "scores.json")
    assert again == {"a": {"vectors": "v", **two}, "b": {"vectors": "v", **one}}
    assert again.have(job(("a", "b"), {"vectors": "v"}, None, ()))
    assert not again.have(job(("a",), {"vectors": "w"}, None, ()))
    assert not again.have(job(("a", "c"), {"vectors": "v"}, None, ()))
    with pytest.raises(ValueError, match="shorter"):
        scores.add(job(("c", "d"), {}, None, ()), [one])
    assert "c" not in scores


def test_several_processes_measure(quality):
    """Each has one thread, and its results are those of its job."""
    run, job = quality("run"), quality("scores").Job
    jobs = [(("en", "", None), job((name,), {}, _threads, (name,))) for name in "abc"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_measure", _measured_without_a_model)
        results = {one.keys: found for one, found in run._measured(jobs, 2)}
    assert results == {(name,): [{"score": f"{name} 1"}] for name in "abc"}


def test_a_failure_ends_the_other_process(quality):
    run, job = quality("run"), quality("scores").Job
    jobs = [
        (("en", "", None), job((name,), {}, measure, ()))
        for name, measure in (("a", _waits), ("b", _fails))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_measure", _measured_without_a_model)
        with pytest.raises(ValueError, match="it failed"):
            list(run._measured(jobs, 2))
    assert not multiprocessing.active_children()


def test_large_jobs_do_not_run_at_once(quality):
    run, job = quality("run"), quality("scores").Job
    small, large = (
        [("en", "", None), job((name,), {}, None, (), is_large)]
        for name, is_large in (("small", False), ("large", True))
    )
    assert run._next([large, small], {}) == large
    assert run._next([large, small], {1: small[1]}) == large
    assert run._next([large, small], {1: large[1]}) == small
    assert run._next([large], {1: large[1]}) is None


def _threads(model, name):
    return [{"score": f"{name} {os.environ['TF_NUM_INTRAOP_THREADS']}"}]


def _waits(model):
    time.sleep(600)


def _fails(model):
    raise ValueError("it failed")


def _measured_without_a_model(paths, job):
    return job.measure(None, *job.arguments)
