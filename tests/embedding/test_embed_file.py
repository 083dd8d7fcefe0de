import fcntl
import filecmp
import functools
import gzip
import io
import json
import os
import re
from collections import namedtuple

import h5py
import numpy as np
import pytest

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.embedding import embed_file as module
from keras_elmo.embedding import embedder as embedder_module
from keras_elmo.embedding import parts as parts_module
from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.embedder import Embedder, embed
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files import finding
from keras_elmo.files.loading import open_model
from keras_elmo.files.published import save_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.batching import tokenized_file
from keras_elmo.text.stats import CorpusStats
from tests.helpers import killing
from tests.helpers.exports import embedding
from tests.helpers.installed import import_installed, require_installed
from tests.helpers.limits import files_of_at_most
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.graph

LINES = ["I sat on the bank .", "", "배 가 고프다", "The bank closed", "  "]
SENTENCES = [line.split() for line in LINES]


# Each reading compiles its encoder anew.
_open = functools.cache(lambda path: OpenedOnce(open_model(path)))


class OpenedOnce:
    """A source that reads its encoder once."""

    def __init__(self, source):
        self.name, self.mix = source.name, source.mix
        self.encoder = functools.cache(source.encoder)


@pytest.fixture(autouse=True)
def models_are_read_once(monkeypatch):
    monkeypatch.setattr(module, "open_model", _open)


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


def assert_vectors(found, wanted, tolerance=1e-5, dtype="float32"):
    for vectors, expected in zip(found, wanted, strict=True):
        assert vectors.shape == expected.shape
        assert vectors.dtype == dtype
        np.testing.assert_allclose(vectors, expected, atol=tolerance)


def mixed(vectors, weights):
    return [np.tensordot(np.array(weights), each, axes=1) for each in vectors]


@pytest.fixture(params=["out.hdf5", "out.parquet"])
def name(request):
    """A file of each format."""
    if request.param == "out.parquet":
        require_installed("pyarrow")
    return request.param


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("model", ["directory", "exported"])
def test_hdf5(model, models, text, wanted, tmp_path):
    embed_file(models / model, text, tmp_path / "out.hdf5")
    assert_vectors(read_hdf5(tmp_path / "out.hdf5"), wanted)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


@pytest.mark.parametrize("name", ["out.hdf5", "out.parquet", "-"])
def test_tokenizer(name, models, tmp_path, capsys):
    """The text is split as asked, and the words stand in the file."""
    (tmp_path / "text.txt").write_text("He didn't .\n\nU.S.\n", encoding="utf-8")
    out = "-" if name == "-" else tmp_path / name
    found = {}
    for kind in (None, "treebank"):
        embed_file(models / "directory", tmp_path / "text.txt", out, tokenizer=kind)
        if name == "-":
            rows = map(json.loads, capsys.readouterr().out.splitlines())
            found[kind] = [row["tokens"] for row in rows]
        elif name == "out.hdf5":
            with h5py.File(out) as file:
                lines = [file[str(k)] for k in range(len(file))]
                found[kind] = [json.loads(line.attrs["tokens"]) for line in lines]
                assert [line.shape[1] for line in lines] == [*map(len, found[kind])]
            out.unlink()
        else:
            parquet = import_installed("pyarrow.parquet")
            table = parquet.read_table(out, columns=["line", "token"]).to_pylist()
            rows = [[row["token"] for row in table if row["line"] == k] for k in (0, 2)]
            found[kind] = [rows[0], [], rows[1]]
            out.unlink()
    assert found[None] == [["He", "didn't", "."], [], ["U.S."]]
    assert found["treebank"] == [["He", "did", "n't", "."], [], ["U.S."]]


def test_compressed_text(models, text, wanted, tmp_path):
    with gzip.open(tmp_path / "text.gz", "wb") as file:
        file.write(text.read_bytes())
    embed_file(models / "directory", tmp_path / "text.gz", tmp_path / "out.h5")
    assert_vectors(read_hdf5(tmp_path / "out.h5"), wanted)


