"""An ONNX or LiteRT file, served without TensorFlow."""

import os
from collections.abc import Collection, Sequence

import numpy as np

from keras_elmo.files.exported_tasks import open_graph_file
from keras_elmo.files.onnx_session import Batch, GraphSession, Shapes
from keras_elmo.serving.signatures import (
    DEFAULT,
    LENGTHS,
    TOKENS,
    Argument,
    Arrays,
    ServedModel,
    ServedSignature,
)
from keras_elmo.text.plain_tokenizer import PlainTokenizer

_STRING = np.dtype(object)


class GraphModel(ServedModel):
    """A file that has the two signatures of an exported SavedModel."""

    def __init__(self, path: str | os.PathLike[str], version: int) -> None:
        super().__init__(version)
        session = open_graph_file(path)
        strings = _Signature(session, session.plain_tokenizer())
        tokens = _Signature(session)
        signatures = {"default": strings, "tokens": tokens, DEFAULT: strings}
        self.signatures = signatures
        self.signature_defs = {
            name: signature.definition() for name, signature in signatures.items()
        }
        word = np.array([b"word"], object)
        strings(dict.fromkeys(strings.arguments, word), strings.outputs)


class _Signature(ServedSignature):
    """Calls a graph with tokens, or with strings, which a tokenizer splits first."""

    def __init__(
        self, session: GraphSession, tokenizer: PlainTokenizer | None = None
    ) -> None:
        self._prefixes = session.task.prefixes if session.task else ("",)
        arguments = {"strings": Argument(_STRING, 1)}
        if tokenizer is None:
            lengths = Argument(np.dtype("int32"), 1)
            arguments = {LENGTHS: lengths, TOKENS: Argument(_STRING, 2)}
        self._session = session
        self._tokenizer = tokenizer
        self._shapes: Shapes = {LENGTHS: ["batch"], **session.answer_shapes()}
        arguments = {
            f"{prefix}{name}": argument
            for prefix in self._prefixes
            for name, argument in arguments.items()
        }
        super().__init__(session.is_batchable, arguments, self._shapes)

    def _compute(self, inputs: Arrays, outputs: Collection[str]) -> Arrays:
        texts, width = [self._words(inputs, prefix) for prefix in self._prefixes], 0
        if self._tokenizer is not None:
            lengths = np.array([len(sentence) for sentence in texts[0]], "int32")
        else:
            lengths, width = inputs[LENGTHS], inputs[TOKENS].shape[1]
        asked = [name for name in outputs if name != LENGTHS]
        values = {LENGTHS: lengths} if LENGTHS in outputs else {}
        return values | (self._session.answer(texts, asked, width) if asked else {})

    def _words(self, inputs: Arrays, prefix: str) -> Batch:
        """Returns the words of each sentence of a text."""
        if self._tokenizer is not None:
            return self._tokenizer(inputs[f"{prefix}strings"].tolist())
        tokens, lengths = inputs[f"{prefix}{TOKENS}"], inputs[f"{prefix}{LENGTHS}"]
        rows = zip(tokens.tolist(), lengths.tolist(), strict=True)
        return [_tokens(row[: max(length, 0)]) for row, length in rows]

    def definition(self) -> dict[str, object]:
        """Returns a signature as TensorFlow Serving describes it to clients."""
        kinds = {_STRING: "DT_STRING", np.dtype("int32"): "DT_INT32"}
        types = dict.fromkeys(("tags", "labels"), "DT_STRING") | {LENGTHS: "DT_INT32"}
        return {
            "inputs": {
                name: _tensor(name, kinds[dtype], [None] * rank)
                for name, (dtype, rank) in self.arguments.items()
            },
            "outputs": {
                name: _tensor(name, types.get(name, "DT_FLOAT"), self._shapes[name])
                for name in self.outputs
            },
            "method_name": "tensorflow/serving/predict",
            "defaults": {},
        }


def _tokens(row: list[bytes]) -> list[bytes]:
    # A SavedModel, too, ends a sentence at its last token.
    while row and not row[-1]:
        row.pop()
    return row


def _tensor(name: str, dtype: str, shape: Sequence[object]) -> dict[str, object]:
    sizes = [str(size) if isinstance(size, int) else "-1" for size in shape]
    return {
        "name": name,
        "dtype": dtype,
        "tensor_shape": {
            "dim": [{"size": size, "name": ""} for size in sizes],
            "unknown_rank": False,
        },
    }
