import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.vector_file import read_vector_file, write_vector_file

GLOVE = "the 0.5 -1.25e-1 3\n배 1 2 3\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.txt"


@pytest.mark.parametrize(
    "text",
    [
        GLOVE,
        "2 3\n" + GLOVE,
        # word2vec's own program ends each line with a space.
        "2 3\n" + GLOVE.replace("\n", " \n"),
        GLOVE.replace("\n", "\r\n").removesuffix("\r\n"),
        "\ufeff" + GLOVE,
        GLOVE + "\n",
        "\n2 3\n" + GLOVE,
        # The first of two counts.
        GLOVE + "the 9 9 9\n",
    ],
    ids=["glove", "header", "word2vec", "crlf", "mark", "blank", "above", "twice"],
)
def test_formats(text, path):
    path.write_text(text, encoding="utf-8", newline="")
    words, vectors = read_vector_file(path)
    assert words == ["the", "배"]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, [[0.5, -0.125, 3], [1, 2, 3]])


def test_words_with_spaces(path):
    # GloVe of Common Crawl has the first, fastText the second.
    # The last is of spaces alone.
    lines = "a 1 2\n. . . 3 4\nx\u00a0y 5 6\n  7 8\n   7 8\n"
    path.write_text(lines, encoding="utf-8")
    words, vectors = read_vector_file(path)
    assert words == ["a", ". . .", "x\u00a0y"]
    np.testing.assert_array_equal(vectors, [[1, 2], [3, 4], [5, 6]])


def test_no_more_words_than_asked_for(path):
    path.write_text(GLOVE + "broken\n", encoding="utf-8")
    words, vectors = read_vector_file(path, max_words=2)
    assert (len(words), vectors.shape) == (2, (2, 3))
    path.write_text("9 3\n" + GLOVE, encoding="utf-8")
    assert len(read_vector_file(path, max_words=2)[0]) == 2


def test_round_trip(path):
    vectors = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    write_vector_file(path, ["the", "x\u00a0배"], vectors, 3)
    words, read = read_vector_file(path)
    assert words == ["the", "x\u00a0배"]
    np.testing.assert_array_equal(read, vectors)
    assert path.read_text(encoding="utf-8").startswith("2 3\nthe ")


def test_compressed(tmp_path):
    with gzip.open(tmp_path / "vectors.vec.gz", "wt", encoding="utf-8") as file:
        file.write("2 3\n" + GLOVE)
    assert read_vector_file(tmp_path / "vectors.vec.gz")[0] == ["the", "배"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold a word and its vector"),
        ("2 3\n", "must hold a word and its vector"),
        ("2 3\na 1 2\n", "line 2: must be a word and 3 numbers. Received: 'a 1 2'"),
        ("a 1 2\nb 1 x\n", "line 2: must be a word and 2 numbers. Received: 'b 1 x'"),
        ("a 1 2\n\nb 1\n", "line 3: must be a word and 2 numbers. Received: 'b 1'"),
        ("a 1 nan\n", "line 1: must be a word and 2 numbers. Received: 'a 1 nan'"),
        ("a 1 2\nb 1 1e999\n", "line 2: must be"),
        ("a 1 2\nb 1 1e39\n", "line 2: must be"),
        ("a 1 2\n1 2\n", "line 2: must be a word and 2 numbers. Received: '1 2'"),
        ("word\n", "line 1: must be a word and its numbers. Received: 'word'"),
        ("3 2\na 1 2\na 1 2\n", "line 1 says 3 words, and 2 are there"),
        ("\n3 2\na 1 2\n", "line 2 says 3 words, and 1 are there"),
        # Numbers are no part of a word, nor is what parts it from them elsewhere.
        ("2 2\na 1 2 3\nb 4 5 6\n", "line 2: must be a word and 2 numbers. Received:"),
        ("a 1 2\nb 1 2\nc 1 2 3 4\n", "line 3: must be a word and 2 numbers"),
        ("a\t1 2 3\nb\t4 5 6\n", "line 1: must be a word and 2 numbers"),
        ("2 2\na  1 2\nb  4 5\n", "line 2: must be a word and 2 numbers"),
    ],
)
def test_damage_names_the_line(text, message, path):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as error:
        read_vector_file(path)
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_arguments_that_do_not_fit(path):
    with pytest.raises(ValueError, match="no file .*vectors.txt"):
        read_vector_file(path)
    with pytest.raises(ValueError, match="`max_words` must be positive"):
        read_vector_file(path, max_words=0)


words = st.text(
    st.characters(exclude_characters=" \t\n\r\0\ufeff", exclude_categories=["Cs"]),
    min_size=1,
)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    st.integers(2, 4).flatmap(
        lambda units: st.dictionaries(
            words, st.lists(numbers, min_size=units, max_size=units), min_size=1
        )
    ),
    st.booleans(),
)
def test_what_is_written_is_read(tmp_path_factory, vectors, header):
    path = tmp_path_factory.getbasetemp() / "written.txt"
    rows = [" ".join([word, *map(repr, each)]) for word, each in vectors.items()]
    units = len(next(iter(vectors.values())))
    if header:
        rows.insert(0, f"{len(vectors)} {units}")
    path.write_text("\n".join(rows), encoding="utf-8", newline="")
    found, array = read_vector_file(path)
    assert found == list(vectors)
    np.testing.assert_array_equal(array, np.float32(list(vectors.values())))
