import numpy as np
import pytest

from keras_elmo import substitutes
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of
from tests.helpers.pretrained import model_of, write_pretrained
from tests.helpers.runs import CONFIG
from tests.helpers.small import published, randomise

pytestmark = pytest.mark.graph

WORDS = ["the", "bank", "river", "of", "boat", "배"]
ALL_WORDS = ["<S>", "</S>", "<UNK>", *WORDS]
SENTENCE = ["the", "strange", "river", "of", "the", "boat"]


@pytest.fixture(scope="module")
def model():
    model = model_of(CONFIG, ALL_WORDS)
    randomise(model, np.random.default_rng(0), scale=0.5)
    model.encoder.tokenizer = "whitespace"
    return model


def by_hand(model, position):
    """What each direction says of each word, from the oracle, one word at a time."""
    options, weights = published(model.encoder)
    kernel, bias = map(numpy_of, (model.head.softmax.kernel, model.head.softmax.bias))
    said = []
    for word_id in range(3, 3 + len(WORDS)):
        token_ids = np.full(len(SENTENCE) + 2, 2)
        token_ids[position + 1] = word_id
        forward, backward = numpy_reference.language_model_nll(
            numpy_reference.character_ids(SENTENCE),
            token_ids,
            options,
            weights,
            kernel,
            bias,
        )
        said.append((np.exp(-forward[position]), np.exp(-backward[position + 1])))
    said = np.array(said)
    return said / said.sum(0)


@pytest.mark.parametrize("position", [0, 2, 5])
def test_against_reference(model, position):
    """Equals a computation by hand."""
    expected = by_hand(model, position)
    prior = np.log1p(1 / (1 + np.arange(3, 3 + len(WORDS))))
    both = expected.prod(1) / prior
    both /= both.sum()
    found = substitutes(model, SENTENCE, position, num=100)
    assert [each.word for each in found] == [WORDS[k] for k in np.argsort(-both)]
    for each in found:
        k = WORDS.index(each.word)
        assert each[1:] == pytest.approx((both[k], *expected[k]), rel=1e-4)
    assert substitutes(model, " ".join(SENTENCE), position, num=2) == found[:2]


def test_counts(model, monkeypatch):
    """A prior from counts, where the vocabulary has them."""
    counts = [0, 0, 50, 40, 0, 7, 30, 2, 1]
    monkeypatch.setattr(model.vocabulary, "counts", counts)
    expected = by_hand(model, 2)
    # A word that was never counted has no prior of 0.
    both = expected.prod(1) / np.maximum(counts[3:], 1)
    both /= both.sum()
    for each in substitutes(model, SENTENCE, 2):
        k = WORDS.index(each.word)
        assert each[1:] == pytest.approx((both[k], *expected[k]), rel=1e-4)


def test_by_word(model):
    """The token instead of its position, if the sentence has it once."""
    assert substitutes(model, SENTENCE, "river") == substitutes(model, SENTENCE, 2)
    text = " ".join(SENTENCE)
    assert substitutes(model, text, "river") == substitutes(model, SENTENCE, 2)
    with pytest.raises(ValueError, match="2 times: `position` must be 1 or 4"):
        substitutes(model, "a bank is a bank", "bank")
    with pytest.raises(ValueError, match="`position` must be a token .*='The'"):
        substitutes(model, SENTENCE, "The")


def test_left_out(model, monkeypatch):
    """Neither punctuation nor the token itself; the others keep their probability."""
    words = [*ALL_WORDS[:-2], "River", "--"]
    monkeypatch.setattr(model, "vocabulary", Vocabulary(words))
    found = substitutes(model, SENTENCE, 2)
    assert {each.word for each in found} == set(words[3:])
    wanted = [each for each in found if each.word not in ("--", "river", "River")]
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
    for each, wanted in zip(found, expected, strict=True):
        assert each.word == wanted.word
        assert each[1:] == pytest.approx(wanted[1:], rel=1e-5)


def test_pretraining_directory(model, tmp_path):
    """A pretraining directory."""
    write_pretrained(tmp_path / "run", CONFIG, ALL_WORDS)
    found = substitutes(tmp_path / "run", SENTENCE, 1)
    assert found == substitutes(model, SENTENCE, 1)


@pytest.mark.parametrize("position", [-1, 6])
def test_invalid_position(model, position):
    """A position beyond the sentence."""
    with pytest.raises(ValueError, match="`position` must be from 0 to 5: the"):
        substitutes(model, SENTENCE, position)


@pytest.mark.parametrize("sentence", ["", " ", []])
@pytest.mark.parametrize("position", [0, "bank"])
def test_empty_sentence(position, sentence, model):
    with pytest.raises(ValueError, match="`sentence` must hold a token, and is empty"):
        substitutes(model, sentence, position)


def test_empty_token(model):
    """An empty token is refused: it would be taken for padding."""
    with pytest.raises(ValueError, match="tokens that are not empty. Received: .*''"):
        substitutes(model, [*SENTENCE, ""], 6)


def test_encoder(model):
    """An encoder is no language model."""
    with pytest.raises(TypeError, match="Received: a Encoder, which has no softmax"):
        substitutes(model.encoder, SENTENCE, 0)


def test_invalid_num(model):
    """A number that is not positive."""
    with pytest.raises(ValueError, match="`num` must be at least 1. Received: num=-1"):
        substitutes(model, SENTENCE, 0, num=-1)


def test_no_vocabulary():
    """A model that knows no words."""
    model = build_pretraining_model(CONFIG, 9, num_sampled=4)
    with pytest.raises(ValueError, match="`model` must have a vocabulary"):
        substitutes(model, SENTENCE, 0)


def test_tokenizer(model):
    """A text is split as asked."""
    with pytest.raises(ValueError, match="must be a token of the sentence"):
        substitutes(model, "the boat's", "boat")
    assert substitutes(model, "the boat's", "boat", num=1, tokenizer="published")
