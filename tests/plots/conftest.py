"""What a picture shows, and the file it is."""

import contextlib
import struct

import pytest

from keras_elmo import plots as module


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, to be asked what stands on them."""
    pytest.importorskip("matplotlib")

    drawn = []
    picture = module.picture

    @contextlib.contextmanager
    def recording(*arguments):
        with picture(*arguments) as figure:
            yield figure
        drawn.append(figure)

    monkeypatch.setattr(module, "picture", recording)
    return drawn


@pytest.fixture
def size_of_png():
    def size(path):
        """Width and height; fails on anything but a PNG."""
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert data[12:16] == b"IHDR"
        assert data[-8:-4] == b"IEND"
        return struct.unpack(">II", data[16:24])

    return size
