import contextlib
import fcntl
import filecmp
import gzip
import io
import json
import math
import os
import re
from collections import namedtuple

import h5py
import numpy as np
import pytest

from keras_elmo.embedding import embed_file as module
from keras_elmo.embedding import embedder as embedder_module
from keras_elmo.embedding import parts as parts_module
from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.embedder import Embedder, embed
from keras_elmo.files.published import save_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.batching import tokenized_file
from keras_elmo.text.stats import CorpusStats
from tests.helpers import killing
from tests.helpers.exports import embedding
from tests.helpers.installed import import_installed, require_installed
from tests.helpers.limits import files_of_at_most
from tests.helpers.small import CONFIG, SMALLER, random_encoder

pytestmark = pytest.mark.graph

LINES = ["I sat on the bank .", "", "배 가 고프다", "The bank closed", "  "]
SENTENCES = [line.split() for line in LINES]
AVERAGE = [1 / 3] * 3


@pytest.fixture(scope="module")
def layer():
    return embedding()


@pytest.fixture(scope="module")
def encoder(layer):
    return layer.encoder


@pytest.fixture(scope="module")
def wanted(encoder):
    return list(embed(encoder, SENTENCES))


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
    return [np.tensordot(np.array(weights), layers, axes=1) for layers in vectors]


def means(vectors):
    """The means over the tokens; that of none is zero."""
    return [layers.sum(axis=1) / max(layers.shape[1], 1) for layers in vectors]


@pytest.fixture(params=["out.hdf5", "out.parquet"])
def name(request):
    """A file of each format."""
    if request.param == "out.parquet":
        require_installed("pyarrow")
    return request.param


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_hdf5(encoder, text, wanted, tmp_path):
    embed_file(encoder, text, tmp_path / "out.hdf5")
    assert_vectors(read_hdf5(tmp_path / "out.hdf5"), wanted)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]
    with gzip.open(tmp_path / "text.gz", "wb") as file:
        file.write(text.read_bytes())
    embed_file(encoder, tmp_path / "text.gz", tmp_path / "out.h5", dtype="float16")
    halves = read_hdf5(tmp_path / "out.h5")
    assert_vectors(halves, wanted, tolerance=4e-3, dtype="float16")


def test_tokenizer(encoder, tmp_path):
    """The text is split as asked, and the words stand in the file."""
    text = tmp_path / "text.txt"
    text.write_text("He didn't .\n\nU.S.\n", encoding="utf-8")
    for kind, words in {
        None: [["He", "didn't", "."], [], ["U.S."]],
        "treebank": [["He", "did", "n't", "."], [], ["U.S."]],
    }.items():
        embed_file(encoder, text, tmp_path / f"{kind}.hdf5", tokenizer=kind)
        with h5py.File(tmp_path / f"{kind}.hdf5") as file:
            lines = [file[str(k)] for k in range(len(file))]
            assert [json.loads(line.attrs["tokens"]) for line in lines] == words
            assert [line.shape[1] for line in lines] == [*map(len, words)]


def test_mix(layer, text, wanted, tmp_path):
    [(shares, gamma)] = layer.mix_weights
    for model, weights in ((layer.encoder, AVERAGE), (layer, gamma * shares)):
        out = tmp_path / f"{type(model).__name__}.hdf5"
        embed_file(model, text, out, layers="mix")
        assert_vectors(read_hdf5(out), mixed(wanted, weights))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("rows", ["tokens", "sentences"])
