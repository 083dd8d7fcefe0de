import fcntl
import filecmp
import functools
import gzip
import json
import os

import h5py
import numpy as np
import pytest

from keras_elmo.embedding import embed_file as module
from keras_elmo.embedding import sections as section_embedder
from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.embedding.embedder import Embedder, embed
from keras_elmo.files import loading
from keras_elmo.files.export import export_saved_model
from keras_elmo.files.loading import load
from keras_elmo.files.published import save_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from tests.files.exports import embedding
from tests.full_disk import files_of_at_most
from tests.models.small import random_encoder

LINES = ["I sat on the bank .", "", "배 가 고프다", "The bank closed", "  "]
SENTENCES = [line.split() for line in LINES]


# Each reading compiles its encoder anew.
_load = functools.cache(load)


@pytest.fixture(autouse=True)
def models_are_read_once(monkeypatch):
    monkeypatch.setattr(module, "load", _load)


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


def assert_vectors(found, wanted, tolerance=1e-6, dtype="float32"):
    for vectors, expected in zip(found, wanted, strict=True):
        assert vectors.shape == expected.shape
        assert vectors.dtype == dtype
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


@pytest.fixture
def small_sections(monkeypatch):
    """A line or two each; the last is of blank lines alone."""
    monkeypatch.setattr(module, "_SECTION_POSITIONS", 5)
    monkeypatch.setattr(section_embedder, "_SECTIONS_REMEMBERED", 2)
    monkeypatch.setattr(module, "_LINES_AT_A_TIME", 1)


@pytest.mark.usefixtures("small_sections")
def test_a_shipped_model_keeps_its_mix(layer, models, text, tmp_path, monkeypatch):
    """Named, as given by its path."""
    monkeypatch.setattr(loading, "_SHIPPED", models)
    found = loading.load_embedding("exported").mix_weights
    for (weights, gamma), expected in zip(found, layer.mix_weights, strict=True):
        np.testing.assert_allclose([*weights, gamma], [*expected[0], expected[1]])
    for model in ("exported", models / "exported"):
        out = tmp_path / f"{os.path.basename(model)}-{type(model).__name__}.hdf5"
        embed_file(model, text, out, layers="mix")
    named, by_path = map(read_hdf5, sorted(tmp_path.glob("*.hdf5")))
    for vectors, expected in zip(named, by_path, strict=True):
        np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize("layers", ["all", "mix"])
