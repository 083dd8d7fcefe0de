import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training import optimizers
from keras_elmo.training.optimizers import LazyAdam, LazyMuon, PublishedAdagrad
from tests.helpers.layer_checks import numpy_of
from tests.helpers.runs import ready_made
from tests.helpers.small import SMALLER as CONFIG
from tests.helpers.small import randomise

pytestmark = pytest.mark.graph


RATE, BETA_1, BETA_2, EPSILON, CLIP = 0.01, 0.9, 0.999, 1e-7, 0.05
ADAGRAD_RATE, ADAGRAD_CLIP, FACTOR = 0.2, 10.0, 20.0


def gradients_of(model, batch):
    """The loss and its plain gradients, in double precision, weights unchanged."""
    seed = model.head.softmax.seed_generator.state
    before = seed.numpy()
    variables = [weight.value for weight in model.trainable_variables]
    with tf.GradientTape() as tape:
        model(batch, training=True)
        (loss,) = model.losses
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
    # The step that follows draws the same candidates.
    seed.assign(before)
    return float(loss), [gradient.numpy().astype("float64") for gradient in gradients]


@pytest.mark.parametrize("optimizer", [PublishedAdagrad, LazyAdam, LazyMuon])
def test_config(optimizer):
    made = optimizer(0.1, global_clipnorm=5.0)
    copy = keras.optimizers.deserialize(keras.optimizers.serialize(made))
    assert type(copy) is optimizer
    assert copy.get_config() == made.get_config()
    assert copy.get_config()["global_clipnorm"] == 5.0


# ---------------------------------------------------------------- Adagrad


@pytest.mark.slow
def test_adagrad_two_steps():
    """Two steps of the published recipe.

    20 times the loss, norm 10, accumulators from 1: computed by hand.

    Words that occur several times in the batch, characters as well, are what a sparse
    gradient may get wrong.
    """
    model = build_pretraining_model(CONFIG, 13, num_sampled=4)
    # Not small, so that the norm is clipped.
    randomise(model, np.random.default_rng(0), scale=0.5)
    model.compile(optimizer=PublishedAdagrad())
    model.optimizer.build(model.trainable_variables)
    batches = ready_made(2)
    batches[1] = {name: value[:1] for name, value in batches[1].items()}
    weights = [w.astype("float64") for w in numpy_of(model.trainable_variables)]
    accumulators = [np.ones_like(weight) for weight in weights]
    norms = []
    for batch in batches:
        loss, gradients = gradients_of(model, batch)
        gradients = [FACTOR * gradient for gradient in gradients]
        norms.append(np.sqrt(sum(np.sum(g**2) for g in gradients)))
        for weight, accumulator, gradient in zip(
            weights, accumulators, gradients, strict=True
        ):
            gradient *= min(1.0, ADAGRAD_CLIP / norms[-1])
            accumulator += gradient**2
            weight -= ADAGRAD_RATE * gradient / np.sqrt(accumulator)
        model.reset_metrics()
        logs = model.train_on_batch(batch, return_dict=True)
        # Reported are the plain loss and the norm of its gradients, not clipped.
        assert logs["loss"] == pytest.approx(loss, rel=1e-5)
        norm = float(numpy_of(model.optimizer.gradient_norm))
        assert norm == pytest.approx(norms[-1] / FACTOR, rel=1e-5)
        for found, wanted in zip(model.trainable_variables, weights, strict=True):
            np.testing.assert_allclose(
                numpy_of(found), wanted, atol=2e-6, err_msg=found.path
            )
    assert max(norms) > ADAGRAD_CLIP


def test_adagrad_small_gradient():
    """One number with the gradient 0.3: 6 after the factor, less than 10."""
    weight = keras.Variable([1.0])
    optimizer = PublishedAdagrad()
    optimizer.build([weight])
    gradient = float(optimizer.scale_loss(0.3))
    assert gradient == pytest.approx(6.0)
    optimizer.apply([keras.ops.array([gradient])])
    assert numpy_of(weight)[0] == pytest.approx(1 - 0.2 * 6 / np.sqrt(1 + 36), rel=1e-5)


def test_adagrad_repeated_rows():
    """Rows that are looked up twice have one gradient."""
    table = keras.Variable(np.zeros((4, 2), "float32"))
    sparse, dense = PublishedAdagrad(), PublishedAdagrad()
    other = keras.Variable(np.zeros((4, 2), "float32"))
    slices = tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [3.0, -4.0], [30.0, 5.0]]),
        tf.constant([2, 0, 2]),
        tf.constant([4, 2]),
    )
    sparse.build([table])
    dense.build([other])
    for _ in range(2):
        sparse.apply([slices])
        dense.apply([tf.convert_to_tensor(slices)])
    np.testing.assert_allclose(numpy_of(table), numpy_of(other), atol=1e-5)
    assert (numpy_of(table)[[1, 3]] == 0).all()


