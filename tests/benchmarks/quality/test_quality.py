"""The whole benchmark on made-up data, and the pages it fills."""

import json

import pytest

import keras_elmo

pytestmark = pytest.mark.graph

PAGE = """# Results

<!-- table heads -->
old
<!-- end -->
Said by a person.
<!-- table layers -->
<!-- end -->
"""
CARD = """# A model

<!-- table heads ko -->
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
    arguments += ["--experiments", "heads", "layers", "--tasks", "sst2", "gsd-upos"]
    arguments += ["--vectors", "elmo"]
    arguments += ["--epochs", "1", "--scores", str(scores), *options]
    main = quality("run").main
    main(arguments)
    kept = json.loads(scores.read_text(encoding="utf-8"))
    assert all(0 <= score["score"] <= 100 for score in kept.values())
    tasks = {key for key in kept if key.startswith("task")}
    assert tasks == {
        "task, sst2, elmo, softmax, seed 0",
        *(f"task, gsd-upos, elmo, {head}, seed 0" for head in ("crf", "softmax")),
    }
    assert {key.split(",")[0] for key in kept.keys() - tasks} == {
        *("semcor", "semcor by means", "kobest wic", "kobest wic by places")
    }
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and "Said by a person." in text
    assert "| SST-2, sentiment | biLSTM, softmax |  |" in text
    assert str(tmp_path) not in text + scores.read_text(encoding="utf-8")
    text_of_card = card.read_text(encoding="utf-8")
    assert "| UD GSD, universal parts of speech (Korean) |" in text_of_card
    assert "| KoBEST, word in context (Korean), ELMo |" in text_of_card
    assert "SST" not in text_of_card and "SemCor" not in text_of_card
    figures = {path.name for path in (page.parent / "figures").iterdir()}
    assert figures == {f"perplexity-elmo-{language}.png" for language in ("en", "ko")}

    # Nothing is measured again, and the page stays the same.
    monkeypatch.setattr(quality("tasks"), "_measure", None)
    monkeypatch.setattr(quality("senses"), "read_senses", None)
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
    page, run = quality("page"), quality("tasks").Run
    cost = {"seconds": 60.0, "bytes": 1e6, "vectors": "v"}
    scores = {
        run("sst2", vectors, "softmax", seed).key: {"score": value, **cost}
        for vectors, values in (("static", (80, 82)), ("both", (88,)))
        for seed, value in enumerate(values)
    }
    (row,) = page.table("heads", "en", scores).splitlines()[2:]
    cells = "81.00 ± 1.41 |  | 88.00 | 60 | 1 |"
    assert row == f"| SST-2, sentiment | biLSTM, softmax | {cells}"
    # A mean has one kind of vectors.
    scores[run("sst2", "static", "softmax", 1).key]["vectors"] = "other"
    assert "| 80.00 |  |" in page.table("heads", "en", scores)


def test_two_may_measure_at_once(quality, tmp_path):
    """For example one language each."""
    one, other = (quality("scores").Scores(tmp_path / "scores.json") for _ in range(2))
    one["a"] = {"score": 1.0}
    other["b"] = {"score": 2.0}
    one["c"] = {"score": 3.0}
    again = quality("scores").Scores(tmp_path / "scores.json")
    assert [again[key]["score"] for key in "abc"] == [1.0, 2.0, 3.0]
    assert "d" not in again
