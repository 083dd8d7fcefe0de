import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import tree

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import check_layer, numpy_of

pytestmark = pytest.mark.graph

CLIPS = [None, 0.3, 3.0]


def make(units, projection_units, features, rng, **clips):
    """A layer with weights large enough for the clips to bite."""
    layer = ProjectedLSTM(units, projection_units, **clips)
    layer.build((None, None, features))
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    return layer


def expected_rows(layer, inputs, lengths, state=None):
    """The oracle's outputs, zero where masked, and its last states."""
    weights = map(numpy_of, (layer.kernel, layer.bias, layer.projection_kernel))
    weights = list(weights)
    outputs = np.zeros((*inputs.shape[:2], layer.projection_units))
    finals = []
    for row, length in enumerate(lengths):
        outputs[row, :length], final = numpy_reference.lstm(
            inputs[row, :length].astype("float64"),
            *weights,
            layer.cell_clip,
            layer.projection_clip,
            None if state is None else (state[0][row], state[1][row]),
        )
        finals.append(final)
    return outputs, [np.array(part) for part in zip(*finals, strict=True)]


def assert_close(found, expected):
    outputs, state = found
    expected_outputs, expected_state = expected
    np.testing.assert_allclose(numpy_of(outputs), expected_outputs, atol=1e-5)
    for part, expected_part in zip(state, expected_state, strict=True):
        np.testing.assert_allclose(numpy_of(part), expected_part, atol=1e-5)


def test_contract(tmp_path):
    arguments = {
        "units": 6,
        "projection_units": 4,
        "cell_clip": 2.0,
        "projection_clip": None,
    }
    inputs = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
    mask = np.arange(5) < np.array([[5], [2], [0]])
    check_layer(ProjectedLSTM, arguments, [inputs], path=tmp_path)
    check_layer(ProjectedLSTM, arguments, [inputs], mask=mask)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    units=st.integers(1, 6),
    projection_units=st.integers(1, 5),
    features=st.integers(1, 4),
    cell_clip=st.sampled_from(CLIPS),
    projection_clip=st.sampled_from(CLIPS),
    with_state=st.booleans(),
    seed=st.integers(0, 99),
)
def test_equals_the_oracle(
    lengths,
    units,
    projection_units,
    features,
    cell_clip,
    projection_clip,
    with_state,
    seed,
):
    rng = np.random.default_rng(seed)
    clips = {"cell_clip": cell_clip, "projection_clip": projection_clip}
    layer = make(units, projection_units, features, rng, **clips)
    time = max(*lengths, 1) + int(rng.integers(3))
    inputs = rng.normal(size=(len(lengths), time, features)).astype("float32")
    mask = np.arange(time) < np.array(lengths)[:, None]
    state = None
    if with_state:
        state = [
            rng.uniform(-0.3, 0.3, (len(lengths), size)).astype("float32")
            for size in (projection_units, units)
        ]
    found = layer(inputs, mask=mask, initial_state=state)
    assert_close(found, expected_rows(layer, inputs, lengths, state))


def test_without_a_mask_every_step_counts():
    rng = np.random.default_rng(1)
    layer = make(5, 3, 4, rng)
    inputs = rng.normal(size=(2, 7, 4)).astype("float32")
    assert_close(layer(inputs), expected_rows(layer, inputs, [7, 7]))


def test_the_clips_bite():
    """Otherwise the comparison with the oracle would not show that they are there."""
    rng = np.random.default_rng(2)
    clips = {"cell_clip": 0.3, "projection_clip": 0.2}
    layer = make(5, 3, 4, rng, **clips)
    outputs, (h, c) = layer(10 * rng.normal(size=(3, 9, 4)).astype("float32"))
    assert np.abs(numpy_of(c)).max() == pytest.approx(0.3)
    assert np.abs(numpy_of(outputs)).max() == pytest.approx(0.2)
    assert np.abs(numpy_of(h)).max() <= 0.2 + 1e-6


def test_state_continues_sentence():
    """The state carries a sentence over a cut."""
    rng = np.random.default_rng(3)
    layer = make(5, 3, 4, rng)
    inputs = rng.normal(size=(2, 8, 4)).astype("float32")
    whole, last = layer(inputs)
    first, state = layer(inputs[:, :3])
    second, state = layer(inputs[:, 3:], initial_state=state)
    both = np.concatenate([numpy_of(first), numpy_of(second)], axis=1)
    np.testing.assert_allclose(both, numpy_of(whole), atol=1e-5)
    for part, wanted in zip(state, last, strict=True):
        np.testing.assert_allclose(numpy_of(part), numpy_of(wanted), atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 5, 4), (0, 1, 4)])
def test_nothing_to_read(shape):
    layer = make(5, 3, 4, np.random.default_rng(4))
    outputs, (h, c) = layer(np.zeros(shape, "float32"))
    assert outputs.shape == (*shape[:2], 3)
    assert h.shape == (shape[0], 3)
    assert c.shape == (shape[0], 5)


def test_what_is_masked_is_not_read():
    """Not even if it is not a number."""
    rng = np.random.default_rng(5)
    layer = make(5, 3, 4, rng)
    inputs = rng.normal(size=(2, 6, 4)).astype("float32")
    mask = np.arange(6) < np.array([[4], [6]])
    other = np.where(mask[..., None], inputs, np.nan).astype("float32")
    found, wanted = (layer(each, mask=mask) for each in (other, inputs))
    for one, two in zip(tree.flatten(found), tree.flatten(wanted), strict=True):
        np.testing.assert_array_equal(numpy_of(one), numpy_of(two))


