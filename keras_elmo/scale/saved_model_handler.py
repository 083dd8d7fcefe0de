"""An exported model, as Beam's RunInference asks for it."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from apache_beam.ml.inference.base import ModelHandler

from keras_elmo.embedding.embed_file import mix_weights
from keras_elmo.embedding.embedder import batches_of_like_length
from keras_elmo.files.saved_model import read_tokenizer, register_signature_operations
from keras_elmo.scale.text_chunks import TextChunk
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.tokenizer import TOKENIZER_IF_UNKNOWN
from keras_elmo.utils.lazy import tf

_BATCH_SIZE = 128

Line = tuple[list[bytes], np.ndarray]


@dataclasses.dataclass(frozen=True)
class EmbeddedChunk:
    """The tokens and the vectors of a chunk's lines, in its order."""

    path: str
    first_line: int
    lines: list[Line]


class SavedModelHandler(ModelHandler[TextChunk, EmbeddedChunk, Any]):
    """Loads a SavedModel once a process and embeds chunks of text with it.

    Beam's own handlers for TensorFlow load models through Keras, and Keras 3 loads no
    SavedModel.

    Args:
        path: of a model that `export_saved_model` wrote, on every worker.
        layers: `"all"` or `"mix"`; see `embed_file`.
    """

    def __init__(self, path: str, layers: str) -> None:
        super().__init__()
        self._path = path
        self._mix = mix_weights(path) if layers == "mix" else None
        self._tokenizer = read_tokenizer(path) or TOKENIZER_IF_UNKNOWN

    def load_model(self) -> Any:
        register_signature_operations(self._path)
        return tf.saved_model.load(self._path)

    def run_inference(
        self,
        batch: TextChunk,
        model: Any,
        inference_args: dict[str, Any] | None = None,
    ) -> Iterator[EmbeddedChunk]:
        """Embeds one chunk: it is a batch already."""
        sentences = list(tokenized_lines(batch.lines, self._tokenizer, CorpusStats()))
        vectors: list[Any] = [None] * len(sentences)
        lengths = list(map(len, sentences))
        for places in batches_of_like_length(lengths, _BATCH_SIZE):
            outputs = self._outputs(model, [sentences[place] for place in places])
            for row, place in enumerate(places):
                vectors[place] = outputs[row, ..., : lengths[place], :]
        lines = list(zip(sentences, vectors, strict=True))
        yield EmbeddedChunk(batch.path, batch.first_line, lines)

    def _outputs(self, model: Any, sentences: Sequence[list[bytes]]) -> np.ndarray:
        """Returns `(batch, layers, tokens, units)`, or without layers, of the mix."""
        tokens = tf.ragged.constant(sentences, tf.string, ragged_rank=1)
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        # Of blank lines alone, there is no position to stand in for padding.
        width = tf.maximum(tf.reduce_max(lengths), 1)
        found = model.signatures["tokens"](
            tokens=tokens.to_tensor("", shape=[None, width]), sequence_len=lengths
        )
        words = found["word_emb"].numpy()
        layers = [np.concatenate([words, words], axis=-1)]
        while (name := f"lstm_outputs{len(layers)}") in found:
            layers.append(found[name].numpy())
        if self._mix is not None:
            return np.einsum("l,lbtu->btu", self._mix, np.stack(layers))
        return np.stack(layers, axis=1)

    def should_skip_batching(self) -> bool:
        return True

    def get_num_bytes(self, batch: TextChunk) -> int:
        return sum(map(len, batch.lines))

    def get_metrics_namespace(self) -> str:
        return "keras_elmo"
