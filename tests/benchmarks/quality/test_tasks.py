"""`Tagger` and `TextClassifier` are measured once on each data set."""

import pytest

import keras_elmo

pytestmark = [pytest.mark.graph, pytest.mark.slow, pytest.mark.usefixtures("eagerly")]


@pytest.fixture
def measure(quality, data, encoder, tmp_path, monkeypatch):
    """Measures a task, and returns the names of the scores that were missing."""
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    monkeypatch.setattr(keras_elmo, "load", lambda source: encoder)
    static = tmp_path / "static.txt"
    static.write_text("bank 1 0\nriver 0 1\nflows 1 1\n", encoding="utf-8")
    scores = quality("scores").Scores(tmp_path / "scores.json")

    def measure(name, vectors, seeds=1, language="en", epochs=1):
        model = quality("measured_model").MeasuredModel(
            language, "model", measure.static
        )
        jobs = quality("tasks").jobs(model, [name], [vectors], seeds, epochs=epochs)
        missing = [job for job in jobs if not scores.have(job)]
        for job in missing:
            scores.add(job, job.measure(model, *job.arguments))
        return [key for job in missing for key in job.keys]

    measure.scores, measure.static = scores, static
    return measure


def test_a_kept_score_is_not_measured_again(measure):
    (key,) = measure("sst2", "static")
    assert key == "task, sst2, static, seed 0"
    first = measure.scores[key]
    # Another seed is missing.
    assert measure("sst2", "static", seeds=2) == ["task, sst2, static, seed 1"]
    assert measure("sst2", "static", seeds=2) == []
    assert measure.scores[key] == first
    # Other vectors are measured again.
    measure.static.write_text("bank 1 2\nflows 2 1\n", encoding="utf-8")
    assert measure("sst2", "static") == [key]
    measure.static = None
    assert measure("sst2", "static") == measure("sst2", "both") == []


def test_spans_are_scored_by_f1(measure):
    (key,) = measure("wnut17", "both", epochs=2)
    score = measure.scores[key]
    assert score["score"] == pytest.approx(100 * score["scores"]["f1"])
    assert score["scores"]["f1"] == pytest.approx(max(score["by_epoch"]), abs=1e-4)


@pytest.mark.parametrize(
    ("data_set", "vectors", "language"),
    [
        ("ewt", "elmo", "en"),
        ("gsd", "static", "ko"),
        ("sst2", "static", "en"),
        ("nsmc", "both", "ko"),
    ],
)
def test_every_form_of_data(measure, data_set, vectors, language):
    # A model measures the tasks of its language.
    other = "en" if language == "ko" else "ko"
    assert measure(data_set, vectors, language=other) == []
    (key,) = measure(data_set, vectors, language=language)
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

    assert first("ewt") == (["bank", "flows"], ["NOUN", "VERB"])
    assert first("wnut17") == (["the", "bank", "flows"], ["O", "B-location", "O"])
    assert first("sst5") == (["bank", "flows", "."], "0")
    # A line without a text is left out.
    assert first("nsmc") == ("bank,flows!", "0")
