"""The whole benchmark on made-up data, and the page it fills."""

import json

import numpy as np
import pytest

import keras_elmo

pytestmark = pytest.mark.graph

PAGE = """# Results

<!-- table main -->
old
<!-- end -->
Said by a person.
<!-- table layers -->
<!-- end -->
"""


CARD = """# A model

<!-- table main ko -->
<!-- end -->
<!-- table layers ko -->
<!-- end -->
"""


@pytest.fixture
def card(tmp_path):
    path = tmp_path / "card.md"
    path.write_text(CARD, encoding="utf-8")
    return path


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "docs" / "results.md"
    path.parent.mkdir()
    path.write_text(PAGE, encoding="utf-8")
    return path


@pytest.mark.benchmark
@pytest.mark.usefixtures("eagerly")
def test_the_whole_benchmark(quality, data, encoder, page, card, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("nervaluate")
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    heads, tasks = quality("head_models"), quality("data_sets")
    monkeypatch.setattr(heads, "LEAST_UPDATES", 1)
    for data_set in tasks.DATA_SETS.values():
        monkeypatch.setitem(data_set.__dict__, "training", tasks.Training(1))
    model = tmp_path / "model"
    model.mkdir()
    keras_elmo.save_published_weights(
        encoder, model / "options.json", model / "weights.hdf5"
    )
    static = {each: tmp_path / f"static-{each}.txt" for each in ("en", "ko")}
    for file in static.values():
        file.write_text("bank 1 2 3\nriver 3 2 1\n배 1 1 1\n", encoding="utf-8")
    scores = tmp_path / "scores.json"
    arguments = ["--elmo", f"en={model}", f"ko={model}"]
    arguments += ["--static", *(f"{k}={v}" for k, v in static.items()), "--seeds", "1"]
    arguments += ["--scores", str(scores), "--page", str(page), "--cards", str(card)]
    arguments += ["--experiments", "main", "layers", "--tasks", "wnut17", "gsd"]
    arguments += ["--words", "elmo", "static+elmo"]
    main = quality("run").main
    main(arguments)
    found = json.loads(scores.read_text(encoding="utf-8"))
    assert all(0 <= each["score"] <= 100 for each in found.values())
    tasks_found = {key.split(",")[0] for key in found}
    probes = {"semcor", "semcor by means", "kobest wic", "kobest wic by places"}
    assert tasks_found == {"wnut17", "gsd", *probes}
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and "Said by a person." in text
    assert "| SST-2, sentiment |" in text
    assert str(tmp_path) not in text + scores.read_text(encoding="utf-8")
    text_of_card = card.read_text(encoding="utf-8")
    assert "| UD GSD, parts of speech (Korean) |" in text_of_card
    assert "| KoBEST, word in context (Korean), ELMo |" in text_of_card
    for english in ("EWT", "SST", "SemCor"):
        assert english not in text_of_card
    figures = {path.name for path in (page.parent / "figures").iterdir()}
    names = {"layers", "mix-weights", "perplexity-elmo-en", "perplexity-elmo-ko"}
    assert figures == {f"{name}.png" for name in names}

    # What is there is not measured again, and the page stays the same.
    train = heads.train
    monkeypatch.setattr(heads, "train", None)
    main(arguments)
    assert page.read_text(encoding="utf-8") == text
    assert json.loads(scores.read_text(encoding="utf-8")) == found

    # Of other vectors under the same name, all is; of the others, and in the other
    # language, nothing.
    measured = []

    def counted(*arguments):
        measured.append(arguments)
        return train(*arguments)

    monkeypatch.setattr(heads, "train", counted)
    static["en"].write_text("bank 1 2 2\nriver 3 2 1\n배 1 1 1\n", encoding="utf-8")
    main(arguments)
    again = json.loads(scores.read_text(encoding="utf-8"))
    assert again.keys() == found.keys()
    changed = {key for key in found if again[key]["vectors"] != found[key]["vectors"]}
    assert changed == {k for k in found if k.startswith("wnut17") and "static" in k}
    assert len(measured) == len(changed) > 0


def test_a_page_without_scores_has_empty_tables(quality, page, card, tmp_path):
    pytest.importorskip("matplotlib")
    scores = quality("scores").Scores(tmp_path / "scores.json")
    arguments = ["--scores", str(tmp_path / "scores.json"), "--page", str(page)]
    arguments += ["--cards", str(card)]
    quality("run").main(arguments)
    text = page.read_text(encoding="utf-8")
    assert "|" not in text and "Not measured yet." in text
    scores["nsmc, random, bilstm 0, all, seed 0"] = {"score": 81.0}
    quality("run").main([*arguments, "--seeds", "1"])
    text = page.read_text(encoding="utf-8")
    (row,) = [
        line for line in text.splitlines() if line.startswith("| NSMC, sentiment")
    ]
    assert sorted(set(row.split("|")[2:-1])) == ["  ", " 81.00 "]


def test_layers_have_columns(quality, tmp_path):
    scores = quality("scores").Scores(tmp_path / "scores.json")
    for layer in range(3):
        scores[f"semcor, elmo:{layer}"] = {"score": 60.0 + layer}
    run = quality("experiments").Run
    for words in ("elmo:0", "elmo:1", "elmo:2", "elmo"):
        key = run("ewt", words, head="linear").key(0)
        scores[key] = {"score": 90.0}
    page = quality("page")
    table = page._table("layers", "en", page.Found(scores, 1), ())
    header, _, *rows = table.splitlines()
    assert header.endswith("| Layer 2 | Mix |")
    assert rows[0].endswith("| 90.00 | 90.00 | 90.00 | 90.00 |")
    assert rows[1].endswith("ELMo | 60.00 | 61.00 | 62.00 |  |")
    assert len(rows) == 2


def test_two_may_measure_at_once(quality, tmp_path):
    """One language each, say."""
    one, other = (quality("scores").Scores(tmp_path / "scores.json") for _ in range(2))
    one["a"] = {"score": 1.0}
    other["b"] = {"score": 2.0}
    one["c"] = {"score": 3.0}
    again = quality("scores").Scores(tmp_path / "scores.json")
    assert [again[key]["score"] for key in "abc"] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("name", "kind"), [("main", "bilstm"), ("linear", "linear")])
