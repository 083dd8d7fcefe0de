"""A format of one file, made up: its file is found, and its tokenizer kept."""

import pytest

import keras_elmo
from keras_elmo.files.finding import FOREIGN_FORMATS, ForeignFormat
from keras_elmo.importing.foreign_model import ForeignModel
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.graph


@pytest.fixture
def made_up(monkeypatch):
    """A class of models, each in one file that ends in `.made_up`."""
    row = ForeignFormat("a made-up model", "*.made_up", "A file", "FILE")
    monkeypatch.setitem(FOREIGN_FORMATS, "made_up", row)

    class MadeUp(ForeignModel):
        key = "made_up"

        def encoder(self):
            encoder = random_encoder()
            encoder.tokenizer = "unicode"
            return encoder

    return MadeUp


def test_file(made_up, tmp_path):
    """It is named, or the only one in the folder that is named."""
    for name in ("one.made_up", "other.txt"):
        (tmp_path / name).touch()
    file = str(tmp_path / "one.made_up")
    assert made_up.matches(file) and made_up.matches(str(tmp_path))
    assert not made_up.matches(str(tmp_path / "other.txt"))
    assert made_up(tmp_path).file == made_up(file).file == file
    (tmp_path / "two.made_up").touch()
    with pytest.raises(ValueError, match="Received: one.made_up, two.made_up"):
        made_up(tmp_path).file  # noqa: B018


@pytest.mark.parametrize("tokenizer", [None, "published"])
def test_tokenizer(made_up, tmp_path, tokenizer):
    made_up(tmp_path).convert(tmp_path / "ours", tokenizer, None)
    assert keras_elmo.load(tmp_path / "ours").tokenizer == (tokenizer or "unicode")
