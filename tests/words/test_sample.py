"""The sample texts of the package."""

import pytest

import keras_elmo


@pytest.mark.parametrize(("language", "lines"), [("en", 1498), ("ko", 1070)])
def test_sample(language, lines):
    with open(keras_elmo.sample(language), encoding="utf-8") as file:
        assert sum(1 for line in file if line.strip()) == lines


@pytest.mark.parametrize("language", ["de", "../en", None])
def test_no_sample(language):
    with pytest.raises(ValueError, match="`language` must be one of en, ko. Received"):
        keras_elmo.sample(language)
