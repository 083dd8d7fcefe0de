import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.layers.bilm import BiLM, run_bilstm
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


def assert_rows(layer, x, lengths, layers):
    """Each sentence has the oracle's layers, and 0 where it is masked."""
    layers = numpy_of(layers)
    assert len(layers) == layer.num_layers + 1
    options, weights = options_of(layer), weights_of(layer)
    for row, length in enumerate(lengths):
        sentence = x[row, :length].astype("float64")
        expected, _ = numpy_reference.bilm(sentence, options, weights)
        for found, wanted in zip(layers, expected, strict=True):
            np.testing.assert_allclose(found[row, :length], wanted, atol=1e-5)
            assert (found[row, length:] == 0).all()


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
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any),
    extra=st.integers(0, 2),
    num_layers=st.integers(1, 3),
    skip_connections=st.booleans(),
    clips=st.sampled_from([(None, None), (3.0, 3.0), (0.4, 0.3), (0.4, None)]),
    training=st.booleans(),
    seed=st.integers(0, 99),
)
def test_equals_the_oracle(
    lengths, extra, num_layers, skip_connections, clips, training, seed
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
    assert_rows(layer, x, lengths, layer(x, mask=mask, training=training))


@pytest.mark.parametrize("clip", ["cell_clip", "projection_clip"])
def test_the_clips_bite(clip):
    """Otherwise the comparison with the oracle would not show that they are there."""
    x, _ = batch_of(np.random.default_rng(2), [9])
    clips = {"cell_clip": None, "projection_clip": None}
    free = make(np.random.default_rng(2), **clips)
    bound = make(np.random.default_rng(2), **{**clips, clip: 0.3})
    free, bound = numpy_of([layer(10 * x)[1] for layer in (free, bound)])
    assert np.abs(free - bound).max() > 0.1
    if clip == "projection_clip":
        assert np.abs(bound).max() == pytest.approx(0.3)


def test_skip_connection():
    """The skip connection is neither clipped nor fed back; here without a mask."""
    rng = np.random.default_rng(2)
    layer = make(rng, projection_clip=0.3)
    x, _ = batch_of(rng, [6])
    layers = layer(x)
    assert_rows(layer, x, [6], layers)
    first, second = numpy_of(layers)[1:]
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


@pytest.mark.parametrize("mask", [None, np.ones((0, 4), bool)])
def test_nothing_to_read(mask):
    layer = make(np.random.default_rng(5))
    x = np.zeros((0, 4, 3), "float32")
    layers = layer(x, mask=mask)
    assert [tuple(part.shape) for part in layers] == [(0, 4, 6)] * 3


def test_what_is_masked_is_not_read():
    """Not even if it is not a number, or a whole row."""
    rng = np.random.default_rng(5)
    layer = make(rng)
    x, mask = batch_of(rng, [6, 4, 0])
    other = np.where(mask[..., None], x, np.nan).astype("float32")
    found, wanted = (numpy_of(layer(each, mask=mask)[1:]) for each in (other, x))
    np.testing.assert_array_equal(found, wanted)


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


def test_the_inputs_must_fit():
    with pytest.raises(ValueError, match="`inputs` must .*Received"):
        BiLM(5, 3)(np.zeros((1, 2, 4), "float32"))


# ---------------------------------------------------------------- gradients


def gradients(layer, x, upstream, call=None, **arguments):
    """Of sum(h_1 * upstream[0]) + .. over the weights and the inputs."""
    tf = pytest.importorskip("tensorflow")
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = call(x) if call else layer(x, **arguments)[1:]
        loss = sum(
            tf.reduce_sum(tf.cast(h, "float32") * factors)
            for h, factors in zip(outputs, upstream, strict=True)
        )
    over = [*(weight.value for weight in layer.weights), x]
    return [tf.convert_to_tensor(part).numpy() for part in tape.gradient(loss, over)]


def problem(rng, lengths=(4, 4), **arguments):
    layer = make(rng, **arguments)
    x, mask = batch_of(rng, lengths, layer.projection_units)
    shape = (layer.num_layers, *x.shape[:2], 2 * layer.projection_units)
    return layer, 0.5 * x, mask, rng.normal(size=shape).astype("float32")


@pytest.mark.parametrize(
    ("clips", "lengths", "training"),
    [
        ((0.6, 0.4), (4, 4), False),
        ((None, None), (4, 2), True),
        ((0.6, 0.4), (4, 2), True),
    ],
)
def test_the_gradient_is_that_of_the_oracle(clips, lengths, training):
    """By finite differences of the oracle, in double precision."""
    layer, x, mask, upstream = problem(
        np.random.default_rng(6),
        lengths,
        units=3,
        projection_units=2,
        num_layers=1,
        cell_clip=clips[0],
        projection_clip=clips[1],
    )
    found = gradients(layer, x, upstream, mask=mask, training=training)
    options, weights = options_of(layer), weights_of(layer)
    values = {**weights, "x": x}
    values = {name: array.astype("float64") for name, array in values.items()}

    def oracle():
        total = 0.0
        for row, length in enumerate(lengths):
            sentence = values["x"][row, :length]
            (_, *layers), _ = numpy_reference.bilm(sentence, options, values)
            for h, factors in zip(layers, upstream, strict=True):
                total += np.sum(h * factors[row, :length])
        return total

    for value, gradient in zip(values.values(), found, strict=True):
        assert np.abs(gradient).max() > 0.01
        for at in np.ndindex(value.shape):
            old = value[at]
            value[at] = old + 1e-6
            above = oracle()
            value[at] = old - 1e-6
            below = oracle()
            value[at] = old
            slope = (above - below) / 2e-6
            assert gradient[at] == pytest.approx(slope, abs=1e-4)


@pytest.mark.parametrize("clips", [(None, None), (0.5, 0.3)])
def test_gradient_equals_automatic(clips):
    """Training changes neither results nor gradients."""
    sizes = {"units": 11, "projection_units": 7}
    clips = dict(zip(("cell_clip", "projection_clip"), clips, strict=True))
    layer, x, mask, upstream = problem(
        np.random.default_rng(7), [9, 5, 9, 7, 1], **sizes, **clips
    )
    plain, trained = (
        numpy_of(layer(x, mask=mask, training=each)) for each in (False, True)
    )
    np.testing.assert_allclose(trained, plain, atol=1e-5)
    plain, trained = (
        gradients(layer, x, upstream, mask=mask, training=each)
        for each in (False, True)
    )
    for one, other in zip(plain, trained, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(one).max())


# ---------------------------------------------------------------- low precision


@pytest.mark.parametrize(
    ("dtype", "training"), [("mixed_bfloat16", False), ("bfloat16", True)]
)
def test_cell_states_add_up_in_float32(dtype, training):
    """Steps of 0.001 to 1; from 0.5 on, bfloat16 would round each away."""
    layer = BiLM(1, 1, num_layers=1, dtype=dtype)
    layer.build((None, None, 1))
    # The input and the forget gate are open, the output gate is half open; what is
    # added is 0.001.
    lstm = [np.zeros((2, 4)), np.array([20, 1e-3, 20, 0]), np.ones((1, 1))]
    layer.set_weights(lstm * 2)
    _, h = layer(np.zeros((1, 1000, 1), "float32"), training=training)
    forward = numpy_of(keras.ops.cast(h, "float32"))[0, -1, 0]
    assert forward == pytest.approx(np.tanh(1) / 2, abs=0.01)


def test_low_precision_has_a_gradient():
    layer, *arguments = problem(np.random.default_rng(8), num_layers=1)
    low = BiLM.from_config({**layer.get_config(), "dtype": "mixed_bfloat16"})
    low.build((None, None, 3))
    low.set_weights(layer.get_weights())
    x, mask, upstream = arguments
    for one, other in zip(
        gradients(layer, x, upstream, mask=mask),
        gradients(low, x, upstream, mask=mask, training=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=0.05 * np.abs(one).max())


def test_only_static_shapes_are_left_to_xla():
    """Which Keras turns on by itself where there is a GPU."""
    assert BiLM(2, 2).supports_jit == (keras.backend.backend() != "tensorflow")


# ---------------------------------------------------------------- Keras's LSTMs


def keras_bilstm(rng, dtype="float32"):
    lstm = keras.layers.LSTM(5, return_sequences=True, dtype=dtype)
    layer = keras.layers.Bidirectional(lstm, dtype=dtype)
    layer.build((None, None, 3))
    randomise(layer, rng, 0.8)
    return layer


@pytest.mark.parametrize("training", [False, True])
def test_bilstm_is_that_of_keras(training):
    rng = np.random.default_rng(9)
    layer = keras_bilstm(rng)
    x, mask = batch_of(rng, [6, 1, 0, 4], extra=1)
    found = numpy_of(run_bilstm(layer, x, mask, training))
    wanted = numpy_of(layer(x, mask=keras.ops.convert_to_tensor(mask)))
    np.testing.assert_allclose(found[mask], wanted[mask], atol=1e-5)
    assert (found[~mask] == 0).all()


def test_bilstm_has_the_gradient_of_keras():
    rng = np.random.default_rng(9)
    layer = keras_bilstm(rng)
    x, mask = batch_of(rng, [6, 1, 4])
    upstream = rng.normal(size=(1, 3, 6, 10)) * mask[..., None]
    tensor = keras.ops.convert_to_tensor(mask)
    calls = (
        lambda x: [run_bilstm(layer, x, mask, training=True)],
        lambda x: [layer(x, mask=tensor, training=True)],
    )
    found, wanted = (gradients(layer, x, upstream, call) for call in calls)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(other).max())


def test_bilstm_computes_in_the_dtype_of_the_layer():
    rng = np.random.default_rng(9)
    layer = keras_bilstm(rng, "mixed_bfloat16")
    x, mask = batch_of(rng, [6, 4])
    found = run_bilstm(layer, x, mask)
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    wanted = layer(x, mask=keras.ops.convert_to_tensor(mask))
    np.testing.assert_allclose(numpy_of(found)[mask], numpy_of(wanted)[mask], atol=0.05)