def test_a_cell_is_a_mean_and_a_deviation(quality, tmp_path, name, kind):
    experiments, page = quality("experiments"), quality("page")
    scores = quality("scores").Scores(tmp_path / "scores.json")
    for words, values in (
        ("static", (80, 82)),
        ("elmo", (85, 87)),
        ("static+elmo", (88, 88)),
    ):
        run = experiments.Run("sst2", words, head=kind)
        for seed, value in enumerate(values):
            scores[run.key(seed)] = {"score": value}
    found = page.Found(scores, 2)
    table = page._table(name, "en", found, experiments.COMPARED)
    row = next(line for line in table.splitlines() if "SST-2" in line)
    # Of 19 % errors, 14 and 12 % are left.
    assert row == (
        "| SST-2, sentiment |  | 81.00 ± 1.41 | 86.00 ± 1.41 | 88.00 ± 0.00 "
        "| 26 % | 37 % |"
    )
    assert "Korean" not in table
    assert not page.Found(scores, 3).all(run)
    # A mean is of one model's vectors.
    scores[run.key(1)] = {"score": 88, "vectors": "another"}
    assert not page.Found(scores, 2).all(run)
    assert page.Found(scores, 1).all(run) == [88]


def test_a_cell_of_other_vectors_is_marked(quality, tmp_path):
    """A dagger marks what a former model had; static vectors are not compared."""
    experiments, page = quality("experiments"), quality("page")
    scores = quality("scores").Scores(tmp_path / "scores.json")
    for run, vectors in (
        (experiments.Run("ewt", "elmo", head="linear"), "e2"),
        (experiments.Run("ewt", "static", head="linear"), "s2"),
        (experiments.Run("ewt", "static"), "s1"),
        (experiments.Run("ewt", "elmo"), "e1"),
        (experiments.Run("ewt", "static+elmo"), "s1+e2"),
        (experiments.Run("ewt", "random"), "r"),
    ):
        scores[run.key(0)] = {"score": 90.0, "vectors": vectors}
    found = page.Found(scores, 1)
    table = page._table("main", "en", found, experiments.COMPARED)
    assert "| 90.00 | 90.00 | 90.00 † | 90.00 |" in table
    assert table.splitlines()[-1].startswith("† Measured with an earlier model")
    table = page._table("main", "en", found, ("static", "static+elmo"))
    assert "†" not in table


def test_spans_count_as_a_whole(quality, data):
    pytest.importorskip("nervaluate")
    task = quality("data_sets").DATA_SETS["wnut17"].read(data, "unicode")
    score = quality("scores").score
    right = {place: task.labels[place] for place in task.dev.tolist()}
    assert score(task, right) == 100
    nothing = task.classes.index("O")
    missed = {place: np.full(3, nothing) for place in right}
    assert score(task, missed) == 0
    half = {**right, **{place: missed[place] for place in list(right)[:3]}}
    # All of the six found are right, of nine.
    assert score(task, half) == pytest.approx(100 * 2 * 6 / (6 + 9))


def test_a_span_needs_both_ends_and_its_type(quality):
    pytest.importorskip("nervaluate")
    classes = ["B-group", "B-person", "I-group", "I-person", "O"]
    right = ["B-person", "I-person", "O", "B-group"]
    task = quality("data_sets").Task(
        sentences=[["Ada", "Lovelace", "of", "Acme"]],
        labels=[np.array([classes.index(name) for name in right])],
        classes=classes,
        num_train=0,
    )

    def f1(*names):
        found = np.array([classes.index(name) for name in names])
        return quality("scores").score(task, {0: found})

    assert f1(*right) == 100
    for wrong in (
        ["B-person", "O", "O", "B-group"],
        ["B-person", "I-person", "I-person", "B-group"],
        ["B-group", "I-group", "O", "B-group"],
    ):
        # One of two that are found is right, of two.
        assert f1(*wrong) == pytest.approx(50)


def test_scores_are_kept_at_once(quality, tmp_path):
    path = tmp_path / "scores.json"
    scores = quality("scores").Scores(path)
    scores["b"] = {"score": 1.0}
    scores["a"] = {"score": 2.0}
    again = quality("scores").Scores(path)
    assert "a" in again and "c" not in again
    assert again["b"] == {"score": 1.0}
