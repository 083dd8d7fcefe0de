"""Names that Keras, TensorFlow and uvicorn do not document are there, and behave.

When a later version lacks one, its test says what the package needs it for.
"""

import ast
import importlib
import inspect
import re
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text.tokenizer import StringLayer
from keras_elmo.training.optimizers import LazyAdam, PublishedAdagrad
from keras_elmo.utils import keras_private
from keras_elmo.utils.lazy import do_not_convert
from tests.helpers.installed import import_installed
from tests.helpers.layer_checks import numpy_of
from tests.test_architecture import modules

# Each has a test below. Python's own names stay the same in every release.
OF_KERAS = {
    *("_get_variable_index", "_all_reduce_sum_gradients", "_flatten_layers"),
    *("_value", "_trainable"),
    *("_convert_input_args", "_allow_non_tensor_positional_args"),
}
OF_PYTHON = {
    *("_asdict", "_fields", "_replace", "_getframe"),
    *("_actions", "_option_string_actions", "_SubParsersAction"),
}
# scikit-learn documents it, for classes of estimators.
OF_SKLEARN = {"_n_features_out"}


# ---------------------------------------------------------------- the list


def test_names_of_objects():
    """One module alone asks for private names, the listed, that are not its own."""
    own, asked = set(), {}
    for module, source in modules():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute):
                is_set = isinstance(node.ctx, ast.Store)
                if is_set and ast.unparse(node.value) == "self":
                    own.add(node.attr)
                asked.setdefault(node.attr, set()).add(module)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own.add(node.name)
    unknown = {name: asked[name] for name in private(asked) - own - OF_PYTHON}
    here = {name: {keras_private.__name__} for name in OF_KERAS - own}
    assert unknown == here
    assert not OF_PYTHON - asked.keys(), "no longer needed"


def test_modules():
    """Modules that Keras does not document are named in one place."""
    for module, source in modules():
        if module != keras_private.__name__:
            assert not re.search(r"\b(keras\.src|tensorflow\.python)\b", source), module


def private(names):
    return {name for name in names if re.match("_[^_]", name)}


def foreign_names(cls):
    """Private names in a class's bases from other packages."""
    names = set()
    for base in cls.__mro__[1:]:
        if not base.__module__.startswith(("keras_elmo", "builtins", "abc")):
            names |= vars(base).keys()
            for _, function in inspect.getmembers(base, inspect.isfunction):
                names |= set(function.__code__.co_names)
    return private(names)


