"""Turns functions into graphs: one for all callers, or one for all sizes."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import keras

from keras_elmo.utils.keras_private import export_format, in_stateless_scope
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Shape, Tensor

_IS_COMPILED = ContextVar("is_compiled", default=False)


class OneGraph:
    """Traces a function and its gradient once, where Keras traces a model often.

    Keras traces it twice in `fit`, whose optimizer makes its variables the first time,
    once in `evaluate`, and twice in `predict`, if the last batch is smaller. The
    function depends only on a tensor, the values of variables, and `options`; each set
    of options has its own graph.
    """

    def __init__(self, function: Callable[..., Tensor], shape: Shape) -> None:
        self._function = function
        self._shape = shape
        # A tf.function, whose type does not tell.
        self._graph: Any = None

    def __call__(self, x: Tensor, output_shape: Shape, *options: Hashable) -> Tensor:
        """Calls the function; `output_shape` is the known shape of each result."""
        if not _can_share():
            return self._function(x, *options)
        if self._graph is None:
            self._graph = tf.function(self._function, autograph=False)
        spec = tf.TensorSpec(self._shape, x.dtype)
        outputs = self._graph.get_concrete_function(spec, *options)(x)
        for output in tf.nest.flatten(outputs):
            output.set_shape(output_shape)
        return outputs


class BatchGraph:
    """A function of batches as one TensorFlow graph for all sizes.

    Keras would trace several graphs, for seconds each. The number of rows is free, and
    so is the number of tokens: the second axis, or the third in layers from
    `precompute`. There is a graph for each value of the `options`.
    """

    def __init__(self, function: Callable[..., Tensor]) -> None:
        self._function = function
        self._graphs: dict[tuple[Hashable, ...], Callable[..., Tensor]] = {}

    def __call__(self, *batch: Tensor, **options: Hashable) -> Tensor:
        batch = keras.tree.map_structure(tf.convert_to_tensor, batch)
        parts = keras.tree.flatten(batch)
        # Layers have one axis more than the ids for a biLM that is fine-tuned.
        key = (*(len(part.shape) for part in parts), *options.items())
        if key not in self._graphs:
            specs = keras.tree.map_structure(_spec, batch)
            function = partial(self._function, **options)
            graph = tf.function(function, specs, autograph=False)
            # The function itself would warn of retracing if there are many models.
            self._graphs[key] = graph.get_concrete_function()
        return self._graphs[key](*parts)


class JaxFunction:
    """A function of batches and a model's variables, which JAX compiles."""

    def __init__(self, model: keras.Model, function: Callable[..., Tensor]) -> None:
        self._model = model
        self._function = function
        # A compiled function, whose type does not tell.
        self._compiled: Any = None

    def __call__(self, *batch: Tensor, **options: Hashable) -> Tensor:
        if self._compiled is None:
            import jax

            self._compiled = jax.jit(self._stateless, static_argnums=0)
        values = [x.value for x in self._model.variables]
        return self._compiled((*options.items(),), values, *batch)

    def _stateless(
        self,
        options: tuple[tuple[str, Hashable], ...],
        values: list[Tensor],
        *batch: Tensor,
    ) -> Tensor:
        pairs = zip(self._model.variables, values, strict=True)
        with keras.StatelessScope(pairs):
            return self._function(*batch, **dict(options))


def batch_function(
    model: keras.Model, function: Callable[..., Tensor]
) -> Callable[..., Tensor]:
    """Returns a function of batches for inference, compiled where Keras compiles."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return BatchGraph(function)
    if backend == "jax":
        return JaxFunction(model, function)
    import torch

    return torch.no_grad()(function)


def _spec(part: Tensor) -> "tf.TensorSpec":
    num_layers = part.shape[1:2] if len(part.shape) == 4 else ()
    sizes = part.shape[2 + len(num_layers) :]
    return tf.TensorSpec((None, *num_layers, None, *sizes), part.dtype)


def _can_share() -> bool:
    """Whether a graph is traced that has the same variables and operations as any.

    Under a strategy each device has its own variables, in `keras.StatelessScope`
    tensors stand for them, and files for other runtimes have other operations.
    """
    return (
        keras.backend.backend() == "tensorflow"
        and tf.inside_function()
        and not tf.distribute.has_strategy()
        and not in_stateless_scope()
        and export_format() is None
    )


@contextmanager
def compiled_by_xla() -> Iterator[None]:
    """Tells layers that XLA compiles the traced graph, for the shapes it has.

    TensorFlow itself tells only by an error, when an operation's result has no fixed
    size.
    """
    token = _IS_COMPILED.set(True)
    try:
        yield
    finally:
        _IS_COMPILED.reset(token)


def is_compiled() -> bool:
    """Whether the code runs inside `compiled_by_xla`."""
    return _IS_COMPILED.get()
