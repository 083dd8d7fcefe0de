"""Pictures, and the figures that become them."""

import contextlib
import struct


def size_of_png(path):
    """Width and height; fails on anything but a PNG."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data[12:16] == b"IHDR"
    assert data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


def record_figures(monkeypatch, *places):
    """Returns a list that gets every figure that is drawn.

    Args:
        places: modules, and the names in them of the context manager that makes one.
    """
    drawn = []
    picture = getattr(*places[0])

    @contextlib.contextmanager
    def recording(*arguments):
        with picture(*arguments) as figure:
            yield figure
        drawn.append(figure)

    for module, name in places:
        monkeypatch.setattr(module, name, recording)
    return drawn
