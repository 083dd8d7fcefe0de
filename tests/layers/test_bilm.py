import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.layers.bilm import BiLM
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import check_layer, numpy_of
from tests.helpers.small import options_of, randomise, weights_of

pytestmark = pytest.mark.graph


def make(rng, **arguments):
    layer = BiLM(**{"units": 5, "projection_units": 3, **arguments})
    layer.build((None, None, layer.projection_units))
    randomise(layer, rng, scale=0.8)
    return layer


def batch_of(rng, lengths, size=3, extra=0):
    shape = (len(lengths), max(lengths) + extra, size)
    mask = np.arange(shape[1]) < np.array(lengths)[:, None]
    return rng.normal(size=shape).astype("float32"), mask


def oracle_row(layer, x, row=0, state=None):
    """The oracle's layers and state of one sentence."""
    if state is not None:
        h, c = state
        state = [
            [(h[k, d, row], c[k, d, row]) for d in range(2)] for k in range(len(h))
        ]
    options, weights = options_of(layer), weights_of(layer)
    return numpy_reference.bilm(x.astype("float64"), options, weights, state)


def assert_rows(layer, x, lengths, layers, last=None, state=None):
    layers = numpy_of(layers)
    assert len(layers) == layer.num_layers + 1
    for row, length in enumerate(lengths):
        expected, final = oracle_row(layer, x[row, :length], row, state)
        for found, wanted in zip(layers, expected, strict=True):
            np.testing.assert_allclose(found[row, :length], wanted, atol=1e-5)
            assert (found[row, length:] == 0).all()
        if last is None:
            continue
        for k, directions in enumerate(final):
            for d, parts in enumerate(directions):
                for found, wanted in zip(last, parts, strict=True):
                    np.testing.assert_allclose(
                        numpy_of(found)[k, d, row], wanted, atol=1e-5
                    )


def test_contract(tmp_path):
    arguments = {
        "units": 6,
        "projection_units": 4,
        "num_layers": 3,
        "cell_clip": 2.5,
        "projection_clip": None,
        "skip_connections": False,
        "dropout": 0.25,
    }
    inputs, mask = batch_of(np.random.default_rng(0), [5, 2, 0], 4)
    check_layer(BiLM, arguments, [inputs], path=tmp_path)
    check_layer(BiLM, arguments, [inputs], mask=mask)


@settings(max_examples=20)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(0, 2),
    num_layers=st.integers(1, 3),
    skip_connections=st.booleans(),
    clips=st.sampled_from([(None, None), (3.0, 3.0), (0.4, 0.3), (0.4, None)]),
    with_state=st.booleans(),
    return_state=st.booleans(),
    seed=st.integers(0, 99),
)
def test_equals_the_oracle(
    lengths, extra, num_layers, skip_connections, clips, with_state, return_state, seed
):
    rng = np.random.default_rng(seed)
    layer = make(
        rng,
        num_layers=num_layers,
        skip_connections=skip_connections,
        cell_clip=clips[0],
        projection_clip=clips[1],
    )
    x, mask = batch_of(rng, lengths, extra=extra)
    state = None
    if with_state:
        state = [
            rng.uniform(-0.3, 0.3, (num_layers, 2, len(lengths), n)).astype("float32")
            for n in (3, 5)
        ]
    outputs = layer(x, mask=mask, initial_state=state, return_state=return_state)
    layers, last = outputs if return_state else (outputs, None)
    assert_rows(layer, x, lengths, layers, last, state)


def test_mask_of_inputs_with_state():
    """The mask of the inputs counts beside a state."""
    """Keras fills `mask` in only where there are no other tensors."""
    rng = np.random.default_rng(2)
    layer = make(rng)
    x, mask = batch_of(rng, [4, 2])
    state = [np.full((2, 2, 2, n), 0.1, "float32") for n in (3, 5)]
    masked = keras.layers.Masking()(x * mask[..., None])
    layers, last = layer(masked, initial_state=state, return_state=True)
    assert_rows(layer, x, [4, 2], layers, last, state)
    assert not np.allclose(layer(x, initial_state=state)[-1], numpy_of(layers[-1]))