def test_mix(models, layer, text, wanted, tmp_path):
    embed_file(models / "directory", text, tmp_path / "mean.hdf5", layers="mix")
    assert_vectors(read_hdf5(tmp_path / "mean.hdf5"), mixed(wanted, [1 / 3] * 3))
    embed_file(models / "exported", text, tmp_path / "mix.hdf5", layers="mix")
    [(weights, gamma)] = layer.mix_weights
    assert_vectors(
        read_hdf5(tmp_path / "mix.hdf5"), mixed(wanted, gamma * weights), 1e-5
    )


@pytest.fixture
def small_parts(monkeypatch):
    """A line each."""
    monkeypatch.setattr(embedder_module, "_MAX_POSITIONS", 2)
    monkeypatch.setattr(parts_module, "_CACHED_POSITIONS", 10)


@pytest.mark.usefixtures("small_parts")
def test_shipped_mix(layer, models, text, tmp_path, monkeypatch):
    """Named, as given by its path."""
    monkeypatch.setattr(finding, "SHIPPED", models)
    found = ElmoEmbedding("exported").mix_weights
    for (weights, gamma), expected in zip(found, layer.mix_weights, strict=True):
        np.testing.assert_allclose([*weights, gamma], [*expected[0], expected[1]])
    for model in ("exported", models / "exported"):
        out = tmp_path / f"{os.path.basename(model)}-{type(model).__name__}.hdf5"
        embed_file(model, text, out, layers="mix")
    named, by_path = map(read_hdf5, sorted(tmp_path.glob("*.hdf5")))
    for vectors, expected in zip(named, by_path, strict=True):
        np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize("layers", ["all", "mix"])
def test_parquet_tokens(layers, models, text, wanted, tmp_path):
    parquet = import_installed("pyarrow.parquet")
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
            np.array(table[column]), np.concatenate(vectors), atol=1e-5
        )


def test_parquet_sentences(models, text, wanted, tmp_path):
    """The mean over its tokens; that of none is zero, as in the exported model."""
    parquet = import_installed("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    embed_file(models / "directory", text, out, rows="sentences")
    table = parquet.read_table(out).to_pydict()
    assert list(table) == ["line", "num_tokens", "layer_0", "layer_1", "layer_2"]
    assert table["line"] == list(range(len(LINES)))
    assert table["num_tokens"] == list(map(len, SENTENCES))
    for k in range(3):
        means = [each[k].sum(axis=0) / max(len(each[k]), 1) for each in wanted]
        np.testing.assert_allclose(np.array(table[f"layer_{k}"]), means, atol=1e-5)


def test_float16(models, text, wanted, tmp_path):
    parquet = import_installed("pyarrow.parquet")
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


@pytest.fixture
def interrupt(models, text, monkeypatch):
    """Interrupts a call when so many parts are computed; returns what it says."""

    def call(out, after, **options):
        left = after
        embed_window = Embedder.embed_window

        def interrupted(*arguments, **options):
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return embed_window(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(Embedder, "embed_window", interrupted)
            with pytest.raises(KeyboardInterrupt) as interruption:
                embed_file(models / "directory", text, out, **options)
        assert not out.exists()
        return str(interruption.value)

    return call


@pytest.fixture
def embedded(monkeypatch):
    """The lines that are embedded, as they are."""
    lines = []
    embed_window = Embedder.embed_window

    def noted(self, window, *arguments, **options):
        lines.extend([token.decode() for token in tokens] for tokens in window)
        return embed_window(self, window, *arguments, **options)

    monkeypatch.setattr(Embedder, "embed_window", noted)
    return lines


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("out.hdf5", {}),
        ("out.hdf5", {"layers": "mix", "dtype": "float16"}),
        ("out.parquet", {}),
        ("out.parquet", {"rows": "sentences", "dtype": "float16"}),
    ],
    indirect=["name"],
)
def test_resume(name, options, models, text, interrupt, tmp_path):
    """More than once; whatever a killed process has left, the bytes are the same."""
    out, parts = tmp_path / name, tmp_path / f"{name}.parts"
    told = interrupt(out, 1, **options)
    assert f"1 part is kept in {parts}; pass `resume`" in told
    # As if killed while it wrote.
    (parts / f"joined.{name.split('.')[1]}").write_bytes(b"half of something")
    (parts / ".000000000001-00000000.npy.0123abcd.part").write_bytes(b"half")
    assert "2 parts are kept" in interrupt(out, 1, **options, resume=True)
    embed_file(models / "directory", text, out, **options, resume=True)
    whole = tmp_path / f"whole.{name.split('.')[1]}"
    embed_file(models / "directory", text, whole, **options)
    assert filecmp.cmp(out, whole, shallow=False)
    assert names(tmp_path) == sorted([name, whole.name, "text.txt"])


