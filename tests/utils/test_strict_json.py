import pytest

from keras_elmo.utils.files import parse_json_object, read_json_object


def test_an_object_is_read(tmp_path):
    path = tmp_path / "file.json"
    path.write_text('{"word": "배", "sizes": [1, 2.5, null]}', encoding="utf-8")
    assert read_json_object(path) == {"word": "배", "sizes": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not valid JSON"),
        (b'{"a": 1, "b": {"c": 2, "c": 3}}', 'the key "c" stands there twice'),
        (b"[1]", r"must be a JSON object, not \[1\]"),
        (b'"' + b"x" * 1000 + b'"', r'must be a JSON object, not "xxx.* \.\.\.$'),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff", "not valid JSON"),
    ],
    ids=range(6),
)
def test_what_is_none_is_named(content, said):
    with pytest.raises(ValueError, match=rf"^here: .*{said}"):
        parse_json_object(content, "here")


def test_the_key_that_stands_twice_is_found_at_once():
    """Of as many as the largest file has, which would take hours one by one."""
    keys = [f'"{k}": 0' for k in range(1_000_000)]
    content = ("{" + ", ".join([*keys, keys[-1]]) + "}").encode()
    with pytest.raises(ValueError, match='the key "999999" stands there twice'):
        parse_json_object(content, "here")


def test_a_file_has_a_size(tmp_path):
    path = tmp_path / "file.json"
    path.write_bytes(b" " * (1 << 24) + b"{}")
    with pytest.raises(ValueError, match="at most 16,777,216 bytes"):
        read_json_object(path)
    with pytest.raises(ValueError, match="must be a file"):
        read_json_object(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_json_object(tmp_path / "nowhere.json")
