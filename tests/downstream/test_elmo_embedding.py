import dataclasses
import functools

import keras
import numpy as np
import pytest

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.layers.bilm import BiLM
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import global_policy, moved, numpy_of
from tests.helpers.small import (
    CONFIG,
    SENTENCES,
    SMALLER,
    char_ids,
    published,
    random_encoder,
)

pytestmark = pytest.mark.graph

LENGTHS = [len(tokens) for tokens in SENTENCES]
SIZE = 2 * CONFIG.projection_units


def set_mix(layer, seed=0):
    """Gives each mix scalars and a gamma of its own; returns them."""
    rng = np.random.default_rng(seed)
    values = []
    for mix in layer.mixes:
        values.append((rng.normal(size=3), rng.uniform(0.5, 2)))
        mix.scalars.assign(values[-1][0])
        mix.gamma.assign(values[-1][1])
    return values


def expected_vectors(layer, scalars, gamma, boundaries=False):
    options, weights = published(layer.encoder)
    inside = slice(None) if boundaries else slice(1, -1)
    return [
        numpy_reference.scalar_mix(
            [h[inside] for h in numpy_reference.encode(t, options, weights)[0]],
            scalars,
            gamma,
        )
        for t in SENTENCES
    ]


def assert_vectors(found, expected):
    for row, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(row[: len(wanted)], wanted, atol=1e-5)
        assert (row[len(wanted) :] == 0).all()


@pytest.mark.parametrize("number", [1, 2])
def test_equals_the_oracle(number):
    """Each mix has its own weights, which can be read."""
    layer = ElmoEmbedding(random_encoder(), num_representations=number)
    for share, gamma in layer.mix_weights:
        np.testing.assert_allclose(share, 1 / 3, rtol=1e-5)
        assert gamma == 1
    values = set_mix(layer)
    found = layer(char_ids(SENTENCES, extra=2))
    found = numpy_of(found if number > 1 else [found])
    for vectors, mix, (scalars, wanted) in zip(
        found, layer.mix_weights, values, strict=True
    ):
        assert vectors.shape == (5, max(LENGTHS) + 2, SIZE)
        assert_vectors(vectors, expected_vectors(layer, scalars, wanted))
        exponentials = np.exp(scalars)
        np.testing.assert_allclose(mix[0], exponentials / exponentials.sum(), rtol=1e-5)
        assert mix[1] == pytest.approx(wanted)
    assert len(layer.trainable_weights) == 2 * number
    assert ElmoEmbedding(layer.encoder, trainable=False).trainable_weights == []


def test_boundaries_may_be_kept():
    layer = ElmoEmbedding(random_encoder(), keep_boundaries=True)
    ids = char_ids(SENTENCES)
    found = layer(ids)
    assert_vectors(
        numpy_of(found), expected_vectors(layer, np.zeros(3), 1.0, boundaries=True)
    )
    np.testing.assert_array_equal(numpy_of(found._keras_mask), ids[..., 0] > 0)


def test_the_mask_leaves_the_tokens():
    ids = char_ids(SENTENCES, extra=1)
    found = ElmoEmbedding(random_encoder())(ids)
    mask = numpy_of(found._keras_mask)
    # A sentence without tokens keeps one position, of zeros, for whoever averages.
    lengths = [max(length, 1) for length in LENGTHS]
    assert mask.sum(axis=1).tolist() == lengths
    for row, length in zip(mask, lengths, strict=True):
        assert row[:length].all()
    several = ElmoEmbedding(random_encoder(), num_representations=2)(ids)
    for each in several:
        np.testing.assert_array_equal(numpy_of(each._keras_mask), mask)


