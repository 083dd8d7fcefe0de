"""The published weights: options.json and weights.hdf5, both ways."""

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

import h5py
import numpy as np
from keras import ops

from keras_elmo.config import ElmoConfig
from keras_elmo.files.validation import check_size, find_dataset, open_hdf5
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import LanguageModelHead
from keras_elmo.utils.files import check_room, replacing, write_json
from keras_elmo.utils.large_variables import block_starts, blocks_of, fill

Path = str | os.PathLike[str]

# What HDF5 writes beside the numbers, at most.
_HEADERS = 100_000


def load_published_weights(options: Path, weights: Path) -> Encoder:
    """Builds an encoder from a model in the published format.

    Args:
        options: path of the options.json.
        weights: path of the weights.hdf5.

    Returns:
        An `Encoder` whose tokenizer is unknown: the published models were trained on
        text that was tokenised beforehand.

    Raises:
        ValueError: a file cannot be read, options.json lacks a key, or it and the
            weights contradict each other; the message names the file, and the dataset
            with both shapes.
        FileNotFoundError: a file is missing.
    """
    config = ElmoConfig.from_options(options)
    check_size(config.num_weights, [weights], os.fspath(options))
    encoder = Encoder(config)
    read_datasets(weights, encoder_datasets(encoder), os.fspath(options))
    return encoder


def save_published_weights(encoder: Encoder, options: Path, weights: Path) -> None:
    """Writes an encoder in the published format.

    Args:
        encoder: the model; its mix is not part of the format.
        options: path of the options.json to write.
        weights: path of the weights.hdf5 to write.
    """
    write_datasets(weights, encoder_datasets(encoder))
    write_json(options, encoder.config.to_options())


def read_datasets(weights: Path, datasets: Iterable["Dataset"], options: str) -> None:
    """Assigns what a file holds to the weights.

    Args:
        weights: path of the HDF5 file.
        datasets: where each weight stands in it.
        options: what decided the weights' shapes, for an error to name.

    Raises:
        ValueError: the file is damaged, lacks a dataset, has one of a layer that
            `options` does not know, or one that `find_dataset` refuses.
    """
    weights = os.fspath(weights)
    with open_hdf5(weights) as file:
        asked = set()
        for dataset in datasets:
            dataset.read(file, options)
            asked.add(dataset.name)
        for name in _names_of_layers(file):
            if name not in asked:
                raise ValueError(
                    f"{weights}: holds the dataset {name}, {file[name].shape}, "
                    f"but {options} describes a model without it"
                )


def _names_of_layers(file: h5py.File) -> list[str]:
    """The encoder's datasets; a file may hold more than the encoder."""
    names: list[str] = []

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and name.startswith(("char", "CNN", "RNN")):
            names.append(name)

    file.visititems(add)
    return names


def write_datasets(
    weights: Path, datasets: Iterable["Dataset"], dtype: str = "float32"
) -> None:
    """Writes the weights to an HDF5 file; one that stands there is replaced.

    Args:
        weights: path of the file.
        datasets: where each weight stands in it.
        dtype: of the numbers in the file.

    Raises:
        OSError: there is no room for it.
    """
    datasets = list(datasets)
    item = np.dtype(dtype).itemsize
    size = sum(item * math.prod(dataset.shape()) for dataset in datasets)
    # A disk that fills up leaves HDF5 in a state that it complains of to the end.
    check_room(weights, size + _HEADERS)
    with replacing(weights) as temporary, h5py.File(temporary, "w") as file:
        for dataset in datasets:
            dataset.write(file, dtype)


class Dataset:
    """One weight and the dataset that holds it, as it is."""

    def __init__(self, name: str, weight: Any) -> None:
        self.name = name
        self.weight = weight

    def shape(self) -> tuple[int, ...]:
        """Returns the shape in the file."""
        return tuple(self.weight.shape)

    def read(self, file: h5py.File, options: str) -> None:
        self.assign(find_dataset(file, self.name, self.shape(), options))

    def assign(self, dataset: h5py.Dataset) -> None:
        starts = block_starts(dataset.shape, dataset.dtype.itemsize)
        fill(self.weight, (dataset[k : k + starts.step] for k in starts))

    def write(self, file: h5py.File, dtype: str) -> None:
        dataset = file.create_dataset(self.name, self.shape(), dtype)
        start = 0
        for block in blocks_of(self.weight):
            # HDF5 has no bfloat16 to convert from.
            dataset[start : start + len(block)] = block.astype(dtype, copy=False)
            start += len(block)


class _CharacterTable(Dataset):
    """The file has no row for the mask's id 0."""

    def shape(self) -> tuple[int, ...]:
        rows, units = self.weight.shape
        return (rows - 1, units)

    def assign(self, dataset: h5py.Dataset) -> None:
        array = dataset[...]
        self.weight.assign(np.concatenate([np.zeros_like(array[:1]), array]))

    def write(self, file: h5py.File, dtype: str) -> None:
        array = ops.convert_to_numpy(self.weight)[1:]
        file.create_dataset(self.name, data=array.astype(dtype, copy=False))


class _Convolution(Dataset):
    """The file has an axis for the height of an image."""

    def shape(self) -> tuple[int, ...]:
        return (1, *self.weight.shape)

    def assign(self, dataset: h5py.Dataset) -> None:
        self.weight.assign(dataset[0])

    def write(self, file: h5py.File, dtype: str) -> None:
        array = ops.convert_to_numpy(self.weight)[None]
        file.create_dataset(self.name, data=array.astype(dtype, copy=False))


def encoder_datasets(encoder: Encoder) -> Iterator[Dataset]:
    """Yields where the published format keeps each weight of an encoder."""
    embedding = encoder.get_layer("char_cnn_embedding")
    yield _CharacterTable("char_embed", embedding.char_embedding)
    convolutions = zip(embedding.kernels, embedding.biases, strict=True)
    for k, (kernel, bias) in enumerate(convolutions):
        yield _Convolution(f"CNN/W_cnn_{k}", kernel)
        yield Dataset(f"CNN/b_cnn_{k}", bias)
    for k, highway in enumerate(embedding.highways):
        yield Dataset(f"CNN_high_{k}/W_carry", highway.carry_kernel)
        yield Dataset(f"CNN_high_{k}/b_carry", highway.carry_bias)
        yield Dataset(f"CNN_high_{k}/W_transform", highway.transform_kernel)
        yield Dataset(f"CNN_high_{k}/b_transform", highway.transform_bias)
    if embedding.projection_kernel is not None:
        yield Dataset("CNN_proj/W_proj", embedding.projection_kernel)
        yield Dataset("CNN_proj/b_proj", embedding.projection_bias)
    bilm = encoder.get_layer("bilm")
    for direction, layers in enumerate((bilm.forward_layers, bilm.backward_layers)):
        for k, layer in enumerate(layers):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell"
            yield Dataset(f"{cell}/W_0", layer.kernel)
            yield Dataset(f"{cell}/B", layer.bias)
            yield Dataset(f"{cell}/W_P_0", layer.projection_kernel)


def softmax_datasets(head: LanguageModelHead) -> Iterator[Dataset]:
    """Yields where a language model's softmax is kept, by its trainer's names.

    The published files have none.
    """
    yield Dataset("softmax/W", head.softmax.kernel)
    yield Dataset("softmax/b", head.softmax.bias)
