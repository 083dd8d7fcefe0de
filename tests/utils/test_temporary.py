import errno
import io
import os
import tempfile

import pytest

from keras_elmo.utils.temporary import kept, naming_folder
from tests.helpers.limits import files_of_at_most


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_kept_has_no_name(tmp_path, monkeypatch):
    """It is read as often as one likes, and a process that is killed leaves nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with kept(io.BytesIO(b"a line\n")) as path:
        assert os.listdir(tmp_path) == []
        for _ in range(2):
            with open(path, "rb") as file:
                assert file.read() == b"a line\n"
        assert (os.path.isfile(path), os.path.getsize(path)) == (True, 7)


def test_kept_elsewhere(tmp_path, monkeypatch):
    """Where open files have no names, it has one for a while."""
    monkeypatch.setattr("keras_elmo.utils.temporary._OPEN_FILES", "/nowhere")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with kept(io.BytesIO(b"a line\n")) as path, open(path, "rb") as file:
        assert file.read() == b"a line\n"
    assert os.listdir(tmp_path) == []


def test_full_disk(tmp_path, monkeypatch):
    """The folder is named, where no file has a name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with files_of_at_most(1000), pytest.raises(OSError) as caught:
        with kept(io.BytesIO(bytes(100_000))):
            pass
    assert caught.value.filename == str(tmp_path)
    assert "a temporary file cannot be written: File too large" in str(caught.value)


def test_other_errors_pass():
    """One that names a file is kept."""
    error = OSError(errno.ENOSPC, "no space", "another file")
    with pytest.raises(OSError) as caught, naming_folder():
        raise error
    assert caught.value is error
