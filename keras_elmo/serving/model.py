"""An exported SavedModel, served by TensorFlow."""

import os
import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import tensorflow as tf
from google.protobuf.json_format import MessageToDict
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from keras_elmo.files.exported_sources import ExportedModel
from keras_elmo.serving.signatures import (
    DEFAULT,
    LENGTHS,
    Argument,
    Arrays,
    ServedModel,
    ServedSignature,
)
from keras_elmo.text.tokenizer import register_operations
from keras_elmo.utils.reading import reading

ConcreteFunction: TypeAlias = tf.types.experimental.ConcreteFunction
_WORDS, _TAGS = "word_emb", "tags"
_LAYER = re.compile(r"lstm_outputs(\d+)")


class Signature(ServedSignature):
    """Calls a signature with NumPy arrays and computes only the requested outputs.

    Sentence lengths need only the tokenizer, words take a quarter of the time, and the
    lower layers more than half of it, so each of these has its own pruned graph. The
    function does not keep its variables, so the signature keeps the `loaded` model.
    """

    def __init__(
        self, function: ConcreteFunction, loaded: object, batchable: bool = True
    ) -> None:
        self._loaded = loaded
        _, specs = function.structured_input_signature
        arguments = {
            name: Argument(np.dtype(spec.dtype.as_numpy_dtype), spec.shape.rank)
            for name, spec in sorted(specs.items())
        }
        outputs = function.structured_outputs
        shapes = {name: spec.shape.as_list() for name, spec in outputs.items()}
        super().__init__(batchable, arguments, shapes)

        def prune(outputs: Collection[str]) -> ConcreteFunction:
            def part(*inputs: tf.Tensor) -> dict[str, tf.Tensor]:
                values = function(**dict(zip(self.arguments, inputs, strict=True)))
                return {name: values[name] for name in outputs}

            signature = [specs[name] for name in self.arguments]
            return tf.function(part, signature, autograph=False).get_concrete_function()

        self._graphs = {
            outputs: prune(outputs)
            for outputs in _nested_outputs(self.outputs, self.token_argument is None)
        }

    def warm_up(self) -> None:
        """Calls every graph once, because the first call takes a second longer."""
        sentence = {
            name: np.full([1] * rank, b"word" if dtype.kind == "O" else 1, dtype)
            for name, (dtype, rank) in self.arguments.items()
        }
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda outputs: self(sentence, outputs), self._graphs))

    def _compute(self, inputs: Arrays, outputs: Collection[str]) -> Arrays:
        # The cheapest graph comes first.
        graph = next(
            graph for names, graph in self._graphs.items() if names.issuperset(outputs)
        )
        values = graph(*(tf.constant(inputs[name]) for name in self.arguments))
        return {name: values[name].numpy() for name in outputs}


def _nested_outputs(
    outputs: Iterable[str], lengths_alone: bool
) -> list[frozenset[str]]:
    """Returns nested sets of outputs, from the cheapest to all outputs."""
    layers = sorted(
        filter(_LAYER.fullmatch, outputs),
        key=lambda name: int(name.removeprefix("lstm_outputs")),
    )
    sets = [frozenset([LENGTHS])] if lengths_alone else []
    # A tagger's probabilities take two more loops.
    first = _WORDS if _WORDS in outputs else _TAGS
    if first in outputs:
        sets.append(frozenset([LENGTHS, first]))
    # The set with the last layer has the mix, too.
    sets += [sets[-1].union(layers[: k + 1]) for k in range(len(layers) - 1)]
    return [*sets, frozenset(outputs)]


class Model(ServedModel):
    """One version of a model, loaded from a folder that keras_elmo exported."""

    def __init__(self, path: str | os.PathLike[str], version: int) -> None:
        super().__init__(version)
        about = ExportedModel(path).description
        register_operations(about.stored.get("signature_tokenizer"))
        with reading(path, "cannot be loaded"):
            self.signature_defs = _signature_defs(path)
            self.loaded = tf.saved_model.load(os.fspath(path))
            # Layer normalisation depends on the whole batch.
            batchable = not about.layer_norm
            signatures = {
                name: Signature(function, self.loaded, batchable)
                for name, function in self.loaded.signatures.items()
                if name != DEFAULT
            }
            for signature in signatures.values():
                signature.warm_up()
            if DEFAULT in self.loaded.signatures:
                # Requests that name no signature get the same function.
                default = "default" if "default" in signatures else "tokens"
                signatures[DEFAULT] = signatures[default]
            self.signatures = signatures


def _signature_defs(path: str | os.PathLike[str]) -> dict[str, object]:
    graph = os.path.join(path, "saved_model.pb")
    # Opening a pipe would wait.
    if not os.path.isfile(graph):
        raise ValueError("there is no saved_model.pb")
    with open(graph, "rb") as file:
        saved = SavedModel.FromString(file.read())
    if not saved.meta_graphs:
        raise ValueError("saved_model.pb has no graph")
    return {
        name: MessageToDict(
            definition,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        for name, definition in saved.meta_graphs[0].signature_def.items()
    }
