import io
import os
import shutil

import pytest
from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.filesystems import FileSystems
from apache_beam.io.localfilesystem import LocalFileSystem

from keras_elmo.scale import shared_files
from keras_elmo.scale.shared_files import TextChunk, read_chunks
from keras_elmo.text.lines import read_lines


class BucketFileSystem(LocalFileSystem):
    """`bucket://` is a folder here: what an object store does, as far as we ask it."""

    root = ""

    @classmethod
    def scheme(cls):
        return "bucket"

    def has_dirs(self):
        return False

    def create(self, path, *arguments, **options):
        local = self._local(path)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        return super().create(local, *arguments, **options)

    def open(self, path, *arguments, **options):
        return super().open(self._local(path), *arguments, **options)

    def exists(self, path):
        return super().exists(self._local(path))

    def _list(self, path):
        for folder, _, names in os.walk(self.root):
            for name in names:
                local = os.path.join(folder, name)
                name = f"bucket://{os.path.relpath(local, self.root)}"
                yield FileMetadata(name, os.path.getsize(local))

    def _local(self, path):
        return os.path.join(self.root, path.removeprefix("bucket://"))


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    monkeypatch.setattr(BucketFileSystem, "root", str(tmp_path / "bucket"))
    (tmp_path / "bucket").mkdir()
    return tmp_path / "bucket"


def test_files_of_an_object_store(bucket):
    shared_files.write_whole("bucket://text/b.txt", lambda local: write(local, "one\n"))
    shared_files.write_whole("bucket://text/a.txt", lambda local: write(local, "\ntwo"))
    assert sorted(path.name for path in bucket.rglob("*.txt")) == ["a.txt", "b.txt"]
    files = shared_files.match_files("bucket://text/*.txt")
    assert files == {"bucket://text/a.txt": 4, "bucket://text/b.txt": 4}
    assert list(read_chunks("bucket://text/a.txt")) == [
        TextChunk("bucket://text/a.txt", 0, ["", "two"])
    ]
    assert FileSystems.exists("bucket://text/a.txt")
    with pytest.raises(ValueError, match="no file matches 'bucket://text/c"):
        shared_files.match_files("bucket://text/c*")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_an_object_that_is_not_whole_does_not_appear(bucket):
    def fails(local):
        write(local, "half")
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        shared_files.write_whole("bucket://a", fails)
    assert list(bucket.iterdir()) == []


def test_files_of_this_machine_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("b.txt", "b")
    write("a.txt", "")
    files = shared_files.match_files(["*.txt", "a.txt"])
    assert list(files.items()) == [
        (str(tmp_path / "a.txt"), 0),
        (str(tmp_path / "b.txt"), 1),
    ]


def test_what_killed_workers_were_writing_is_removed(tmp_path):
    part = tmp_path / "file=a" / "000.parquet"
    shared_files.write_whole(str(part), lambda local: shutil.copy(__file__, local))
    (tmp_path / "file=a" / ".001.parquet.0123abcd.part").write_text("half")
    shared_files.remove_unfinished(str(tmp_path))
    assert os.listdir(tmp_path / "file=a") == ["000.parquet"]


@pytest.mark.parametrize("lines", [0, 1, 2, 3, 7])
def test_chunks_are_all_of_a_text(lines, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_elmo.scale.shared_files._CHUNK_LINES", 3)
    path = tmp_path / "text.txt"
    write(path, "".join(f"{k}\n" if k % 2 else "\n" for k in range(lines)))
    chunks = list(read_chunks(str(path)))
    assert [chunk.first_line for chunk in chunks] == list(range(0, lines, 3))
    read = [line for chunk in chunks for line in chunk.lines]
    assert read == [str(k) if k % 2 else "" for k in range(lines)]


def test_a_stream_is_read_as_a_file_is():
    """`read_lines` reads a stream like a file."""
    stream = io.BytesIO(b"\xef\xbb\xbfa\r\n\nb")
    assert list(read_lines(["x"], open_file=lambda path: stream)) == ["a", "b"]
