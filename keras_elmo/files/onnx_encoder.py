"""An encoder in an ONNX file, run by ONNX Runtime without TensorFlow and Keras."""

import json
import os
import reprlib
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.validation import check_tokenizer
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath

# The key of the metadata that has what `load` needs, and the version of its content.
DESCRIPTION = "keras_elmo"
FORMAT = 1
# Of an int8 weight. Processors without VNNI add two products of an unsigned byte and a
# signed one in 16 bits, and saturate: 2 * 255 * 64 fits, 2 * 255 * 127 does not.
WEIGHT_BITS = 7
_INPUT, _WORDS, _LAYER = "char_ids", "word_emb", "lstm_outputs"
_RULE = "must be an encoder that export_onnx wrote"

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


class OnnxEncoder:
    """The encoder of a file that `export_onnx` wrote.

    Args:
        path: of the file.

    Attributes:
        path: as given.
        name: for messages; the path.
        config: the sizes.
        tokenizer: the kind of `Tokenizer` of the training text; `None` if it is not
            known.
        mix: the scalars, gamma and `layer_norm` of the mix.
        quantize: `"int8"`, or `None` for float32.

    Raises:
        ImportError: the extra `onnx` is not installed.
        ValueError: `export_onnx` did not write the file, or it is damaged.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = self.name = os.fspath(path)
        runtime: Any = import_extra("onnxruntime", "Reading ONNX", "onnx")
        settings = runtime.SessionOptions()
        # Errors are raised; nothing is printed beside them.
        settings.log_severity_level = 4
        # It would keep memory for each size of a batch, which is rarely the same.
        settings.enable_mem_pattern = False
        with reading(self.path):
            self._session = runtime.InferenceSession(
                self.path,
                settings,
                providers=["CPUExecutionProvider"],
                # Else errors are printed on standard output and it tries again.
                enable_fallback=0,
            )
        # What is not asked for is not computed.
        self._run_options = runtime.RunOptions()
        self._run_options.only_execute_path_to_fetches = True
        with reading(self.path, f"{_RULE}; its description is damaged"):
            self._read_description()
        names = [f"{_LAYER}{k}" for k in range(1, self.config.num_layers + 1)]
        self._names = [_WORDS, *names]
        self._check_shapes()
        self._ids = PlainIds(self.config.token_vocabulary)

    def _read_description(self) -> None:
        """Sets the attributes."""
        metadata = self._session.get_modelmeta()
        if metadata.producer_name != "keras_elmo":
            self._refuse("its producer is another program")
        known = metadata.custom_metadata_map
        self.tokenizer = check_tokenizer(known.get("tokenizer"), self.path)
        if DESCRIPTION not in known:
            self._refuse("it has no description")
        about = json.loads(known[DESCRIPTION])
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {reprlib.repr(about['format'])}")
        if not isinstance(about["options"], dict):
            raise ValueError("its options are no object")
        self.config = ElmoConfig.from_options(about["options"])
        scalars, gamma, layer_norm = about["mix"]
        scalars, gamma = np.array(scalars, "float32"), np.array(gamma, "float32")
        if scalars.shape != (self.config.num_layers + 1,) or gamma.shape != ():
            raise ValueError("its mix has another number of layers")
        self.mix: Mix = (scalars, gamma, bool(layer_norm))
        self.quantize = "int8" if about.get("quantize") == "int8" else None

    def _check_shapes(self) -> None:
        """Checks that inputs and outputs are those of the description."""
        units = self.config.projection_units
        expected = {_INPUT: self.config.ids_per_token, _WORDS: units}
        expected |= dict.fromkeys(self._names[1:], 2 * units)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        shapes = self._shapes([*inputs, *outputs])
        for name, size in expected.items():
            shape = shapes.get(name, [])
            if len(shape) != 3 or shape[-1] != size:
                self._refuse(f"{name} must have 3 axes, the last of {size}")
        if [value.name for value in inputs] != [_INPUT]:
            self._refuse(f"its input must be {_INPUT}")

    def _shapes(self, arguments: Sequence[Any]) -> dict[str, list[Any]]:
        return {value.name: value.shape or [None] for value in arguments}

    def _refuse(self, why: str) -> None:
        raise ValueError(f"{self.path}: {_RULE}; {why}")

    def layers(self, sentences: Sequence[Sequence[bytes]]) -> list[np.ndarray]:
        """Returns the layers of a batch of tokens, without the boundaries.

        Returns:
            `num_layers + 1` arrays `(batch, tokens, 2 * projection_units)`.
        """
        words, *layers = self.run(sentences, self._names).values()
        return [np.concatenate([words, words], axis=-1), *layers]

    def run(
        self,
        sentences: Sequence[Sequence[bytes]],
        outputs: Collection[str],
        width: int = 0,
    ) -> dict[str, np.ndarray]:
        """Returns outputs of the file for a batch of tokens, by their names.

        Args:
            sentences: tokens.
            outputs: names.
            width: least number of tokens of the outputs, which are padded.
        """
        feeds = {_INPUT: self._ids(sentences, width)}
        with reading(self.path, "cannot be run"):
            values = self._session.run(list(outputs), feeds, self._run_options)
        return dict(zip(outputs, values, strict=True))

    def output_shapes(self) -> dict[str, list[Any]]:
        """Returns the shape of each output; a string is an axis of any size."""
        return self._shapes(self._session.get_outputs())
