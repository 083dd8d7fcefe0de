"""vocabulary.txt: a file of words, or of anything."""

import os

import pytest

from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.command_line import assert_one_line, command
from tests.hostile.conftest import NO_FILES

pytestmark = pytest.mark.usefixtures("little_memory")

SPECIALS = b"<S>\n</S>\n<UNK>\n"
FILES = {
    "not UTF-8": SPECIALS + b"the\n\xff\xfe\n",
    "half a letter": SPECIALS + b"the\n\xeb\xb0",
    "a surrogate": SPECIALS + b"\xed\xa0\x80\n",
    "UTF-16": "<S>\n</S>\n".encode("utf-16"),
    "NUL": b"\0" * 1000,
    "one line": b"x" * (1 << 25),
    "a line among others": SPECIALS + b"x" * (1 << 25),
    "carriage returns": SPECIALS + b"a\rb\n",
}


def refused(path):
    with pytest.raises(ValueError) as raised:
        Vocabulary.load(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert len(str(raised.value)) < 300 + len(str(path))


@pytest.mark.parametrize("content", FILES)
def test_content(content, tmp_path):
    """A damaged vocabulary is an error that names the file."""
    path = tmp_path / "vocabulary.txt"
    path.write_bytes(FILES[content])
    refused(path)


def test_sparse_file(tmp_path):
    """A sparse file of a terabyte is not read."""
    path = tmp_path / "vocabulary.txt"
    path.write_bytes(SPECIALS)
    os.truncate(path, 1 << 40)
    refused(path)


@pytest.mark.parametrize("kind", NO_FILES)
def test_not_a_file(kind, tmp_path):
    """A folder, pipe or device instead of a vocabulary is an error."""
    path = tmp_path / "vocabulary.txt"
    NO_FILES[kind](path)
    refused(path)


def test_command_line(directory, tmp_path):
    with open(directory.vocabulary, "wb") as file:
        file.write(FILES["not UTF-8"])
    (tmp_path / "text.txt").write_text("the bank\n", encoding="utf-8")
    corpus = ("--corpus", tmp_path / "text.txt")
    result = command("evaluate", "--model", directory.path, *corpus)
    assert_one_line(*result, f"{directory.vocabulary}: line 5 is not UTF-8")
