import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.utils.one_graph import OneGraph

pytestmark = pytest.mark.graph


class Scaled(keras.layers.Layer):
    """Multiplies by a variable; counts how often it is traced."""

    def __init__(self):
        super().__init__()
        self.factor = self.add_weight(shape=(), initializer="ones")
        self.traces = 0
        self.graph = OneGraph(self.scaled, (None, 2))

    def scaled(self, x):
        self.traces += 1
        return [keras.ops.cast(x, "float32") * self.factor, -x]

    def call(self, x):
        scaled, _ = self.graph(x, (x.shape[0], 2))
        return scaled


def graph_of(layer, rows=None, dtype="float32"):
    function = tf.function(layer, autograph=False)
    return function.get_concrete_function(tf.TensorSpec((rows, 2), dtype))


def test_graphs_of_all_shapes_share_one():
    layer = Scaled()
    graphs = {rows: graph_of(layer, rows) for rows in (None, 3, 1)}
    assert layer.traces == 1
    for rows, graph in graphs.items():
        # What is known of a shape stays known.
        assert graph.outputs[0].shape.as_list() == [rows, 2]
    layer.factor.assign(5.0)
    for rows in (3, 1):
        x = np.ones((rows, 2), "float32")
        np.testing.assert_array_equal(graphs[rows](tf.constant(x)), 5 * x)
    graph_of(layer, dtype="int32")
    assert layer.traces == 2


def test_options_and_gradients():
    """Each option has a graph, whose gradient equals the eager one."""
    variable = tf.Variable(3.0)
    traced = []

    def function(x, power):
        traced.append(power)
        return [variable * x**power]

    graph = OneGraph(function, (None, 2))

    @tf.function(reduce_retracing=True, autograph=False)
    def gradient(x, power):
        with tf.GradientTape() as tape:
            (y,) = graph(x, x.shape, power)
        return tape.gradient(y, variable)

    for rows in (2, 3):
        for power in (1, 2):
            x = 2 * tf.ones((rows, 2))
            np.testing.assert_allclose(gradient(x, power), 2 * rows * 2**power)
    assert traced == [1, 2]


def test_a_call_outside_of_a_graph_makes_none():
    layer = Scaled()
    for _ in range(2):
        layer(tf.ones((3, 2)))
    assert layer.traces == 2


def test_other_values_of_variables():
    """Calls with other values than the variables' make graphs of their own."""
    layer = Scaled()
    graph_of(layer)
    x = tf.ones((3, 2))

    def stateless(factor):
        outputs, _ = layer.stateless_call([factor], [], x)
        return outputs

    np.testing.assert_array_equal(tf.function(stateless)(tf.constant(7.0)), 7 * x)
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        mirrored = Scaled()
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    replicas = tf.function(lambda x: strategy.run(mirrored, (x,)), autograph=False)
    for _ in range(2):
        np.testing.assert_array_equal(replicas(x), x)
    assert mirrored.graph._graph is None
