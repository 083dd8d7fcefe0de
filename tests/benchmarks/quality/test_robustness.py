"""Misspelt text, and the heads that read it."""

import json

import numpy as np
import pytest

import keras_elmo

pytestmark = pytest.mark.graph

SENTENCES = [["The", "banks", "of", "a", "river"], ["a", "b", "1,250", "Rivers"]] * 20


@pytest.fixture
def noise(quality):
    return quality("noise")


def changed(rows):
    return [
        (old, new)
        for before, after in zip(SENTENCES, rows, strict=True)
        for old, new in zip(before, after, strict=True)
        if old != new
    ]


@pytest.mark.parametrize("kind", ["typos", "OCR"])
def test_errors_are_small(noise, kind):
    pairs = changed(noise.Noise(kind, 0.5).applied(SENTENCES))
    assert 20 < len(pairs) < 60
    for old, new in pairs:
        # Short words and numbers stay, and a word keeps its length but for a letter.
        assert sum(map(str.isalpha, old)) > 2 and abs(len(old) - len(new)) < 2
        assert kind == "OCR" or old[0] == new[0]


def test_errors_at_a_low_rate_stay_at_a_higher_one(noise):
    few, many = (
        changed(noise.Noise("typos", r).applied(SENTENCES)) for r in (0.1, 0.4)
    )
    assert set(few) < set(many)
    again = changed(noise.Noise("typos", 0.4).applied(SENTENCES))
    assert again == many


def test_lower_case(noise):
    rows = noise.NOISES["lower case"].applied(SENTENCES)
    assert rows[0] == ["the", "banks", "of", "a", "river"]


def test_each_noise_has_its_score(quality, noise):
    robustness, tasks = quality("robustness"), quality("data_sets")
    sentences = [(["river"], "good"), (["bank"], "bad")]
    task = robustness.noised(tasks.Task.of(sentences, sentences))
    assert task.num_train == 2
    assert len(task.dev) == 2 * (1 + len(noise.NOISES))
    # Right in clean text alone.
    found = {k: task.labels[k] if k < 4 else np.int32(0) for k in task.dev.tolist()}
    scores = robustness.scores_by_noise(task, found)
    assert scores.pop("clean") == 100
    assert scores == dict.fromkeys(noise.NOISES, 50)


@pytest.mark.benchmark
def test_the_whole_benchmark(quality, data, encoder, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    heads, tasks = quality("head_models"), quality("data_sets")
    monkeypatch.setattr(heads, "LEAST_UPDATES", 1)
    for data_set in tasks.DATA_SETS.values():
        monkeypatch.setitem(data_set.__dict__, "training", tasks.Training(1))
    (tmp_path / "model").mkdir()
    keras_elmo.save_published_weights(
        encoder, tmp_path / "model/options.json", tmp_path / "model/weights.hdf5"
    )
    static, scores = tmp_path / "static.txt", tmp_path / "scores.json"
    static.write_text("bank 1 2 3\nriver 3 2 1\n", encoding="utf-8")
    arguments = ["--elmo", str(tmp_path / "model"), "--seeds", "1"]
    arguments += ["--static", str(static), "--known", str(static)]
    arguments += [
        "--tasks",
        "ewt",
        "--scores",
        str(scores),
        "--figure",
        str(tmp_path / "a.png"),
    ]
    main = quality("robustness").main
    main(arguments)
    printed = capsys.readouterr().out
    assert "| UD EWT, parts of speech | typos 10% |" in printed
    assert (tmp_path / "a.png").exists()
    measured = json.loads(scores.read_text(encoding="utf-8"))
    assert len(measured) == 4
    # What is there is not measured again.
    monkeypatch.setattr(heads, "train", None)
    main(arguments)
    assert capsys.readouterr().out == printed
