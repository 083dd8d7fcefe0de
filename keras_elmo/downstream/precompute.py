"""Computes the layers of a frozen biLM once, for many epochs of training."""

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from types import NoneType
from typing import TypeAlias

import keras
import numpy as np
from keras import ops

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.inputs import InputsError
from keras_elmo.downstream.layer_batches import (
    Key,
    LayerBatch,
    LayerBatches,
    Sentences,
    layer_dataset,
)
from keras_elmo.downstream.token_mask import is_ids
from keras_elmo.embedding.word_cache import KerasRunner
from keras_elmo.models.encoder import check_char_ids
from keras_elmo.text.batching import batches_of_like_length, split_stream
from keras_elmo.text.string_layer import are_strings
from keras_elmo.utils.checks import (
    check_boolean,
    check_optional_path,
    check_positive,
    check_type,
    refuse,
)
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.temporary import naming_folder
from keras_elmo.utils.types import Shape, StrPath, Tensor

# What `fit` takes: inputs; with targets; and with weights of the samples.
Batch: TypeAlias = Tensor | tuple[Tensor, ...]

# The words of a sentence with its boundaries; each is the bytes of its ids.
_Words: TypeAlias = list[bytes]

# A window, whose sentences are sorted by length, ends at either bound.
_WINDOW_POSITIONS = 16_384
_WINDOW_SENTENCES = 1_024
# Sentences in one pass.
_BATCH_SIZE = 64


def precompute(
    elmo: ElmoEmbedding,
    dataset: Iterable[Batch],
    shuffle: bool = False,
    max_memory: int = 2**30,
    directory: StrPath | None = None,
    inputs: Sequence[str | int] | None = None,
) -> "tf.data.Dataset | keras.utils.PyDataset":
    """Computes the layers of the biLM once for each sentence of a dataset.

    `elmo(layers)` equals `elmo(text)`, so a model on the layers learns what a model on
    text does, and the biLM need not run in every epoch. Layers that both models share
    are trained for both.

    Args:
        elmo: the layer, whose encoder is frozen.
        dataset: batches as `fit` takes them, `x`, `(x, y)` or
            `(x, y, sample_weight)`, where `x` is text, words or ids, or a dictionary or
            tuple of several inputs.
        shuffle: whether each epoch has the batches in another order.
        max_memory: bytes of layers to keep in memory; if there are more, all go to a
            temporary file.
        directory: the folder of that file; by default the system's.
        inputs: names, or places in the tuple, of the inputs that `elmo` reads; by
            default all strings and character ids. Other inputs stay as they are.

    Returns:
        The batches with layers in place of what `elmo` reads, float32 of shape
        `(batch, num_layers + 1, tokens, 2 * projection_units)`, 0 where masked: a
        `tf.data.Dataset`, or without TensorFlow as backend a `keras.utils.PyDataset`.

    Raises:
        ValueError: the encoder is not frozen, the dataset has no end, its batches have
            another form, or there are no such `inputs`.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    elmo = keras_elmo.ElmoEmbedding(encoder)
    pooling, dense = keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)
    texts, labels = ["a warm film", "dull", "a funny film"], [1, 0, 1]
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(2)

    layers = keras.Input(elmo.layers_shape)
    training_model = keras.Model(layers, dense(pooling(elmo(layers))))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    training_model.compile("adam", loss)
    cached = keras_elmo.precompute(elmo, dataset)
    training_model.fit(cached, epochs=3, shuffle=False, verbose=0)

    # It shares the mix and the dense layer.
    text = keras.Input((), dtype="string")
    model = keras.Model(text, dense(pooling(elmo(text))))
    model.predict(tf.constant(texts), verbose=0)
    ```
    """
    check_type(ElmoEmbedding, "an ElmoEmbedding", elmo=elmo)
    check_type(Iterable, "batches", dataset=dataset)
    if hasattr(dataset, "shape") or isinstance(dataset, str | bytes):
        # Its rows would be taken for batches.
        refuse("dataset", "an iterable of batches, such as [x] of one", dataset)
    check_boolean(shuffle=shuffle)
    check_positive(max_memory=max_memory)
    check_type((str, int, Sequence, NoneType), "names or places", inputs=inputs)
    check_optional_path(directory=directory)
    if getattr(dataset, "cardinality", int)() == -1:
        raise ValueError("`dataset` must have an end. Received: one that repeats")
    batches = layer_batches(elmo, dataset, shuffle, max_memory, directory, inputs)
    return layer_dataset(batches)


def layer_batches(
    elmo: ElmoEmbedding,
    dataset: Iterable[Batch],
    shuffle: bool,
    max_memory: int = 2**30,
    directory: StrPath | None = None,
    inputs: Sequence[str | int] | None = None,
) -> LayerBatches:
    """Returns what `precompute` does, before it is a dataset, which takes 0.1 s."""
    if elmo.trainable_encoder:
        raise ValueError(
            "`elmo` must have a frozen encoder: what is trained changes its vectors. "
            "Set elmo.encoder.trainable = False"
        )
    batches: list[LayerBatch] = []
    sentences = _sentences(elmo, dataset, batches, inputs)
    windows = split_stream(sentences, len, _WINDOW_POSITIONS, _WINDOW_SENTENCES)
    packed = _stored(_compute_layers(elmo, windows), batches, max_memory, directory)
    if not batches:
        raise ValueError("`dataset` must have a batch. Received: none")
    return LayerBatches(elmo.layers_shape, packed, batches, shuffle)


