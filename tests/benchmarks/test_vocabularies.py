"""Models of different vocabularies are compared by the same words."""

import json
import math

import pytest

import keras_elmo
from tests.files.pretrained import write_pretrained
from tests.training.runs import CONFIG


@pytest.fixture(scope="module")
def vocabularies(benchmark):
    return benchmark("vocabularies")


def test_unknown_words_have_shares(vocabularies):
    """The shares of the words that a vocabulary lacks add up to 1."""
    specials = ["<S>", "</S>", "<UNK>"]
    largest = keras_elmo.Vocabulary([*specials, *"abcd"], [0, 0, 2, 8, 4, 1, 1])
    small = keras_elmo.Vocabulary([*specials, *"ab"], [0, 0, 4, 8, 4])
    # c and d, and the rest as one word: shares of 1/4, 1/4 and 1/2.
    for words, bits in {"a": 0, "c": 2, "d": 2, "x": 1, "accx": 5}.items():
        text = keras_elmo.Vocabulary.from_counts(
            {word.encode(): words.count(word) for word in words}
        )
        found = vocabularies.bits_of_unknown_words(text, small, largest)
        assert found == pytest.approx(bits)
        if not set(words) & {"x"}:
            found = vocabularies.bits_of_unknown_words(text, largest, largest)
            assert found == 0
    # A word that no training text had, beside c and d, which were met once each.
    largest.counts = [0, 0, 0, 8, 4, 1, 1]
    text = keras_elmo.Vocabulary.from_counts({b"x": 1})
    found = vocabularies.bits_of_unknown_words(text, small, largest)
    assert found == pytest.approx(math.log2(3))


def test_models(vocabularies, tmp_path, capsys):
    """A word that a model lacks costs `<UNK>` and its share of it."""
    text = tmp_path / "text.txt"
    text.write_text("the boat\nthe boat the river\n", encoding="utf-8")
    words = ["<S>", "</S>", "<UNK>", "the", "boat", "river"]
    counted = keras_elmo.Vocabulary(words, [0, 0, 2, 5, 3, 2])
    for name, size in ("all", 6), ("two", 5):
        files = write_pretrained(tmp_path / name, CONFIG, words[:size])
        if name == "all":
            counted.save(files.vocabulary)
    out = tmp_path / "result.json"
    models = [str(tmp_path / name) for name in ("two", "all")]
    vocabularies.main(["--models", *models, "--text", str(text), "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    for run, model, more_bits in zip(result["runs"], models, [1, 0], strict=True):
        measured = keras_elmo.perplexity(model, text)
        # Six words and two ends; "river" is half of what the smaller one lacks.
        bits = 8 * math.log2(measured["mean"]) + more_bits
        assert run["bits_per_character"] == pytest.approx(bits / 26)
        assert run["unknown_rate"] == pytest.approx(more_bits / 6)
    assert [run["words"] for run in result["runs"]] == [5, 6]
    assert "| 5 | 16.7 |" in capsys.readouterr().out


def test_vocabularies_that_do_not_compare(vocabularies, tmp_path):
    """The words of one must be a part of the other's."""
    specials = ["<S>", "</S>", "<UNK>"]
    for name, words in ("large", ["the", "boat"]), ("other", ["river"]):
        write_pretrained(tmp_path / name, CONFIG, [*specials, *words])
    models = [str(tmp_path / name) for name in ("large", "other")]
    with pytest.raises(SystemExit, match="words that the largest lacks"):
        vocabularies.main(["--models", *models, "--text", "missing.txt"])
    with pytest.raises(SystemExit, match="no counts"):
        vocabularies.main(["--models", models[0], "--text", "missing.txt"])
