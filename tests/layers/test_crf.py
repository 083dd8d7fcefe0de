import itertools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_elmo.layers.crf import (
    CRF,
    CRFDecode,
    CRFLoss,
    allowed_transitions,
    crf_decode,
    crf_marginals,
)
from tests.helpers.layer_checks import check_layer, numpy_of

pytestmark = pytest.mark.graph


class Paths:
    """All paths of one sequence, in float64: the definition, without recursion."""

    def __init__(self, scores, transitions, start, end):
        num_tokens, num_tags = scores.shape
        paths = list(itertools.product(range(num_tags), repeat=num_tokens))
        self.paths = np.array(paths, int).reshape(len(paths), num_tokens)
        self.scores = np.array(
            [self._score(path, scores, transitions, start, end) for path in self.paths]
        )
        self.log_sum = np.logaddexp.reduce(self.scores)

    @staticmethod
    def _score(path, scores, transitions, start, end):
        if not len(path):
            return 0.0
        total = start[path[0]] + end[path[-1]]
        total += sum(scores[k, tag] for k, tag in enumerate(path))
        return total + sum(transitions[a, b] for a, b in itertools.pairwise(path))

    def loss(self, tags):
        chosen = (self.paths == tags).all(axis=1)
        return self.log_sum - self.scores[chosen].item()

    def marginals(self, num_tags):
        weights = np.exp(self.scores - self.log_sum)
        is_tag = self.paths[:, :, None] == np.arange(num_tags)
        return np.einsum("p,ptn->tn", weights, is_tag)


def random_layer(num_tags, rng, **arguments):
    layer = CRF(num_tags, **arguments)
    layer.build((None, None, num_tags))
    for weight in layer.weights:
        weight.assign(rng.normal(0, 2, weight.shape))
    return layer


def paths_of(layer, scores, lengths):
    weights = [numpy_of(weight).astype("float64") for weight in layer.weights]
    return [
        Paths(row[:length].astype("float64"), *weights)
        for row, length in zip(scores, lengths, strict=True)
    ]


def test_contract(tmp_path):
    scores = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    tags = ["O", "B-X", "I-X"]
    same = {"low_precision_dtype": "float32", "path": tmp_path}
    check_layer(CRF, {"num_tags": 3}, [scores], **same)
    arguments = {"num_tags": 3, "tags": tags, "scheme": "BIO"}
    check_layer(CRF, arguments, [scores], **same)
    loss = keras.losses.deserialize(keras.losses.serialize(CRFLoss("sum", "other")))
    assert (loss.reduction, loss.name) == ("sum", "other")


@settings(max_examples=10, deadline=None)
@given(
    num_tags=st.integers(2, 5),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    in_front=st.booleans(),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    seed=st.integers(0, 999),
)
def test_equals_enumeration(num_tags, lengths, in_front, scale, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, scale, (len(lengths), 5, num_tags)).astype("float32")
    tags = rng.integers(0, num_tags, (len(lengths), 5))
    layer = random_layer(num_tags, rng)
    expected = paths_of(layer, scores, lengths)
    mask = np.arange(5) < np.array(lengths)[:, None]
    if in_front:
        # The same sequences, behind their padding.
        place = np.argsort(mask, axis=1, kind="stable")
        scores = np.take_along_axis(scores, place[:, :, None], 1)
        tags, mask = (np.take_along_axis(x, place, 1) for x in (tags, mask))
    # Neither labels nor scores of padding may matter.
    scores[~mask] = np.nan
    tags[~mask] = -1
    potentials = layer(scores, mask=mask)
    losses = numpy_of(CRFLoss(reduction=None)(tags, potentials))
    decoded, best = map(numpy_of, crf_decode(potentials))
    marginals = numpy_of(crf_marginals(potentials))
    assert (decoded[~mask] == 0).all() and (marginals[~mask] == 0).all()
    for k, paths in enumerate(expected):
        real = mask[k]
        tolerance = 1e-5 * max(1, abs(paths.scores).max())
        np.testing.assert_allclose(losses[k], paths.loss(tags[k, real]), atol=tolerance)
        np.testing.assert_allclose(best[k], paths.scores.max(), atol=tolerance)
        np.testing.assert_allclose(
            paths.loss(decoded[k, real]),
            paths.log_sum - paths.scores.max(),
            atol=tolerance,
        )
        np.testing.assert_allclose(
            marginals[k, real], paths.marginals(num_tags), atol=tolerance
        )


def test_skips_masked_tokens_in_between():
    rng = np.random.default_rng(0)
    layer = random_layer(3, rng)
    scores = rng.normal(size=(1, 5, 3)).astype("float32")
    tags = np.array([[2, 1, 0, 1, 2]])
    mask = np.array([[True, True, False, False, True]])
    (expected,) = paths_of(layer, scores[:, mask[0]], [3])
    potentials = layer(scores, mask=mask)
    loss = numpy_of(CRFLoss()(tags, potentials))
    np.testing.assert_allclose(loss, expected.loss([2, 1, 2]), atol=1e-5)
    marginals = numpy_of(crf_marginals(potentials))
    np.testing.assert_allclose(marginals[mask], expected.marginals(3), atol=1e-5)


