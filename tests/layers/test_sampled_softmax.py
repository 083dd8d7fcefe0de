import functools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.layers.sampled_softmax import (
    SampledSoftmax,
    draw_candidates,
    probability_of_draw,
    sampled_softmax_loss,
)
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import check_layer, numpy_of

pytestmark = pytest.mark.graph


def problem(rng, positions=12, vocabulary_size=40, units=5):
    """Random `hidden, targets, kernel, bias`."""
    return (
        rng.normal(size=(positions, units)).astype("float32"),
        rng.integers(0, vocabulary_size, positions).astype("int32"),
        rng.normal(size=(vocabulary_size, units)).astype("float32"),
        rng.normal(size=vocabulary_size).astype("float32"),
    )


def make(kernel, bias, num_sampled, seed=0):
    layer = SampledSoftmax(len(kernel), num_sampled, seed=seed)
    layer.build((None, kernel.shape[1]))
    layer.kernel.assign(kernel)
    layer.bias.assign(bias)
    return layer


def log_uniform(vocabulary_size):
    """P(k) of the log-uniform (Zipf) distribution over words in order of frequency."""
    k = np.arange(vocabulary_size)
    return np.log((k + 2) / (k + 1)) / np.log(vocabulary_size + 1)


def expected_counts(ids, vocabulary_size, num_tries):
    """How often each id is expected among the distinct ones of `num_tries` draws."""
    return -np.expm1(num_tries * np.log1p(-log_uniform(vocabulary_size)[ids]))


def sampled_softmax_nll(
    hidden, targets, kernel, bias, candidates, target_expected, candidate_expected
):
    """-log p(target) among the target and the candidates that are not it.

    Each logit is lowered by the log of its expected count (Jean et al. 2015), so
    that frequent words, which are sampled more often, do not lose by it.
    """
    target_logits = np.sum(hidden * kernel[targets], -1) + bias[targets]
    logits = hidden @ kernel[candidates].T + bias[candidates]
    target_logits = target_logits - np.log(target_expected)
    logits = logits - np.log(candidate_expected)
    logits = np.where(targets[:, None] == candidates, -np.inf, logits)
    return np.logaddexp.reduce(np.c_[target_logits, logits], axis=-1) - target_logits


def test_contract(tmp_path):
    rng = np.random.default_rng(0)
    arguments = {"vocabulary_size": 20, "num_sampled": 6, "seed": 7}
    inputs = [
        rng.normal(size=(2, 3, 4)).astype("float32"),
        rng.integers(0, 20, (2, 3)).astype("int32"),
    ]
    check_layer(
        SampledSoftmax,
        arguments,
        inputs,
        # A likelihood is kept exact whatever computed the logits.
        low_precision_dtype="float32",
        path=tmp_path,
    )


@pytest.mark.parametrize("training", [False, True])
def test_low_precision(training):
    hidden, targets, kernel, bias = problem(np.random.default_rng(8))
    layer = make(kernel, bias, num_sampled=15)
    low = SampledSoftmax(40, 15, seed=0, dtype="mixed_bfloat16")
    low.build((None, 5))
    low.set_weights(layer.get_weights()[:2])
    found, wanted = (
        numpy_of(each(hidden, targets, training=training)) for each in (low, layer)
    )
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, wanted, atol=0.1)


# ---------------------------------------------------------------- exact


@settings(max_examples=15)
@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    vocabulary_size=st.integers(1, 30),
    seed=st.integers(0, 99),
)
def test_evaluation_is_exact(shape, vocabulary_size, seed):
    """So is training with all words as candidates."""
    rng = np.random.default_rng(seed)
    positions = int(np.prod(shape))
    hidden, targets, kernel, bias = problem(rng, positions, vocabulary_size)
    expected = numpy_reference.softmax_nll(
        hidden.astype("float64"), targets, kernel, bias
    )
    inputs = hidden.reshape(*shape, 5), targets.reshape(shape)
    for num_sampled, training in ((1, False), (vocabulary_size + seed % 2, True)):
        found = make(kernel, bias, num_sampled)(*inputs, training=training)
        assert found.shape == tuple(shape)
        np.testing.assert_allclose(numpy_of(found).ravel(), expected, atol=1e-5)


