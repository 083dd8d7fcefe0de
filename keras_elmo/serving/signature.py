"""A function of a SavedModel, as far as the wanted outputs need it."""

import re
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

Arrays = dict[str, np.ndarray]

LENGTHS = "sequence_len"
_WORDS = "word_emb"
_LAYER = re.compile(r"lstm_outputs(\d+)")


class Argument(NamedTuple):
    """What an input has to be: its type, `object` for strings, and its rank."""

    dtype: np.dtype
    rank: int


class Signature:
    """Calls a signature with NumPy arrays, and computes no more than was asked for.

    The lengths of sentences take the tokenizer alone, the words a quarter of the whole
    time, the lower layers more than half of it: there is a graph for each of these.

    Args:
        function: one of `signatures` of a loaded SavedModel. The model has to outlive
            it.
        joins: whether requests may be computed together: whether a sentence's outputs
            are the same whatever else is in the batch.

    Attributes:
        arguments: what it takes, by name.
        outputs: the names of what it returns.
        given_tokens: the argument that has tokens along its second axis; `None` if the
            model cuts strings itself.
        joins: as given.
    """

    def __init__(self, function: Any, joins: bool = True) -> None:
        self.joins = joins
        _, specs = function.structured_input_signature
        self.arguments = {
            name: Argument(np.dtype(spec.dtype.as_numpy_dtype), spec.shape.rank)
            for name, spec in sorted(specs.items())
        }
        self.outputs = tuple(sorted(function.structured_outputs))
        self.given_tokens = next(
            (name for name, (_, rank) in self.arguments.items() if rank == 2), None
        )
        signature = [specs[name] for name in self.arguments]
        self._graphs = {
            outputs: self._part(function, signature, outputs)
            for outputs in _by_effort(self.outputs, self.given_tokens is None)
        }

    def _part(
        self, function: Any, signature: list[Any], outputs: Collection[str]
    ) -> Any:
        """A graph of some outputs; what they do not need is pruned from it."""

        def part(*inputs: Any) -> dict[str, Any]:
            found = function(**dict(zip(self.arguments, inputs, strict=True)))
            return {name: found[name] for name in outputs}

        return tf.function(part, signature, autograph=False).get_concrete_function()

    def warm_up(self) -> None:
        """Calls every graph once: the first call takes a second, to optimise it."""
        sentence = {
            name: np.full([1] * rank, b"word" if dtype.kind == "O" else 1, dtype)
            for name, (dtype, rank) in self.arguments.items()
        }
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda outputs: self(sentence, outputs), self._graphs))

    def __call__(
        self, inputs: Mapping[str, np.ndarray], outputs: Collection[str]
    ) -> Arrays:
        """Computes some of the outputs.

        Args:
            inputs: an array for each of `arguments`.
            outputs: names out of `self.outputs`.

        Returns:
            An array for each of `outputs`.
        """
        # From the least effort to the most.
        graph = next(
            graph for names, graph in self._graphs.items() if names.issuperset(outputs)
        )
        found = graph(*(tf.constant(inputs[name]) for name in self.arguments))
        return {name: found[name].numpy() for name in outputs}


def _by_effort(outputs: Iterable[str], count: bool) -> list[frozenset[str]]:
    """Nested sets of outputs: those that need the least, then also those after them.

    Args:
        outputs: all of them.
        count: whether lengths alone are wanted, too.
    """
    layers = sorted(filter(_LAYER.fullmatch, outputs), key=_number)
    sets = [frozenset([LENGTHS])] if count else []
    sets.append(frozenset([LENGTHS, _WORDS]))
    # The mix needs the last layer, too.
    sets += [sets[-1].union(layers[: k + 1]) for k in range(len(layers) - 1)]
    return [*sets, frozenset(outputs)]


def _number(layer: str) -> int:
    return int(layer.removeprefix("lstm_outputs"))
