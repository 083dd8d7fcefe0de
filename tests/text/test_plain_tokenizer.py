"""The tokenizer in Python splits as the layers do."""

import time
from functools import partial
from itertools import islice

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_elmo.config import TOKENIZERS
from keras_elmo.text import rules
from keras_elmo.text.lines import read_lines
from keras_elmo.text.plain_tokenizer import PlainTokenizer, _compiled, _scripts
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
    assert PlainTokenizer(kind)(TEXTS) == Tokenizer(kind).ragged(TEXTS).to_list()


# What rules begin with, repeat, and end with; and what they do not take.
_UNITS = [*"%_.-@'’()a1é=*~^|/+,:;…–", "\u0301", "\u200d", "😀", "🇰", "배"]
_UNITS += ["a.", "A.", "a-", "a@", "a@a.", "a'", "1,", ":1", "www.", "www.(", "http://"]
_UNITS += ["n't ", "'s ", "%" * 64 + "@a-", "()", "(a", "Mr.", "can", "''"]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(_UNITS).flatmap(
    lambda unit: st.sampled_from([unit, unit * 3, unit * 70])
)).map("".join))  # fmt: skip
@example("%" * 64 + "@b.co")
@example("%" * 65 + "@b.co")
def test_random_marks(text):
    """Python's engine and TensorFlow's find the same, whatever the rules meet."""
    for kind in ("unicode", "published", "treebank"):
        assert [PlainTokenizer(kind)([text])] == [
            Tokenizer(kind).ragged([text]).to_list()
        ]


def _seconds(call):
    """The least CPU time of this thread, which other processes do not lengthen."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        call()
        times.append(time.thread_time() - began)
    return min(times)


_PATTERNS = {
    *(
        pattern
        for kind in ("published", "treebank")
        for pattern, _ in rules.english_rules(kind)
    ),
    *(rules.INVISIBLE, rules.SPACES, rules.OTHER_SPACES, rules.NUMBER_OR_MARK),
}


@pytest.mark.parametrize("unit", _UNITS)
def test_linear_time(unit):
    """No rule takes more than proportionally longer for a longer word.

    Eight times the characters take 8 times the time, or 64 times if a rule reads the
    rest of the word from each of them.
    """
    short, long = ((unit * count)[:count] for count in (1_000, 8_000))
    calls = [partial(_compiled(pattern).sub, r" \g<0> ") for pattern in _PATTERNS]
    calls.append(_scripts().findall)
    for call in calls:
        # A thousandth of a second is noise.
        limit = 24 * _seconds(partial(call, short)) + 1e-3
        assert _seconds(partial(call, long)) < limit, call


@pytest.mark.real_data
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_corpora(kind, data_folder):
    """Every kind splits real text in two languages as the layer does."""
    for name in ("wikitext2/valid.txt.xz", "kowiki/train-00-of-04.txt.xz"):
        lines = list(islice(read_lines([str(data_folder / name)]), 400))
        wanted = Tokenizer(kind).ragged(lines).to_list()
        assert PlainTokenizer(kind)(lines) == wanted
