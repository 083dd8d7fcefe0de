import errno
import json
import os

import numpy as np
import pytest

from keras_elmo.utils import files
from keras_elmo.utils.files import (
    parse_json_object,
    read_json_object,
    read_key,
    remove_leftovers,
    replacing,
    write_json,
)
from tests.helpers.limits import files_of_at_most


class BodyFailed(Exception):
    pass


def write_file(path, text="new"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_folder(path, name="new"):
    os.mkdir(path)
    write_file(os.path.join(path, name))


def content(folder):
    """Every file below a folder with its text, hidden ones, too."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_remove_leftovers(tmp_path):
    """Files that a killed process was writing are removed."""
    write_file(tmp_path / "kept.txt")
    # Kept, so that they are not left in order.
    killed = [replacing(tmp_path / name) for name in ("file.txt", "folder")]
    for each, write in zip(killed, (write_file, write_folder), strict=True):
        write(each.__enter__())
    assert len(os.listdir(tmp_path)) == 3
    remove_leftovers(tmp_path)
    assert content(tmp_path) == {"kept.txt": "new"}


@pytest.mark.parametrize("former", [False, True])
def test_file(former, tmp_path, monkeypatch):
    """It appears whole, and is on the disk before it has its name."""
    path = tmp_path / "not" / "there" / "file.txt"
    if former:
        path.parent.mkdir(parents=True)
        write_file(path, "old")
    synced = []

    def fsync(file):
        synced.append((os.fstat(file).st_size, path.exists()))
        if former:
            assert path.read_text() == "old"

    monkeypatch.setattr(os, "fsync", fsync)
    # What the buffer holds when the body ends is part of it.
    with replacing(path) as temporary, open(temporary, "w") as file:
        file.write("new")
        # On the same disk, so that the renaming is one step.
        assert os.path.dirname(temporary) == str(path.parent)
    assert synced == [(3, former)]
    assert content(tmp_path) == {"not/there/file.txt": "new"}


@pytest.mark.parametrize("name", ["folder", "folder/"])
@pytest.mark.parametrize("former", [None, [], ["old"]])
def test_folder(name, former, tmp_path, monkeypatch):
    """One appears whole, and replaces another whole."""
    if former is not None:
        (tmp_path / "folder").mkdir()
        for each in former:
            write_file(tmp_path / "folder" / each)
    synced = []

    def fsync(file):
        assert not (tmp_path / "folder" / "new").exists()
        synced.append(os.fstat(file).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    with replacing(f"{tmp_path}/{name}") as temporary:
        write_folder(temporary)
        write_folder(os.path.join(temporary, "inner"))
    assert synced == [3, 3]
    assert content(tmp_path) == {"folder/new": "new", "folder/inner/new": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_failed_rename(tmp_path, monkeypatch):
    """A folder stays if the other cannot take its name."""
    write_folder(tmp_path / "folder", "old")
    rename = os.rename

    def second_fails(source, target):
        if "part" in str(source) and not str(source).endswith(".old"):
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "folder") as temporary:
        write_folder(temporary)
    assert content(tmp_path) == {"folder/old": "new"}


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (write_file, {"link": "new", "target": "new"}),
        (write_folder, {"target/new": "new"}),
    ],
)
def test_link(write, found, tmp_path):
    write(tmp_path / "target", "old")
    (tmp_path / "link").symlink_to("target")
    with replacing(tmp_path / "link") as temporary:
        write(temporary, "new")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]
    assert content(tmp_path) == found


@pytest.mark.parametrize("old", [write_file, write_folder])
@pytest.mark.parametrize("new", [write_file, write_folder, lambda path: None])
def test_error_keeps_former(old, new, tmp_path):
    """Of the block, or of a file that would replace a folder, or the reverse."""
    old(tmp_path / "path", "old")
    before = content(tmp_path)
    with (
        pytest.raises((BodyFailed, OSError)),
        replacing(tmp_path / "path") as temporary,
    ):
        new(temporary)
        if new is old or not os.path.exists(temporary):
            raise BodyFailed
    assert content(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["path"]


def test_full_disk(tmp_path):
    path = tmp_path / "numbers.json"
    with files_of_at_most(1000):
        with pytest.raises(OSError, match="cannot be written") as caught:
            write_json(path, list(range(1000)))
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_nested_write_error_names_the_outer_path(tmp_path, monkeypatch):
    """As the user named it, not the hidden part beside it."""
    monkeypatch.chdir(tmp_path)
    with files_of_at_most(1000), pytest.raises(OSError) as caught:
        with replacing("model") as temporary:
            os.mkdir(temporary)
            write_json(os.path.join(temporary, "sizes.json"), list(range(1000)))
    assert str(caught.value) == (
        "[Errno 27] cannot be written: File too large: 'model/sizes.json'"
    )
    assert list(tmp_path.iterdir()) == []


def test_missing_part_names_the_path(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "file"):
        pass
    assert caught.value.filename == str(tmp_path / "file")


@pytest.mark.parametrize(
    "kind", [OSError, RuntimeError, lambda text: OSError(errno.EIO, text)]
)
def test_message_of_a_library_names_the_path(kind, tmp_path):
    with pytest.raises(OSError) as caught, replacing(tmp_path / "model") as temporary:
        raise kind(f"unable to write {temporary}/variables")
    assert f"unable to write {tmp_path / 'model'}/variables" in str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RuntimeError("{{node SaveV2}} PART/variables; No space left [Op:SaveV2]"),
            "model: cannot be written: No space left",
        ),
        (
            OSError("900 requested and 100 written"),
            "[Errno 28] cannot be written: 900 requested and 100 written: 'model'",
        ),
    ],
    ids=["TensorFlow", "NumPy"],
)
def test_full_disk_of_a_library(error, said, tmp_path, monkeypatch):
    """The error names the file, though the library does not."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError) as caught, replacing("model") as temporary:
        raise type(error)(str(error).replace("PART", temporary))
    assert str(caught.value) == said


def test_error_about_another_file_is_kept(tmp_path):
    error = FileNotFoundError(errno.ENOENT, "No such file", "corpus.txt")
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "file"):
        raise error
    assert caught.value is error


