"""Reads the folder of a model of ELMoForManyLangs."""

import os
import re
import reprlib
from functools import partial

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.validation import check_size
from keras_elmo.importing.foreign_model import ForeignModel
from keras_elmo.importing.torch_state import TorchState
from keras_elmo.layers.bilm import ProjectedLSTM
from keras_elmo.models.encoder import Encoder
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.files import read_json_object, read_key
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config

_WORDS = "word_emb_layer.embedding.weight"
_CHARACTERS = "char_emb_layer.embedding.weight"
# Of a line of a dictionary; a word of a natural text has some ten.
_MOST_BYTES = 10_000
# The sizes that come with the program and not with a model, under two names.
_STOCK = re.compile(r"cnn_(0|50)_100_512_4096_sample\.json")
_STOCK_SIZES: Config = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [
            *([1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024])
        ],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
    "dropout": 0.1,
}


class ManyLangsFolder(ForeignModel):
    """The folder of a model of ELMoForManyLangs.

    Its files are `config.json`, the sizes that it names, `char.dic`, `word.dic`,
    `encoder.pkl` and `token_embedder.pkl`. PyTorch reads the last two, as numbers only.
    """

    key = "many_langs"

    def encoder(self) -> Encoder:
        sizes, described_by = _read_sizes(self.path)
        embedder, lstms = (
            TorchState(os.path.join(self.path, name), described_by)
            for name in ("token_embedder.pkl", "encoder.pkl")
        )
        config = _config(self.path, sizes, described_by, embedder)
        check_size(config.num_weights, [embedder.path, lstms.path], described_by)
        encoder = Encoder(config)
        _read_token_embedding(encoder, embedder)
        bilm = encoder.get_layer("bilm")
        for k, pair in enumerate(
            zip(bilm.forward_layers, bilm.backward_layers, strict=True)
        ):
            for direction, layer in zip(("forward", "backward"), pair, strict=True):
                _read_lstm(layer, lstms, f"{direction}_layer_{k}")
        for state in (embedder, lstms):
            state.check_all_read()
        return encoder

    def describe(self) -> Config:
        sizes, described_by = _read_sizes(self.path)
        file = os.path.join(self.path, "token_embedder.pkl")
        config = _config(self.path, sizes, described_by, TorchState(file, described_by))
        vocabulary = config.token_vocabulary
        entries = vocabulary and (vocabulary.words or vocabulary.characters)
        return {"config": config, "entries": entries, "uses": ["import"]}


# === Sizes ===


def _read_sizes(path: str) -> tuple[Config, str]:
    """Returns the sizes, and the file that says them."""
    where = os.path.join(path, "config.json")
    named = read_json_object(where).get("config_path")
    if not isinstance(named, str) or "\0" in named:
        raise ValueError(
            f"{where}: config_path must be the name of a file with the sizes. "
            f"Received: {reprlib.repr(named)}"
        )
    # Many name a folder of the machine that trained them.
    name = re.split(r"[/\\]", named)[-1]
    described_by = os.path.join(path, name)
    if name and os.path.exists(described_by):
        return read_json_object(described_by), described_by
    if _STOCK.fullmatch(name):
        return _STOCK_SIZES, f"{where} ({name})"
    raise ValueError(f"{described_by}: no such file; {where} names it for the sizes")


def _config(path: str, sizes: Config, where: str, embedder: TorchState) -> ElmoConfig:
    """Returns the sizes with the words and characters."""
    read = partial(read_key, sizes, where)
    for part, kind in (("token_embedder", "cnn"), ("encoder", "elmo")):
        if str(read(part, "name")).lower() != kind:
            raise ValueError(
                f"{where}: {part}.name must be {kind}: other kinds are not read. "
                f"Received: {reprlib.repr(read(part, 'name'))}"
            )
    dims = {name: read("token_embedder", name) for name in ("word_dim", "char_dim")}
    if sizes is _STOCK_SIZES:
        # Both files say the same, though one of them is named for words alone.
        tensors = {"word_dim": _WORDS, "char_dim": _CHARACTERS}
        dims = {name: dims[name] * (tensors[name] in embedder) for name in dims}
    for name, dim in dims.items():
        if type(dim) is not int or not 0 <= dim < 1 << 20:
            raise ValueError(
                f"{where}: token_embedder.{name} must be an integer of 0 or more. "
                f"Received: {reprlib.repr(dim)}"
            )
    word_dim, char_dim = dims.values()
    entries = {}
    for name, tensor, dim in (
        ("word", _WORDS, word_dim),
        ("char", _CHARACTERS, char_dim),
    ):
        if dim:
            rows = embedder.num_rows(tensor, dim)
            entries[name] = _read_entries(os.path.join(path, f"{name}.dic"), rows)
    try:
        vocabulary = TokenVocabulary(
            entries.get("word", ()),
            entries.get("char", ()),
            read("token_embedder", "max_characters_per_token"),
        )
    except ValueError as error:
        message = str(error).replace("`words`", os.path.join(path, "word.dic"))
        message = message.replace("`characters`", os.path.join(path, "char.dic"))
        raise ValueError(f"{where}: {message}") from error
    with reading(where, "has sizes that no model has"):
        return ElmoConfig(
            filters=read("token_embedder", "filters") if char_dim else (),
            num_highway_layers=read("token_embedder", "n_highway") if char_dim else 0,
            char_embedding_units=char_dim or 1,
            activation=read("token_embedder", "activation") if char_dim else "relu",
            units=read("encoder", "dim"),
            projection_units=read("encoder", "projection_dim"),
            num_layers=read("encoder", "n_layers"),
            cell_clip=read("encoder", "cell_clip") or None,
            projection_clip=read("encoder", "proj_clip") or None,
            dropout=read("dropout"),
            word_embedding_units=word_dim,
            token_vocabulary=vocabulary,
        )


