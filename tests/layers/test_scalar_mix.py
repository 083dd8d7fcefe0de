import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_elmo.layers.scalar_mix import ScalarMix
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import check_layer, numpy_of

pytestmark = pytest.mark.graph


def random_layers(rng, num_layers=3, shape=(2, 5, 4)):
    return [rng.normal(2, 3, shape).astype("float32") for _ in range(num_layers)]


def test_contract(tmp_path):
    arguments = {"layer_norm": True, "regularizer": keras.regularizers.L2(0.3)}
    layers = random_layers(np.random.default_rng(0))
    check_layer(ScalarMix, arguments, [layers], path=tmp_path)
    check_layer(ScalarMix, {}, [layers], path=tmp_path)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    num_layers=st.integers(2, 4),
    layer_norm=st.booleans(),
    with_mask=st.booleans(),
    seed=st.integers(0, 99),
)
def test_equals_the_oracle(lengths, num_layers, layer_norm, with_mask, seed):
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, num_layers, (len(lengths), 5, 4))
    mask = np.arange(5) < np.array(lengths)[:, None] if with_mask else None
    if with_mask and not mask.any():
        mask[0, 0] = True
    layer = ScalarMix(layer_norm=layer_norm)
    layer.build([h.shape for h in layers])
    scalars, gamma = rng.normal(size=num_layers), rng.normal()
    layer.scalars.assign(scalars)
    layer.gamma.assign(gamma)
    expected = numpy_reference.scalar_mix(
        [h.astype("float64") for h in layers], scalars, gamma, mask, layer_norm
    )
    found = numpy_of(layer(layers, mask=mask))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_starts_as_the_mean():
    layers = random_layers(np.random.default_rng(1))
    layer = ScalarMix()
    found = numpy_of(layer(layers))
    np.testing.assert_allclose(found, np.mean(layers, axis=0), atol=1e-5)
    np.testing.assert_array_equal(numpy_of(layer.scalars), [0, 0, 0])
    assert numpy_of(layer.gamma) == 1
    assert layer.gamma.shape == ()


def test_layer_norm_mask():
    """Layer norm reads unmasked elements alone."""
    layers = random_layers(np.random.default_rng(2))
    mask = np.arange(5) < np.array([[3], [5]])
    other = [np.where(mask[..., None], h, 1e3).astype("float32") for h in layers]
    layer = ScalarMix(layer_norm=True)
    wanted = numpy_of(layer(layers, mask=mask))[mask]
    np.testing.assert_allclose(numpy_of(layer(other, mask=mask))[mask], wanted)
    # One mean and one variance a layer, not one a vector.
    alone = numpy_of(ScalarMix(layer_norm=True)([layers[0]] * 2, mask=mask))[mask]
    assert alone.mean() == pytest.approx(0, abs=1e-5)
    assert alone.std() == pytest.approx(1, abs=1e-4)
    assert np.abs(alone.mean(axis=-1)).max() > 0.1


def test_layer_norm_of_no_words_is_a_number():
    layers = [np.ones((2, 3, 4), "float32")] * 2
    mask = np.zeros((2, 3), bool)
    assert np.isfinite(numpy_of(ScalarMix(layer_norm=True)(layers, mask=mask))).all()
    nothing = [np.ones((0, 3, 4), "float32")] * 2
    assert ScalarMix(layer_norm=True)(nothing).shape == (0, 3, 4)


def test_regularizer():
    """The regularizer sees the raw scalars alone."""
    layers = random_layers(np.random.default_rng(3))
    layer = ScalarMix(regularizer=keras.regularizers.L2(0.1))
    layer.build([h.shape for h in layers])
    layer.scalars.assign([1.0, -2.0, 3.0])
    layer.gamma.assign(100.0)
    layer(layers)
    assert len(layer.losses) == 1
    # 0.1 * (1 + 4 + 9): of the scalars before the softmax, and not of gamma.
    assert float(layer.losses[0]) == pytest.approx(1.4, rel=1e-5)
    plain = ScalarMix()
    plain(layers)
    assert plain.losses == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype):
    """More elements than a float16 counts."""
    layers = random_layers(np.random.default_rng(7), shape=(40, 60, 30))
    half, exact = (ScalarMix(layer_norm=True, dtype=d) for d in (dtype, "float32"))
    for layer in (half, exact):
        layer.build([h.shape for h in layers])
        layer.scalars.assign([1, 2, 3])
    found = numpy_of(ops.cast(half(layers), "float32"))
    np.testing.assert_allclose(found, numpy_of(exact(layers)), atol=0.05)


def test_layers_must_agree():
    with pytest.raises(ValueError, match="`layers` must"):
        ScalarMix().build([(2, 3, 4), (2, 3, 5)])