def test_a_large_vocabulary_is_exact_too():
    """More words than the layer takes at one time, and logits far from zero."""
    hidden, targets, kernel, bias = problem(np.random.default_rng(1), 6, 20_011)
    bias = bias + 100
    found = numpy_of(make(kernel, bias, 10)(hidden, targets))
    expected = numpy_reference.softmax_nll(
        hidden.astype("float64"), targets, kernel.astype("float64"), bias
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# ---------------------------------------------------------------- given candidates


def given_candidates(rng, targets, vocabulary_size=40, num_sampled=15):
    """Candidates with some accidental hits, and the expected counts of TensorFlow."""
    others = np.setdiff1d(np.arange(vocabulary_size), targets[:3])
    candidates = rng.choice(others, num_sampled - 3, replace=False)
    candidates = np.concatenate([candidates, np.unique(targets[:3])]).astype("int32")
    counts = [
        expected_counts(ids, vocabulary_size, num_tries=25)
        for ids in (targets, candidates)
    ]
    return candidates, *(count.astype("float32") for count in counts)


@pytest.mark.parametrize("seed", range(2))
def test_given_candidates(seed):
    """Losses are the oracle's and TensorFlow's; a target is not its own rival."""
    rng = np.random.default_rng(seed)
    arguments = problem(rng)
    sample = given_candidates(rng, arguments[1])
    assert np.isin(arguments[1], sample[0]).any()
    found = numpy_of(sampled_softmax_loss(*arguments, *sample))
    expected = sampled_softmax_nll(*arguments, *sample)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    tf = pytest.importorskip("tensorflow")
    hidden, targets, kernel, bias = arguments
    candidates, target_count, candidate_count = sample
    wanted = tf.nn.sampled_softmax_loss(
        weights=kernel,
        biases=bias,
        labels=targets[:, None].astype("int64"),
        inputs=hidden,
        num_sampled=len(candidates),
        num_classes=len(kernel),
        sampled_values=(
            candidates.astype("int64"),
            target_count[:, None],
            candidate_count,
        ),
        remove_accidental_hits=True,
    )
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-5)


def test_sparse_gradient():
    """The gradient reaches targets and candidates alone."""
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng(4)
    hidden, targets, kernel, bias = problem(rng)
    sample = given_candidates(rng, targets)
    layer = make(kernel, bias, num_sampled=15)
    with tf.GradientTape() as tape:
        loss = sampled_softmax_loss(hidden, targets, layer.kernel, layer.bias, *sample)
    gradients = tape.gradient(loss, [layer.kernel.value, layer.bias.value])
    touched = np.union1d(targets, sample[0])
    for gradient in gradients:
        # Sparse, so that a step costs what it touches.
        assert isinstance(gradient, tf.IndexedSlices)
        dense = tf.convert_to_tensor(gradient).numpy().reshape(len(kernel), -1)
        np.testing.assert_array_equal(np.flatnonzero(dense.any(axis=1)), touched)


# ---------------------------------------------------------------- the draws


@functools.cache
def draws(vocabulary_size, num_sampled, times, seed=0):
    generator = keras.random.SeedGenerator(seed)
    return [
        numpy_of(draw_candidates(vocabulary_size, num_sampled, generator))
        for _ in range(times)
    ]


def misfit(frequency, expected, times):
    """A chi-square per id: about 1 if the frequencies are those expected."""
    variance = expected * (1 - expected) / times
    return np.mean((frequency - expected) ** 2 / variance)


def test_candidates_log_uniform():
    vocabulary_size, num_sampled, times = 60, 12, 1000
    counts = np.zeros(vocabulary_size)
    for candidates, _ in draws(vocabulary_size, num_sampled, times):
        assert candidates.dtype == "int32"
        assert len(np.unique(candidates)) == num_sampled
        counts[candidates] += 1
    # Drawn one by one by their probabilities, and not put back.
    rng = np.random.default_rng(0)
    share = log_uniform(vocabulary_size)
    expected = np.zeros(vocabulary_size)
    for _ in range(20 * times):
        drawn = rng.choice(vocabulary_size, num_sampled, replace=False, p=share)
        expected[drawn] += 1
    expected /= 20 * times
    assert misfit(counts / times, expected, times) < 1.6
    # The measure can tell: uniform draws, or ids off by one, are far away.
    uniform = np.full(vocabulary_size, num_sampled / vocabulary_size)
    assert misfit(uniform, expected, times) > 20
    assert misfit(np.roll(counts, 1) / times, expected, times) > 20


