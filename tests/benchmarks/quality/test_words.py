"""What stands for a word is what the encoder computes, batch by batch."""

import keras
import numpy as np
import pytest

import keras_elmo

pytestmark = pytest.mark.graph

SENTENCES = [["a", "river"], ["the", "bank", "closes"], [], ["배"]]


@pytest.fixture
def contextual(quality, encoder):
    layers = keras_elmo.embed(encoder, SENTENCES)
    return quality("word_vectors").contextual_words(SENTENCES, layers, (3, 8))


def test_a_mix_of_cached_layers_is_elmo_embedding(contextual, encoder):
    # Unequal weights, so that no layer passes for another.
    scalars = np.arange(3, dtype=np.float32)
    embedding = keras_elmo.ElmoEmbedding(encoder)
    embedding.mixes[0].scalars.assign(scalars)
    tokens = [[*each, *[""] * (3 - len(each))] for each in SENTENCES]
    expected = embedding(keras_elmo.CharacterIds()(tokens))
    model = keras.Model(*contextual.vectors())
    (mix,) = (each for each in model.layers if isinstance(each, keras_elmo.ScalarMix))
    mix.scalars.assign(scalars)
    places = np.arange(4)
    # They are kept in float16.
    found = model(contextual.batch(places))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
    # Those of another encoder are others.
    other = keras_elmo.ElmoEmbedding(keras_elmo.build_encoder(encoder.config))
    other.mixes[0].scalars.assign(scalars)
    differences = np.abs(expected - other(keras_elmo.CharacterIds()(tokens)))
    assert differences.max() > 1e-3
    # Pooling needs a position, even of a sentence without words.
    assert contextual.mask(places).sum(axis=1).tolist() == [2, 3, 1, 1]


def test_one_layer_alone(contextual, encoder):
    model = keras.Model(*contextual.layer(2).vectors())
    expected = list(keras_elmo.embed(encoder, SENTENCES))[1][2]
    places = np.array([1])
    found = model(contextual.layer(2).batch(places))[0]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
    assert not model.trainable_weights
    last = keras.Model(*contextual.layer(-1).vectors())
    again = last(contextual.layer(-1).batch(places))[0]
    np.testing.assert_array_equal(again, found)


def test_static_vectors_and_what_they_are_joined_with(quality, contextual, tmp_path):
    words = quality("word_vectors")
    path = tmp_path / "vectors.txt"
    path.write_text("river 1 2\nThe 5 5\nbank 3 4\n", encoding="utf-8")
    static = words.static_words(path, [["River", "bank"], ["the", "x"], []])
    found = keras.Model(*static.vectors())(static.batch(np.arange(3)))
    assert np.asarray(found).tolist() == [
        [[1, 2], [3, 4]],
        [[0, 0], [0, 0]],
        [[0, 0], [0, 0]],
    ]
    static = words.static_words(path, SENTENCES)
    joined = words.JoinedWords([static, contextual])
    model = keras.Model(*joined.vectors())
    places = np.array([0, 1])
    first, second = model(joined.batch(places))
    np.testing.assert_array_equal(first[0, :2], [[0, 0], [1, 2]])
    alone = keras.Model(*contextual.vectors())(contextual.batch(places))
    np.testing.assert_allclose(second, alone)


def test_names_of_words(quality, encoder, data, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("river 1 2\n", encoding="utf-8")
    encoders = quality("encoders").Encoders(encoder, path)
    assert encoders.has("static+elmo:1")
    assert not quality("encoders").Encoders(encoder).has("static+elmo")
    task = quality("data_sets").DATA_SETS["sst2"].read(data, "unicode")

    def size(name):
        words = encoders.words(name, task)
        inputs, vectors = words.vectors()
        assert len(inputs) == len(vectors) == 1 + name.count("+")
        return sum(each.shape[-1] for each in vectors)

    sizes = {"elmo": 8, "elmo:0": 8, "random": 8, "static": 2}
    assert {name: size(name) for name in sizes} == sizes
    assert size("static+elmo") == 10
    with pytest.raises(ValueError, match="an encoder is one of .* Received: glove:1"):
        encoders.has("glove:1")
    # Of another seed, but not of another at each call.
    one = encoders.words("random", task)
    assert encoders.words("random", task) is one
    first, again = (
        list(encoders.layers("random", task.sentences[:3])[0]) for _ in range(2)
    )
    for layers, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(layers, same)
    elmo = encoders.words("elmo", task)
    assert not np.allclose(one.batch(np.arange(3))[0], elmo.batch(np.arange(3))[0])
