"""Reads and writes the published format: options.json and weights.hdf5."""

import math
import os
from collections.abc import Iterable, Iterator, Sequence

import h5py
import keras
import numpy as np
from keras import ops

from keras_elmo.config import ElmoConfig, read_options
from keras_elmo.files.hdf5 import find_dataset, find_unread, open_hdf5
from keras_elmo.files.validation import check_size, check_tokenizer
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.language_model_head import LanguageModelHead
from keras_elmo.text.lines import read_words
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.checks import (
    called,
    check_optional_path,
    check_path,
    check_type,
    received,
)
from keras_elmo.utils.files import check_room, read_json_object, replacing, write_json
from keras_elmo.utils.large_variables import blocks_of, fill
from keras_elmo.utils.types import Config, StrPath

# Bytes that HDF5 writes beside the numbers, at most.
_HEADERS = 100_000
# bilm-tf leaves out this line of a vocabulary.
_NO_WORD = "!!!MAXTERMID"
# Prefixes of the names of an encoder's datasets.
ENCODER_NAMES = ("embedding", "char", "CNN", "RNN")


def load_published_weights(
    options: StrPath,
    weights: StrPath,
    tokenizer: str | None = None,
    vocabulary: StrPath | None = None,
) -> Encoder:
    """Loads an encoder from files in the published format.

    Args:
        options: path of the options.json.
        weights: path of the weights.hdf5.
        tokenizer: the kind of `Tokenizer` for its text, which the files do not name:
            `"published"` for the original English models. If `None`, text is taken as
            tokenized beforehand, as for the published models.
        vocabulary: path of the words, one per line, of a model of word ids: one whose
            weights have an `embedding` of words instead of characters.

    Returns:
        An `Encoder`.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: there is no such tokenizer; or a file cannot be read, options.json
            lacks a key, or the two contradict each other; names the file, and the
            dataset with both shapes.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.save_published_weights(encoder, "options.json", "weights.hdf5")
    encoder = keras_elmo.load_published_weights("options.json", "weights.hdf5")
    ```
    """
    check_path(options=options, weights=weights)
    check_optional_path(vocabulary=vocabulary)
    tokenizer = check_tokenizer(tokenizer, "`tokenizer`")
    config = published_config(options, vocabulary)
    check_size(config.num_weights, [weights], os.fspath(options))
    encoder = Encoder(config, tokenizer=tokenizer)
    read_datasets(weights, encoder_datasets(encoder), os.fspath(options))
    return encoder


def published_config(options: StrPath, vocabulary: StrPath | None = None) -> ElmoConfig:
    """Returns the sizes in a published options.json; see `load_published_weights`."""
    described = read_json_object(options)
    if vocabulary is not None:
        described = with_words(described, options, vocabulary)
    elif "char_cnn" not in described:
        raise ValueError(
            f"{os.fspath(options)}: lacks the key char_cnn; of a model of word ids, "
            f"{called('vocabulary')} must be the file of its words. "
            + received(vocabulary=None)
        )
    return read_options(described, os.fspath(options))


def with_words(described: Config, options: StrPath, vocabulary: StrPath) -> Config:
    """Adds the words of the trainer's vocabulary to sizes that lack characters."""
    if "char_cnn" in described:
        raise ValueError(
            f"{called('vocabulary')} applies only to a checkpoint or to weights of "
            f"word ids, and {os.fspath(options)} describes a model of characters. "
            + received(vocabulary=os.fspath(vocabulary))
        )
    lstm = described.get("lstm")
    if not isinstance(lstm, dict) or "projection_dim" not in lstm:
        raise ValueError(f"{os.fspath(options)}: lacks the key lstm.projection_dim")
    try:
        begin, end, unknown = SPECIALS
        words = TokenVocabulary(
            list(read_trainer_words(vocabulary)), begin=begin, end=end, unknown=unknown
        )
    except ValueError as error:
        raise ValueError(f"{os.fspath(vocabulary)}: {error}") from error
    return {
        **described,
        # No characters.
        "char_cnn": {"filters": [], "embedding": {"dim": 1}, "activation": "relu"},
        "word_embedding": {"dim": lstm["projection_dim"]},
        "token_vocabulary": words.to_dict(),
    }


def read_trainer_words(path: StrPath) -> Iterator[str]:
    """Yields the words of a vocabulary's lines as the published trainer reads them."""
    for line in read_words(path):
        for word in map(str.strip, line.split("\r")):
            if word != _NO_WORD:
                yield word