# ---------------------------------------------------------------- Adam


class RowwiseAdam:
    """Adam in double precision; rows whose gradient is None stay as they are."""

    def __init__(self, weight):
        self.weight = weight.astype("float64")
        self.mean = np.zeros_like(self.weight)
        self.square = np.zeros_like(self.weight)
        self.step = 0

    def update(self, gradient, rows):
        self.step += 1
        g = gradient[rows]
        self.mean[rows] = BETA_1 * self.mean[rows] + (1 - BETA_1) * g
        self.square[rows] = BETA_2 * self.square[rows] + (1 - BETA_2) * g**2
        mean = self.mean[rows] / (1 - BETA_1**self.step)
        root = np.sqrt(self.square[rows] / (1 - BETA_2**self.step))
        # Keras adds epsilon before it corrects the root.
        epsilon = EPSILON / np.sqrt(1 - BETA_2**self.step)
        self.weight[rows] -= RATE * mean / (root + epsilon)


@pytest.mark.usefixtures("eagerly")
def test_adam_three_steps():
    """Clipped, with sparse gradients of words that occur several times: by hand."""
    model = build_pretraining_model(CONFIG, 13, num_sampled=4)
    randomise(model, np.random.default_rng(0), scale=0.5)
    model.compile(optimizer=LazyAdam(RATE, global_clipnorm=CLIP))
    model.optimizer.build(model.trainable_variables)
    oracles = [RowwiseAdam(w) for w in numpy_of(model.trainable_variables)]
    norms = []
    for batch in ready_made(3):
        loss, gradients = gradients_of(model, batch)
        norms.append(np.sqrt(sum(np.sum(g**2) for g in gradients)))
        for weight, oracle, gradient in zip(
            model.trainable_variables, oracles, gradients, strict=True
        ):
            rows = np.full(len(gradient), True)
            if "softmax" in weight.path or "char_embedding" in weight.path:
                # What is not looked up has a gradient of exactly 0.
                rows = np.any(gradient.reshape(len(gradient), -1) != 0, axis=1)
            oracle.update(gradient * min(1.0, CLIP / norms[-1]), rows)
        model.reset_metrics()
        logs = model.train_on_batch(batch, return_dict=True)
        assert logs["loss"] == pytest.approx(loss, rel=1e-5)
        norm = float(numpy_of(model.optimizer.gradient_norm))
        assert norm == pytest.approx(norms[-1], rel=1e-5)
        for weight, oracle in zip(model.trainable_variables, oracles, strict=True):
            # Where a gradient is next to nothing, Adam makes a whole step of its sign.
            found = np.abs(numpy_of(weight) - oracle.weight)
            assert np.mean(found > 2e-5) < 2e-3, weight.path
            assert found.max() < 3 * RATE, weight.path
    assert min(norms) > CLIP


def slices(values, rows, size):
    return tf.IndexedSlices(
        tf.constant(values, "float32"), tf.constant(rows), tf.constant([size, 2])
    )


def test_adam_other_rows_stay():
    """Rows that are not looked up do not move."""
    table = keras.Variable(np.zeros((4, 2), "float32"))
    optimizer = LazyAdam(RATE, global_clipnorm=None)
    optimizer.build([table])
    oracle = RowwiseAdam(np.zeros((4, 2)))
    optimizer.apply([slices([[1.0, 2.0], [3.0, -4.0], [30.0, 5.0]], [2, 0, 2], 4)])
    oracle.update(np.array([[3.0, -4.0], [0, 0], [31.0, 7.0], [0, 0]]), [0, 2])
    moved = numpy_of(table).copy()
    # Adam would move row 0 again, by what it remembers of the step before.
    optimizer.apply([slices([[1.0, 1.0]], [2], 4)])
    oracle.update(np.array([[0, 0], [0, 0], [1.0, 1.0], [0, 0]]), [2])
    np.testing.assert_allclose(numpy_of(table), oracle.weight, atol=1e-5)
    np.testing.assert_array_equal(numpy_of(table)[[0, 1, 3]], moved[[0, 1, 3]])
    assert (numpy_of(table)[[1, 3]] == 0).all()


