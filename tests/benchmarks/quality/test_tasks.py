"""`Tagger` and `TextClassifier` are measured once on each data set."""

import pytest

import keras_elmo

pytestmark = [pytest.mark.graph, pytest.mark.slow, pytest.mark.usefixtures("eagerly")]


@pytest.fixture
def measure(quality, data, encoder, tmp_path, monkeypatch):
    """Measures runs, and returns the names of those that were missing."""
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    monkeypatch.setattr(keras_elmo, "load", lambda source: encoder)
    static = tmp_path / "static.txt"
    static.write_text("bank 1 0\nriver 0 1\nflows 1 1\n", encoding="utf-8")
    scores = quality("scores").Scores(tmp_path / "scores.json")

    def measure(*runs, language="en", epochs=1):
        model = quality("measured_model").MeasuredModel(
            language, "model", measure.static
        )
        lines = []
        runs = [quality("tasks").Run(*run) for run in runs]
        quality("tasks").measure(runs, model, scores, lines.append, epochs=epochs)
        return [line.partition(":")[0] for line in lines]

    measure.scores, measure.static = scores, static
    return measure


def test_a_kept_run_is_not_repeated(measure):
    run = "sst2", "static", "softmax", 0
    (key,) = measure(run)
    first = measure.scores[key]
    assert measure(run) == []
    assert measure.scores[key] == first
    # Another seed is another run, and other vectors are measured again.
    measure.static.write_text("bank 1 2\nflows 2 1\n", encoding="utf-8")
    other = "task, sst2, static, softmax, seed 1"
    assert measure(run, ("sst2", "static", "softmax", 1)) == [key, other]
    measure.static = None
    assert measure(("sst2", "static", "softmax", 2)) == []


def test_spans_are_scored_by_f1(measure):
    (key,) = measure(("wnut17", "both", "crf", 0), epochs=2)
    score = measure.scores[key]
    assert score["score"] == pytest.approx(100 * score["scores"]["f1"])
    assert score["scores"]["f1"] == pytest.approx(max(score["by_epoch"]), abs=1e-4)


@pytest.mark.parametrize(
    ("data_set", "vectors", "language"),
    [
        ("ewt-upos", "elmo", "en"),
        ("gsd-upos", "static", "ko"),
        ("sst2", "static", "en"),
        ("nsmc", "both", "ko"),
    ],
)
def test_every_form_of_data(measure, data_set, vectors, language):
    run = data_set, vectors, "softmax", 0
    # A model measures the tasks of its language.
    assert measure(run, language="en" if language == "ko" else "ko") == []
    (key,) = measure(run, language=language)
    score = measure.scores[key]
    assert 0 <= score["score"] <= 100 and len(score["by_epoch"]) == 1
    assert score["bytes"] > 0


def test_data_are_read_as_they_are_meant(quality, data, monkeypatch):
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))

    def first(name):
        data_set = quality("task_data").DATA_SETS[name]
        train, dev = map(data_set.rows, data_set.paths())
        assert (len(train[0]), len(dev[0])) == (40, 9)
        return train[0][0], train[1][0]

    assert first("ewt-upos") == (["bank", "flows"], ["NOUN", "VERB"])
    assert first("wnut17") == (["the", "bank", "flows"], ["O", "B-location", "O"])
    assert first("sst5") == (["bank", "flows", "."], "0")
    # A line without a text is left out.
    assert first("nsmc") == ("bank,flows!", "0")
