"""What is written to places in an HDF5 file, read by the library that made it."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.embedding import hdf5_vectors
from keras_elmo.embedding.hdf5_vectors import Hdf5Vectors
from tests.fresh_process import run_python
from tests.full_disk import files_of_at_most


def write(path, vectors, shape, dtype, skipped=0):
    counts = [each.shape[-2] for each in vectors]
    writer = Hdf5Vectors(str(path), shape, dtype, counts)
    lines = [([b"word"] * each.shape[-2], each) for each in vectors]
    writer.skip(skipped)
    writer.write(lines[skipped:])
    assert writer.checkpoint() == path.stat().st_size
    writer.finish([])
    writer.close()


def random_vectors(count, shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    return [
        random.normal(size=(*shape[:-1], random.integers(4), shape[-1])).astype(dtype)
        for _ in range(count)
    ]


@settings(max_examples=20)
@given(
    count=st.integers(1, 300),
    shape=st.sampled_from([(1,), (4,), (3, 2), (2, 5)]),
    dtype=st.sampled_from(["float16", "float32"]),
)
def test_every_dataset_in_its_place(count, shape, dtype, tmp_path_factory):
    path = tmp_path_factory.mktemp("hdf5") / "file.hdf5"
    vectors = random_vectors(count, shape, dtype, seed=count)
    write(path, vectors, shape, dtype)
    with h5py.File(path) as file:
        assert list(file) == sorted(map(str, range(count)))
        for k, each in enumerate(vectors):
            found = file[str(k)]
            assert (found.shape, found.dtype) == (each.shape, each.dtype)
            np.testing.assert_array_equal(found[...], each)


def test_what_is_there_stays(tmp_path):
    """A second writer goes on in the file of the first."""
    path = tmp_path / "file.hdf5"
    vectors = random_vectors(50, (2, 3), "float32")
    write(path, vectors[:20] + [0 * each for each in vectors[20:]], (2, 3), "float32")
    write(
        path, [0 * each for each in vectors[:20]] + vectors[20:], (2, 3), "float32", 20
    )
    write(tmp_path / "whole.hdf5", vectors, (2, 3), "float32")
    assert path.read_bytes() == (tmp_path / "whole.hdf5").read_bytes()


def test_the_index_is_not_written_to_again(tmp_path):
    """All that differs from the empty file lies where vectors have their places."""
    path = tmp_path / "file.hdf5"
    vectors = [1 + np.abs(each) for each in random_vectors(100, (4,), "float32")]
    counts = [len(each) for each in vectors]
    hdf5_vectors.make_datasets(str(path), (4,), np.dtype("<f4"), counts)
    empty = np.frombuffer(path.read_bytes(), "uint8")
    write(path, vectors, (4,), "float32")
    filled = np.frombuffer(path.read_bytes(), "uint8")
    index = np.ones(len(empty), bool)
    with h5py.File(path) as file:
        for k, each in enumerate(vectors):
            place = file[str(k)].id.get_offset() or 0
            index[place : place + each.nbytes] = False
    np.testing.assert_array_equal(filled[index], empty[index])
    assert not empty[~index].any() and filled[~index].any()


def test_no_room_is_said_before_anything_is_computed(tmp_path):
    with files_of_at_most(10_000), pytest.raises(OSError, match="HDF5|File too large"):
        Hdf5Vectors(str(tmp_path / "file.hdf5"), (100,), "float32", [100] * 100)


def test_the_room_is_taken_at_once(tmp_path):
    path = tmp_path / "file.hdf5"
    hdf5_vectors.make_datasets(str(path), (1000,), np.dtype("<f4"), [100] * 10)
    assert 512 * path.stat().st_blocks >= path.stat().st_size > 4_000_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_lines(tmp_path):
    """Beyond eight bytes each, and what the library keeps of an index."""
    (tmp_path / "peak.py").write_text(
        """
import sys
from pathlib import Path
from keras_elmo.embedding.hdf5_vectors import Hdf5Vectors
Hdf5Vectors("file.hdf5", (1,), "float16", [1] * int(sys.argv[1])).close()
# Of this program alone; `ru_maxrss` begins with that of the process that starts it.
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
    )
    few, many = (
        1024 * int(run_python("peak.py", lines, cwd=tmp_path).split()[-1])
        for lines in (10_000, 100_000)
    )
    assert many - few < 300 * 90_000
