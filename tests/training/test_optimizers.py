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


RATE, BETA_1, BETA_2, EPSILON = 0.01, 0.9, 0.999, 1e-7


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


# ---------------------------------------------------------------- by hand


class Adagrad:
    """The published recipe: 20 times the loss, norm 10, accumulators from 1."""

    factor, clip = 20.0, 10.0

    def __init__(self, weight):
        self.weight = weight.astype("float64")
        self.sums = np.ones_like(self.weight)

    def update(self, gradient, rows):
        self.sums += gradient**2
        self.weight -= 0.2 * gradient / np.sqrt(self.sums)

    def check(self, weight):
        np.testing.assert_allclose(weight, self.weight, atol=2e-6)


class RowwiseAdam:
    """Adam in double precision, which updates some rows and keeps the rest."""

    factor, clip = 1.0, 0.05

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

    def check(self, weight):
        # Where a gradient is next to nothing, Adam makes a whole step of its sign.
        errors = np.abs(weight - self.weight)
        assert np.mean(errors > 2e-5) < 2e-3 and errors.max() < 3 * RATE


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("kind", [Adagrad, RowwiseAdam])
def test_three_steps(kind):
    """Words and characters that occur several times in a batch have sparse gradients.

    Reported are the plain loss and the norm of its gradients, not clipped.
    """
    model = build_pretraining_model(CONFIG, 13, num_sampled=4)
    # Not small, so that the norm is clipped.
    randomise(model, np.random.default_rng(0), scale=0.5)
    optimizer = PublishedAdagrad()
    if kind is RowwiseAdam:
        optimizer = LazyAdam(RATE, global_clipnorm=kind.clip)
    model.compile(optimizer=optimizer)
    optimizer.build(model.trainable_variables)
    oracles = [kind(weight) for weight in numpy_of(model.trainable_variables)]
    norms = []
    batches = ready_made(3)
    batches[1] = {name: value[:1] for name, value in batches[1].items()}
    for batch in batches:
        loss, gradients = gradients_of(model, batch)
        norms.append(np.sqrt(sum(np.sum(g**2) for g in gradients)))
        factor = min(kind.factor, kind.clip / norms[-1])
        for weight, oracle, gradient in zip(
            model.trainable_variables, oracles, gradients, strict=True
        ):
            rows = np.full(len(gradient), True)
            if "softmax" in weight.path or "char_embedding" in weight.path:
                # What is not looked up has a gradient of exactly 0.
                rows = np.any(gradient.reshape(len(gradient), -1) != 0, axis=1)
            oracle.update(factor * gradient, rows)
        model.reset_metrics()
        logs = model.train_on_batch(batch, return_dict=True)
        assert logs["loss"] == pytest.approx(loss, rel=1e-5)
        norm = float(numpy_of(optimizer.gradient_norm))
        assert norm == pytest.approx(norms[-1], rel=1e-5)
        for weight, oracle in zip(model.trainable_variables, oracles, strict=True):
            oracle.check(numpy_of(weight))
    assert kind.factor * max(norms) > kind.clip


# ---------------------------------------------------------------- Adagrad

# Gradients of the rows of a table of four; one of them twice.
REPEATED = [[1.0, 2.0], [3.0, -4.0], [30.0, 5.0]], [2, 0, 2]


def slices(values, rows):
    return tf.IndexedSlices(
        tf.constant(values, "float32"), tf.constant(rows), tf.constant([4, 2])
    )


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
    gradient = slices(*REPEATED)
    sparse.build([table])
    dense.build([other])
    for _ in range(2):
        sparse.apply([gradient])
        dense.apply([tf.convert_to_tensor(gradient)])
    np.testing.assert_allclose(numpy_of(table), numpy_of(other), atol=1e-5)
    assert (numpy_of(table)[[1, 3]] == 0).all()


# ---------------------------------------------------------------- Adam


def test_adam_other_rows_stay():
    """Rows that are not looked up do not move."""
    table = keras.Variable(np.zeros((4, 2), "float32"))
    optimizer = LazyAdam(RATE, global_clipnorm=None)
    optimizer.build([table])
    oracle = RowwiseAdam(np.zeros((4, 2)))
    optimizer.apply([slices(*REPEATED)])
    oracle.update(np.array([[3.0, -4.0], [0, 0], [31.0, 7.0], [0, 0]]), [0, 2])
    moved = numpy_of(table).copy()
    # Adam would move row 0 again, by what it remembers of the step before.
    optimizer.apply([slices([[1.0, 1.0]], [2])])
    oracle.update(np.array([[0, 0], [0, 0], [1.0, 1.0], [0, 0]]), [2])
    np.testing.assert_allclose(numpy_of(table), oracle.weight, atol=1e-5)
    np.testing.assert_array_equal(numpy_of(table)[[0, 1, 3]], moved[[0, 1, 3]])
    assert (numpy_of(table)[[1, 3]] == 0).all()


def test_adam_dense_gradient():
    """A dense gradient is used as Keras's Adam uses it."""
    rng = np.random.default_rng(0)
    ours, theirs = (keras.Variable(np.ones((3, 2), "float32")) for _ in range(2))
    lazy = LazyAdam(RATE, global_clipnorm=0.05)
    adam = keras.optimizers.Adam(RATE, global_clipnorm=0.05)
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


@pytest.mark.usefixtures("in_float32", "eagerly")
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
