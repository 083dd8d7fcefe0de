"""What is done without TensorFlow is what the layers do."""

import numpy as np
import pytest

from keras_elmo.config import TOKENIZERS
from keras_elmo.text.character_ids import character_ids
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.tokenizer import Tokenizer

TEXTS = [
    "",
    "   ",
    "The U.S. bank isn't open -- it’s “closed”, O'Neil's can't, cannot; 5,300.25!",
    "See https://a.org/b_(c)?d=1. Mail me@b.co.uk, and/or 10:30 e.g. Ph.D. gonna",
    "은행에서 2024년에 KBS뉴스를 보았다. 漢字かなカナー한글",
    "naïve cafe\u0301 Привет, мир! שלום ελληνικά हिन्दी ไทย\u200bไทย",
    "👩\u200d🚀🇰🇷🇺🇸 👍🏽 a\u00a0b\u3000c\x00d\u2028e\u200f \ufeffx 1½ ①",
    b"bad \xff\xfe utf-8 \xe2\x82",
    "x\tY\x0bZ\x1cW\x85V",
]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_tokenizer(kind):
    """Every kind splits as the layer does."""
    found = PlainTokenizer(kind)(TEXTS)
    wanted = Tokenizer(kind).ragged(TEXTS).to_list()
    assert found == wanted


@pytest.mark.real_data
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_corpora(kind, data_folder):
    """Real text of two languages, too."""
    from itertools import islice

    from keras_elmo.text.lines import read_lines

    for name in ("wikitext2/valid.txt.xz", "kowiki/train-00-of-04.txt.xz"):
        lines = list(islice(read_lines([str(data_folder / name)]), 1000))
        wanted = Tokenizer(kind).ragged(lines).to_list()
        assert PlainTokenizer(kind)(lines) == wanted


def test_ids():
    """The ids of bytes are those of the layer."""
    sentences = [["a", "배" * 30, "x" * 48], [], ["b" * 60, "Á"]]
    tokens = np.full((3, 3), b"", object)
    for row, words in zip(tokens, sentences, strict=True):
        row[: len(words)] = [word.encode() for word in words]
    encoded = [[word.encode() for word in words] for words in sentences]
    np.testing.assert_array_equal(PlainIds()(encoded), character_ids(tokens))
