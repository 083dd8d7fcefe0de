"""The contract of every layer with Keras.

Float32 results are compared to 1e-5: processors and optimised graphs add in different
orders, and a result of size 1 to 10 is off by up to some 1e-6 then.
"""

import contextlib
import inspect
import json

import keras
import numpy as np
from keras import tree


def numpy_of(value):
    """Tensors and variables of any backend and dtype, however nested, in NumPy."""

    def convert(tensor):
        tensor = keras.ops.convert_to_tensor(tensor)
        if keras.backend.standardize_dtype(tensor.dtype) == "bfloat16":
            tensor = keras.ops.cast(tensor, "float32")
        return np.asarray(keras.ops.convert_to_numpy(tensor))

    return tree.map_structure(convert, value)


@contextlib.contextmanager
def moved(weights):
    """Yields a set: after the block it has the paths of the weights that changed."""
    paths, before = set(), [numpy_of(weight).copy() for weight in weights]
    yield paths
    for weight, old in zip(weights, before, strict=True):
        if not np.array_equal(numpy_of(weight), old):
            paths.add(weight.path)


@contextlib.contextmanager
def global_policy(name):
    """Sets Keras's global dtype policy in the block."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def shapes_of(value):
    return [tuple(array.shape) for array in tree.flatten(value)]


def check_layer(
    cls,
    arguments,
    inputs,
    *,
    mask=None,
    output_mask=None,
    low_precision_dtype="bfloat16",
    low_precision_tolerance=0.1,
    path=None,
):
    """Checks one layer's contract with Keras.

    Args:
        cls: the layer's class.
        arguments: keyword arguments of its constructor, none at its default, so that
            the round trip would notice a forgotten one.
        inputs: list of its call's positional arguments: arrays, or lists of arrays.
        mask: if given, passed to the call as `mask`.
        output_mask: the mask that the outputs must carry, if not `mask` itself.
        low_precision_dtype: of the floating outputs under mixed_bfloat16.
        low_precision_tolerance: how far they may be from float32's.
        path: a folder; with it the layer is saved in a `.keras` file and loaded.
    """
    call = {} if mask is None else {"mask": keras.ops.convert_to_tensor(mask)}
    layer = cls(**arguments)
    outputs = layer(*inputs, **call)
    expected = numpy_of(outputs)

    _check_shapes(layer, inputs, outputs)
    _check_mask(outputs, mask if output_mask is None else output_mask)
    _check_dtypes(layer, "float32", "float32", outputs)
    _check_config(cls, arguments, layer, inputs, call, expected)
    _check_low_precision(
        cls,
        arguments,
        layer,
        inputs,
        call,
        low_precision_dtype,
        low_precision_tolerance,
    )
    if path is not None:
        _check_save_and_load(layer, inputs, path)
    return layer


def _check_shapes(layer, inputs, outputs):
    """The promised shapes, with every size known and with some left open."""

    def spec(array):
        return keras.KerasTensor(array.shape, str(array.dtype))

    promised = shapes_of(layer.compute_output_spec(*tree.map_structure(spec, inputs)))
    assert promised == shapes_of(outputs)

    symbolic = layer(*_symbolic(inputs))
    for open_shape, shape in zip(shapes_of(symbolic), promised, strict=True):
        assert len(open_shape) == len(shape)
        for open_size, size in zip(open_shape, shape, strict=True):
            assert open_size in (None, size)
    # The size of a vector is known to whatever builds on it.
    if len(promised[0]) == 3:
        assert shapes_of(symbolic)[0][-1] == promised[0][-1]


def _symbolic(inputs):
    """Keras inputs with batch and second axis open, the others known."""

    def make(array):
        shape = (None,) * (array.ndim > 1) + array.shape[2:]
        return keras.Input(shape, dtype=str(array.dtype))

    return tree.map_structure(make, inputs)


def _check_mask(outputs, output_mask):
    for output in tree.flatten(outputs):
        found = getattr(output, "_keras_mask", None)
        if output_mask is None:
            assert found is None
        else:
            np.testing.assert_array_equal(numpy_of(found), output_mask)


def _check_dtypes(layer, variable_dtype, output_dtype, outputs):
    for weight in layer.weights:
        assert weight.dtype == variable_dtype, weight.path
    first = tree.flatten(outputs)[0]
    assert keras.backend.standardize_dtype(first.dtype) == output_dtype


def _check_config(cls, arguments, layer, inputs, call, expected):
    assert keras.saving.get_registered_name(cls) == f"keras_elmo>{cls.__name__}"
    config = layer.get_config()
    parameters = inspect.signature(cls.__init__).parameters.values()
    named = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD} - {"self"}
    assert named <= config.keys()
    defaults = {p.name: p.default for p in parameters}
    for name, value in arguments.items():
        assert value is not defaults[name], f"{name} is at its default"
        assert config[name] == keras.saving.serialize_keras_object(value), name

    assert json.loads(json.dumps(config)) is not None
    copy = cls.from_config(config)
    assert copy.get_config() == config
    assert copy.name == layer.name
    copy(*inputs, **call)
    assert [w.shape for w in copy.weights] == [w.shape for w in layer.weights]
    copy.set_weights(layer.get_weights())
    tree.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5),
        numpy_of(copy(*inputs, **call)),
        expected,
    )

    frozen = cls(**arguments, trainable=False)
    frozen(*inputs, **call)
    assert frozen.trainable_weights == []


def _check_low_precision(cls, arguments, layer, inputs, call, dtype, tolerance):
    low = cls(**arguments, dtype="mixed_bfloat16")
    low(*inputs, **call)
    low.set_weights(layer.get_weights())
    outputs = low(*inputs, **call)
    _check_dtypes(low, "float32", dtype, outputs)
    for found, wanted in zip(
        tree.flatten(numpy_of(outputs)),
        tree.flatten(numpy_of(layer(*inputs, **call))),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, atol=tolerance)
    for part in low._flatten_layers():
        assert part.dtype_policy.name == "mixed_bfloat16", part.name


def _check_save_and_load(layer, inputs, path):
    symbolic = _symbolic(inputs)
    model = keras.Model(tree.flatten(symbolic), layer(*symbolic))
    file = path / f"{layer.name}.keras"
    model.save(file)
    loaded = keras.saving.load_model(file)
    flat = tree.flatten(inputs)
    for found, wanted in zip(
        tree.flatten(numpy_of(loaded(flat))),
        tree.flatten(numpy_of(model(flat))),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    names = [weight.path for weight in model.weights]
    assert [weight.path for weight in loaded.weights] == names
    assert len(set(names)) == len(names)
