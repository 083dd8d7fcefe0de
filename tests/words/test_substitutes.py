import numpy as np
import pytest

from keras_elmo import substitutes
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.runs import CONFIG
from tests.helpers.words_by_hand import ALL_WORDS, SENTENCE, WORDS, log_likelihoods

pytestmark = pytest.mark.graph


def directions_by_hand(model, position):
    """What each direction says of each word, from the oracle, one word at a time."""
    said = []
    for word_id in range(3, 3 + len(WORDS)):
        token_ids = np.full(len(SENTENCE) + 2, 2)
        token_ids[position + 1] = word_id
        forward, backward = log_likelihoods(model, SENTENCE, token_ids)
        said.append((np.exp(forward[position]), np.exp(backward[position + 1])))
    said = np.array(said)
    return said / said.sum(0)


def assert_equal(found, expected, prior):
    """Equals what both directions say, by the prior."""
    both = expected.prod(1) / prior
    both /= both.sum()
    assert [one.word for one in found] == [WORDS[k] for k in np.argsort(-both)]
    for one in found:
        k = WORDS.index(one.word)
        assert one[1:] == pytest.approx((both[k], *expected[k]), rel=1e-4)


@pytest.mark.parametrize("position", [0, 2, 5])
def test_against_reference(model, position):
    """Equals a computation by hand."""
    prior = np.log1p(1 / (1 + np.arange(3, 3 + len(WORDS))))
    found = substitutes(model, SENTENCE, position, num=100)
    assert_equal(found, directions_by_hand(model, position), prior)
    assert substitutes(model, " ".join(SENTENCE), position, num=2) == found[:2]


def test_counts(model, monkeypatch):
    """A prior from counts, where the vocabulary has them."""
    counts = [0, 0, 50, 40, 0, 7, 30, 2, 1]
    monkeypatch.setattr(model.vocabulary, "counts", counts)
    # A word that was never counted has no prior of 0.
    prior = np.maximum(counts[3:], 1)
    found = substitutes(model, SENTENCE, 2)
    assert_equal(found, directions_by_hand(model, 2), prior)


def test_by_word(model):
    """The token instead of its position, if the sentence has it once."""
    for sentence in (SENTENCE, " ".join(SENTENCE)):
        found = substitutes(model, sentence, "river")
        assert found == substitutes(model, SENTENCE, 2)
    # A text is split as asked.
    assert substitutes(model, "the boat's", "boat", num=1, tokenizer="published")


def test_left_out(model, monkeypatch):
    """Neither punctuation nor the token itself; the others keep their probability."""
    words = [*ALL_WORDS[:-2], "River", "--"]
    monkeypatch.setattr(model, "vocabulary", Vocabulary(words))
    found = substitutes(model, SENTENCE, 2)
    assert {one.word for one in found} == set(words[3:])
    wanted = [one for one in found if one.word not in ("--", "river", "River")]
    kept = substitutes(model, SENTENCE, 2, skip_punctuation=True, skip_word=True)
    assert kept == wanted
    assert substitutes(model, SENTENCE, 2, num=1, skip_word=True)[0] in found[:3]


def test_token_is_not_seen(model):
    """The token at the position has no influence.

    But on the last bits of the words that are computed beside it, on some processors.
    """
    other = [*SENTENCE]
    other[2] = "xylophone"
    found, expected = substitutes(model, other, 2), substitutes(model, SENTENCE, 2)
    for one, wanted in zip(found, expected, strict=True):
        assert one.word == wanted.word
        assert one[1:] == pytest.approx(wanted[1:], rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": -1}, "`position` must be from 0 to 5: the sentence has 6 tokens"),
        ({"position": 6}, "`position` must be from 0 to 5: the"),
        ({"position": "The"}, "`position` must be a token .*='The'"),
        (
            {"sentence": "a bank is a bank", "position": "bank"},
            "2 times: `position` must be 1 or 4",
        ),
        ({"sentence": "the boat's", "position": "boat"}, "be a token of the sentence"),
        ({"sentence": ""}, "`sentence` must hold a token, and is empty"),
        ({"sentence": " ", "position": "a"}, "`sentence` must hold a token, and is"),
        ({"sentence": []}, "`sentence` must hold a token, and is empty"),
        # It would be taken for padding.
        ({"sentence": [*SENTENCE, ""]}, "tokens that are not empty. Received: .*''"),
        ({"num": -1}, "`num` must be at least 1. Received: num=-1"),
    ],
)
def test_refused(model, changes, message):
    with pytest.raises(ValueError, match=message):
        substitutes(model, **{"sentence": SENTENCE, "position": 0, **changes})


def test_refused_models(model):
    """An encoder is no language model; another one knows no words."""
    with pytest.raises(TypeError, match="Received: a Encoder, which has no softmax"):
        substitutes(model.encoder, SENTENCE, 0)
    with pytest.raises(ValueError, match="`model` must have a vocabulary"):
        substitutes(build_pretraining_model(CONFIG, 9, num_sampled=4), SENTENCE, 0)
