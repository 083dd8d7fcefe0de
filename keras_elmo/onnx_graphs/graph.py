"""Builds an ONNX graph, operator by operator."""

import math
import os
from collections.abc import Sequence

import keras
import numpy as np
from keras import ops
from numpy.typing import ArrayLike, DTypeLike

from keras_elmo.files.onnx_session import WEIGHT_BITS
from keras_elmo.utils.files import check_room, replacing
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.types import StrPath

# The limit of the file format.
_MAX_BYTES = 2**31 - 1

# Operators and file format of 2022.
_OPSET = 17
_IR_VERSION = 8
# Operators of ONNX Runtime alone.
_RUNTIME = "com.microsoft"

_MAX_WEIGHT = 2 ** (WEIGHT_BITS - 1)

# Numbers of a constant that stays where it is used.
_SMALL = 1024

TO_THE_END = int(np.iinfo("int64").max)

# Sizes; the name of an axis stands for any size.
Axes = tuple[int | str, ...]


class OnnxGraph:
    """A graph, or the body of a loop. Tensors are known by their names.

    Args:
        name: prefix of the names of tensors, which must differ between the body of a
            loop and the graph around it.
        outer: the graph around the body of a loop.
        int8: whether matrices are stored in 8 bits, and multiplied so.
    """

    def __init__(
        self, name: str, outer: "OnnxGraph | None" = None, int8: bool = False
    ) -> None:
        self._outer = outer
        self._int8: bool = outer._int8 if outer else int8
        self._onnx = import_extra("onnx", "Writing ONNX", "onnx")
        self._name = name
        self._nodes: list[object] = []
        self._constants: list[object] = []
        self._inputs: list[object] = []
        self._outputs: list[object] = []

    def input(self, name: str, dtype: DTypeLike, axes: Axes) -> str:
        """Adds an input and returns its name."""
        self._inputs.append(self._type_info(name, dtype, axes))
        return name

    def sequence_input(self, name: str) -> str:
        """Adds an input that is a sequence of float32 tensors; returns its name."""
        self._inputs.append(self._sequence_info(name))
        return name

    def sequence_output(self, x: str) -> None:
        self._outputs.append(self._sequence_info(x))

    def _sequence_info(self, name: str) -> object:
        helper = self._onnx.helper
        element = helper.make_tensor_type_proto(self._type("float32"), None)
        return helper.make_value_info(name, helper.make_sequence_type_proto(element))

    def output(
        self, x: str, dtype: DTypeLike, axes: Axes, name: str | None = None
    ) -> None:
        """Returns a tensor from the graph, renamed if a name is given."""
        if name is not None:
            self._nodes.append(self._onnx.helper.make_node("Identity", [x], [name]))
        self._outputs.append(self._type_info(name or x, dtype, axes))

    def _type_info(self, name: str, dtype: DTypeLike, axes: Axes) -> object:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), axes)

    def _type(self, dtype: DTypeLike) -> int:
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def constant(self, value: ArrayLike, dtype: DTypeLike = "float32") -> str:
        """Stores an array with the graph and returns its name."""
        array = np.asarray(value, dtype, order="C")
        if self._outer and not self._outer._outer and array.size > _SMALL:
            # ONNX Runtime holds what is in the body of a loop three times in memory. It
            # packs matrices for its products from one graph further out, no more.
            return self._outer.constant(array, dtype)
        name = f"{self._name}_constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def integers(self, *values: int) -> str:
        """Stores a vector of axes, sizes or indices."""
        return self.constant(values, "int64")

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        """Adds an operator with one output and returns the output's name."""
        return self.add_several(1, operator, *inputs, **attributes)[0]

    def add_several(
        self, outputs: int, operator: str, *inputs: str, **attributes: object
    ) -> list[str]:
        """Adds an operator with several outputs and returns their names."""
        place = len(self._nodes)
        names = [f"{self._name}_{operator}_{place}_{k}" for k in range(outputs)]
        node = self._onnx.helper.make_node(operator, inputs, names, **attributes)
        self._nodes.append(node)
        return names

    def cast(self, x: str, dtype: DTypeLike) -> str:
        return self.add("Cast", x, to=self._type(dtype))

    def slice(self, x: str, start: int, stop: int, axis: int) -> str:
        return self.add("Slice", x, *map(self.integers, (start, stop, axis)))

    def affine(self, x: str, kernel: object, bias: object = None) -> str:
        """Multiplies `(rows, n)` by a matrix, and adds a vector if there is one.

        In 8 bits, a column of the matrix has a scale of its own, and `x` has one. The
        matrix uses seven of its bits, so that every processor computes the same sums.
        """
        kernel = to_float32(kernel)
        added = "" if bias is None else self.constant(to_float32(bias))
        if not self._int8:
            product = self.add("MatMul", x, self.constant(kernel))
            return self.add("Add", product, added) if added else product
        scale = np.maximum(np.abs(kernel).max(axis=0), 1e-30) / _MAX_WEIGHT
        quantized = self.constant(np.round(kernel / scale), "int8")
        scale = self.constant(scale)
        inputs = (x, quantized, scale, *(("", added) if added else ()))
        return self.add("DynamicQuantizeMatMul", *inputs, domain=_RUNTIME)

    def look_up(self, table: np.ndarray, rows: str) -> str:
        """Returns rows of a matrix; in 8 bits, each row has a scale of its own."""
        if not self._int8:
            return self.add("Gather", self.constant(table), rows)
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-30) / 127
        quantized = self.constant(np.round(table / scale), "int8")
        values = self.cast(self.add("Gather", quantized, rows), "float32")
        return self.add("Mul", values, self.add("Gather", self.constant(scale), rows))

    def build(self) -> object:
        """Returns the graph, for a model or as the body of a loop."""
        return self._onnx.helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, self._constants
        )

    def serialize(self, metadata: dict[str, str]) -> bytes:
        """Returns the content of an ONNX file with this graph."""
        helper = self._onnx.helper
        model = helper.make_model(
            self.build(),
            producer_name="keras_elmo",
            opset_imports=[
                helper.make_opsetid("", _OPSET),
                *([helper.make_opsetid(_RUNTIME, 1)] if self._int8 else []),
            ],
            ir_version=_IR_VERSION,
        )
        helper.set_model_props(model, metadata)
        return model.SerializeToString()


def write_onnx(path: StrPath, graph: OnnxGraph, metadata: dict[str, str]) -> None:
    """Writes an ONNX file, if the disk has room for it."""
    content = graph.serialize(metadata)
    check_room(path, len(content))
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)


def check_size(weights: Sequence[keras.Variable], path: StrPath) -> None:
    """Raises `ValueError` if the weights are more than an ONNX file can hold."""
    size = 4 * sum(math.prod(weight.shape) for weight in weights)
    if size > _MAX_BYTES:
        raise ValueError(
            f"{os.fspath(path)}: the model has {size:,} bytes, and an ONNX file at "
            f"most {_MAX_BYTES:,}"
        )


def to_float32(weight: object) -> np.ndarray:
    """Returns a weight in float32, whatever it is stored in."""
    return ops.convert_to_numpy(ops.cast(weight, "float32"))
