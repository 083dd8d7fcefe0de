"""Files of vectors, read by other libraries than those that write them."""

import contextlib
import json

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.writers import Hdf5Writer, ParquetWriter, read_manifest
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import import_installed, require_installed
from tests.helpers.limits import files_of_at_most

MANIFEST = {"layers": "all"}


def write(path, vectors, shape, dtype="float32", part=7, lines=None):
    """Writes some lines at a time; returns the bytes of the file."""
    lines = lines or [[b"word"] * line.shape[-2] for line in vectors]
    kind = Hdf5Writer if path.suffix == ".hdf5" else ParquetWriter
    writer = kind(str(path), shape, EmbedOptions(dtype=dtype), MANIFEST)
    with contextlib.closing(writer):
        for k in range(0, len(vectors), part):
            writer.append(lines[k : k + part], vectors[k : k + part])
        writer.finish()
    assert read_manifest(str(path)) == MANIFEST
    return path.read_bytes()


def random_vectors(count, shape, dtype="float32", seed=0):
    random = np.random.default_rng(seed)
    return [
        random.normal(size=(*shape[:-1], random.integers(4), shape[-1])).astype(dtype)
        for _ in range(count)
    ]


@settings(max_examples=10)
@given(
    count=st.integers(1, 300),
    shape=st.sampled_from([(1,), (4,), (3, 2), (2, 5)]),
    dtype=st.sampled_from(["float16", "float32"]),
)
def test_hdf5(count, shape, dtype, tmp_path_factory):
    """Every dataset has its name, shape, type and numbers."""
    path = tmp_path_factory.mktemp("hdf5") / "file.hdf5"
    vectors = random_vectors(count, shape, dtype, seed=count)
    write(path, vectors, shape, dtype)
    with h5py.File(path) as file:
        assert list(file) == sorted(map(str, range(count)))
        for k, expected in enumerate(vectors):
            found = file[str(k)]
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found[...], expected)


def test_hdf5_tokens(tmp_path):
    """Words stand with the vectors, and no name in the file is other than a line."""
    path = tmp_path / "file.hdf5"
    # The last has more bytes than the head of a dataset holds.
    lines = [["don't", 'a "b"', "배", "\x1c\u2028"], [], ["word"] * 50_000]
    vectors = [np.ones((len(line), 1), "f2") for line in lines]
    encoded = [[word.encode() for word in line] for line in lines]
    write(path, vectors, (1,), "float16", lines=encoded)
    with h5py.File(path) as file:
        assert list(file) == ["0", "1", "2"]
        found = [json.loads(file[str(k)].attrs["tokens"]) for k in range(len(file))]
    assert found == lines


def test_hdf5_index(tmp_path):
    """Bytes depend neither on the parts nor on the time.

    All that differs between two files lies where vectors have their places.
    """
    vectors = [1 + np.abs(line) for line in random_vectors(100, (4,))]
    filled = write(tmp_path / "filled.hdf5", vectors, (4,))
    assert write(tmp_path / "other.hdf5", vectors, (4,), part=100) == filled
    empty = write(tmp_path / "empty.hdf5", [0 * line for line in vectors], (4,))
    empty, filled = (np.frombuffer(content, "uint8") for content in (empty, filled))
    index = np.ones(len(empty), bool)
    with h5py.File(tmp_path / "filled.hdf5") as file:
        for k, line in enumerate(vectors):
            place = file[str(k)].id.get_offset() or 0
            index[place : place + line.nbytes] = False
    np.testing.assert_array_equal(filled[index], empty[index])
    assert not empty[~index].any() and filled[~index].any()


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
def test_hdf5_on_a_full_disk(size, tmp_path, capfd):
    """An error, and no complaint of the library."""
    vectors = random_vectors(300, (100,))
    with files_of_at_most(size), pytest.raises(OSError):
        write(tmp_path / "file.hdf5", vectors, (100,))
    assert capfd.readouterr().err == ""


def test_manifest_of_other_files(tmp_path):
    require_installed("pyarrow")
    for suffix in ("hdf5", "parquet"):
        (tmp_path / f"text.{suffix}").write_text("text", encoding="utf-8")
        (tmp_path / f"folder.{suffix}").mkdir()
    with h5py.File(tmp_path / "other.hdf5", "w"):
        pass
    for path in tmp_path.iterdir():
        assert read_manifest(str(path)) is None


def test_parquet_row_groups(tmp_path, monkeypatch):
    """They do not depend on the parts."""
    parquet = import_installed("pyarrow.parquet")
    monkeypatch.setattr("keras_elmo.embedding.writers._GROUP_BYTES", 200)
    vectors = random_vectors(40, (3,))
    path = tmp_path / "file.parquet"
    files = {write(path, vectors, (3,), part=part) for part in (1, 7, 40)}
    assert len(files) == 1
    assert parquet.ParquetFile(path).num_row_groups > 2
    found = np.array(parquet.read_table(path)["mix"].to_pylist())
    np.testing.assert_array_equal(found, np.concatenate(vectors))


@pytest.mark.slow
def test_hdf5_memory(tmp_path):
    """It does not grow with the lines, but for what the library keeps of an index."""
    (tmp_path / "peak.py").write_text(
        """
import sys
from pathlib import Path
import numpy as np
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.writers import Hdf5Writer
for lines in map(int, sys.argv[1:]):
    writer = Hdf5Writer(f"{lines}.hdf5", (1,), EmbedOptions(dtype="float16"), {})
    for _ in range(lines):
        writer.append([[b"word"]], [np.ones(1, "float16")])
    writer.finish()
    # Of this program alone; `ru_maxrss` begins with that of the process that starts it.
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
    )
    printed = run_python("peak.py", 5_000, 25_000, cwd=tmp_path)
    few, many = (1024 * int(number) for number in printed.split()[-2:])
    assert many - few < 300 * 20_000
