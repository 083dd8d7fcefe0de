"""What is exported of a tagger or a classifier, whatever the format."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import keras

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.files.onnx_session import CHAR_IDS
from keras_elmo.files.task_description import STATIC_IDS, Task
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.utils.types import Tensor


class OnnxText(NamedTuple):
    """The words of a batch of texts in an ONNX graph.

    Attributes:
        elmo: their vectors `(batch, tokens, units)`.
        static: static vectors, or `None`.
        is_token: `(batch, tokens)` booleans.
        lengths: `(batch,)` int32.
    """

    elmo: str
    static: str | None
    is_token: str
    lengths: str


class ExportedTask(Protocol):
    """A Keras model of a task, to whoever writes it as a file.

    Attributes:
        elmo: the layer of ELMo's vectors.
        static: the layer of static ones, or `None`.
        task: what it does.
        weights: the weights of the model.
    """

    elmo: ElmoEmbedding
    static: StaticEmbedding | None

    @property
    def task(self) -> Task:
        """Raises `ValueError` before the model is trained."""

    @property
    def weights(self) -> list[keras.Variable]: ...

    def add_outputs(self, graph: OnnxGraph, text: OnnxText) -> dict[str, str]:
        """Adds the operators above the words; returns outputs by their names.

        They are those of `outputs_of_ids`, and `marginals` of a tagger, `(batch,
        tokens, tags)`: what is not asked for is not computed.
        """

    def outputs_of_ids(self, texts: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
        """Returns the outputs of a file that takes ids, by their names.

        Args:
            texts: of each text of a pair, or of the only one, the character ids and,
                if there are static vectors, their ids.

        Returns:
            Of a tagger `tags`, indices that are -1 where masked, and `scores`, their
            probabilities; of a classifier `probabilities`.
        """


def input_names(model: ExportedTask) -> list[list[str]]:
    """Returns the names of the ids of each text."""
    names = [CHAR_IDS] if model.static is None else [CHAR_IDS, STATIC_IDS]
    return [[f"{prefix}{name}" for name in names] for prefix in model.task.prefixes]