def test_layer_norm_reads_tokens_alone():
    layer = ElmoEmbedding(random_encoder(), layer_norm=True)
    found = numpy_of(layer(char_ids(SENTENCES, extra=2)))
    options, weights = published(layer.encoder)
    layers = [numpy_reference.encode(t, options, weights)[0] for t in SENTENCES]
    layers = [numpy_reference.pad([h[k][1:-1] for h in layers]) for k in range(3)]
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    wanted = numpy_reference.scalar_mix(layers, np.zeros(3), 1.0, mask, True)
    np.testing.assert_allclose(found[:, : max(LENGTHS)][mask], wanted[mask], atol=1e-5)


def classifier(layer):
    ids = keras.Input((None, 50), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D()(layer(ids))
    model = keras.Model(ids, keras.layers.Dense(2, name="head")(pooled))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    # Keras would warn of a saved optimizer that has not made a step.
    model.optimizer.build(model.trainable_variables)
    return model


SOME = [tokens for tokens in SENTENCES if tokens]
LABELS = np.array([0, 1, 1, 0])


def changed_weights(model, epochs=3):
    with moved(model.weights) as paths:
        model.fit(char_ids(SOME), LABELS, epochs=epochs, verbose=0)
    return paths


def paths_of(*weights):
    return {weight.path for weight in weights}


@pytest.mark.usefixtures("eagerly")
def test_frozen_by_default():
    layer = ElmoEmbedding(random_encoder(SMALLER))
    model = classifier(layer)
    changed = changed_weights(model)
    head = model.get_layer("head").weights
    mix = [layer.mixes[0].scalars, layer.mixes[0].gamma]
    assert changed == paths_of(*mix, *head)
    assert not any(weight.trainable for weight in layer.encoder.weights)


def count_calls(monkeypatch, cls):
    """Returns a list that a call of a layer of a class makes one longer."""
    calls, call = [], cls.call

    @functools.wraps(call)
    def counted(self, *args, **kwargs):
        calls.append(self.name)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(cls, "call", counted)
    return calls


@pytest.mark.parametrize("trained", [False, True])
def test_an_encoder_is_traced_once(trained, monkeypatch):
    """Keras traces a model up to twice in each of its methods.

    If it is trained, with and without what its gradient needs.
    """
    calls = count_calls(monkeypatch, BiLM)
    layer = ElmoEmbedding(random_encoder(SMALLER), trainable_encoder=trained)
    ids = char_ids(SOME)
    model = classifier(layer)
    # Another one makes its variables in a graph, which is traced again.
    model.compile("adam", model.loss)
    # The last batch is a smaller one.
    model.fit(ids, LABELS, batch_size=3, validation_data=(ids, LABELS), verbose=0)
    model.predict(ids, batch_size=3, verbose=0)
    if keras.backend.backend() == "tensorflow":
        assert len(calls) == 1 + trained


def test_a_graph_stays_right():
    """Whatever is trained and assigned after it was traced."""
    layer = ElmoEmbedding(random_encoder(SMALLER))
    model = classifier(layer)
    ids = char_ids(SOME)
    for trained in (True, False):
        layer.encoder.trainable = trained
        model.compile("adam", model.loss)
        model.optimizer.build(model.trainable_variables)
        changed = changed_weights(model, epochs=1)
        encoder = paths_of(*layer.encoder.weights)
        assert encoder <= changed if trained else not encoder & changed
        found = model.predict(ids, verbose=0)
        np.testing.assert_allclose(found, numpy_of(model(ids)), atol=1e-5)


def test_fine_tuning():
    """Fine tuning reaches all weights of a copy; the given encoder stays as it was."""
    encoder = random_encoder(SMALLER)
    layer = ElmoEmbedding(encoder, trainable_encoder=True)
    with moved(encoder.weights) as paths:
        changed = changed_weights(classifier(layer))
    assert paths_of(*layer.encoder.weights) <= changed and not paths
    assert encoder.trainable_weights


def test_dropout_is_of_the_result_alone():
    encoder = random_encoder(dataclasses.replace(CONFIG, dropout=0.5))
    ids = char_ids(SENTENCES)
    still = ElmoEmbedding(encoder)
    np.testing.assert_array_equal(
        numpy_of(still(ids, training=True)), numpy_of(still(ids))
    )
    layer = ElmoEmbedding(encoder, dropout=0.5)
    plain, trained = numpy_of([layer(ids), layer(ids, training=True)])
    kept = trained != 0
    assert 0.3 < kept[plain != 0].mean() < 0.7
    np.testing.assert_allclose(trained[kept], 2 * plain[kept], rtol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_a_keras_file_holds_all_of_it(tmp_path):
    layer = ElmoEmbedding(
        random_encoder(SMALLER),
        dropout=0.1,
        mix_regularizer=keras.regularizers.L2(0.001),
    )
    model = classifier(layer)
    changed_weights(model)
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    ids = char_ids(SOME)
    np.testing.assert_allclose(numpy_of(loaded(ids)), numpy_of(model(ids)), atol=1e-5)
    names = [weight.path for weight in model.trainable_weights]
    assert [weight.path for weight in loaded.trainable_weights] == names
    # It goes on training what trained before, and nothing else.
    assert changed_weights(loaded) == set(names)


def test_clone_and_json():
    model = classifier(ElmoEmbedding(random_encoder(SMALLER)))
    ids = char_ids(SOME)
    for copy in (
        keras.models.clone_model(model),
        keras.models.model_from_json(model.to_json()),
    ):
        copy.set_weights(model.get_weights())
        np.testing.assert_allclose(numpy_of(copy(ids)), numpy_of(model(ids)), atol=1e-5)


def test_get_config_mirrors_the_arguments():
    arguments = {
        "num_representations": 2,
        "dropout": 0.25,
        "layer_norm": True,
        "mix_regularizer": keras.regularizers.L2(0.5),
        "keep_boundaries": True,
        "trainable_encoder": True,
    }
    layer = ElmoEmbedding(random_encoder(), name="elmo", **arguments)
    copy = ElmoEmbedding.from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    assert copy.name == "elmo"
    assert copy.encoder.config == CONFIG
    for name in arguments:
        if name != "mix_regularizer":
            assert getattr(copy, name) == arguments[name]
    assert copy.mix_regularizer.l2 == pytest.approx(0.5)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_nothing_to_read(layer_norm):
    """Sentences without words, and no sentence."""
    layer = ElmoEmbedding(random_encoder(), layer_norm=layer_norm)
    for number in (0, 2):
        found = layer(char_ids([[], []], extra=1)[:number])
        np.testing.assert_array_equal(numpy_of(found), np.zeros((number, 1, SIZE)))


def policies_of(layer):
    return {
        each.dtype_policy.name
        for each in (layer, layer.encoder, *layer.encoder.layers[1:])
    }


def test_dtype_is_the_encoders():
    """The policy that the layer reports is what its encoder computes in."""
    encoder = random_encoder()
    layer = ElmoEmbedding(encoder, dtype="mixed_bfloat16")
    assert policies_of(layer) == {"mixed_bfloat16"}
    assert layer(char_ids(SENTENCES)).dtype == layer.mixes[0].compute_dtype == "float32"
    found, wanted = numpy_of(
        [each(char_ids(SENTENCES)) for each in (layer, ElmoEmbedding(encoder))]
    )
    np.testing.assert_allclose(found, wanted, atol=0.15)
    assert not np.array_equal(found, wanted)
    # A type that the encoder was given is kept.
    low = encoder.with_dtype("bfloat16")
    assert policies_of(ElmoEmbedding(low)) == {"bfloat16"}
    assert policies_of(ElmoEmbedding(low, dtype="float32")) == {"float32"}


def test_global_policy():
    """Keras's global policy; a layer from a file keeps its own."""
    encoder = random_encoder().with_dtype("float32")
    with global_policy("mixed_bfloat16"):
        layer = ElmoEmbedding(encoder)
        assert policies_of(layer) == {"mixed_bfloat16"}
        full = ElmoEmbedding(encoder, dtype="float32")
        assert policies_of(ElmoEmbedding.from_config(full.get_config())) == {"float32"}
