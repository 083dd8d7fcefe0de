import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.optimizers import PublishedAdagrad
from tests.layers.layer_checks import numpy_of
from tests.layers.published_names import randomise
from tests.models.small import CONFIG
from tests.training.gradients import gradients_of
from tests.training.runs import ready_made

LEARNING_RATE, CLIP, FACTOR = 0.2, 10.0, 20.0


@pytest.mark.slow
def test_two_steps_of_the_published_recipe():
    """20 times the loss, norm 10, accumulators from 1: computed by hand.

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
            gradient *= min(1.0, CLIP / norms[-1])
            accumulator += gradient**2
            weight -= LEARNING_RATE * gradient / np.sqrt(accumulator)
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
    assert max(norms) > CLIP


def test_a_gradient_below_the_bound_is_not_clipped():
    """One number with the gradient 0.3: 6 after the factor, less than 10."""
    weight = keras.Variable([1.0])
    optimizer = PublishedAdagrad()
    optimizer.build([weight])
    gradient = float(optimizer.scale_loss(0.3))
    assert gradient == pytest.approx(6.0)
    optimizer.apply([keras.ops.array([gradient])])
    assert numpy_of(weight)[0] == pytest.approx(1 - 0.2 * 6 / np.sqrt(1 + 36), rel=1e-6)


def test_rows_that_are_looked_up_twice_have_one_gradient():
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
    np.testing.assert_allclose(numpy_of(table), numpy_of(other), atol=1e-6)
    assert (numpy_of(table)[[1, 3]] == 0).all()


def test_it_goes_through_a_config():
    optimizer = PublishedAdagrad(0.1, global_clipnorm=5.0)
    copy = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert type(copy) is PublishedAdagrad
    assert copy.get_config() == optimizer.get_config()
    assert copy.get_config()["global_clipnorm"] == 5.0
    assert copy.initial_accumulator_value == 1.0
