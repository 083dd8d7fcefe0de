import weakref

import numpy as np
import pytest

import keras_elmo
from keras_elmo.embedding import embedder as embeddings
from keras_elmo.text.vector_file import read_vector_file
from keras_elmo.words import distill as distilling

pytestmark = pytest.mark.graph

SENTENCES = [
    ["the", "bank", "of", "the", "river"],
    [],
    ["the", "bank", "lends"],
    ["배", "of", "the", "bank"],
    ["배"],
]
# Equally frequent words stand as they come in the text.
FREQUENT = ["the", "bank", "of", "배"]


def means(model, word, layer=None):
    """The mean of a word's vectors, by `embed`."""
    if layer is None:
        vectors = keras_elmo.embed(model, SENTENCES, layers="mix")
    else:
        vectors = (layers[layer] for layers in keras_elmo.embed(model, SENTENCES))
    rows = [
        vector
        for tokens, of_tokens in zip(SENTENCES, vectors, strict=True)
        for token, vector in zip(tokens, of_tokens, strict=True)
        if token == word
    ]
    return np.mean(rows, axis=0, dtype="float64")


@pytest.mark.parametrize("layer", [None, 0, 2, -1])
def test_means_of_a_list(encoder, layer, tmp_path):
    out = tmp_path / "vectors.txt"
    assert keras_elmo.distill(encoder, SENTENCES, out, layer, min_count=2) == 4
    words, vectors = read_vector_file(out)
    assert words == FREQUENT
    expected = [means(encoder, word, layer) for word in words]
    np.testing.assert_allclose(vectors, expected, rtol=1e-5, atol=1e-6)


def test_mixes(encoder, tmp_path):
    """A trained mix is used; one that is no sum is refused."""
    out = tmp_path / "vectors.txt"
    model = keras_elmo.ElmoEmbedding(encoder)
    model.mixes[0].gamma.assign(3.0)
    model.mixes[0].scalars.assign([0.0, 1.0, -1.0])
    keras_elmo.distill(model, SENTENCES, out, min_count=2)
    expected = [means(model, word) for word in FREQUENT]
    np.testing.assert_allclose(read_vector_file(out)[1], expected, rtol=1e-5, atol=1e-6)
    model = keras_elmo.ElmoEmbedding(encoder, layer_norm=True)
    with pytest.raises(ValueError, match="`layer` must be a number for this model"):
        keras_elmo.distill(model, SENTENCES, out, min_count=1)
    keras_elmo.distill(model, SENTENCES, out, layer=1, min_count=1)


def test_means_of_files(encoder, tmp_path):
    """As the tokenizer splits their lines, and the same bytes each time."""
    text, out = tmp_path / "text.txt", tmp_path / "vectors.txt"
    lines = "".join(" ".join(tokens) + "\n" for tokens in SENTENCES)
    text.write_text(lines, encoding="utf-8")
    arguments = {"min_count": 1, "tokenizer": "whitespace"}
    assert keras_elmo.distill(encoder, text, out, **arguments) == 6
    words, vectors = read_vector_file(out)
    assert words == [*FREQUENT, "river", "lends"]
    expected = [means(encoder, word) for word in words]
    np.testing.assert_allclose(vectors, expected, rtol=1e-5, atol=1e-6)
    content = out.read_bytes()
    keras_elmo.distill(encoder, text, out, **arguments)
    assert out.read_bytes() == content


@pytest.mark.parametrize("grouped", [200, 10])
def test_groups_of_a_word(monkeypatch, grouped):
    """A word with two groups of vectors has theirs, too; another has its mean alone."""
    monkeypatch.setattr(distilling, "_GROUPED", grouped)
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3, size=(2, 16))
    river, money = (
        (centre + rng.normal(scale=0.1, size=(count, 16))).astype("float32")
        for centre, count in zip(centres, (12, 9), strict=True)
    )
    noise = rng.normal(size=(12, 16)).astype("float32")
    occurrences = [
        *((0, vector) for vector in river),
        *((1, vector) for vector in noise),
        *((0, vector) for vector in money),
    ]
    names, means = distilling._means_of_groups(iter(occurrences), ["bank", "of"], 16)
    assert names == ["bank", "bank#1", "bank#2", "of"]
    both = np.concatenate([river, money])
    expected = [vectors.mean(axis=0) for vectors in (both, river, money, noise)]
    np.testing.assert_allclose([*means], expected, rtol=1e-4, atol=1e-5)