def _read_entries(path: str, num_rows: int) -> list[str]:
    """Returns the entries of a dictionary in the order of their ids."""
    entries: dict[int, str] = {}
    known = set()
    if not os.path.isfile(path):
        raise ValueError(f"{path}: no such file")
    with open(path, "rb") as file:
        lines = iter(partial(file.readline, _MOST_BYTES + 1), b"")
        for number, line in enumerate(lines, 1):
            where = f"{path}, line {number:,}"
            entry, row = _read_entry(line, where)
            if row >= num_rows:
                raise ValueError(
                    f"{where}: the id {row:,} must be below {num_rows:,}, the rows of "
                    "the embedding"
                )
            if row in entries:
                raise ValueError(f"{where}: the id {row:,} comes twice")
            if entry in known:
                raise ValueError(
                    f"{where}: the entry {reprlib.repr(entry)} comes twice"
                )
            entries[row] = entry
            known.add(entry)
    if len(entries) < num_rows:
        raise ValueError(
            f"{path}: has {len(entries):,} entries, but the embedding {num_rows:,} rows"
        )
    return [entries[row] for row in range(num_rows)]


def _read_entry(line: bytes, where: str) -> tuple[str, int]:
    fields = []
    if len(line) <= _MOST_BYTES:
        try:
            fields = line.decode().strip().split("\t")
        except UnicodeError as error:
            raise ValueError(f"{where}: not UTF-8: {error}") from error
    if len(fields) == 1:
        # The wide space, which is stripped off.
        fields.insert(0, "\u3000")
    if len(fields) != 2 or not re.fullmatch("[0-9]{1,18}", fields[1]):
        raise ValueError(
            f"{where}: must be an entry, a tab and its id. "
            f"Received: {reprlib.repr(line)}"
        )
    return fields[0], int(fields[1])


# === Numbers ===


def _read_token_embedding(encoder: Encoder, state: TorchState) -> None:
    layer = encoder.token_embedding
    units = encoder.config.projection_units
    inputs = encoder.config.word_embedding_units
    cnn = layer.char_cnn
    if cnn is not None:
        rows, size = cnn.char_embedding.shape
        characters = state.read(_CHARACTERS, (rows - 1, size))
        # The masked id has a row of its own here.
        cnn.char_embedding.assign(np.pad(characters, [(1, 0), (0, 0)]))
        for k, (kernel, bias) in enumerate(zip(cnn.kernels, cnn.biases, strict=True)):
            name = f"convolutions.{k}"
            array = state.read(f"{name}.weight", tuple(kernel.shape)[::-1])
            kernel.assign(array.transpose(2, 1, 0))
            bias.assign(state.read(f"{name}.bias", tuple(bias.shape)))
        features = cnn.projection_units
        for k, highway in enumerate(cnn.highways):
            name = f"highways._layers.{k}"
            kernel = state.read(f"{name}.weight", (2 * features, features)).T
            bias = state.read(f"{name}.bias", (2 * features,))
            highway.transform_kernel.assign(kernel[:, :features])
            highway.transform_bias.assign(bias[:features])
            # Their gate weighs the input, ours what is made of it.
            highway.carry_kernel.assign(-kernel[:, features:])
            highway.carry_bias.assign(-bias[features:])
        inputs += features
    kernel = state.read("projection.weight", (units, inputs)).T
    bias = state.read("projection.bias", (units,))
    projection = layer.projection_kernel, layer.projection_bias
    for weight, array in zip(projection, (kernel, bias), strict=True):
        if weight is not None:
            weight.assign(array)
    if layer.word_embedding is not None:
        words = state.read(_WORDS, tuple(layer.word_embedding.shape))
        if layer.projection_kernel is None:
            # Words alone that have the size of the result have none here.
            words = words @ kernel + bias
        layer.word_embedding.assign(words)


def _read_lstm(layer: ProjectedLSTM, state: TorchState, name: str) -> None:
    gates, units = 4 * layer.units, layer.projection_units
    kernels = [
        _gates(state.read(f"{name}.{part}_linearity.weight", (gates, units)).T)
        for part in ("input", "state")
    ]
    layer.kernel.assign(np.concatenate(kernels))
    bias = _gates(state.read(f"{name}.state_linearity.bias", (gates,)))
    # Ours adds 1 to the forget gate's.
    bias[2 * layer.units : 3 * layer.units] -= 1
    layer.bias.assign(bias)
    projection = state.read(f"{name}.state_projection.weight", (units, layer.units))
    layer.projection_kernel.assign(projection.T)


def _gates(array: np.ndarray) -> np.ndarray:
    """Puts the candidate before the forget gate."""
    i, f, j, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, j, f, o], axis=-1)