def _sentences(
    elmo: ElmoEmbedding,
    dataset: Iterable[Batch],
    batches: list[LayerBatch],
    inputs: Sequence[str | int] | None,
) -> Iterator[_Words]:
    """Yields the words of each sentence, and adds its batches to `batches`."""
    first = 0
    graph = None
    if keras.backend.backend() == "tensorflow":
        graph = tf.function(elmo.char_ids, autograph=False, reduce_retracing=True)
    boundaries = 0 if elmo.keep_boundaries else 2
    for batch in dataset:
        x, *rest = batch if isinstance(batch, tuple | list) else (batch,)
        if len(rest) > 2:
            raise ValueError(
                "`dataset` must have batches x, (x, y) or (x, y, sample_weight). "
                f"Received: one of {len(rest) + 1} parts"
            )
        values = _by_key(x)
        texts = {}
        for key in _read_by(elmo, values, inputs):
            value = values.pop(key)
            char_ids = graph if graph and tf.is_tensor(value) else elmo.char_ids
            try:
                ids = ops.convert_to_numpy(char_ids(value)).astype("int32", copy=False)
            except InputsError as error:
                raise ValueError(f"`dataset` must suit `elmo`: {error}") from error
            check_char_ids(ids)
            rows = range(first, first + len(ids))
            first = rows.stop
            lengths = (ids[..., 0] > 0).sum(axis=1)
            inside = np.maximum(lengths - boundaries, 0)
            texts[key] = Sentences(rows, inside, ids.shape[1] - boundaries)
            for row, length in zip(ids, lengths, strict=True):
                yield [word.tobytes() for word in row[:length]]
        others, rest = keras.tree.map_structure(
            ops.convert_to_numpy, (values, tuple(rest))
        )
        batches.append(LayerBatch(texts, others, rest))


def _by_key(x: Tensor) -> dict[Key, Tensor]:
    """Returns the inputs by name or place; a single one by `None`."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, tuple | list) and all(hasattr(value, "dtype") for value in x):
        return dict(enumerate(x))
    return {None: x}


def _read_by(
    elmo: ElmoEmbedding,
    values: dict[Key, Tensor],
    inputs: Sequence[str | int] | None,
) -> list[Key]:
    """Returns the keys of the inputs that are text, words or ids."""
    if None in values and inputs is None:
        return [None]
    size = elmo.encoder.config.ids_per_token
    keys = [key for key, value in values.items() if _is_read(value, size)]
    if inputs is not None:
        keys = [inputs] if isinstance(inputs, str | int) else [*inputs]
    if not keys or not set(keys) <= set(values):
        raise ValueError(
            "`inputs` must name inputs that are text, words or character ids. "
            f"Received: inputs={inputs}, where the dataset has {list(values)}"
        )
    return keys


def _is_read(value: Tensor, ids_per_token: int) -> bool:
    if are_strings(value):
        return True
    shape: Shape = getattr(value, "shape", ())
    return len(shape) == 3 and shape[-1] == ids_per_token and is_ids(value)


def _compute_layers(
    elmo: ElmoEmbedding, windows: Iterable[list[_Words]]
) -> Iterator[np.ndarray]:
    """Yields the layers of each sentence, `(layers, tokens, units)`."""
    encode = partial(_join_ids, ids_per_word=elmo.encoder.config.ids_per_token)
    runner = KerasRunner(elmo.encoder, encode)
    inside = slice(None) if elmo.keep_boundaries else slice(1, -1)
    for window in windows:
        compute = runner.prepare(window, keep_words=True)
        results = [np.empty(0)] * len(window)
        lengths = [len(sentence) for sentence in window]
        for indices in batches_of_like_length(lengths, _BATCH_SIZE):
            arrays = compute([window[k] for k in indices])
            for row, k in enumerate(indices):
                parts = [array[row, : lengths[k]][inside] for array in arrays]
                results[k] = np.stack(parts)
        yield from results


def _join_ids(sentences: list[_Words], ids_per_word: int) -> np.ndarray:
    """Returns the ids that a sentence's words are, between two masked ones."""
    (words,) = sentences
    ids = np.frombuffer(b"".join(words), "int32").reshape(1, -1, ids_per_word)
    return np.pad(ids, [(0, 0), (1, 1), (0, 0)])


def _stored(
    arrays: Iterable[np.ndarray],
    batches: list[LayerBatch],
    max_memory: int,
    directory: StrPath | None,
) -> list[np.ndarray]:
    """Returns one array for each input of each batch: its layers, sentence by sentence.

    They are in memory, or parts of a file that has no name.
    """
    kept: deque[np.ndarray] = deque()
    ends, num_bytes, file = [0], 0, None
    for array in arrays:
        kept.append(array)
        ends.append(ends[-1] + array.size)
        num_bytes += array.nbytes
        if num_bytes > max_memory:
            with naming_folder(directory):
                file = file or tempfile.TemporaryFile(dir=directory)
                file.writelines(array.data for array in kept)
            kept.clear()
    rows = [text.rows for batch in batches for text in batch.texts.values()]
    if file is None:
        # Each array is freed as soon as it has been copied.
        return [
            np.concatenate([kept.popleft().ravel() for _ in sentences])
            for sentences in rows
        ]
    with file:
        with naming_folder(directory):
            file.flush()
        numbers = np.asarray(np.memmap(file, "float32", "r"))
    return [numbers[ends[part.start] : ends[part.stop]] for part in rows]
