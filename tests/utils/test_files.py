import errno
import json
import os

import pytest

from keras_elmo.utils.files import remove_leftovers, replacing, write_json
from tests.full_disk import files_of_at_most


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


def test_a_folder_is_on_the_disk_before_it_replaces_another(tmp_path, monkeypatch):
    path = tmp_path / "folder"
    write_folder(path, "old")
    synced = []

    def fsync(file):
        synced.append((os.fstat(file).st_size, (path / "old").exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    with replacing(path) as temporary:
        write_folder(temporary)
        write_folder(os.path.join(temporary, "inner"))
    assert synced == [(3, True)] * 2
    assert content(path) == {"new": "new", "inner/new": "new"}


def test_what_a_killed_process_was_writing_goes(tmp_path):
    write_file(tmp_path / "kept.txt")
    # Kept, so that they are not left in order.
    killed = [replacing(tmp_path / name) for name in ("file.txt", "folder")]
    for each, write in zip(killed, (write_file, write_folder), strict=True):
        write(each.__enter__())
    assert len(os.listdir(tmp_path)) == 3
    remove_leftovers(tmp_path)
    assert content(tmp_path) == {"kept.txt": "new"}


def test_a_file_appears_at_the_end(tmp_path):
    path = tmp_path / "not" / "there" / "file.txt"
    with replacing(path) as temporary:
        write_file(temporary)
        assert not path.exists()
        # On the same disk, so that the renaming is one step.
        assert os.path.dirname(temporary) == str(path.parent)
    assert content(tmp_path) == {"not/there/file.txt": "new"}


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "file.txt"
    write_file(path, "old")
    with replacing(str(path)) as temporary:
        write_file(temporary)
        assert path.read_text() == "old"
    assert content(tmp_path) == {"file.txt": "new"}


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    synced = []

    def fsync(file):
        synced.append((os.fstat(file).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    # What the buffer holds when the body ends is part of it.
    with replacing(path) as temporary, open(temporary, "w") as file:
        file.write("new")
    assert synced == [(3, False)]


@pytest.mark.parametrize("name", ["folder", "folder/"])
def test_a_folder_appears_at_the_end(name, tmp_path):
    with replacing(f"{tmp_path}/{name}") as temporary:
        write_folder(temporary)
        assert not (tmp_path / "folder").exists()
    assert content(tmp_path) == {"folder/new": "new"}


@pytest.mark.parametrize("name", ["folder", "folder/"])
def test_a_folder_is_replaced_whole(name, tmp_path):
    write_folder(tmp_path / "folder", "old")
    with replacing(f"{tmp_path}/{name}") as temporary:
        write_folder(temporary)
    assert content(tmp_path) == {"folder/new": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_stays_if_the_other_cannot_take_its_name(tmp_path, monkeypatch):
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


def test_an_empty_folder_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    with replacing(tmp_path / "folder") as temporary:
        write_folder(temporary)
    assert content(tmp_path) == {"folder/new": "new"}


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (write_file, {"link": "new", "target": "new"}),
        (write_folder, {"target/new": "new"}),
    ],
)
def test_a_link_is_followed(write, found, tmp_path):
    write(tmp_path / "target", "old")
    (tmp_path / "link").symlink_to("target")
    with replacing(tmp_path / "link") as temporary:
        write(temporary, "new")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]
    assert content(tmp_path) == found


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_a_body_that_raises_leaves_the_old(write, tmp_path):
    write(tmp_path / "path", "old")
    before = content(tmp_path)
    with pytest.raises(BodyFailed), replacing(tmp_path / "path") as temporary:
        write(temporary)
        raise BodyFailed
    assert content(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["path"]


def test_a_full_disk_is_told_with_the_name_of_what_it_has_no_room_for(tmp_path):
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


def test_error_about_another_file_is_kept(tmp_path):
    error = FileNotFoundError(errno.ENOENT, "No such file", "corpus.txt")
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "file"):
        raise error
    assert caught.value is error


def test_a_body_that_raises_at_once_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "path"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new"), [(write_file, write_folder), (write_folder, write_file)]
)
def test_neither_takes_the_place_of_the_other(old, new, tmp_path):
    old(tmp_path / "path", "old")
    before = content(tmp_path)
    with pytest.raises(OSError), replacing(tmp_path / "path") as temporary:
        new(temporary)
    assert content(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["path"]


def test_json_is_for_people_too(tmp_path):
    write_json(tmp_path / "value.json", {"word": "배", "list": [1, None]})
    text = (tmp_path / "value.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"word": "배", "list": [1, None]}
    assert "배" in text
    assert text.count("\n") > 4 and text.endswith("}\n")


def test_a_value_that_is_no_json_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_json(tmp_path / "value.json", {"key": object()})
    assert list(tmp_path.iterdir()) == []