def test_without_a_mask_every_position_counts():
    rng = np.random.default_rng(1)
    layer = make(rng)
    x, _ = batch_of(rng, [4, 4])
    layers, state = layer(x, return_state=True)
    assert_rows(layer, x, [4, 4], layers, state)
    assert [tuple(part.shape) for part in state] == [(2, 2, 2, 3), (2, 2, 2, 5)]


def test_skip_connection():
    """The skip connection is neither clipped nor fed back."""
    rng = np.random.default_rng(2)
    layer = make(rng, projection_clip=0.3)
    x, _ = batch_of(rng, [6])
    first, second = numpy_of(layer(x))[1:]
    assert np.abs(first).max() <= 0.3 + 1e-6
    assert 0.3 + 1e-3 < np.abs(second).max() <= 0.6 + 1e-6


def test_each_direction_reads_one_side():
    """A vector depends on what its direction has read, and on nothing else."""
    rng = np.random.default_rng(3)
    layer = make(rng)
    x, mask = batch_of(rng, [6, 4])
    changed = x.copy()
    changed[:, 2] += 1
    before, after = numpy_of([layer(x, mask=mask), layer(changed, mask=mask)])
    for old, new in zip(before[1:], after[1:], strict=True):
        same = np.isclose(old, new, atol=1e-6).reshape(2, 6, 2, 3).all(axis=-1)
        forward, backward = same[..., 0], same[..., 1]
        assert forward[:, :2].all() and not forward[0, 2:].any()
        assert backward[:, 3:].all() and not backward[:, :3].any()


def test_a_row_without_any_position():
    rng = np.random.default_rng(4)
    layer = make(rng)
    x, mask = batch_of(rng, [3, 0])
    layers, state = layer(x, mask=mask, return_state=True)
    assert all((part[1] == 0).all() for part in numpy_of(layers))
    assert all((part[:, :, 1] == 0).all() for part in numpy_of(state))


@pytest.mark.parametrize("mask", [None, np.ones((0, 4), bool)])
def test_nothing_to_read(mask):
    layer = make(np.random.default_rng(5))
    x = np.zeros((0, 4, 3), "float32")
    layers, state = layer(x, mask=mask, return_state=True)
    assert [tuple(part.shape) for part in layers] == [(0, 4, 6)] * 3
    assert [tuple(part.shape) for part in state] == [(2, 2, 0, 3), (2, 2, 0, 5)]


def test_the_mask_is_passed_on_to_every_layer():
    layer = make(np.random.default_rng(6))
    x, mask = batch_of(np.random.default_rng(6), [4, 2])
    for part in layer(x, mask=mask):
        np.testing.assert_array_equal(numpy_of(part._keras_mask), mask)


def test_dropout_acts_in_training_alone():
    rng = np.random.default_rng(7)
    layer = make(rng, dropout=0.5)
    x, mask = batch_of(rng, [6, 4])
    still = numpy_of(layer(x, mask=mask))
    np.testing.assert_array_equal(numpy_of(layer(x, mask=mask, training=False)), still)
    trained = numpy_of(layer(x, mask=mask, training=True))
    again = numpy_of(layer(x, mask=mask, training=True))
    for old, new, other in zip(still[1:], trained[1:], again[1:], strict=True):
        assert not np.allclose(old, new)
        assert not np.allclose(new, other)
    plain = make(np.random.default_rng(7), dropout=0.0)
    np.testing.assert_allclose(
        numpy_of(plain(x, mask=mask, training=True)),
        numpy_of(plain(x, mask=mask)),
        atol=1e-5,
    )


def test_the_inputs_must_fit():
    with pytest.raises(ValueError, match="`inputs` must .*Received"):
        BiLM(5, 3)(np.zeros((1, 2, 4), "float32"))