def test_learns_what_marginals_say():
    """The gradient by the scores is the marginals less the labels."""
    rng = np.random.default_rng(1)
    layer = random_layer(4, rng)
    scores = rng.normal(size=(3, 6, 4)).astype("float32")
    tags = rng.integers(0, 4, (3, 6))
    mask = np.arange(6) < np.array([6, 3, 0])[:, None]
    model = keras.Sequential([_Scores(scores)])
    model.build((None,))
    marginals = numpy_of(crf_marginals(layer(scores, mask=mask)))
    expected = (marginals - np.eye(4)[tags]) * mask[:, :, None]

    def loss():
        return CRFLoss("sum")(tags, layer(model.layers[0].scores + 0.0, mask=mask))

    optimizer = keras.optimizers.SGD(1.0)
    _descend(optimizer, loss, [model.layers[0].scores])
    gradient = scores - numpy_of(model.layers[0].scores)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_constraints():
    tags = ["O", "B-A", "I-A", "B-B", "I-B"]
    allowed = allowed_transitions(tags, "BIO")
    refused = {(0, 2), (0, 4), (1, 4), (2, 4), (3, 2), (4, 2)}
    assert set(zip(*map(np.ndarray.tolist, np.where(~allowed)), strict=True)) == refused
    tags = ["O", "B-A", "I-A", "E-A", "S-A", "E-B"]
    allowed = allowed_transitions(tags, "BIOES").astype(int)
    outside, inside = [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0]
    expected = [outside, inside, inside, outside, outside, outside]
    np.testing.assert_array_equal(allowed, expected)


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_never_decodes_what_the_scheme_forbids(scheme):
    letters = [letter for letter in scheme if letter != "O"]
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "AB")]
    rng = np.random.default_rng(0)
    layer = random_layer(len(tags), rng, tags=tags, scheme=scheme)
    scores = rng.normal(0, 20, (30, 9, len(tags))).astype("float32")
    decoded, _ = crf_decode(layer(scores))
    allowed = allowed_transitions(tags, scheme)
    for path in numpy_of(decoded).tolist():
        assert all(allowed[pair] for pair in itertools.pairwise([0, *path, 0]))


def test_in_a_model_with_a_mask():
    """Compiled, as a whole: masked tokens change nothing, and it learns."""
    tokens = np.array([[1, 2, 3, 0], [2, 0, 0, 0], [3, 1, 2, 1]] * 8)
    tags = tokens % 3
    inputs = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(4, 8, mask_zero=True)(inputs)
    scores = keras.layers.Dense(3)(embedded)
    potentials = CRF(3)(scores)
    model = keras.Model(inputs, potentials)
    model.compile(keras.optimizers.Adam(0.1), CRFLoss())
    longer = np.pad(tokens, [(0, 0), (0, 3)])
    first, padded = (
        model.evaluate(x, np.pad(tags, [(0, 0), (0, x.shape[1] - 4)]), verbose=0)
        for x in (tokens, longer)
    )
    np.testing.assert_allclose(first, padded, rtol=1e-5)
    model.fit(tokens, tags, epochs=20, verbose=0)
    assert model.evaluate(tokens, tags, verbose=0) < 0.2 * first
    decoded = keras.Model(inputs, CRFDecode()(potentials)).predict(tokens, verbose=0)
    np.testing.assert_array_equal(decoded, tags * (tokens > 0))


def test_long_sequences():
    scores = np.random.default_rng(0).normal(size=(1, 2000, 3)).astype("float32")
    potentials = CRF(3)(scores)
    tags, _ = crf_decode(potentials)
    loss = numpy_of(CRFLoss()(tags, potentials))
    assert np.isfinite(loss) and 0 < loss < 2000 * np.log(3)


def test_float32_under_another_policy():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        scores = ops.cast(np.full((1, 300, 2), 300.0), "float16")
        potentials = CRF(2)(scores)
        loss = CRFLoss()(np.zeros((1, 300)), potentials)
        assert keras.backend.standardize_dtype(potentials.dtype) == "float32"
        assert np.isfinite(numpy_of(loss))
    finally:
        keras.config.set_dtype_policy(policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_tags": 1}, "`num_tags` must be at least 2. Received: num_tags=1"),
        ({"num_tags": 2, "tags": ["O"]}, "`tags` must be 2 names"),
        ({"num_tags": 2, "scheme": "IOB"}, "`scheme` must be one of BIO, BIOES"),
        ({"num_tags": 2, "scheme": "BIO"}, "`scheme` needs the names"),
        ({"num_tags": 2, "tags": ["O", "X"], "scheme": "BIO"}, "the tag 'X'"),
        ({"num_tags": 2, "tags": ["O", "E-X"], "scheme": "BIO"}, "the tag 'E-X'"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        CRF(**arguments)


def test_refuses_other_scores():
    with pytest.raises(ValueError, match="`scores` must have 3 tags"):
        CRF(3)(np.zeros((1, 2, 4), "float32"))


class _Scores(keras.layers.Layer):
    """Scores as a variable, to have its gradient on any backend."""

    def __init__(self, scores):
        super().__init__()
        self._values = scores

    def build(self, input_shape):
        self.scores = self.add_weight(shape=self._values.shape, name="scores")
        self.scores.assign(self._values)

    def call(self, inputs):
        return inputs


def _descend(optimizer, loss, variables):
    """One step of any backend."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = loss()
        gradients = tape.gradient(value, [variable.value for variable in variables])
    elif backend == "torch":
        loss().backward()
        gradients = [variable.value.grad for variable in variables]
    else:
        import jax

        def stateless(values):
            with keras.StatelessScope(zip(variables, values, strict=True)):
                return loss()

        gradients = jax.grad(stateless)([variable.value for variable in variables])
    if backend == "torch":
        import torch

        with torch.no_grad():
            optimizer.apply(gradients, variables)
    else:
        optimizer.apply(gradients, variables)