def test_adam_dense_gradient():
    """A dense gradient is adam's."""
    rng = np.random.default_rng(0)
    ours, theirs = (keras.Variable(np.ones((3, 2), "float32")) for _ in range(2))
    lazy = LazyAdam(RATE, global_clipnorm=CLIP)
    adam = keras.optimizers.Adam(RATE, global_clipnorm=CLIP)
    lazy.build([ours])
    adam.build([theirs])
    for _ in range(3):
        gradient = keras.ops.array(rng.normal(size=(3, 2)), "float32")
        lazy.apply([gradient])
        adam.apply([gradient])
    np.testing.assert_allclose(numpy_of(ours), numpy_of(theirs), rtol=1e-5)


# ---------------------------------------------------------------- Muon


@pytest.fixture
def in_float32(monkeypatch):
    monkeypatch.setattr(optimizers, "multiplies_bfloat16", lambda: False)


def muon_of_keras(weight):
    """Keras's own Muon, which neither clips nor decays a weight."""
    muon = keras.optimizers.Muon(RATE, weight_decay=None, adam_weight_decay=None)
    muon.build([weight])
    return muon


@pytest.mark.usefixtures("in_float32")
@pytest.mark.parametrize(
    ("name", "shape"), [("carry_kernel", (6, 6)), ("projection_kernel", (9, 4))]
)
def test_muon_matrix(name, shape):
    """A matrix is updated as by Keras's Muon."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=shape)
    ours, theirs = (keras.Variable(start, dtype="float32", name=name) for _ in range(2))
    lazy, muon = LazyMuon(RATE, global_clipnorm=None), muon_of_keras(theirs)
    lazy.build([ours])
    for _ in range(3):
        gradient = keras.ops.array(rng.normal(size=shape), "float32")
        lazy.apply([gradient])
        muon.apply([gradient])
    np.testing.assert_allclose(numpy_of(ours), numpy_of(theirs), rtol=1e-4, atol=1e-6)
    assert np.abs(numpy_of(ours) - start).max() > RATE / 10


@pytest.mark.usefixtures("in_float32")
@pytest.mark.slow
def test_muon_language_model():
    """The kernel of an LSTM is four matrices; tables, filters and biases are Adam's."""
    model = build_pretraining_model(CONFIG, 13, num_sampled=4)
    randomise(model, np.random.default_rng(0), scale=0.5)
    weights = model.trainable_weights
    before = numpy_of(weights)
    copies = [keras.Variable(old, name="copy") for old in before]
    muon = LazyMuon(RATE, global_clipnorm=None)
    adam = LazyAdam(RATE, global_clipnorm=None)
    muon.build(weights)
    adam.build(copies)
    seen = set()
    gradients = gradients_of(model, ready_made(1)[0])[1]
    gradients = [keras.ops.cast(gradient, "float32") for gradient in gradients]
    muon.apply(gradients)
    adam.apply(gradients)
    for weight, old, gradient, copy in zip(
        weights, before, gradients, copies, strict=True
    ):
        moved = numpy_of(weight) - old
        if "bilm" in weight.path and weight.name == "kernel":
            for quarter, found in zip(
                np.split(numpy_of(gradient), 4, 1), np.split(moved, 4, 1), strict=True
            ):
                single = keras.Variable(np.zeros_like(quarter))
                muon_of_keras(single).apply([keras.ops.array(quarter)])
                np.testing.assert_allclose(found, numpy_of(single), atol=1e-4 * RATE)
            seen.add("gates")
        elif weight.name.endswith("_kernel"):
            single = keras.Variable(np.zeros_like(old))
            muon_of_keras(single).apply([gradient])
            np.testing.assert_allclose(moved, numpy_of(single), atol=1e-4 * RATE)
            seen.add(weight.name)
        else:
            np.testing.assert_array_equal(numpy_of(weight), numpy_of(copy))
            seen.add("adam")
    assert {"gates", "projection_kernel", "carry_kernel", "adam"} <= seen


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_muon_singular_values(dtype):
    """The update turns as the momentum does, and all its singular values are near 1."""
    matrices = np.random.default_rng(0).normal(size=(2, 24, 32)).astype("float32")
    found = numpy_of(optimizers._orthogonal(keras.ops.array(matrices), dtype))
    for matrix, orthogonal in zip(matrices, found, strict=True):
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        values = np.diag(left.T @ orthogonal @ right.T)
        assert values.min() > 0.6 and values.max() < 1.3
        assert np.linalg.norm(orthogonal - left * values @ right) < 0.2