def own_names(cls):
    """The private names that a class of the package gives to itself."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls)))
    names = {node.name for node in tree.body[0].body if hasattr(node, "name")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return private(names)


def test_names_of_subclasses():
    """No class overwrites a private name of a class that it extends, but the listed."""
    shared = {}
    for module, _ in modules():
        if module.endswith(("__init__", "__main__")):
            continue
        for _, cls in inspect.getmembers(import_installed(module), inspect.isclass):
            if cls.__module__ == module:
                for name in (
                    own_names(cls) & foreign_names(cls) - OF_PYTHON - OF_SKLEARN
                ):
                    shared[name] = cls
    assert shared == {"_all_reduce_sum_gradients": keras_private.Optimizer}


# ---------------------------------------------------------------- layers


def test_flatten_layers():
    """Layers inside of layers, at any depth, without the layer itself."""
    dense = keras.layers.Dense(1)
    inner = keras.Sequential([dense])
    outer = keras.Sequential([inner])
    assert keras_private.inner_layers(outer) == [inner, dense]


def test_trainable():
    """TensorFlow's variables, and what a SavedModel stores, follow Keras's."""
    layer = keras.layers.Dense(1)
    layer.build((None, 2))
    layer.trainable = False
    assert all(weight.value.trainable for weight in layer.weights)
    keras_private.tell_tensorflow(layer)
    assert not any(weight.value.trainable for weight in layer.weights)


def test_strings_as_inputs():
    """Keras hands on lists and arrays of strings as they are where a layer says so."""
    seen = []

    class Layer(StringLayer):
        def call(self, inputs):
            seen.append(type(inputs))
            return keras.ops.zeros(2)

    strings = np.array(["a", "b"])
    for inputs in (["a", "b"], strings):
        Layer()(inputs)
    assert seen == [list, np.ndarray]
    layer = Layer()
    layer._convert_input_args = True
    layer(strings)
    assert seen[2] is not np.ndarray
    layer._allow_non_tensor_positional_args = False
    with pytest.raises(ValueError, match="Only input tensors"):
        layer(["a", "b"])


def test_stateless_scope():
    """Keras tells where it has put other values in place of variables."""
    assert not keras_private.in_stateless_scope()
    with keras.StatelessScope():
        assert keras_private.in_stateless_scope()
    assert not keras_private.in_stateless_scope()


@pytest.mark.parametrize("module", keras_private._FORMATS)
def test_exporters(module):
    """`model.export` calls a function of each module that tells of an export."""
    function = f"export_{module.rpartition('.')[2]}"
    found = getattr(importlib.import_module("keras.src.export"), function)
    assert found.__module__ == module
    assert function in inspect.unwrap(keras.Model.export).__code__.co_names


def test_do_not_convert():
    """AutoGraph leaves a function with this attribute as it is."""

    def branch(x):
        return x + 1 if x > 0 else x - 1

    # AutoGraph converts nothing on later ones.
    if sys.version_info < (3, 13):
        assert tf.function(branch)(tf.constant(1)) == 2
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(do_not_convert(branch))(tf.constant(1))


# ---------------------------------------------------------------- optimizers


@pytest.mark.parametrize(
    ("optimizer", "slots"),
    [(PublishedAdagrad, ["_accumulators"]), (LazyAdam, ["_momentums", "_velocities"])],
)
def test_slots(optimizer, slots):
    """Keras's optimizers make these lists and update them, as the package does."""
    weights = [keras.Variable(np.ones(size, "float32")) for size in (2, 3)]
    theirs = optimizer.__bases__[1]()
    for made in (theirs, optimizer()):
        made.build(weights)
        before = [[numpy_of(x) for x in getattr(made, name)] for name in slots]
        assert [[len(x) for x in each] for each in before] == [[2, 3]] * len(slots)
        assert [made._get_variable_index(weight) for weight in weights] == [0, 1]
        if made is not theirs:
            name = slots[0].removeprefix("_")
            assert made.slot(name, weights[1]) is getattr(made, slots[0])[1]
        made.apply([keras.ops.ones_like(weight) for weight in weights])
        for name, old in zip(slots, before, strict=True):
            for now, was in zip(getattr(made, name), old, strict=True):
                assert np.all(numpy_of(now) != was)


def test_sum_of_gradients():
    """Keras sums the gradients of replicas in one method, once for each update."""
    calls = []

    class Counting(keras.optimizers.SGD):
        def _all_reduce_sum_gradients(self, grads_and_vars):
            calls.append(len(grads_and_vars))
            return grads_and_vars

    weight = keras.Variable([1.0])
    Counting(1.0).apply([keras.ops.ones(1)], [weight])
    assert calls == [1] and numpy_of(weight) == 0


# ---------------------------------------------------------------- uvicorn


def test_uvicorn():
    """The server catches signals in this method, and a connection has these parts."""
    uvicorn = import_installed("uvicorn")
    http = import_installed("keras_elmo.serving.http")
    assert "capture_signals" in uvicorn.Server.serve.__code__.co_names
    ours, theirs = http._Connection, http.HttpToolsProtocol
    methods = {name for name in vars(ours) if re.match("[a-z]", name)}
    # httptools calls this one if there is one.
    methods.remove("on_chunk_header")
    assert methods <= set(dir(theirs)), methods
    parts = {"self.loop", "self.transport", "self.cycle"}
    assert parts <= set(re.findall(r"self\.\w+", inspect.getsource(theirs)))
    cycle = import_installed("uvicorn.protocols.http.httptools_impl")
    assert "response_complete" in inspect.getsource(cycle.RequestResponseCycle)
