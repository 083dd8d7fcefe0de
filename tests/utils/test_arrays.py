import numpy as np
import pytest

from keras_elmo.utils.arrays import map_array, write_array
from tests.helpers.limits import files_of_at_most

PAIR = np.dtype([("a", "<u4"), ("b", "<u8")])


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5),
        np.ones((3, 2), "float32"),
        np.empty(0, "<u4"),
        np.array([(1, 2), (3, 4)], PAIR),
        np.arange(10)[::2],
    ],
    ids=lambda values: f"{values.shape}",
)
def test_round_trip(values, tmp_path):
    """The bytes equal those from `np.save`, and reading maps them."""
    write_array(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", values)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
    mapped = map_array(tmp_path / "x.npy", values.dtype, values.ndim)
    np.testing.assert_array_equal(mapped, values)
    assert isinstance(mapped, np.memmap)


def test_wrong_arrays(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(5))
    for dtype, axes in (("uint32", 1), ("int64", 2)):
        with pytest.raises(ValueError, match=f"x.npy: must hold {dtype} of {axes} axe"):
            map_array(path, dtype, axes)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="x.npy: cannot be read: "):
        map_array(path, "int64")
    with pytest.raises(ValueError, match="none.npy: cannot be read: no such file"):
        map_array(tmp_path / "none.npy", "int64")


@pytest.mark.parametrize("size", [100, 3000, 30_000])
def test_a_full_disk(size, tmp_path):
    """Of a small array, NumPy's own function says nothing."""
    with files_of_at_most(size), pytest.raises(OSError):
        write_array(tmp_path / "x.npy", np.arange(size))