def test_senses(encoder, tmp_path):
    """All words are in the file; those with groups under several names."""
    out = tmp_path / "vectors.txt"
    with pytest.raises(ValueError, match=r"'a#1' could be the name of a group of 'a'"):
        keras_elmo.distill(encoder, [["a", "a#1"]] * 5, out, senses=True)
    assert not out.exists()
    count = keras_elmo.distill(encoder, SENTENCES, out, min_count=2, senses=True)
    words, _ = read_vector_file(out)
    assert count == len(words)
    assert [word for word in words if "#" not in word] == FREQUENT


def test_no_groups_of_punctuation():
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, 1, 16)) + rng.normal(scale=0.01, size=(2, 10, 16))
    vectors = [(0, vector) for vector in parts.reshape(20, 16)]
    for word, names in ((",", [","]), ("a", ["a", "a#1", "a#2"])):
        assert distilling._means_of_groups(iter(vectors), [word], 16)[0] == names


@pytest.fixture
def vectors(encoder, tmp_path):
    out = tmp_path / "vectors.txt"
    keras_elmo.distill(encoder, SENTENCES, out, min_count=2)
    return out


def test_read_by_gensim(vectors):
    words, expected = read_vector_file(vectors)
    assert keras_elmo.StaticEmbedding.from_file(vectors).words == words
    gensim = pytest.importorskip("gensim.models")
    read = gensim.KeyedVectors.load_word2vec_format(vectors)
    assert read.index_to_key == words
    np.testing.assert_array_equal(read.vectors, expected)


def test_read_by_spacy(vectors):
    """What `spacy init vectors` does with the file."""
    spacy = pytest.importorskip("spacy")
    from spacy.training.initialize import convert_vectors

    nlp = spacy.blank("xx")
    convert_vectors(nlp, vectors, truncate=0, prune=-1)
    for word, vector in zip(*read_vector_file(vectors), strict=True):
        np.testing.assert_array_equal(nlp.vocab.get_vector(word), vector)


class Sentence(list):
    """A list that can be watched."""

    __hash__ = object.__hash__


class Text:
    """Sentences that are made when they are read, twice."""

    def __init__(self, num_sentences):
        self.num_sentences = num_sentences
        self.alive, self.most = weakref.WeakSet(), 0

    def __iter__(self):
        for number in range(self.num_sentences):
            sentence = Sentence(["the", f"w{number % 3}"])
            self.alive.add(sentence)
            self.most = max(self.most, len(self.alive))
            yield sentence


def test_streams(encoder, tmp_path, monkeypatch):
    """Of a long text, a window is in memory."""
    monkeypatch.setattr(embeddings, "_MAX_POSITIONS", 40)
    text = Text(500)
    keras_elmo.distill(encoder, text, tmp_path / "vectors.txt")
    assert text.most < 100


def test_interrupted(encoder, tmp_path, monkeypatch):
    """The former file stays, and no other is left."""

    class Interrupted(distilling.Embedder):
        def embed(self, *arguments):
            vectors = super().embed(*arguments)
            yield next(vectors)
            raise KeyboardInterrupt

    monkeypatch.setattr(distilling, "Embedder", Interrupted)
    out = tmp_path / "vectors.txt"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        keras_elmo.distill(encoder, SENTENCES, out, min_count=1)
    assert out.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min_count": 9}, "`min_count` must be at most 4, the count .* min_count=9"),
        ({"corpus": [[]]}, "`corpus` must hold a word, and there is no text"),
        ({"corpus": iter(SENTENCES)}, "`corpus` must be .* which can be read twice"),
        ({"corpus": [["a b"]]}, "`corpus` must hold words without spaces.* 'a b'"),
        ({"layer": 3}, "`layer` must be one of the model's 3"),
        ({"out": "text.txt/vectors.txt"}, "text.txt"),
    ],
)
def test_errors(encoder, changes, message, tmp_path, monkeypatch):
    """Before a sentence is embedded."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the bank\n", encoding="utf-8")
    monkeypatch.setattr(distilling, "Embedder", None)
    valid = {"corpus": SENTENCES, "out": "vectors.txt", "min_count": 1}
    with pytest.raises((ValueError, OSError), match=message):
        keras_elmo.distill(encoder, **{**valid, **changes})
    assert not (tmp_path / "vectors.txt").exists()