def test_parquet_has_a_row_a_token(layers, models, text, wanted, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
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


def test_parquet_has_a_row_a_sentence(models, text, wanted, tmp_path):
    """The mean over its tokens; that of none is zero, as in the exported model."""
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    embed_file(models / "directory", text, out, rows="sentences")
    table = parquet.read_table(out).to_pydict()
    assert list(table) == ["line", "num_tokens", "layer_0", "layer_1", "layer_2"]
    assert table["line"] == list(range(len(LINES)))
    assert table["num_tokens"] == list(map(len, SENTENCES))
    for k in range(3):
        means = [each[k].sum(axis=0) / max(len(each[k]), 1) for each in wanted]
        np.testing.assert_allclose(np.array(table[f"layer_{k}"]), means, atol=1e-6)


def test_half_of_the_bytes(models, text, wanted, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    embed_file(models / "directory", text, tmp_path / "o.hdf5", dtype="float16")
    found = read_hdf5(tmp_path / "o.hdf5")
    assert_vectors(found, wanted, tolerance=4e-3, dtype="float16")
    for rows in ("tokens", "sentences"):
        out = tmp_path / f"{rows}.parquet"
        embed_file(models / "directory", text, out, rows=rows, dtype="float16")
        assert str(parquet.read_schema(out).field("layer_0").type.value_type) == (
            "halffloat"
        )
    layer = parquet.read_table(tmp_path / "tokens.parquet")["layer_1"]
    expected = np.concatenate([vectors[1] for vectors in found])
    np.testing.assert_array_equal(np.array(layer.to_pylist(), "float16"), expected)


def interrupted_after(number, error=KeyboardInterrupt):
    """An `embed` that raises when it has given out so many vectors in all."""
    left = number
    embed = Embedder.embed

    def interrupted(self, *arguments):
        nonlocal left
        for vectors in embed(self, *arguments):
            if left == 0:
                raise error
            left -= 1
            yield vectors

    return interrupted


@pytest.fixture
def interrupt(models, text, monkeypatch):
    """Interrupts a call, and says what the interruption told."""

    def call(out, after, **options):
        with monkeypatch.context() as patch:
            patch.setattr(Embedder, "embed", interrupted_after(after))
            with pytest.raises(KeyboardInterrupt) as interruption:
                embed_file(models / "directory", text, out, **options)
        assert not out.exists()
        return str(interruption.value)

    return call


@pytest.mark.usefixtures("small_sections")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("out.hdf5", {}),
        ("out.hdf5", {"layers": "mix", "dtype": "float16"}),
        ("out.parquet", {}),
        ("out.parquet", {"rows": "sentences", "dtype": "float16"}),
    ],
)
def test_it_goes_on_where_it_was_interrupted(
    name, options, models, text, interrupt, tmp_path
):
    """More than once, and whatever stands behind what counts."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow.parquet")
    out, unfinished = tmp_path / name, tmp_path / f"{name}.unfinished"
    told = interrupt(out, 2, **options)
    assert f"the first 1 lines are in {unfinished}" in told
    with open(unfinished, "ab") as file:
        file.write(b"half of something")
    assert "the first 3 lines" in interrupt(out, 2, **options, resume=True)
    embed_file(models / "directory", text, out, **options, resume=True)
    whole = tmp_path / f"whole.{name.split('.')[1]}"
    embed_file(models / "directory", text, whole, **options)
    assert filecmp.cmp(out, whole, shallow=False)
    assert names(tmp_path) == sorted([name, whole.name, "text.txt"])


@pytest.mark.usefixtures("small_sections")
def test_only_the_rest_is_embedded(models, text, interrupt, tmp_path, monkeypatch):
    interrupt(tmp_path / "out.hdf5", 3)
    embedded = []
    embed = Embedder.embed

    def noted(self, sentences, *arguments):
        embedded.extend(sentences)
        return embed(self, sentences, *arguments)

    monkeypatch.setattr(Embedder, "embed", noted)
    embed_file(models / "directory", text, tmp_path / "out.hdf5", resume=True)
    assert [[token.decode() for token in each] for each in embedded] == SENTENCES[3:]


def test_nothing_is_left_of_nothing(interrupt, tmp_path):
    assert "before anything" in interrupt(tmp_path / "out.hdf5", 2)
    assert names(tmp_path) == ["text.txt"]


@pytest.mark.usefixtures("small_sections")
@pytest.mark.parametrize("name", ["out.hdf5", "out.parquet"])
def test_two_do_not_write_one_file(name, models, text, interrupt, tmp_path):
    """A job that is started again before it has ended, say."""
    out, unfinished = tmp_path / name, tmp_path / f"{name}.unfinished"

    def embed_once_more():
        with pytest.raises(ValueError, match="unfinished must not be in use"):
            embed_file(models / "directory", text, out, resume=True)

    def held(file):
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    # Another begins it.
    with open(unfinished, "wb") as file, held(file):
        embed_once_more()
    assert unfinished.read_bytes() == b""
    interrupt(out, 3, resume=True)
    before = unfinished.read_bytes()
    # Another is at it.
    with open(unfinished, "rb") as file, held(file):
        embed_once_more()
    assert unfinished.read_bytes() == before
    embed_file(models / "directory", text, out, resume=True)
    assert names(tmp_path) == sorted([name, "text.txt"])


@pytest.mark.usefixtures("small_sections")
def test_what_has_changed_is_named(models, text, interrupt, tmp_path):
    out = tmp_path / "out.parquet"
    pytest.importorskip("pyarrow.parquet")
    interrupt(out, 3)
    unfinished = tmp_path / "out.parquet.unfinished"
    state = tmp_path / "out.parquet.unfinished.json"
    kept = unfinished.read_bytes(), state.read_bytes()
    other = PretrainingDirectory(tmp_path / "other")
    (tmp_path / "other").mkdir()
    save_published_weights(random_encoder(seed=1), other.options, other.weights)

    def refused(said, model=models / "directory", **options):
        with pytest.raises(ValueError, match=said):
            embed_file(model, text, out, **{"resume": True, **options})
        assert (unfinished.read_bytes(), state.read_bytes()) == kept

    refused("is there already, of an interrupted run; set `resume`", resume=False)
    refused("`layers` must be 'all', with which .*unfinished was begun", layers="mix")
    refused("`rows` must be 'tokens', .*='sentences'", rows="sentences")
    refused("`dtype` must be 'float32', .*='float16'", dtype="float16")
    refused(
        "`model` must be what .*unfinished was begun with", model=tmp_path / "other"
    )
    # As long as before.
    original = text.read_bytes()
    text.write_bytes(original.replace(b"closed", b"opened"))
    refused("`input` must be what .*unfinished was begun with: it has changed since")
    text.write_bytes(original)
    state.unlink()
    with pytest.raises(ValueError, match=r"unfinished\.json: cannot be read"):
        embed_file(models / "directory", text, out, resume=True)
    state.write_bytes(kept[1])
    unfinished.write_bytes(kept[0][:100])
    with pytest.raises(ValueError, match="as at its last checkpoint, and has 100"):
        embed_file(models / "directory", text, out, resume=True)
    unfinished.write_bytes(kept[0])
    embed_file(models / "directory", text, out, resume=True)
    assert names(tmp_path) == ["other", "out.parquet", "text.txt"]


@pytest.mark.usefixtures("small_sections")
def test_removing_the_unfinished_file_begins_again(models, text, interrupt, tmp_path):
    """As the message advises; what says how far it was stays behind."""
    out = tmp_path / "out.hdf5"
    interrupt(out, 3)
    (tmp_path / "out.hdf5.unfinished").unlink()
    embed_file(models / "directory", text, out)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


@pytest.mark.usefixtures("small_sections")
def test_another_tokenizer_is_noticed(models, text, interrupt, tmp_path):
    """As after an update of the package that cuts text into words."""
    interrupt(tmp_path / "out.hdf5", 3)
    state = tmp_path / "out.hdf5.unfinished.json"
    changed = json.loads(state.read_text(encoding="utf-8"))
    changed["tokens"] += 1
    state.write_text(json.dumps(changed), encoding="utf-8")
    with pytest.raises(
        ValueError, match="had 3 lines and 10 tokens .*, and have 3 and 9"
    ):
        embed_file(models / "directory", text, tmp_path / "out.hdf5", resume=True)


@pytest.mark.usefixtures("small_sections")
@pytest.mark.parametrize(
    ("name", "kept"),
    [("out.hdf5", "nothing is kept"), ("out.parquet", r"[1-4] lines are kept")],
)
def test_a_full_disk_keeps_what_was_done(name, kept, models, text, tmp_path, capfd):
    """A file of HDF5 takes its room before anything is computed."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow.parquet")
    out = tmp_path / name
    embed_file(models / "directory", text, tmp_path / f"whole-{name}")
    size = (tmp_path / f"whole-{name}").stat().st_size
    with files_of_at_most(size // 2):
        with pytest.raises(OSError, match=f"cannot be written: File too large; {kept}"):
            embed_file(models / "directory", text, out)
    assert not out.exists()
    embed_file(models / "directory", text, out, resume=True)
    assert filecmp.cmp(out, tmp_path / f"whole-{name}", shallow=False)
    # pyarrow, for one, likes to tell of it once more.
    assert capfd.readouterr().err == ""


def test_a_file_whose_killed_writer_had_finished(models, text, tmp_path):
    out = tmp_path / "out.hdf5"
    embed_file(models / "directory", text, out)
    (tmp_path / "out.hdf5.unfinished.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="exists already"):
        embed_file(models / "directory", text, out, resume=True)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


def test_bad_arguments_leave_nothing(models, text, tmp_path):
    (tmp_path / "there.hdf5").write_text("mine", encoding="utf-8")
    before = names(tmp_path)
    for arguments, said in {
        ("there.hdf5",): "exists already",
        ("out.txt",): r"`out` must end in",
        ("out.hdf5", "some"): "`layers` must be",
    }.items():
        out, *others = arguments
        with pytest.raises(ValueError, match=said):
            embed_file(models / "directory", text, tmp_path / out, *others)
    for options, said in [
        ({"rows": "words"}, "`rows` must be 'tokens' or 'sentences'"),
        ({"rows": "sentences"}, "`rows` must be 'tokens' for HDF5"),
        ({"dtype": "float64"}, "`dtype` must be 'float32' or 'float16'"),
    ]:
        with pytest.raises(ValueError, match=said):
            embed_file(models / "directory", text, tmp_path / "out.hdf5", **options)
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
