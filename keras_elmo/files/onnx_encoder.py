"""An encoder in an ONNX file, run by ONNX Runtime without TensorFlow and Keras."""

import json
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.onnx_session import CHAR_IDS, FORMAT, OnnxSession

_WORDS, _LAYER = "word_emb", "lstm_outputs"

# The raw scalars of a mix, its gamma, and its `layer_norm`.
Mix: TypeAlias = tuple[np.ndarray, np.ndarray, bool]


def describe(config: ElmoConfig, mix: Mix, **others: object) -> str:
    """Returns the description of a file, as JSON for its metadata."""
    scalars, gamma, layer_norm = mix
    about = {
        "format": FORMAT,
        "options": config.to_options(),
        "mix": [scalars.tolist(), float(gamma), layer_norm],
    }
    return json.dumps({**about, **others})


class OnnxEncoder(OnnxSession):
    """The encoder of a file that `export_onnx` wrote.

    Args:
        path: of the file.

    Attributes:
        mix: the scalars, gamma and `layer_norm` of the mix.
        others: those of `OnnxSession`.

    Raises:
        ImportError: the extra `onnx` is not installed.
        ValueError: `export_onnx` did not write the file, or it is damaged.
    """

    rule = "must be an encoder that export_onnx wrote"

    def _read_description(self) -> None:
        scalars, gamma, layer_norm = self.about["mix"]
        scalars, gamma = np.array(scalars, "float32"), np.array(gamma, "float32")
        if scalars.shape != (self.config.num_layers + 1,) or gamma.shape != ():
            raise ValueError("its mix has another number of layers")
        self.mix: Mix = (scalars, gamma, bool(layer_norm))
        units = self.config.projection_units
        names = [f"{_LAYER}{k}" for k in range(1, self.config.num_layers + 1)]
        self._names = [_WORDS, *names]
        self._check_shapes(
            {
                CHAR_IDS: [None, None, self.config.ids_per_token],
                _WORDS: [None, None, units],
                **dict.fromkeys(names, [None, None, 2 * units]),
            }
        )
        if self.inputs != [CHAR_IDS]:
            self._refuse(f"its input must be {CHAR_IDS}")

    @property
    def is_batchable(self) -> bool:
        # Layer normalisation takes the mean over the whole batch.
        return not self.mix[2]

    def layers(self, sentences: Sequence[Sequence[bytes]]) -> list[np.ndarray]:
        """Returns the layers of a batch of tokens, without the boundaries.

        Returns:
            `num_layers + 1` arrays `(batch, tokens, 2 * projection_units)`.
        """
        words, *layers = self.run(sentences, self._names).values()
        return [np.concatenate([words, words], axis=-1), *layers]