def gradients(layer, inputs, state, upstream, **call):
    """Of sum(outputs * upstream[0]) + .. over the weights, inputs and first state."""
    tf = pytest.importorskip("tensorflow")
    weights = [layer.kernel, layer.bias, layer.projection_kernel]
    inputs, *state = (tf.constant(part) for part in (inputs, *state))
    with tf.GradientTape() as tape:
        tape.watch([inputs, *state])
        outputs, last = layer(inputs, initial_state=state, **call)
        loss = sum(
            tf.reduce_sum(tf.cast(part, "float32") * weight)
            for part, weight in zip((outputs, *last), upstream, strict=True)
        )
    over = [*(weight.value for weight in weights), inputs, *state]
    return [tf.convert_to_tensor(part).numpy() for part in tape.gradient(loss, over)]


def problem(rng, batch=2, time=4, units=3, projection_units=2, features=2, **clips):
    layer = make(units, projection_units, features, rng, **clips)
    shapes = (batch, time, features), (batch, projection_units), (batch, units)
    inputs, *state = (rng.normal(0, 0.5, s).astype("float32") for s in shapes)
    shapes = (batch, time, projection_units), *shapes[1:]
    upstream = [rng.normal(size=shape).astype("float32") for shape in shapes]
    return layer, inputs, state, upstream


@pytest.mark.parametrize("clips", [(None, None), (0.6, 0.4)])
@pytest.mark.parametrize(
    "call",
    [
        {},
        {"training": True},
        {"mask": np.array([[True] * 4, [True, True, False, False]]), "training": True},
    ],
    ids=["inference", "training", "masked"],
)
def test_the_gradient_is_that_of_the_oracle(clips, call):
    """By finite differences of the oracle, in double precision."""
    rng = np.random.default_rng(6)
    clips = dict(zip(("cell_clip", "projection_clip"), clips, strict=True))
    layer, inputs, state, upstream = problem(rng, **clips)
    found = gradients(layer, inputs, state, upstream, **call)
    weights = numpy_of([layer.kernel, layer.bias, layer.projection_kernel])
    values = [part.astype("float64") for part in (*weights, inputs, *state)]
    lengths = call["mask"].sum(axis=1) if "mask" in call else [4, 4]

    def oracle():
        *weights, inputs, first_h, first_c = values
        total = 0.0
        for row, length in enumerate(lengths):
            outputs, (h, c) = numpy_reference.lstm(
                inputs[row, :length],
                *weights,
                *clips.values(),
                (first_h[row], first_c[row]),
            )
            total += np.sum(outputs * upstream[0][row, :length])
            total += np.sum(h * upstream[1][row]) + np.sum(c * upstream[2][row])
        return total

    for value, gradient in zip(values, found, strict=True):
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


@pytest.mark.parametrize("clips", [(None, None), (3.0, 3.0), (0.5, 0.3)])
def test_gradient_equals_automatic(clips):
    """Training changes neither results nor gradients."""
    """There are two ways to the gradient, and one gradient."""
    rng = np.random.default_rng(7)
    clips = dict(zip(("cell_clip", "projection_clip"), clips, strict=True))
    arguments = problem(rng, 5, 9, 11, 7, 6, **clips)
    layer, inputs, state, _ = arguments
    both = [layer(inputs, initial_state=state, training=t) for t in (False, True)]
    (outputs, last), (trained, trained_last) = numpy_of(both)
    np.testing.assert_allclose(trained, outputs, atol=1e-5)
    np.testing.assert_allclose(trained_last[1], last[1], atol=1e-5)
    for one, other in zip(
        gradients(*arguments), gradients(*arguments, training=True), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(one).max())


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "bfloat16"])
def test_cell_states_add_up_in_float32(dtype):
    """Steps of 0.001 from 1, each of which bfloat16 would round away."""
    layer = ProjectedLSTM(1, 1, dtype=dtype)
    layer.build((None, None, 1))
    # The input and the forget gate are open; the input itself is 0.001.
    layer.set_weights([np.zeros((2, 4)), np.array([20, 1e-3, 20, 0]), np.zeros((1, 1))])
    state = [keras.ops.zeros((1, 1)), keras.ops.ones((1, 1))]
    for training in (False, True):
        _, (_, c) = layer(np.zeros((1, 50, 1)), initial_state=state, training=training)
        assert numpy_of(c).item() == pytest.approx(1.05, abs=1e-3)


def test_only_static_shapes_are_left_to_xla():
    """Which Keras turns on by itself where there is a GPU."""
    for layer in (ProjectedLSTM(2, 2), BiLM(2, 2)):
        assert layer.supports_jit == (keras.backend.backend() != "tensorflow")


def test_low_precision_has_a_gradient():
    pytest.importorskip("tensorflow")
    layer, *arguments = problem(np.random.default_rng(8))
    low = ProjectedLSTM(3, 2, dtype="mixed_bfloat16")
    low.build((None, None, 2))
    low.set_weights(layer.get_weights())
    for one, other in zip(
        gradients(layer, *arguments),
        gradients(low, *arguments, training=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=0.05 * np.abs(one).max())
