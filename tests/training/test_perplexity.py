import math

import numpy as np
import pytest

from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.perplexity import perplexity
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of
from tests.helpers.runs import SMALLER as CONFIG
from tests.helpers.small import published, randomise

pytestmark = pytest.mark.graph

LINES = ["the bank of the river", "the boat", "a strange song , the bank", "river"]
WORDS = ["the", "bank", "river", "of", "boat", "song"]


@pytest.fixture(scope="module")
def model():
    model = build_pretraining_model(CONFIG, 3 + len(WORDS), num_sampled=4)
    randomise(model, np.random.default_rng(0), scale=0.5)
    return model


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary(["<S>", "</S>", "<UNK>", *WORDS])


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(LINES), encoding="utf-8")
    return tmp_path / "text.txt"


@pytest.fixture
def of_words(model, vocabulary):
    """The model, with its vocabulary."""
    model.vocabulary = vocabulary
    yield model
    model.vocabulary = None


def by_hand(model, lines):
    """Sums of the nats of each direction, from the oracle, sentence by sentence."""
    options, weights = published(model.encoder)
    kernel, bias = map(numpy_of, (model.head.softmax.kernel, model.head.softmax.bias))
    sums, tokens = np.zeros(2), 0
    for line in lines:
        words = line.split()
        ids = [3 + WORDS.index(word) if word in WORDS else 2 for word in words]
        nats = numpy_reference.language_model_nll(
            numpy_reference.character_ids(words),
            np.array([0, *ids, 1]),
            options,
            weights,
            kernel,
            bias,
        )
        sums += [direction.sum() for direction in nats]
        tokens += len(words) + 1
    return sums, tokens


def test_equals_reference(model, vocabulary, text):
    # Several batches, with padding in them.
    corpus = Corpus(text, vocabulary, "whitespace", batch_tokens=16, max_tokens=9)
    found = perplexity(model, corpus)
    (forward, backward), tokens = by_hand(model, LINES)
    assert found["tokens"] == tokens == 18
    assert found["forward"] == pytest.approx(math.exp(forward / tokens), rel=1e-5)
    assert found["backward"] == pytest.approx(math.exp(backward / tokens), rel=1e-5)
    assert found["mean"] == pytest.approx(
        math.exp((forward + backward) / (2 * tokens)), rel=1e-5
    )
    # "a", "strange" and "," of fourteen words.
    assert found["unknown_rate"] == pytest.approx(3 / 14)
    assert found["forward"] != pytest.approx(found["backward"], rel=1e-3)


def test_independent_of_batches(model, vocabulary, text):
    corpora = [
        Corpus(text, vocabulary, "whitespace", batch_tokens=size, max_tokens=9, seed=7)
        for size in (9, 60)
    ]
    few, many = (perplexity(model, corpus) for corpus in corpora)
    assert few == pytest.approx(many, rel=1e-5)
    # The same numbers on the same text, whenever it is asked: nothing is sampled.
    assert perplexity(model, corpora[0]) == few
    ready = list(corpora[0].batches(shuffle=False))
    assert perplexity(model, ready) == few


def test_model_without_words(model, text):
    with pytest.raises(ValueError, match="for a model without a vocabulary"):
        perplexity(model, str(text))


def test_text_files(of_words, vocabulary, text):
    model, corpus = of_words, Corpus(text, vocabulary, "whitespace")
    wanted = perplexity(model, corpus)
    assert perplexity(model, str(text)) == wanted == perplexity(model, [text])
    # As an iterable, and split.
    assert perplexity(model, iter(LINES)) == wanted
    assert perplexity(model, [line.split() for line in LINES]) == wanted
    # Another tokenizer than the model's.
    text.write_text("the river's bank", encoding="utf-8")
    assert perplexity(model, text)["tokens"] == 4
    assert perplexity(model, text, tokenizer="published")["tokens"] == 5
    with pytest.raises(ValueError, match="`tokenizer` must be None for a corpus that"):
        perplexity(model, corpus, tokenizer="whitespace")


def test_other_vocabulary(of_words, vocabulary, text):
    """Its words have other ids."""
    other = Vocabulary([*vocabulary.words[:3], *reversed(WORDS)])
    with pytest.raises(ValueError, match="`corpus` must have the vocabulary of `mod"):
        perplexity(of_words, Corpus(text, other, "whitespace"))
    same = Corpus(text, Vocabulary(vocabulary.words), "whitespace")
    assert perplexity(of_words, same) == perplexity(of_words, text)


def test_empty_corpus(model):
    with pytest.raises(ValueError, match="`corpus` must hold a sentence"):
        perplexity(model, {}.values())


def test_diverged_model(model, monkeypatch):
    def exact_losses(self, batch):
        nothing = np.zeros(batch["token_ids"][:, 1:].shape)
        return {"forward": nothing + 1e4, "backward": nothing * math.nan}

    monkeypatch.setattr(type(model), "exact_losses", exact_losses)
    batch = {"char_ids": None, "token_ids": np.array([[0, 3, 4, 1]])}
    found = perplexity(model, [batch])
    assert found["forward"] == math.inf
    assert not found["backward"] < math.inf
    assert not found["mean"] < math.inf
