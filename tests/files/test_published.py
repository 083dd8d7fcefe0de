import json

import h5py
import numpy as np
import pytest

from keras_elmo.files.published import load_published_weights, save_published_weights
from keras_elmo.models.encoder import build_encoder
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import (
    CONFIG,
    SENTENCES,
    assert_same_weights,
    char_ids,
    write_random,
)

# What the published LSTMs computed in single precision is known no better.
PUBLISHED_PRECISION = 2e-6


@pytest.fixture(scope="module")
def tiny(fixtures):
    """A published model's two files, and its sentences: three lists of ten."""
    folder = fixtures / "published_tiny"
    sentences = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    sentences = [[text.split() for text in column] for column in sentences]
    return folder / "options.json", folder / "lm_weights.hdf5", sentences


@pytest.fixture(scope="module")
def expected(fixtures):
    """expected[i][k]: the top layer of the i-th list's k-th sentence, (tokens, 32)."""
    columns = []
    for i in range(3):
        with h5py.File(fixtures / "published_tiny" / f"lm_embeddings_{i}.hdf5") as file:
            # The file keeps the directions apart.
            columns.append([np.concatenate(file[str(k)], axis=-1) for k in range(10)])
    return columns


# ---------------------------------------------------------------- as published


def test_oracle_vectors(tiny, expected):
    """The NumPy oracle gives the published vectors."""
    *files, sentences = tiny
    options, weights = numpy_reference.read_published(*files)
    for column, vectors in zip(sentences, expected, strict=True):
        state = None
        for tokens, wanted in zip(column, vectors, strict=True):
            layers, state = numpy_reference.encode(tokens, options, weights, state)
            actual = layers[-1][1:-1]
            np.testing.assert_allclose(actual, wanted, atol=PUBLISHED_PRECISION, rtol=0)


def test_encoder_vectors(tiny):
    """The encoder gives the oracle's vectors of a model and sentences of the field."""
    *files, sentences = tiny
    encoder = load_published_weights(*files)
    options, weights = numpy_reference.read_published(*files)
    for batch in zip(*sentences, strict=True):
        layers = numpy_of(encoder(char_ids(batch)))
        for row, tokens in enumerate(batch):
            wanted, _ = numpy_reference.encode(tokens, options, weights)
            for actual, layer in zip(layers, wanted, strict=True):
                np.testing.assert_allclose(
                    actual[row, : len(layer)], layer, atol=PUBLISHED_PRECISION, rtol=0
                )


def test_first_batch(tiny, expected):
    """The encoder gives the published vectors, where these begin with a state of 0."""
    *files, sentences = tiny
    encoder = load_published_weights(*files)
    batch = [column[0] for column in sentences]
    top = numpy_of(encoder(char_ids(batch))[-1])
    for row, tokens, vectors in zip(top, batch, expected, strict=True):
        np.testing.assert_allclose(
            row[1 : len(tokens) + 1], vectors[0], atol=PUBLISHED_PRECISION, rtol=0
        )


def test_oracle_without_state(tiny, expected):
    """Without the state, the second sentence differs: the comparison can fail."""
    *files, sentences = tiny
    options, weights = numpy_reference.read_published(*files)
    layers, _ = numpy_reference.encode(sentences[0][1], options, weights)
    assert np.abs(layers[-1][1:-1] - expected[0][1]).max() > 0.01


# ------------------------------------------------------ as other programs store them

STORED = {
    "float64": {"dtype": "float64"},
    "float16": {"dtype": "float16"},
    "big-endian": {"dtype": ">f8", "chunks": True},
    "chunks": {"chunks": (3, 2)},
    "gzip": {"compression": "gzip", "dtype": "float64"},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "extensible": {"chunks": (3, 5), "maxshape": (None, None), "dtype": "float16"},
}