def save_published_weights(
    encoder: Encoder, options: StrPath, weights: StrPath
) -> None:
    """Saves an encoder in the published format, which AllenNLP reads, too.

    Args:
        encoder: the model. A mix of its layers is not part of the format.
        options: path of the options.json to write or to replace.
        weights: path of the weights.hdf5 to write or to replace.

    Raises:
        OSError: the disk has no room for the files.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.save_published_weights(encoder, "options.json", "weights.hdf5")
    ```
    """
    check_type(Encoder, "an Encoder", encoder=encoder)
    check_path(options=options, weights=weights)
    write_datasets(weights, encoder_datasets(encoder))
    write_json(options, encoder.config.to_options())


def read_datasets(
    weights: StrPath, datasets: Iterable["Dataset"], described_by: str
) -> None:
    """Assigns all datasets of an encoder or softmax in an HDF5 file to weights."""
    weights = os.fspath(weights)
    with open_hdf5(weights) as file:
        read = set()
        for dataset in datasets:
            dataset.read(file, described_by)
            read.add(dataset.name)
        # A file may hold other data, too.
        for name in find_unread(file, read):
            if name.startswith(ENCODER_NAMES):
                raise ValueError(
                    f"{weights}: holds {name}, but {described_by} describes a model "
                    "without it"
                )


def write_datasets(
    weights: StrPath, datasets: Iterable["Dataset"], dtype: str = "float32"
) -> None:
    """Writes weights to an HDF5 file, if the disk has room for it."""
    datasets = list(datasets)
    item = np.dtype(dtype).itemsize
    size = sum(item * math.prod(dataset.shape) for dataset in datasets)
    # HDF5 does not recover from a disk that fills up while it writes.
    check_room(weights, size + _HEADERS)
    with replacing(weights) as temporary, h5py.File(temporary, "w") as file:
        for dataset in datasets:
            dataset.write(file, dtype)


class Dataset:
    """The dataset that holds a weight.

    With a `shape` of its own it holds the last numbers of the weight; the rest is 0.
    """

    def __init__(
        self, name: str, weight: keras.Variable, shape: tuple[int, ...] | None = None
    ) -> None:
        self.name = name
        self.weight = weight
        self.shape = tuple(weight.shape) if shape is None else shape

    def read(self, file: h5py.File, described_by: str) -> None:
        stored = find_dataset(file, self.name, self.shape, described_by)
        if self.shape == tuple(self.weight.shape):
            fill(self.weight, stored.blocks())
        else:
            self.assign(stored.read())

    def assign(self, array: np.ndarray, before: float = 0.0) -> None:
        """Assigns the last numbers of the weight; earlier ones become `before`."""
        values = np.full(self.weight.shape, before, "float32")
        values.reshape(-1)[-array.size :] = array.reshape(-1)
        self.weight.assign(values)

    def write(self, file: h5py.File, dtype: str) -> None:
        dataset = file.create_dataset(self.name, self.shape, dtype)
        if self.shape != tuple(self.weight.shape):
            array = ops.convert_to_numpy(self.weight).astype(dtype)
            dataset[...] = array.reshape(-1)[-dataset.size :].reshape(self.shape)
            return
        start = 0
        for block in blocks_of(self.weight):
            # HDF5 cannot convert from bfloat16.
            dataset[start : start + len(block)] = block.astype(dtype, copy=False)
            start += len(block)


def encoder_datasets(encoder: Encoder) -> Iterator[Dataset]:
    """Yields the dataset of each weight of an encoder."""
    for name, weight, shape in encoder.token_embedding.stored_weights():
        yield Dataset(name, weight, shape)
    bilm = encoder.get_layer("bilm")
    for direction, layers in enumerate((bilm.forward_layers, bilm.backward_layers)):
        for k, layer in enumerate(layers):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell"
            yield Dataset(f"{cell}/W_0", layer.kernel)
            yield Dataset(f"{cell}/B", layer.bias)
            yield Dataset(f"{cell}/W_P_0", layer.projection_kernel)


def check_weights(config: ElmoConfig, weights: Sequence[str], options: str) -> None:
    """Raises `ValueError` if files are too small for the sizes, or cut short."""
    check_size(config.num_weights, weights, options)
    for file in weights:
        with open_hdf5(file):
            pass


def softmax_datasets(head: LanguageModelHead) -> Iterator[Dataset]:
    """Yields the datasets of a softmax, by the names of the published trainer."""
    yield Dataset("softmax/W", head.softmax.kernel)
    yield Dataset("softmax/b", head.softmax.bias)