def test_write_json(tmp_path):
    """JSON is indented, and letters are not escaped."""
    write_json(tmp_path / "value.json", {"word": "배", "list": [1, None]})
    text = (tmp_path / "value.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"word": "배", "list": [1, None]}
    assert "배" in text
    assert text.count("\n") > 4 and text.endswith("}\n")
    assert read_json_object(tmp_path / "value.json") == json.loads(text)
    write_json(tmp_path / "value.json", {"a": np.int64(3), "b": np.float32(0.5)})
    assert read_json_object(tmp_path / "value.json") == {"a": 3, "b": 0.5}


def test_write_json_that_cannot_be_read(tmp_path, monkeypatch):
    """What could not be read again is not written."""
    with pytest.raises(TypeError):
        write_json(tmp_path / "value.json", {"key": object()})
    monkeypatch.setattr(files, "_MAX_JSON_BYTES", 20)
    with pytest.raises(ValueError, match=r"value\.json: must have at most 20 bytes"):
        write_json(tmp_path / "value.json", {"word": "배" * 9})
    assert list(tmp_path.iterdir()) == []


DEEP = 100_000
INVALID_JSON = {
    "nested lists": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "unclosed": b'{"lstm": [' * DEEP,
    "a key twice": b'{"a": 1, "lstm": {"dim": 9, "dim": 1000000}}',
    "not UTF-8": b'{"lstm": "\xff\xfe"}',
    "a number of 5,000 digits": b'{"lstm": ' + b"9" * 5000 + b"}",
    "nothing": b"",
    "NUL": b"\0" * 100,
    "another kind": b"[1]",
    "a long string": b'"' + b"x" * 1000 + b'"',
    "many bytes": b" " * (1 << 24) + b"{}",
}
SAID = {
    "nested objects": "nested too deeply",
    "a key twice": 'the key "dim" comes twice',
    "another kind": r"must be a JSON object, not \[1\]",
    "a long string": r'must be a JSON object, not "xxx.* \.\.\.$',
    "many bytes": "at most 16,777,216 bytes",
}


@pytest.mark.parametrize("kind", INVALID_JSON)
def test_invalid_json(kind, tmp_path):
    """It is a short error of one line that names the file."""
    path = tmp_path / "file.json"
    path.write_bytes(INVALID_JSON[kind])
    said = SAID.get(kind, "not valid JSON")
    with pytest.raises(ValueError, match=f"^{path}: .*{said}") as error:
        read_json_object(path)
    assert len(str(error.value)) < 300 + len(str(path))


def test_repeated_key_is_found_fast():
    keys = [f'"{k}": 0' for k in range(300_000)]
    content = ("{" + ", ".join([*keys, keys[-1]]) + "}").encode()
    with pytest.raises(ValueError, match='the key "299999" comes twice'):
        parse_json_object(content, "here")


def test_other_files(tmp_path):
    with pytest.raises(ValueError, match="must be a file"):
        read_json_object(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_json_object(tmp_path / "nowhere.json")


def test_misspelt_key():
    """It is not taken for a key that is left out."""
    options = {"char_cnn": {"n_higway": 2}}
    assert read_key(options, "o.json", "lstm", "dim", default=1) == 1
    with pytest.raises(ValueError) as raised:
        read_key(options, "o.json", "char_cnn", "n_highway", default=0)
    message = "o.json: lacks the key char_cnn.n_highway. Received: n_higway"
    assert str(raised.value) == message