@pytest.mark.usefixtures("small_parts")
def test_missing_parts(models, text, interrupt, embedded, tmp_path):
    """They alone are computed, wherever they are."""
    out = tmp_path / "out.hdf5"
    interrupt(out, 3)
    first, second, third = sorted((tmp_path / "out.hdf5.parts").glob("*.npy"))
    assert [path.name[:12] for path in (first, second, third)] == [
        "000000000000",
        "000000000001",
        "000000000002",
    ]
    second.unlink()
    embedded.clear()
    embed_file(models / "directory", text, out, resume=True)
    assert embedded == [SENTENCES[1], *SENTENCES[3:]]
    embed_file(models / "directory", text, tmp_path / "whole.hdf5")
    assert filecmp.cmp(out, tmp_path / "whole.hdf5", shallow=False)


@pytest.mark.usefixtures("small_parts")
def test_other_tokens(models, text, interrupt, embedded, tmp_path):
    """Parts of other tokens are computed again, as after an update of tokenizers."""
    out, parts = tmp_path / "out.hdf5", tmp_path / "out.hdf5.parts"
    interrupt(out, 3)
    part = min(parts.glob("*.npy"))
    part.rename(parts / "000000000000-01234567.npy")
    embedded.clear()
    embed_file(models / "directory", text, out, resume=True)
    assert embedded == [SENTENCES[0], *SENTENCES[3:]]
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


@pytest.mark.usefixtures("small_parts")
def test_damaged_part(models, text, interrupt, tmp_path):
    out = tmp_path / "out.hdf5"
    interrupt(out, 3)
    part = min((tmp_path / "out.hdf5.parts").glob("*.npy"))
    for content in (part.read_bytes()[:100], part.read_bytes()[:150], b""):
        part.write_bytes(content)
        with pytest.raises(
            ValueError,
            match=f"{part.name}: is damaged; remove it to compute it again: ",
        ):
            embed_file(models / "directory", text, out, resume=True)
    part.unlink()
    embed_file(models / "directory", text, out, resume=True)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


def test_resume_complete_file(name, models, text, embedded, tmp_path, capsys):
    """It says so and does nothing; what a killed process has left is removed."""
    out = tmp_path / name
    embed_file(models / "directory", text, out)
    before = out.stat().st_mtime_ns
    embedded.clear()
    (tmp_path / f"{name}.parts").mkdir()
    (tmp_path / f"{name}.parts" / "000000000000-00000000.npy").write_bytes(b"")
    embed_file(models / "directory", text, out, resume=True, progress=True)
    assert capsys.readouterr().err == f"{out} is complete; nothing to do\n"
    assert embedded == [] and out.stat().st_mtime_ns == before
    assert names(tmp_path) == sorted([name, "text.txt"])
    for options, said in [
        ({"layers": "mix"}, "layers"),
        ({"dtype": "float16"}, "dtype"),
    ]:
        with pytest.raises(
            ValueError, match=f"`{said}` must be what it was when .*out"
        ):
            embed_file(models / "directory", text, out, resume=True, **options)
    with pytest.raises(ValueError, match="exists already"):
        embed_file(models / "directory", text, out)
    assert out.stat().st_mtime_ns == before


def test_nothing_to_keep(interrupt, tmp_path):
    assert "nothing is kept" in interrupt(tmp_path / "out.hdf5", 0)
    assert names(tmp_path) == ["text.txt"]


@pytest.mark.usefixtures("small_parts")
def test_progress(models, text, interrupt, tmp_path, monkeypatch, capsys):
    """It begins at 0 %, and counts the words of this call."""
    monkeypatch.setattr("keras_elmo.utils.progress._PLAIN_LINE", 0)
    shares = r"Embedding: (\d+) %"
    interrupt(tmp_path / "out.hdf5", 1, progress=True)
    embed_file(
        models / "directory", text, tmp_path / "out.hdf5", resume=True, progress=True
    )
    err = capsys.readouterr().err
    found = [int(share) for share in re.findall(shares, err)]
    assert found[0] < 50 and found[-1] == 100
    assert re.search(r" left, \d+ words$", err, re.M)
    assert " 6 words in " in err


