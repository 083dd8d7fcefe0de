"""Puts an ONNX graph together, operation by operation."""

from typing import Any

import numpy as np
from keras import ops

from keras_elmo.utils.lazy import import_extra

# Of 2022; what runs ONNX has long known both.
_OPERATORS = 17
_FORMAT = 8

# A size, or the name of one that is open.
Shape = tuple[int | str, ...]

TO_THE_END = int(np.iinfo("int64").max)


class OnnxGraph:
    """A list of operations on tensors, which have names.

    Args:
        name: of the graph. Those of its tensors begin with it, because the names in the
            body of a loop must not be those of the graph around it.
    """

    def __init__(self, name: str) -> None:
        self._onnx = import_extra("onnx", "Writing ONNX", "onnx")
        self._name = name
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, dtype: str, shape: Shape) -> str:
        """Adds an input and returns its name."""
        self._inputs.append(self._described(name, dtype, shape))
        return name

    def output(
        self, tensor: str, dtype: str, shape: Shape, name: str | None = None
    ) -> None:
        """Returns a tensor from the graph, under another name if one is given."""
        if name is not None:
            identity = self._onnx.helper.make_node("Identity", [tensor], [name])
            self._nodes.append(identity)
        self._outputs.append(self._described(name or tensor, dtype, shape))

    def _described(self, name: str, dtype: str, shape: Shape) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)

    def _type(self, dtype: str) -> int:
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    # === Constants ===

    def constant(self, value: Any, dtype: str = "float32") -> str:
        """Stores an array with the graph and returns its name."""
        name = f"{self._name}_constant_{len(self._constants)}"
        array = np.asarray(value, dtype, order="C")
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def integers(self, *values: int) -> str:
        """Stores a vector of axes, sizes or places."""
        return self.constant(values, "int64")

    # === Operations ===

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Adds an operation that has one result, and returns its name."""
        return self.add_several(1, operation, *inputs, **attributes)[0]

    def add_several(
        self, results: int, operation: str, *inputs: str, **attributes: Any
    ) -> list[str]:
        """Adds an operation that has several results, and returns their names."""
        place = len(self._nodes)
        names = [f"{self._name}_{operation}_{place}_{k}" for k in range(results)]
        node = self._onnx.helper.make_node(operation, inputs, names, **attributes)
        self._nodes.append(node)
        return names

    def cast(self, x: str, dtype: str) -> str:
        return self.add("Cast", x, to=self._type(dtype))

    def slice(self, x: str, start: int, stop: int, axis: int) -> str:
        return self.add("Slice", x, *map(self.integers, (start, stop, axis)))

    def affine(self, x: str, kernel: Any, bias: Any) -> str:
        product = self.add("MatMul", x, self.constant(kernel))
        return self.add("Add", product, self.constant(bias))

    # === The whole ===

    def finished(self) -> Any:
        """Returns the graph, for a model or as the body of a loop."""
        return self._onnx.helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, self._constants
        )

    def model(self, metadata: dict[str, str]) -> Any:
        """Returns the graph as a model, with what a program may read beside it."""
        helper = self._onnx.helper
        model = helper.make_model(
            self.finished(),
            producer_name="keras_elmo",
            opset_imports=[helper.make_opsetid("", _OPERATORS)],
            ir_version=_FORMAT,
        )
        helper.set_model_props(model, metadata)
        return model


def array_of(weight: Any) -> np.ndarray:
    """Returns a weight in float32, whatever it is stored in."""
    return ops.convert_to_numpy(ops.cast(weight, "float32"))
