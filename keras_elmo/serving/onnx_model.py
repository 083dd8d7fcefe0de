"""An .onnx file, served by ONNX Runtime without TensorFlow."""

import os
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.files.onnx_encoder import OnnxEncoder
from keras_elmo.serving.signatures import (
    DEFAULT,
    LENGTHS,
    Argument,
    Arrays,
    ServedModel,
)
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.unspaced import FirstText

_STRING = np.dtype(object)


class OnnxModel(ServedModel):
    """An .onnx file with the two signatures of an exported SavedModel.

    Args:
        path: of the file.
        version: its number.

    Raises:
        ValueError: it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], version: int) -> None:
        super().__init__(version)
        encoder = OnnxEncoder(path)
        tokenizer = PlainTokenizer(encoder.tokenizer or TOKENIZER_IF_UNKNOWN)
        strings = _Signature(encoder, {"strings": Argument(_STRING, 1)}, tokenizer)
        tokens = _Signature(
            encoder,
            {
                LENGTHS: Argument(np.dtype("int32"), 1),
                "tokens": Argument(_STRING, 2),
            },
        )
        signatures = {"default": strings, "tokens": tokens, DEFAULT: strings}
        self.signatures = signatures
        self.signature_defs = {
            name: signature.definition() for name, signature in signatures.items()
        }
        strings({"strings": np.array([b"word"], object)}, strings.outputs)


class _Signature:
    """Calls the encoder with tokens, or with strings that it splits first."""

    def __init__(
        self,
        encoder: OnnxEncoder,
        arguments: dict[str, Argument],
        tokenizer: PlainTokenizer | None = None,
    ) -> None:
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._look_at = FirstText()
        # Layer normalisation takes the mean over the whole batch.
        self.batchable = not encoder.mix[2]
        self.arguments = arguments
        self.outputs = tuple(sorted(encoder.output_shapes()))
        self.token_argument = None if tokenizer else "tokens"

    def __call__(
        self, inputs: Mapping[str, np.ndarray], outputs: Collection[str]
    ) -> Arrays:
        if self._tokenizer is not None:
            strings = inputs["strings"].tolist()
            self._look_at(strings)
            sentences, width = self._tokenizer(strings), 0
            lengths = np.array([len(sentence) for sentence in sentences], "int32")
        else:
            lengths, width = inputs[LENGTHS], inputs["tokens"].shape[1]
            rows = zip(inputs["tokens"].tolist(), lengths.tolist(), strict=True)
            sentences = [_tokens(row[: max(length, 0)]) for row, length in rows]
        if set(outputs) == {LENGTHS}:
            return {LENGTHS: lengths}
        values = self._encoder.run(sentences, outputs, width)
        return values | ({LENGTHS: lengths} if LENGTHS in values else {})

    def definition(self) -> dict[str, object]:
        """Returns what TensorFlow Serving tells of a signature."""
        kinds = {_STRING: "DT_STRING", np.dtype("int32"): "DT_INT32"}
        shapes = self._encoder.output_shapes()
        return {
            "inputs": {
                name: _tensor(name, kinds[dtype], [None] * rank)
                for name, (dtype, rank) in self.arguments.items()
            },
            "outputs": {
                name: _tensor(
                    name, "DT_INT32" if name == LENGTHS else "DT_FLOAT", shapes[name]
                )
                for name in self.outputs
            },
            "method_name": "tensorflow/serving/predict",
            "defaults": {},
        }


def _tokens(row: list[bytes]) -> list[bytes]:
    # The ids of a SavedModel end a sentence at its last token.
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
