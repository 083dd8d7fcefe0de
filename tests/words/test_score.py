import numpy as np
import pytest

from keras_elmo import perplexity, score
from keras_elmo.text.vocabulary import UNKNOWN, Vocabulary
from keras_elmo.words.predictions import Predictions
from tests.helpers.words_by_hand import ALL_WORDS, SENTENCE, log_likelihoods

pytestmark = pytest.mark.graph

SENTENCES = [SENTENCE, ["배"], [], ["of", "the", "bank"] * 30]
# Of the unknown words' frequency, that of the rarest word, log-uniform by rank.
LOG_SHARE = np.log(np.log1p(1 / len(ALL_WORDS)) / np.log1p(1 / 3))


def test_against_reference(model):
    """Equals a computation by hand, whatever is scored beside a sentence."""
    found = list(score(model, SENTENCES, batch_size=2))
    assert [one.tokens for one in found] == SENTENCES
    for tokens, one in zip(SENTENCES, found, strict=True):
        ids = [0, *model.vocabulary.ids(tokens), 1]
        forward, backward = log_likelihoods(model, tokens, ids)
        shares = LOG_SHARE * (np.array(ids) == UNKNOWN)
        forward, backward = forward + shares[1:], backward + shares[:-1]
        # The end of the sentence is predicted forward, its start backward.
        np.testing.assert_allclose(one.token_forward, forward[:-1], atol=1e-4)
        np.testing.assert_allclose(one.token_backward, backward[1:], atol=1e-4)
        assert one.forward == pytest.approx(forward.sum(), rel=1e-4)
        assert one.backward == pytest.approx(backward.sum(), rel=1e-4)
    assert found[0].unknown == ["strange"]
    assert found[1].unknown == found[2].unknown == []


def test_tokenizer(model):
    """Texts are split as asked; one alone needs no list."""
    (own,) = score(model, "the boat's")
    (asked,) = score(model, ["the boat's"], tokenizer="published")
    assert own.tokens == ["the", "boat's"]
    assert asked.tokens == ["the", "boat", "'s"]


def test_both_sides(model):
    """The product of the directions, divided by the prior, over words and <UNK>."""
    tokens = ["the", "river", "of"]
    (found,) = score(model, [tokens])
    for place, token in enumerate(tokens):
        logs = []
        for token_id in range(2, len(ALL_WORDS)):
            ids = [0, *model.vocabulary.ids(tokens), 1]
            ids[place + 1] = token_id
            forward, backward = log_likelihoods(model, tokens, ids)
            prior = np.log(np.log1p(1 / (token_id + 1)))
            logs.append(forward[place] + backward[place + 1] - prior)
        (word_id,) = model.vocabulary.ids([token])
        expected = logs[word_id - 2] - np.log(np.exp(logs).sum())
        assert found.token_pseudo[place] == pytest.approx(expected, abs=1e-4)
    assert found.pseudo == pytest.approx(found.token_pseudo.sum(), abs=1e-4)


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        (None, LOG_SHARE),
        ([0, 0, 50, 9, 8, 8, 7, 6, 5], np.log(5 / 50)),
        # Of a text without unknown words, a share is no more than all of it.
        ([0, 0, 0, 9, 8, 8, 7, 6, 5], 0),
    ],
    ids=["by rank", "by counts", "none counted"],
)
def test_unknown_word(model, monkeypatch, counts, share):
    """It is a share of `<UNK>`: as frequent as the rarest word that is known."""
    sentence = ["the", "strange", "river"]
    monkeypatch.setattr(model, "vocabulary", Vocabulary(ALL_WORDS, counts))
    (found,) = score(model, [sentence])
    forward, backward = log_likelihoods(model, sentence, [0, 3, UNKNOWN, 5, 1])
    assert found.token_forward[1] == pytest.approx(forward[1] + share, abs=1e-4)
    assert found.token_backward[1] == pytest.approx(backward[2] + share, abs=1e-4)
    # Beside all other words, `<UNK>` is what it is without a share.
    places = np.array([2])
    predictions = Predictions(model)
    (states,) = predictions.states([sentence])
    (both,) = predictions.of_both(predictions.of_directions(states, places))
    assert found.token_pseudo[1] == pytest.approx(both[0] + share, abs=1e-4)


def test_perplexity(model, tmp_path):
    """Agrees with the perplexity of the text, which predicts `<UNK>`."""
    text = tmp_path / "text.txt"
    lines = [" ".join(tokens) for tokens in SENTENCES[:2]]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    measured = perplexity(model, text)
    found = list(score(model, lines))
    predictions = sum(len(one.tokens) + 1 for one in found)
    for direction in ("forward", "backward"):
        total = sum(getattr(one, direction) for one in found)
        total -= LOG_SHARE * sum(len(one.unknown) for one in found)
        expected = pytest.approx(measured[direction], rel=1e-4)
        assert np.exp(-total / predictions) == expected


def test_text_and_tokens(model):
    """Strings are split by the model's tokenizer, and stand beside lists of tokens."""
    mixed = [" ".join(SENTENCE), "", SENTENCE, "the  river"]
    found = list(score(model, iter(mixed)))
    tokens = [SENTENCE, [], SENTENCE, ["the", "river"]]
    assert [one.tokens for one in found] == tokens
    assert found[0].forward == pytest.approx(found[2].forward, rel=1e-5)
    assert found[1].pseudo == 0 and len(found[1].token_forward) == 0
    assert list(score(model, [])) == []
    for others in (np.array([" ".join(SENTENCE)]), [b"of the bank"]):
        assert next(score(model, others)).tokens[-1] in ("boat", "bank")


def test_small_blocks(model, monkeypatch):
    """However many probabilities are in memory."""
    expected = list(score(model, SENTENCES))
    module = "keras_elmo.words.score"
    monkeypatch.setattr(f"{module}._PROBABILITIES", 30)
    monkeypatch.setattr(f"{module}._POSITIONS", 9)
    for one, other in zip(score(model, SENTENCES), expected, strict=True):
        assert one.forward == pytest.approx(other.forward, rel=1e-5)
        np.testing.assert_allclose(one.token_pseudo, other.token_pseudo, atol=1e-5)


def test_invalid_arguments(model):
    """Before anything is computed."""
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        score(model, SENTENCES, batch_size=0)
    with pytest.raises(ValueError, match="tokens that are not empty"):
        list(score(model, [["", "the"]]))
