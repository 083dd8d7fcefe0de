"""What is exported of a `Tagger`."""

from collections.abc import Sequence

from keras import ops

from keras_elmo.downstream.exported_task import OnnxText
from keras_elmo.downstream.tagger_head import TaggerHead
from keras_elmo.downstream.task_export import TaskModel
from keras_elmo.downstream.token_mask import CharacterMask
from keras_elmo.files.task_description import TAGGER, Task
from keras_elmo.onnx_graphs.crf import TagPaths
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.onnx_graphs.heads import add_bilstm, add_dense
from keras_elmo.utils.types import Tensor


class ExportedTagger(TaskModel):
    """A `Tagger`, as an `ExportedTask`."""

    # `None` until the tags are known. No value here: PyTorch would find it instead.
    head: TaggerHead | None

    def token_mask(self, char_ids: Tensor) -> Tensor:
        """Returns which positions hold a word, of the ids of a batch."""
        return CharacterMask().tokens(char_ids)

    def _head(self) -> TaggerHead:
        if self.head is None:
            raise ValueError(
                "`tags` must be given, or learned by `fit`, before the tagger is used. "
                "Received: tags=None"
            )
        return self.head

    @property
    def task(self) -> Task:
        return Task(TAGGER, tuple(self._head().tags))

    def outputs_of_ids(self, texts: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
        ((char_ids, *static_ids),) = texts
        inputs = {"words": char_ids, **dict(zip(["static"], static_ids, strict=False))}
        head, outputs = self._head(), self(inputs, training=False)
        tags = ops.cast(head.decode(outputs), "int32")
        scores = ops.take_along_axis(
            head.probabilities(outputs), ops.expand_dims(tags, -1), axis=-1
        )[..., 0]
        is_token = self.token_mask(char_ids)
        return {
            "tags": ops.where(is_token, tags, -1),
            "scores": ops.where(is_token, scores, 0.0),
        }

    def add_outputs(self, graph: OnnxGraph, text: OnnxText) -> dict[str, str]:
        head = self._head()
        x = text.elmo
        if text.static is not None:
            x = graph.add("Concat", text.static, x, axis=2)
        if head.lstm is not None:
            x = add_bilstm(graph, head.lstm, x, text.lengths)
        scores = add_dense(graph, head.scores, x)
        if head.crf is None:
            tags = graph.add("ArgMax", scores, axis=2, keepdims=0)
            probabilities = graph.add("Softmax", scores, axis=-1)
        else:
            paths = TagPaths(graph, head.crf, scores, text.lengths, text.is_token)
            tags, probabilities = paths.best(), paths.marginals()
        places = graph.add("Unsqueeze", tags, graph.integers(2))
        best = graph.add("GatherElements", probabilities, places, axis=2)
        best = graph.add("Squeeze", best, graph.integers(2))
        no_tag, zero = graph.constant(-1, "int32"), graph.constant(0.0)
        tags = graph.cast(tags, "int32")
        mask = graph.add("Unsqueeze", text.is_token, graph.integers(2))
        return {
            "tags": graph.add("Where", text.is_token, tags, no_tag),
            "scores": graph.add("Where", text.is_token, best, zero),
            "marginals": graph.add("Where", mask, probabilities, zero),
        }