def test_probability_of_draw():
    """1 / Q for each candidate drawn is 1 on average, for every id."""
    vocabulary_size, num_sampled, times = 60, 12, 1000
    weights = np.zeros((times, vocabulary_size))
    for row, (candidates, threshold) in zip(
        weights, draws(vocabulary_size, num_sampled, times), strict=True
    ):
        probability = probability_of_draw(candidates, threshold, vocabulary_size)
        row[candidates] = 1 / numpy_of(probability)
    error = weights.std(axis=0) / times**0.5
    assert np.mean(((weights.mean(axis=0) - 1) / error) ** 2) < 1.6
    assert error.max() < 0.15


def test_the_same_seed_draws_the_same():
    first, second, other = (draws.__wrapped__(60, 12, 2, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[1][0], second[1][0])
    assert not np.array_equal(first[0][0], first[1][0])
    assert not np.array_equal(first[0][0], other[0][0])


def test_mean_over_draws():
    """The mean over draws tends to the exact loss."""
    vocabulary_size, positions = 100, 300
    rng = np.random.default_rng(6)
    hidden, _, kernel, bias = problem(rng, positions, vocabulary_size)
    # Targets as a corpus has them: frequent ids more often.
    share = log_uniform(vocabulary_size)
    targets = rng.choice(vocabulary_size, positions, p=share).astype("int32")
    exact = numpy_reference.softmax_nll(hidden, targets, kernel, bias).mean()

    def away(num_sampled):
        layer = make(kernel, bias, num_sampled)
        losses = [layer(hidden, targets, training=True) for _ in range(100)]
        return abs(np.mean(numpy_of(losses)) - exact)

    far, near, nearest = (away(num_sampled) for num_sampled in (5, 90, 99))
    assert far > near > nearest
    assert near < 0.07 and nearest < 0.008
    # The tolerance can be missed: so far off is the loss without the correction.
    ones = np.ones(positions, "float32")
    plain = [
        sampled_softmax_loss(hidden, targets, kernel, bias, drawn, ones, ones[:90])
        for drawn, _ in draws(vocabulary_size, 90, 50)
    ]
    assert abs(np.mean(numpy_of(plain)) - exact) > 0.1


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("argument", ["vocabulary_size", "num_sampled"])
def test_bad_arguments(argument):
    arguments = {"vocabulary_size": 4, "num_sampled": 2, argument: 0}
    with pytest.raises(ValueError, match=f"`{argument}` must .*Received: {argument}=0"):
        SampledSoftmax(**arguments)


class LossOfBatches(keras.Model):
    """Somebody's model, whose layers are built when it first sees a batch."""

    def __init__(self):
        super().__init__()
        self.softmax = SampledSoftmax(200, num_sampled=20, seed=3)

    def call(self, inputs, training=None):
        loss = self.softmax(*inputs, training=training)
        self.add_loss(keras.ops.mean(loss))
        return loss


def test_initializer_in_late_build():
    """While Keras traces `fit`, variables have no value yet."""
    model = LossOfBatches()
    model.compile(keras.optimizers.SGD(0.0), jit_compile=False)
    batch = np.ones((4, 5, 16), "float32"), np.ones((4, 5), "int32")
    model.fit(batch, batch_size=4, verbose=0)
    late = numpy_of(model.softmax.kernel)
    softmax = SampledSoftmax(200, num_sampled=20, seed=3)
    softmax.build((4, 5, 16))
    np.testing.assert_array_equal(late, numpy_of(softmax.kernel))
    assert late.std() == pytest.approx(1 / 4, rel=0.1)


def test_published_initialisers():
    layer = SampledSoftmax(400, 10)
    layer.build((None, 64))
    assert numpy_of(layer.kernel).std() == pytest.approx(1 / 8, rel=0.05)
    assert not numpy_of(layer.bias).any()