@pytest.mark.parametrize("how", STORED)
def test_stored(how, tmp_path):
    """Chunks, gzip and other floating-point types are read as they were written."""
    options, weights = write_random(tmp_path)
    expected = load_published_weights(options, weights).get_weights()
    with h5py.File(weights, "a") as file:
        for name in datasets(weights):
            array = file[name][...]
            settings = dict(STORED[how])
            if "chunks" in settings and array.ndim != 2:
                settings |= {"chunks": True, "maxshape": None}
            del file[name]
            file.create_dataset(name, data=array, **settings)
    actual = load_published_weights(options, weights).get_weights()
    tolerance = 1e-3 if "float16" in str(STORED[how]) else 0
    for array, wanted in zip(actual, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- and back again


def datasets(path):
    actual = {}
    with h5py.File(path, "r") as file:
        file.visititems(
            lambda name, item: (
                actual.update({name: (item.shape, item.dtype, item[...].tobytes())})
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
    return actual


def test_round_trip(tiny, tmp_path):
    """Saving what was loaded changes no bit."""
    *files, _ = tiny
    encoder = load_published_weights(*files)
    written = tmp_path / "options.json", tmp_path / "weights.hdf5"
    save_published_weights(encoder, *written)
    original = datasets(files[1])
    assert datasets(written[1]) == original
    assert len(original) == 33
    assert load_published_weights(*written).config == encoder.config


VARIANTS = {
    "as published": {},
    "tanh": {"char_cnn": {"activation": "tanh"}},
    "no highway": {"char_cnn": {"n_highway": 0}},
    "261 characters": {"char_cnn": {"n_characters": 261}},
    "no projection": {"lstm": {"projection_dim": 15}},
    "no skip connections": {"lstm": {"use_skip_connections": False}},
    "no clips": {"lstm": {"cell_clip": None, "proj_clip": None}},
    "three layers": {"lstm": {"n_layers": 3}},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(variant, tmp_path):
    files = write_random(tmp_path, VARIANTS[variant])
    encoder = load_published_weights(*files)
    options, weights = numpy_reference.read_published(*files)
    layers = numpy_of(encoder(char_ids(SENTENCES)))
    for row, tokens in enumerate(SENTENCES):
        wanted, _ = numpy_reference.encode(tokens, options, weights)
        for actual, layer in zip(layers, wanted, strict=True):
            np.testing.assert_allclose(actual[row, : len(layer)], layer, atol=1e-5)
    again = tmp_path / "again.json", tmp_path / "again.hdf5"
    save_published_weights(encoder, *again)
    assert datasets(again[1]) == datasets(files[1])
    written = json.loads(again[0].read_text(encoding="utf-8"))
    assert written["char_cnn"]["n_characters"] == 262
    assert written["lstm"] == options["lstm"]


def test_replaces_model(tmp_path):
    files = write_random(tmp_path)
    before = datasets(files[1])
    save_published_weights(build_encoder(CONFIG), *map(str, files))
    after = datasets(files[1])
    assert after.keys() == before.keys()
    assert after != before
    # Nothing is left of the temporary names.
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "options.json",
        "weights.hdf5",
    ]


def test_save_bfloat16(tmp_path):
    files = write_random(tmp_path)
    low = load_published_weights(*files).with_dtype("bfloat16")
    save_published_weights(low, *files)
    again = load_published_weights(*files)
    assert {weight.dtype for weight in again.weights} == {"float32"}
    assert_same_weights(again.weights, low.weights)


def test_mask_row(tmp_path):
    encoder = load_published_weights(*write_random(tmp_path))
    table = numpy_of(encoder.get_layer("char_cnn_embedding").char_embedding)
    assert table.shape[0] == 262
    assert not table[0].any()


# ---------------------------------------------------------------- bad files


MORE_FILTERS = [[1, 4], [2, 5], [3, 6], [4, 7]]
CELL = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0"
# What options.json says, and what is said of the file of weights.
CONTRADICTIONS = [
    # The first dataset that does not fit, with both shapes.
    ("char_cnn", "filters", [[1, 4], [2, 8], [3, 6]], ["CNN/W_cnn_1", "3, 5)", ", 8)"]),
    ("lstm", "dim", 10, [CELL, "36", "40"]),
    ("lstm", "projection_dim", 6, ["CNN_proj/W_proj", "15, 7", "15, 6"]),
    ("char_cnn", "embedding", {"dim": 2}, ["char_embed", "261, 3", "261, 2"]),
    # Missing ones.
    ("char_cnn", "n_highway", 3, ["CNN_high_2/"]),
    ("lstm", "n_layers", 3, ["Cell2/LSTMCell/"]),
    ("char_cnn", "filters", MORE_FILTERS, ["CNN/W_cnn_3"]),
    # Groups of layers that it lacks.
    ("char_cnn", "n_highway", 1, [": holds CNN_high_1, but"]),
    ("lstm", "n_layers", 1, [": holds RNN_0/RNN/MultiRNNCell/Cell1, but"]),
]


@pytest.mark.parametrize(("section", "key", "value", "said"), CONTRADICTIONS)
def test_contradiction(section, key, value, said, tmp_path):
    files = write_random(tmp_path)
    if value == MORE_FILTERS:
        # One dataset alone is missing: the other shapes are of the larger model.
        write_random(tmp_path, {section: {key: value}})
        with h5py.File(files[1], "a") as file:
            del file[said[0]]
    options = CONFIG.to_options()
    options[section][key] = value
    files[0].write_text(json.dumps(options), encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        load_published_weights(*files)
    for text in (str(files[1]), *said):
        assert text in str(raised.value)


def test_group_instead_of_dataset(tmp_path):
    files = write_random(tmp_path)
    with h5py.File(files[1], "a") as file:
        del file["char_embed"]
        file.create_group("char_embed")
    with pytest.raises(ValueError, match="weights.hdf5.*char_embed"):
        load_published_weights(*files)


@pytest.mark.parametrize("absent", [0, 1])
def test_missing_file(absent, tmp_path):
    files = write_random(tmp_path)
    files[absent].unlink()
    with pytest.raises(FileNotFoundError, match=files[absent].name):
        load_published_weights(*files)
