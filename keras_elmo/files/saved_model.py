"""What an exported SavedModel holds, read back without running it."""

import glob
import os
import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from keras_elmo.config import ElmoConfig
from keras_elmo.files.published import (
    read_datasets,
    softmax_datasets,
    write_datasets,
)
from keras_elmo.files.validation import check_dtype, check_size, check_tokenizer
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.utils.files import read_json_object
from keras_elmo.utils.lazy import tf


class SavedLanguageModel(NamedTuple):
    """Names the two files of an exported model."""

    vocabulary: str
    softmax: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "SavedLanguageModel":
        folder = os.path.join(path, ASSETS)
        return cls(
            os.path.join(folder, "vocabulary.txt"), os.path.join(folder, "softmax.hdf5")
        )

    def exists(self) -> bool:
        return os.path.exists(self.vocabulary)


def write_language_model(path: str | os.PathLike[str], model: PretrainingModel) -> None:
    """Writes the words and the softmax into an exported model's folder.

    Raises:
        ValueError: the model knows no words.
    """
    if model.vocabulary is None:
        raise ValueError(
            "`source` must know the words that its softmax predicts, to be exported "
            "as a language model"
        )
    files = SavedLanguageModel.of(path)
    os.makedirs(os.path.dirname(files.vocabulary), exist_ok=True)
    write_datasets(files.softmax, softmax_datasets(model.head), "float16")
    model.vocabulary.save(files.vocabulary)


def read_language_model(path: str | os.PathLike[str]) -> PretrainingModel:
    """Returns the language model of an exported SavedModel.

    It can be measured and asked; to train it on, begin a run from the folder.

    Raises:
        ValueError: the folder holds none, or is damaged.
    """
    files = SavedLanguageModel.of(path)
    if not files.exists():
        raise ValueError(
            f"{os.fspath(path)}: holds an encoder but no language model: it was "
            "exported without"
        )
    encoder = read_saved_model(path)
    vocabulary = Vocabulary.load(files.vocabulary)
    rows = len(vocabulary) * (encoder.config.projection_units + 1)
    check_size(rows, [files.softmax], files.vocabulary)
    model = PretrainingModel(encoder.config, len(vocabulary), len(vocabulary))
    read_datasets(files.softmax, softmax_datasets(model.head), files.vocabulary)
    for ours, read in zip(model.encoder.weights, encoder.weights, strict=True):
        ours.assign(read)
    model.encoder.tokenizer = encoder.tokenizer
    model.vocabulary = vocabulary
    return model


# Servers ignore this folder; the layer is rebuilt from what stands in it.
ASSETS = "assets.extra"
DESCRIPTION = "keras_elmo.json"
# Of that file, and of what it describes.
FORMAT = 1
# The encoder's variables in the checkpoint, in the order of `Encoder.weights`, and
# the mix's.
WEIGHTS = "encoder_weights"
SCALARS = "mix_scalars"
GAMMA = "mix_gamma"

_DAMAGE = (ValueError, IndexError, RuntimeError, MemoryError)
_KEYS = ("format", "options", "tokenizer", "dtype", "layer_norm")


def is_saved_model(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder that `export_saved_model` wrote."""
    return os.path.exists(os.path.join(path, ASSETS, DESCRIPTION))


def read_saved_model(path: str | os.PathLike[str]) -> Encoder:
    """Rebuilds the encoder of an exported SavedModel, on whichever backend.

    Raises:
        ValueError: the folder is not one that `export_saved_model` wrote.
    """
    stored = read_description(path)
    where = _description_file(path)
    config = _config(stored["options"], where)
    tokenizer = check_tokenizer(stored["tokenizer"], where)
    dtype = check_dtype(stored["dtype"], where)
    variables = _Variables(path)
    check_size(config.num_weights, variables.files(), where)
    encoder = Encoder(config, trainable=False, tokenizer=tokenizer, dtype=dtype)
    for k, weight in enumerate(encoder.weights):
        weight.assign(variables.read(f"{WEIGHTS}/{k}", tuple(weight.shape)))
    return encoder


def read_tokenizer(path: str | os.PathLike[str]) -> str | None:
    """Returns the kind of `Tokenizer` that cuts a model's text into words, if known.

    Raises:
        ValueError: the folder is not one that `export_saved_model` wrote.
    """
    return read_description(path)["tokenizer"]


def read_mix(path: str | os.PathLike[str]) -> tuple[Any, Any, bool]:
    """Returns the mix's raw scalars, its gamma, and whether it normalises layers."""
    stored = read_description(path)
    where = _description_file(path)
    if not isinstance(stored["layer_norm"], bool):
        raise ValueError(f"{where}: layer_norm must be true or false")
    num_layers = _config(stored["options"], where).num_layers
    variables = _Variables(path)
    scalars = variables.read(SCALARS, (num_layers + 1,))
    return scalars, variables.read(GAMMA, ()), stored["layer_norm"]


def _description_file(path: str | os.PathLike[str]) -> str:
    return os.path.join(path, ASSETS, DESCRIPTION)


def read_description(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns what `export_saved_model` has written of the model beside it.

    Raises:
        ValueError: the folder is not one of its, or the description is damaged.
    """
    description = _description_file(path)
    if not os.path.exists(description):
        raise ValueError(
            f"`path` must be a folder that export_saved_model wrote; {description} is "
            f"missing. Received: path={os.fspath(path)!r}"
        )
    stored = read_json_object(description)
    for key in _KEYS:
        if key not in stored:
            raise ValueError(f"{description}: lacks the key {key}")
    if stored["format"] != FORMAT:
        raise ValueError(
            f"{description}: the format must be {FORMAT}; a later keras_elmo may know "
            f"others. Received: {reprlib.repr(stored['format'])}"
        )
    return stored


def _config(options: Any, where: str) -> ElmoConfig:
    # A string would be taken for the path of a file.
    if not isinstance(options, Mapping):
        raise ValueError(f"{where}: options must be a JSON object")
    try:
        return ElmoConfig.from_options(options)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


class _Variables:
    """The variables of a SavedModel, by the attribute that holds them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.join(path, "variables", "variables")
        # All that TensorFlow raises on damage.
        self._errors = (tf.errors.OpError, *_DAMAGE)
        if not self.files():
            raise ValueError(f"{self._path}.data-*: no such file")
        try:
            self._checkpoint = tf.train.load_checkpoint(self._path)
            self._shapes = self._checkpoint.get_variable_to_shape_map()
            self._dtypes = self._checkpoint.get_variable_to_dtype_map()
        except self._errors as error:
            raise ValueError(f"{self._path}: cannot be read: {error}") from error

    def files(self) -> list[str]:
        """Returns the files that hold their numbers."""
        return sorted(glob.glob(f"{glob.escape(self._path)}.data-*"))

    def read(self, attribute: str, shape: tuple[int, ...]) -> Any:
        name = f"{attribute}/.ATTRIBUTES/VARIABLE_VALUE"
        if name not in self._shapes:
            raise ValueError(f"{self._path}: lacks the variable {attribute}")
        found, dtype = tuple(self._shapes[name]), self._dtypes[name]
        if found != shape or not dtype.is_floating:
            raise ValueError(
                f"{self._path}: the variable {attribute} must hold floating-point "
                f"numbers of shape {shape}, not {dtype.name} of {found}"
            )
        try:
            return self._checkpoint.get_tensor(name)
        except self._errors as error:
            raise ValueError(f"{self._path}: cannot be read: {error}") from error
