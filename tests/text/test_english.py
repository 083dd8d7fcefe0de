"""English as the published models had it, and as the treebanks have it."""

import functools
import lzma
import re

import keras
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.tokenizer import Tokenizer
from tests.helpers.installed import import_installed

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has strings"
)

KINDS = ("published", "treebank")
# What is never cut, in any kind but "whitespace".
CLUSTERS = (
    "👩‍👩‍👧",
    "👍🏽",
    "🇰🇷",
    "❤️‍🔥",
    "🏴\U000e0067\U000e0062\U000e007f",
    "1️⃣",
    "☕",
)
WHOLE = (
    "https://en.wikipedia.org/wiki/Bank_(river)",
    "http://example.com/a--b?c=d,e&f=1#g",
    "www.example.co.uk",
    "jo.smith+elmo@mail.example.org",
    "5,300.50",
    "3.14",
    "U.S.A.",
    "Ph.D.",
    "a.m.",
    "Mr.",
    "J.",
    "ever-changing",
    "naïve",
    "1990s",
    "river",
    "...",
)


tokenizer = functools.cache(Tokenizer)


def cut(kind, text):
    (tokens,) = tokenizer(kind).ragged([text]).to_list()
    return " ".join(token.decode() for token in tokens)


@pytest.mark.parametrize(
    ("text", "published", "treebank"),
    [
        ("I don't, can't.", "I don 't , can 't .", "I do n't , ca n't ."),
        ("It's Bob's; we'd've", "It 's Bob 's ; we 'd 've", None),
        ("“Don’t” DON'T", "\" Don 't \" DON 'T", "\" Do n't \" DO N'T"),
        ("cannot gonna", "cannot gonna", "can not gon na"),
        ("O'Brien, o'clock", "O 'Brien , o 'clock", "O'Brien , o'clock"),
        (
            "the dogs' 1990's 'a'",
            "the dogs ' 1990 's ' a '",
            "the dogs ' 1990 's ' a '",
        ),
        ("He left the U.S.A. again.", "He left the U.S.A. again .", None),
        ("Mr. J. Smith, Ph.D., paid.", "Mr. J. Smith , Ph.D. , paid .", None),
        ("$5,300.50 (5%) -5 .5", "$ 5,300.50 ( 5 % ) -5 .5", None),
        ("and/or at 10:30", "and / or at 10 : 30", "and/or at 10:30"),
        ("Sept. 11, etc.", "Sept . 11 , etc .", "Sept. 11 , etc."),
        ("one—two -- three…", "one -- two -- three ...", None),
        ("a U.S.-based, ever-changing", "a U.S.-based , ever-changing", None),
        ("(See www.a.com/b--c.)", "( See www.a.com/b--c . )", None),
        ("Mail a.b@c.de!", "Mail a.b@c.de !", None),
        ("AT&T #1 ==", "AT & T # 1 = =", "AT & T # 1 =="),
        ("hi👍🏽🇰🇷🇺🇸!", "hi 👍🏽 🇰🇷 🇺🇸 !", None),
        # What is cut already stays so.
        ("I do n't , it 's .", "I do n 't , it 's .", "I do n't , it 's ."),
        ("배를 don't", "배를 don 't", "배를 do n't"),
    ],
)
def test_rules(text, published, treebank):
    assert cut("published", text) == published
    assert cut("treebank", text) == (treebank or published)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "(", '"', "$", "“"]),
            st.sampled_from(WHOLE + CLUSTERS),
            st.sampled_from(["", ",", ";", "?", ")", '",', "!", "”"]),
        )
    )
)
def test_stays_whole(parts):
    """Addresses, numbers, abbreviations and emoji, whatever mark is beside them."""
    text = " ".join("".join(part) for part in parts)
    for kind in KINDS:
        assert re.findall(r"\S{2,}", cut(kind, text)) == [
            word for _, word, _ in parts if len(word) > 1
        ]


_PIECES = st.sampled_from([*"aB1é배.,'\"-/:@%&n\t \u200b\ufeff“’…–", *CLUSTERS])


@given(st.lists(_PIECES).map("".join))
def test_characters_stay(text):
    """Tokens are the normalized text without its spaces, cut into no empty token."""
    changed = text.translate(dict.fromkeys(map(ord, "\u200b\ufeff\t ")))
    for old, new in [("’", "'"), ("“", '"'), ("–", "--"), ("…", "...")]:
        text, changed = text.replace(old, new), changed.replace(old, new)
    for kind in KINDS:
        # Two apostrophes within a word become one quotation mark.
        joined = cut(kind, text).replace(" ", "")
        assert joined.replace('"', "''") == changed.replace('"', "''")
        # A second time, or in a pipeline with other text, nothing else is cut.
        pair = tokenizer(kind).ragged([text, "a"]).to_list()
        assert " ".join(token.decode() for token in pair[0]) == cut(kind, text)


@given(st.lists(st.sampled_from([*CLUSTERS, "a", "é", "한글", " ", "क्षि", ",", "7"])))
def test_grapheme_clusters(parts):
    """No kind cuts within a grapheme cluster."""
    regex = import_installed("regex")
    text = "".join(parts)
    for kind in ("unicode", *KINDS):
        tokens = cut(kind, text).split()
        clusters = regex.findall(r"\X", text.replace(" ", ""))
        ends = {0}
        for cluster in clusters:
            ends.add(max(ends) + len(cluster))
        place = 0
        for token in tokens:
            place += len(token)
            assert place in ends, (kind, token, text)


@pytest.mark.real_data
def test_equals_nltk(data_folder):
    """Sentences of the web are cut as NLTK's treebank tokenizer cuts them.

    Exceptions are addresses, abbreviations, emoticons, and points within a line.
    """
    nltk = import_installed("nltk.tokenize")
    path = data_folder / "ud_en_ewt" / "dev.conllu.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        texts = [line[9:-1] for line in file if line.startswith("# text = ")]
    # NLTK's tokenizer knows ASCII's quotes only.
    texts = [text.translate({8217: "'", 8220: '"', 8221: '"'}) for text in texts]
    tokenize = nltk.TreebankWordTokenizer().tokenize
    wanted = [re.sub("``|''", '"', " ".join(tokenize(text))) for text in texts]
    tokens = tokenizer("treebank").ragged(texts).to_list()
    same = sum(map(str.__eq__, (b" ".join(row).decode() for row in tokens), wanted))
    assert len(texts) > 1000
    assert same > 0.9 * len(texts)