@pytest.mark.usefixtures("small_parts")
def test_text_is_tokenized_once(models, text, interrupt, tmp_path, monkeypatch):
    """Also where parts exist, whose words are cached again."""
    interrupt(tmp_path / "out.hdf5", 2)
    read = []

    def noted(*arguments):
        for position, tokens in tokenized_file(*arguments):
            read.append([token.decode() for token in tokens])
            yield position, tokens

    monkeypatch.setattr(module, "tokenized_file", noted)
    embed_file(models / "directory", text, tmp_path / "out.hdf5", resume=True)
    assert read == SENTENCES


@pytest.mark.usefixtures("small_parts")
def test_lock(name, models, text, interrupt, tmp_path):
    """Two processes do not write one file, such as a job that is started twice."""
    out, parts = tmp_path / name, tmp_path / f"{name}.parts"

    def embed_once_more():
        before = names(parts)
        descriptor = os.open(parts, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with pytest.raises(ValueError, match="parts must not be in use"):
                embed_file(models / "directory", text, out, resume=True)
        finally:
            os.close(descriptor)
        assert names(parts) == before

    # Another process begins it.
    parts.mkdir()
    embed_once_more()
    interrupt(out, 3, resume=True)
    # Another process is at it.
    embed_once_more()
    embed_file(models / "directory", text, out, resume=True)
    assert names(tmp_path) == sorted([name, "text.txt"])


@pytest.mark.usefixtures("small_parts")
def test_changed_arguments(models, text, interrupt, tmp_path):
    """Each is named; the parts stay as they are."""
    out, parts = tmp_path / "out.parquet", tmp_path / "out.parquet.parts"
    require_installed("pyarrow")
    interrupt(out, 3)
    kept = {path.name: path.read_bytes() for path in parts.iterdir()}
    other = PretrainingDirectory(tmp_path / "other")
    (tmp_path / "other").mkdir()
    save_published_weights(random_encoder(seed=1), other.options, other.weights)

    def refused(said, model=models / "directory", **options):
        with pytest.raises(ValueError, match=said):
            embed_file(model, text, out, **{"resume": True, **options})
        assert {path.name: path.read_bytes() for path in parts.iterdir()} == kept

    refused("parts exists from an interrupted run; pass `resume`", resume=False)
    refused("`layers` must be what it was when .*, 'all'. .*='mix'", layers="mix")
    refused("`rows` must be .*, 'tokens'. .*='sentences'", rows="sentences")
    refused("`dtype` must be .*, 'float32'. .*='float16'", dtype="float16")
    refused("`tokenizer` must be .*, None. .*='unicode'", tokenizer="unicode")
    refused("`model` must be what it was when .*parts was", model=tmp_path / "other")
    # As long as before.
    original = text.read_bytes()
    text.write_bytes(original.replace(b"closed", b"opened"))
    refused("`input` must be what it was when .*parts was begun")
    text.write_bytes(original)
    manifest = kept.pop("manifest.json")
    (parts / "manifest.json").unlink()
    refused(r"manifest\.json: cannot be read .*; remove .*parts to begin again")
    (parts / "manifest.json").write_bytes(manifest)
    embed_file(models / "directory", text, out, resume=True)
    assert names(tmp_path) == ["other", "out.parquet", "text.txt"]


@pytest.mark.usefixtures("small_parts")
def test_begin_again(models, text, interrupt, tmp_path):
    """The folder of parts is removed, as the message advises, or its parts are."""
    out, parts = tmp_path / "out.hdf5", tmp_path / "out.hdf5.parts"
    interrupt(out, 3)
    for part in parts.glob("*.npy"):
        part.unlink()
    embed_file(models / "directory", text, out, layers="mix")
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


def test_files_of_others(models, text, tmp_path):
    """What else is in a folder of parts, and what an older version has left, stays."""
    parts = tmp_path / "out.hdf5.parts"
    parts.mkdir()
    (parts / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "out.hdf5.unfinished").write_bytes(b"of version 0.1")
    embed_file(models / "directory", text, tmp_path / "out.hdf5", resume=True)
    assert names(parts) == ["notes.txt"]
    assert (tmp_path / "out.hdf5.unfinished").read_bytes() == b"of version 0.1"


def test_size(models, text, tmp_path, monkeypatch, capsys):
    """It is said before the vectors are computed, and must be free on the disk."""
    out = tmp_path / "out.hdf5"
    embed_file(models / "directory", text, out, progress=True)
    # A dozen tokens, 3 layers of 14 numbers of 4 bytes.
    assert re.search(r"out\.hdf5 takes about 2\.\d kB, twice", capsys.readouterr().err)
    out.unlink()
    # Room for one and a half of it: the parts stand beside the file for a while.
    full = namedtuple("usage", "free")(3_750)
    monkeypatch.setattr("shutil.disk_usage", lambda path: full)
    with pytest.raises(OSError, match=r"it is written, and 3\.8 kB are free"):
        embed_file(models / "directory", text, out)
    assert names(tmp_path) == ["text.txt"]


@pytest.mark.parametrize("rows", ["tokens", "sentences"])
def test_expected_bytes(rows, layer, tmp_path):
    """Judged by the first part, they are near to what comes out."""
    path = tmp_path / "long.txt"
    for lines in (["a bank"], ["I sat on the bank .", "the bank", ""] * 5_000):
        path.write_text("\n".join(lines), encoding="utf-8")
        text = tokenized_file(os.fspath(path), "whitespace", CorpusStats())
        options = EmbedOptions("mix", rows, "float16")
        shape = options.shape(layer.encoder.config)
        first = next(embedder_module.windows(text, 128, lambda line: len(line[1])))
        found = module.expected_bytes(first, path.stat().st_size, shape, options)
        count = sum(len(line.split()) for line in lines)
        count = count if rows == "tokens" else len(lines)
        assert found == pytest.approx(count * shape[-1] * 2, rel=0.01)


@pytest.mark.parametrize(
    "options", [{}, {"layers": "mix", "dtype": "float16"}, {"rows": "sentences"}]
)
def test_standard_streams(options, models, text, wanted, monkeypatch, capsys):
    """A JSON object for each line."""
    standard_input = io.TextIOWrapper(io.BytesIO(text.read_bytes()))
    monkeypatch.setattr("sys.stdin", standard_input)
    embed_file(models / "directory", "-", "-", **options)
    objects = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [each.pop("line") for each in objects] == list(range(len(LINES)))
    assert [each.pop("tokens") for each in objects] == SENTENCES
    if "rows" not in options:
        # A list of no tokens does not say how many units one has.
        objects, wanted = ([lines[k] for k in (0, 2, 3)] for lines in (objects, wanted))
    if "layers" in options:
        found = [np.array(each.pop("mix")) for each in objects]
        assert_vectors(found, mixed(wanted, [1 / 3] * 3), 1e-3, "float64")
    else:
        found = [
            np.array([each.pop(f"layer_{k}") for k in range(3)]) for each in objects
        ]
        if "rows" in options:
            wanted = [each.sum(1) / max(each.shape[1], 1) for each in wanted]
        assert_vectors(found, wanted, 1e-5, "float64")
    assert not any(objects)


@pytest.mark.usefixtures("small_parts")
def test_full_disk(name, models, text, tmp_path, capfd):
    out = tmp_path / name
    embed_file(models / "directory", text, tmp_path / f"whole-{name}")
    size = (tmp_path / f"whole-{name}").stat().st_size
    with files_of_at_most(size // 2):
        with pytest.raises(OSError, match="cannot be written: .*; .* kept in .*parts"):
            embed_file(models / "directory", text, out)
    assert not out.exists()
    embed_file(models / "directory", text, out, resume=True)
    assert filecmp.cmp(out, tmp_path / f"whole-{name}", shallow=False)
    # pyarrow, for one, likes to tell of it once more.
    assert capfd.readouterr().err == ""


def test_completed_meanwhile(models, text, tmp_path, monkeypatch):
    """A file that appears while the parts are computed is not overwritten."""
    out = tmp_path / "out.hdf5"

    def embed_window(self, window, *arguments, **options):
        out.write_text("mine", encoding="utf-8")
        return original(self, window, *arguments, **options)

    original = Embedder.embed_window
    monkeypatch.setattr(Embedder, "embed_window", embed_window)
    with pytest.raises(ValueError, match="exists already"):
        embed_file(models / "directory", text, out)
    assert out.read_text(encoding="utf-8") == "mine"


def test_bad_arguments(models, text, tmp_path):
    (tmp_path / "there.hdf5").write_text("mine", encoding="utf-8")
    before = names(tmp_path)
    for arguments, said in {
        ("there.hdf5",): "exists already",
        ("out.txt",): r"`out` must end in",
    }.items():
        (out,) = arguments
        with pytest.raises(ValueError, match=said):
            embed_file(models / "directory", text, tmp_path / out)
    with pytest.raises(ValueError, match="`resume` needs a file"):
        embed_file(models / "directory", text, "-", resume=True)
    for options, said in [
        ({"layers": "some"}, "`layers` must be"),
        ({"rows": "words"}, "`rows` must be 'tokens' or 'sentences'"),
        ({"rows": "sentences"}, "`rows` must be 'tokens' for HDF5"),
        ({"dtype": "float64"}, "`dtype` must be 'float32' or 'float16'"),
    ]:
        with pytest.raises(ValueError, match=said):
            embed_file(models / "directory", text, tmp_path / "out.hdf5", **options)
    for model, source, said in [
        (tmp_path / "nowhere", text, "nowhere"),
        (models / "directory", tmp_path / "t*", "`input` must be one file. .*2 of"),
    ]:
        with pytest.raises(ValueError, match=said):
            embed_file(model, source, tmp_path / "out.hdf5")
    assert names(tmp_path) == before


def test_text_in_another_encoding(models, tmp_path, monkeypatch):
    """Neither a file nor standard input is read."""
    content = "Über die Brücke\n".encode("latin-1")
    (tmp_path / "text.txt").write_bytes(content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    for source, name in ((tmp_path / "text.txt", "text.txt"), ("-", "^standard input")):
        with pytest.raises(ValueError, match=f"{name} must be .* like ISO-8859-1"):
            embed_file(models / "directory", source, tmp_path / "out.hdf5")
    assert names(tmp_path) == ["text.txt"]


def test_empty_text(name, models, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no text in .*text\.txt"):
        embed_file(models / "directory", tmp_path / "text.txt", tmp_path / name)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(ValueError, match=r"no text in standard input"):
        embed_file(models / "directory", "-", tmp_path / name)
    assert names(tmp_path) == ["text.txt"]


# In parts and milliseconds: see `kill_often`.
PHASES = {
    "cache": (3, 20),
    "embed": (6, 50),
    "write": (6, 10),
    "read": (3, 10),
    "join": (6, 10),
    "finish": (1, 10),
    "rename": (1, 2),
}


# Each kill starts a process, which makes its graphs anew.
@pytest.mark.slow
def test_killed_process(name, models, tmp_path):
    """SIGKILL in any phase, then the same command: the same bytes, and nothing else."""
    text, out, whole = (
        tmp_path / "text.txt",
        tmp_path / name,
        tmp_path / f"whole-{name}",
    )
    lines = [f"{line} {k}" for k in range(100 * killing.KILLS) for line in LINES]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["embed", "--model", models / "directory", "--input", text]
    arguments += ["--tokenizer", "whitespace"]
    killing.finish(killing.command(*arguments, "--out", whole, part=128))
    command = killing.command(*arguments, "--out", out, "--resume", part=128)
    parts = tmp_path / f"{name}.parts"

    def skipped(phase):
        return out.exists() or (phase == "read" and not any(parts.glob("*.npy")))

    last = ["finish", "rename"]
    killing.kill_often([command], PHASES, last=last, skipped=skipped)
    # Of a complete file, parts may be left that were not removed yet.
    killing.finish(command)
    assert filecmp.cmp(out, whole, shallow=False)
    assert names(tmp_path) == sorted([name, text.name, whole.name])