@pytest.mark.parametrize("layers", ["all", "mix"])
def test_parquet(layers, rows, dtype, encoder, text, wanted, tmp_path):
    parquet = import_installed("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    embed_file(encoder, text, out, layers=layers, rows=rows, dtype=dtype)
    table = parquet.read_table(out)
    columns = {f"layer_{k}": [each[k] for each in wanted] for k in range(3)}
    if layers == "mix":
        columns = {"mix": mixed(wanted, AVERAGE)}
    if rows == "tokens":
        places = [
            (k, j) for k, words in enumerate(SENTENCES) for j in range(len(words))
        ]
        about = {
            "line": [line for line, _ in places],
            "position": [position for _, position in places],
            "token": [token for tokens in SENTENCES for token in tokens],
        }
        columns = {name: np.concatenate(lines) for name, lines in columns.items()}
    else:
        about = {"line": [*range(len(LINES))], "num_tokens": [*map(len, SENTENCES)]}
        columns = {
            name: [line.sum(axis=0) / max(len(line), 1) for line in lines]
            for name, lines in columns.items()
        }
    assert table.column_names == [*about, *columns]
    for name, values in about.items():
        assert table[name].to_pylist() == values
    for name, vectors in columns.items():
        kind = table.schema.field(name).type.value_type
        assert str(kind) == {"float32": "float", "float16": "halffloat"}[dtype]
        found = np.array(table[name].to_pylist(), "float64")
        np.testing.assert_allclose(
            found, vectors, atol=1e-5 if dtype == "float32" else 4e-3
        )


@pytest.mark.parametrize(
    "options", [{}, {"layers": "mix", "dtype": "float16"}, {"rows": "sentences"}]
)
def test_standard_streams(options, encoder, text, wanted, monkeypatch, capsys):
    """A JSON object for each line."""
    standard_input = io.TextIOWrapper(io.BytesIO(text.read_bytes()))
    monkeypatch.setattr("sys.stdin", standard_input)
    embed_file(encoder, "-", "-", **options)
    objects = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [line.pop("line") for line in objects] == list(range(len(LINES)))
    assert [line.pop("tokens") for line in objects] == SENTENCES
    if "rows" in options:
        wanted = means(wanted)
    else:
        # A list of no tokens does not say how many units one has.
        objects, wanted = ([lines[k] for k in (0, 2, 3)] for lines in (objects, wanted))
    if "layers" in options:
        found = [np.array(line.pop("mix")) for line in objects]
        assert_vectors(found, mixed(wanted, AVERAGE), 1e-3, "float64")
    else:
        found = [
            np.array([line.pop(f"layer_{k}") for k in range(3)]) for line in objects
        ]
        assert_vectors(found, wanted, 1e-5, "float64")
    assert not any(objects)


# === Interrupted and resumed ===


@pytest.fixture
def small_parts(monkeypatch):
    """Makes a part of each line."""
    monkeypatch.setattr(embedder_module, "_MAX_POSITIONS", 2)
    monkeypatch.setattr(parts_module, "_CACHED_POSITIONS", 10)


class Lines(list):
    """Those that are embedded; Ctrl-C comes after `left` more parts."""

    left = math.inf


@pytest.fixture
def embedded(monkeypatch):
    lines = Lines()
    embed_window = Embedder.embed_window

    def recorded(self, window, *arguments, **options):
        if not lines.left:
            raise KeyboardInterrupt
        lines.left -= 1
        lines.extend([token.decode() for token in tokens] for tokens in window)
        return embed_window(self, window, *arguments, **options)

    monkeypatch.setattr(Embedder, "embed_window", recorded)
    return lines


@pytest.fixture
def interrupt(encoder, text, embedded):
    """Interrupts a call when some parts are computed; returns what it says."""

    def call(out, after, **options):
        embedded.left = after
        with pytest.raises(KeyboardInterrupt) as interruption:
            embed_file(encoder, text, out, **options)
        assert not out.exists()
        embedded.left = math.inf
        embedded.clear()
        return str(interruption.value)

    return call


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
def test_resume(name, options, encoder, text, interrupt, tmp_path):
    """More than once; whatever a killed process has left, the bytes are the same."""
    out, parts = tmp_path / name, tmp_path / f"{name}.parts"
    told = interrupt(out, 1, **options)
    assert f"1 part is kept in {parts}; pass `resume`" in told
    # As if killed while it wrote.
    (parts / f"joined.{name.split('.')[1]}").write_bytes(b"half of something")
    (parts / ".000000000001-00000000.npy.0123abcd.part").write_bytes(b"half")
    assert "2 parts are kept" in interrupt(out, 1, **options, resume=True)
    embed_file(encoder, text, out, **options, resume=True)
    whole = tmp_path / f"whole.{name.split('.')[1]}"
    embed_file(encoder, text, whole, **options)
    assert filecmp.cmp(out, whole, shallow=False)
    assert names(tmp_path) == sorted([name, whole.name, "text.txt"])


@pytest.mark.usefixtures("small_parts")
def test_missing_parts(encoder, text, interrupt, embedded, tmp_path, monkeypatch):
    """They alone are computed, wherever they are; the text is tokenized once.

    Parts of other tokens are missing, too, as after an update of tokenizers.
    """
    out, parts = tmp_path / "out.hdf5", tmp_path / "out.hdf5.parts"
    interrupt(out, 3)
    first, second, third = sorted(parts.glob("*.npy"))
    for number, path in enumerate((first, second, third)):
        assert path.name.startswith(f"{number:012}-")
    first.rename(parts / "000000000000-01234567.npy")
    second.unlink()
    read = []

    def noted(*arguments):
        for position, tokens in tokenized_file(*arguments):
            read.append([token.decode() for token in tokens])
            yield position, tokens

    monkeypatch.setattr(module, "tokenized_file", noted)
    embed_file(encoder, text, out, resume=True)
    assert read == SENTENCES
    assert embedded == [*SENTENCES[:2], *SENTENCES[3:]]
    embed_file(encoder, text, tmp_path / "whole.hdf5")
    assert filecmp.cmp(out, tmp_path / "whole.hdf5", shallow=False)
    assert names(tmp_path) == ["out.hdf5", "text.txt", "whole.hdf5"]


@pytest.mark.usefixtures("small_parts")
def test_damaged_part(encoder, text, interrupt, tmp_path):
    out = tmp_path / "out.hdf5"
    interrupt(out, 3)
    part = min((tmp_path / "out.hdf5.parts").glob("*.npy"))
    said = f"{part.name}: is damaged; remove it to compute it again: "
    for content in (part.read_bytes()[:100], part.read_bytes()[:150], b""):
        part.write_bytes(content)
        with pytest.raises(ValueError, match=said):
            embed_file(encoder, text, out, resume=True)
    part.unlink()
    embed_file(encoder, text, out, resume=True)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


def test_resume_complete_file(encoder, text, embedded, tmp_path, capsys):
    """It says so and does nothing; what a killed process has left is removed."""
    out = tmp_path / "out.hdf5"
    embed_file(encoder, text, out)
    before = out.stat().st_mtime_ns
    embedded.clear()
    (tmp_path / "out.hdf5.parts").mkdir()
    (tmp_path / "out.hdf5.parts" / "000000000000-00000000.npy").write_bytes(b"")
    embed_file(encoder, text, out, resume=True, progress=True)
    assert capsys.readouterr().err == f"{out} is complete; nothing to do\n"
    assert names(tmp_path) == ["out.hdf5", "text.txt"]
    for options, said in (
        ({"layers": "mix", "resume": True}, "`layers` must be what it was when .*out"),
        ({"dtype": "float16", "resume": True}, "`dtype` must be what it was"),
        ({}, "exists already"),
    ):
        with pytest.raises(ValueError, match=said):
            embed_file(encoder, text, out, **options)
    assert embedded == [] and out.stat().st_mtime_ns == before


def test_nothing_to_keep(interrupt, tmp_path):
    assert "nothing is kept" in interrupt(tmp_path / "out.hdf5", 0)
    assert names(tmp_path) == ["text.txt"]


@pytest.mark.usefixtures("small_parts")
def test_progress(encoder, text, interrupt, tmp_path, monkeypatch, capsys):
    """It begins at 0 %, and counts the words of this call."""
    monkeypatch.setattr("keras_elmo.utils.progress._PLAIN_LINE", 0)
    out = tmp_path / "out.hdf5"
    interrupt(out, 1, progress=True)
    embed_file(encoder, text, out, resume=True, progress=True)
    err = capsys.readouterr().err
    found = [int(share) for share in re.findall(r"Embedding: (\d+) %", err)]
    assert found[0] < 50 and found[-1] == 100
    assert re.search(r" left, \d+ words$", err, re.M)
    assert " 6 words in " in err


@contextlib.contextmanager
def locked(folder):
    """Holds the folder as another process would."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@pytest.mark.usefixtures("small_parts")
def test_lock(encoder, text, interrupt, tmp_path):
    """Two processes do not write one file, such as a job that is started twice."""
    out, parts = tmp_path / "out.hdf5", tmp_path / "out.hdf5.parts"
    parts.mkdir()
    # Another process begins the file, and then is at it.
    for begin in (lambda: None, lambda: interrupt(out, 3, resume=True)):
        begin()
        before = names(parts)
        with locked(parts), pytest.raises(ValueError, match="parts must not be in use"):
            embed_file(encoder, text, out, resume=True)
        assert names(parts) == before
    embed_file(encoder, text, out, resume=True)
    assert names(tmp_path) == ["out.hdf5", "text.txt"]


@pytest.mark.usefixtures("small_parts")
def test_changed_arguments(encoder, text, interrupt, tmp_path):
    """Each is named; the parts stay as they are."""
    out, parts = tmp_path / "out.parquet", tmp_path / "out.parquet.parts"
    require_installed("pyarrow")
    interrupt(out, 3)
    kept = {path.name: path.read_bytes() for path in parts.iterdir()}

    def refused(said, model=encoder, **options):
        with pytest.raises(ValueError, match=said):
            embed_file(model, text, out, **{"resume": True, **options})
        assert {path.name: path.read_bytes() for path in parts.iterdir()} == kept

    refused("parts exists from an interrupted run; pass `resume`", resume=False)
    refused("`layers` must be what it was when .*, 'all'. .*='mix'", layers="mix")
    refused("`rows` must be .*, 'tokens'. .*='sentences'", rows="sentences")
    refused("`dtype` must be .*, 'float32'. .*='float16'", dtype="float16")
    refused("`tokenizer` must be .*, None. .*='unicode'", tokenizer="unicode")
    refused("`model` must be .* when .*parts was", model=random_encoder(seed=1))
    # As long as before.
    original = text.read_bytes()
    text.write_bytes(original.replace(b"closed", b"opened"))
    refused("`input` must be what it was when .*parts was begun")
    text.write_bytes(original)
    manifest = kept.pop("manifest.json")
    (parts / "manifest.json").unlink()
    refused(r"manifest\.json: cannot be read .*; remove .*parts to begin again")
    (parts / "manifest.json").write_bytes(manifest)
    embed_file(encoder, text, out, resume=True)
    # Without a part, anything may be begun.
    interrupt(tmp_path / "out.hdf5", 3)
    for part in (tmp_path / "out.hdf5.parts").glob("*.npy"):
        part.unlink()
    embed_file(encoder, text, tmp_path / "out.hdf5", layers="mix")
    assert names(tmp_path) == ["out.hdf5", "out.parquet", "text.txt"]


def test_other_files(encoder, text, tmp_path):
    """What else is in a folder of parts stays."""
    parts = tmp_path / "out.hdf5.parts"
    parts.mkdir()
    (parts / "notes.txt").write_text("mine", encoding="utf-8")
    embed_file(encoder, text, tmp_path / "out.hdf5", resume=True)
    assert names(parts) == ["notes.txt"]


# === Room, and what is refused ===


def test_size(encoder, text, tmp_path, monkeypatch, capsys):
    """It is said before the vectors are computed, and must be free on the disk."""
    out = tmp_path / "out.hdf5"
    embed_file(encoder, text, out, progress=True)
    # A dozen tokens, 3 layers of 14 numbers of 4 bytes.
    assert re.search(r"out\.hdf5 takes about 2\.\d kB, twice", capsys.readouterr().err)
    out.unlink()
    # Room for one and a half of it: the parts stand beside the file for a while.
    full = namedtuple("usage", "free")(3_750)
    monkeypatch.setattr("shutil.disk_usage", lambda path: full)
    with pytest.raises(OSError, match=r"it is written, and 3\.8 kB are free"):
        embed_file(encoder, text, out)
    assert names(tmp_path) == ["text.txt"]


@pytest.mark.parametrize("rows", ["tokens", "sentences"])
@pytest.mark.parametrize(
    "lines", [["a bank"], ["I sat on the bank .", "the bank", ""] * 5_000]
)
def test_expected_bytes(lines, rows, tmp_path):
    """Judged by the first part, they are near to what comes out."""
    path = tmp_path / "long.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    text = tokenized_file(os.fspath(path), "whitespace", CorpusStats())
    options = EmbedOptions("mix", rows, "float16")
    shape = options.shape(CONFIG)
    first = next(embedder_module.windows(text, 128, lambda line: len(line[1])))
    found = module.expected_bytes(first, path.stat().st_size, shape, options)
    count = sum(len(line.split()) for line in lines)
    count = count if rows == "tokens" else len(lines)
    assert found == pytest.approx(count * shape[-1] * 2, rel=0.01)


@pytest.mark.usefixtures("small_parts")
def test_full_disk(name, encoder, text, tmp_path, capfd):
    out, whole = tmp_path / name, tmp_path / f"whole-{name}"
    embed_file(encoder, text, whole)
    with files_of_at_most(whole.stat().st_size // 2):
        with pytest.raises(OSError, match="cannot be written: .*; .* kept in .*parts"):
            embed_file(encoder, text, out)
    assert not out.exists()
    embed_file(encoder, text, out, resume=True)
    assert filecmp.cmp(out, whole, shallow=False)
    # pyarrow, for one, likes to tell of it once more.
    assert capfd.readouterr().err == ""


def test_completed_meanwhile(encoder, text, tmp_path, monkeypatch):
    """A file that appears while the parts are computed is not overwritten."""
    out = tmp_path / "out.hdf5"

    def embed_window(self, window, *arguments, **options):
        out.write_text("mine", encoding="utf-8")
        return original(self, window, *arguments, **options)

    original = Embedder.embed_window
    monkeypatch.setattr(Embedder, "embed_window", embed_window)
    with pytest.raises(ValueError, match="exists already"):
        embed_file(encoder, text, out)
    assert out.read_text(encoding="utf-8") == "mine"


LATIN = "Über die Brücke\n".encode("latin-1")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"out": "there.hdf5"}, "exists already"),
        ({"out": "out.txt"}, "`out` must end in"),
        ({"out": "-", "resume": True}, "`resume` needs a file"),
        ({"layers": "some"}, "`layers` must be"),
        ({"rows": "words"}, "`rows` must be 'tokens' or 'sentences'"),
        ({"rows": "sentences"}, "`rows` must be 'tokens' for HDF5"),
        ({"dtype": "float64"}, "`dtype` must be 'float32' or 'float16'"),
        ({"model": "nowhere"}, "nowhere"),
        ({"input": "t*.txt"}, "`input` must be one file. .*2 of"),
        ({"input": "latin.txt"}, "latin.txt must be .* like ISO-8859-1"),
        ({"input": "-", "stdin": LATIN}, "^standard input must be .* like ISO-8859-1"),
        ({"input": "empty.txt"}, r"no text in .*empty\.txt"),
        ({"input": "-", "stdin": b""}, "no text in standard input"),
    ],
)
def test_refused(changes, said, encoder, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "there.hdf5": b"mine",
        "two.txt": b"a\n",
        "latin.txt": LATIN,
        "empty.txt": b"",
    }.items():
        (tmp_path / name).write_bytes(content)
    before = names(tmp_path)
    arguments = {"model": encoder, "input": "text.txt", "out": "out.hdf5", **changes}
    stdin = io.TextIOWrapper(io.BytesIO(arguments.pop("stdin", b"")))
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(ValueError, match=said):
        embed_file(**arguments)
    assert names(tmp_path) == before


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
def test_killed_process(tmp_path):
    """SIGKILL in any phase, then the same command: the same bytes, and nothing else."""
    model = PretrainingDirectory(tmp_path / "model")
    (tmp_path / "model").mkdir()
    save_published_weights(random_encoder(SMALLER), model.options, model.weights)
    text, out, whole = (
        tmp_path / name for name in ("text.txt", "out.hdf5", "whole.hdf5")
    )
    lines = [f"{line} {k}" for k in range(100 * killing.KILLS) for line in LINES]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["embed", "--model", tmp_path / "model", "--input", text]
    arguments += ["--tokenizer", "whitespace"]
    killing.finish(killing.command(*arguments, "--out", whole, part=128))
    command = killing.command(*arguments, "--out", out, "--resume", part=128)
    parts = tmp_path / "out.hdf5.parts"

    def skipped(phase):
        return out.exists() or (phase == "read" and not any(parts.glob("*.npy")))

    last = ["finish", "rename"]
    killing.kill_often([command], PHASES, last=last, skipped=skipped)
    # Of a complete file, parts may be left that were not removed yet.
    killing.finish(command)
    assert filecmp.cmp(out, whole, shallow=False)
    assert names(tmp_path) == ["model", "out.hdf5", "text.txt", "whole.hdf5"]
