import errno
import zlib

import pytest

from keras_elmo.utils.reading import reading


class Special(ValueError):
    """An error that somebody waits for."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (zlib.error("Error -3"), "x.zip: cannot be read: Error -3"),
        (KeyError("name"), "x.zip: cannot be read: KeyError: 'name'"),
        (ValueError("no number\nat all"), "x.zip: cannot be read: no number"),
        (AssertionError(), "x.zip: cannot be read: AssertionError"),
        (MemoryError("1 TB"), "x.zip: cannot be read: 1 TB"),
        (OSError("truncated"), "x.zip: cannot be read: truncated"),
        # A position before the first byte.
        (
            OSError(errno.EINVAL, "Invalid argument"),
            "x.zip: cannot be read: [Errno 22] Invalid argument",
        ),
        (RuntimeError("y" * 1000), "x.zip: cannot be read: " + "y" * 200),
    ],
    ids=repr,
)
def test_damage(error, said):
    """Any error of a library becomes a ValueError that names the file."""
    with pytest.raises(ValueError) as caught, reading("x.zip"):
        raise error
    assert str(caught.value) == said
    with pytest.raises(Special, match="x.zip: bad: "), reading("x.zip", "bad", Special):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x.zip: is of another kind"),
        FileNotFoundError(errno.ENOENT, "No such file", "y.zip"),
        ImportError("no zlib"),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
def test_what_passes(error):
    """Errors that name a file, and those that no file is to blame for."""
    with pytest.raises(type(error)) as caught, reading("x.zip"):
        raise error
    assert caught.value is error


def test_disk_that_fails():
    """It may be whole: that is no damage."""
    with pytest.raises(OSError) as caught, reading("x.zip"):
        raise OSError(errno.EIO, "Input/output error")
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, "x.zip")
