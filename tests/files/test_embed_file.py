import gzip
from itertools import islice

import h5py
import numpy as np
import pytest

from keras_elmo.files import embed_file as module
from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.files.embed_file import embed_file
from keras_elmo.files.embeddings import embed
from keras_elmo.files.export import export_saved_model
from keras_elmo.files.published import save_published_weights
from tests.files.exports import embedding

LINES = ["I sat on the bank .", "", "배 가 고프다", "The bank closed", "  "]
SENTENCES = [line.split() for line in LINES]


@pytest.fixture(scope="module")
def layer():
    return embedding()


@pytest.fixture(scope="module")
def models(layer, tmp_path_factory):
    """The same encoder as a directory, and exported with its mix."""
    folder = tmp_path_factory.mktemp("models")
    directory = PretrainingDirectory(folder / "directory")
    (folder / "directory").mkdir()
    save_published_weights(layer.encoder, directory.options, directory.weights)
    export_saved_model(layer, folder / "exported", "whitespace")
    return folder


@pytest.fixture(scope="module")
def wanted(layer):
    return list(embed(layer.encoder, SENTENCES))


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def read_hdf5(path):
    with h5py.File(path, "r") as file:
        assert sorted(file, key=int) == [str(k) for k in range(len(file))]
        return [file[str(k)][...] for k in range(len(file))]


def assert_vectors(found, wanted, tolerance=1e-6):
    for vectors, expected in zip(found, wanted, strict=True):
        assert vectors.shape == expected.shape
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, expected, atol=tolerance)


def mixed(vectors, weights):
    return [np.tensordot(np.array(weights), each, axes=1) for each in vectors]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("model", ["directory", "exported"])
def test_a_dataset_a_line(model, models, text, wanted, tmp_path):
    embed_file(models / model, text, tmp_path / "out.hdf5")
    assert_vectors(read_hdf5(tmp_path / "out.hdf5"), wanted)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


def test_compressed_text(models, text, wanted, tmp_path):
    with gzip.open(tmp_path / "text.gz", "wb") as file:
        file.write(text.read_bytes())
    embed_file(models / "directory", tmp_path / "text.gz", tmp_path / "out.h5")
    assert_vectors(read_hdf5(tmp_path / "out.h5"), wanted)


def test_the_mix_is_the_average_or_the_exported_one(
    models, layer, text, wanted, tmp_path
):
    embed_file(models / "directory", text, tmp_path / "mean.hdf5", layers="mix")
    assert_vectors(read_hdf5(tmp_path / "mean.hdf5"), mixed(wanted, [1 / 3] * 3))
    embed_file(models / "exported", text, tmp_path / "mix.hdf5", layers="mix")
    [(weights, gamma)] = layer.mix_weights
    assert_vectors(
        read_hdf5(tmp_path / "mix.hdf5"), mixed(wanted, gamma * weights), 1e-5
    )


@pytest.mark.parametrize("layers", ["all", "mix"])
def test_parquet_has_a_row_a_token(layers, models, text, wanted, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    # Several pieces, one of them of blank lines alone.
    monkeypatch.setattr(module, "_LINES_AT_A_TIME", 1)
    embed_file(models / "directory", text, tmp_path / "out.parquet", layers=layers)
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    places = [(k, j) for k, tokens in enumerate(SENTENCES) for j in range(len(tokens))]
    assert list(zip(table["line"], table["position"], strict=True)) == places
    assert table["token"] == [token for tokens in SENTENCES for token in tokens]
    if layers == "mix":
        columns, expected = ["mix"], [mixed(wanted, [1 / 3] * 3)]
    else:
        columns = ["layer_0", "layer_1", "layer_2"]
        expected = [[vectors[k] for vectors in wanted] for k in range(3)]
    assert list(table) == ["line", "position", "token", *columns]
    for column, vectors in zip(columns, expected, strict=True):
        np.testing.assert_allclose(
            np.array(table[column]), np.concatenate(vectors), atol=1e-6
        )


def test_it_goes_on_where_it_was_interrupted(
    models, text, wanted, tmp_path, monkeypatch
):
    out = tmp_path / "out.hdf5"
    monkeypatch.setattr(module, "_LINES_AT_A_TIME", 2)
    embedded = 0

    def counted(encoder, sentences, batch_size):
        nonlocal embedded
        for vectors in embed(encoder, sentences, batch_size):
            embedded += 1
            yield vectors

    def interrupted(*arguments):
        yield from islice(counted(*arguments), 3)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "embed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            embed_file(models / "directory", text, out)
    assert not out.exists()
    assert len(read_hdf5(f"{out}.unfinished")) == 2
    embedded = 0
    with monkeypatch.context() as patch:
        patch.setattr(module, "embed", counted)
        embed_file(models / "directory", text, out, resume=True)
    # The rest was embedded, and the last one again, for it may be half-written.
    assert embedded == 4
    assert_vectors(read_hdf5(out), wanted)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


def test_without_resume_it_begins_again(models, text, wanted, tmp_path):
    (tmp_path / "out.hdf5.unfinished").write_text("of another time", encoding="utf-8")
    with pytest.raises(ValueError, match=r"out\.hdf5\.unfinished"):
        embed_file(models / "directory", text, tmp_path / "out.hdf5", resume=True)
    embed_file(models / "directory", text, tmp_path / "out.hdf5")
    assert_vectors(read_hdf5(tmp_path / "out.hdf5"), wanted)


def test_bad_arguments_leave_nothing(models, text, tmp_path):
    (tmp_path / "there.hdf5").write_text("mine", encoding="utf-8")
    before = names(tmp_path)
    for arguments, said in {
        ("there.hdf5",): "exists already",
        ("out.txt",): r"`out` must end in",
        ("out.hdf5", "some"): "`layers` must be",
        ("out.parquet", "all", True): "`resume` needs HDF5",
    }.items():
        out, *others = arguments
        with pytest.raises(ValueError, match=said):
            embed_file(models / "directory", text, tmp_path / out, *others)
    for model, source, said in [
        (tmp_path / "nowhere", text, "nowhere"),
        (models / "directory", tmp_path / "nowhere.txt", "no file matches"),
        (models / "directory", tmp_path / "t*", "`input` must be one file. .*2 of"),
    ]:
        with pytest.raises(ValueError, match=said):
            embed_file(model, source, tmp_path / "out.hdf5")
    assert names(tmp_path) == before


@pytest.mark.parametrize("name", ["out.hdf5", "out.parquet"])
def test_an_empty_file_is_an_error(name, models, tmp_path):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow.parquet")
    (tmp_path / "text.txt").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no text in .*text\.txt"):
        embed_file(models / "directory", tmp_path / "text.txt", tmp_path / name)
    assert names(tmp_path) == ["text.txt"]
