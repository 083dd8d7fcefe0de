import io
import re

import pytest

from keras_elmo.text.tagged_lines import tagged_lines

TREEBANK = """\
# text = don't sit
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
2.1\tsit\t_\tVERB\tVB\t_\t_\t_\t_\t_

# end
"""


def tag(sentences):
    """The tag of a word is its number in the sentence."""
    for sentence in sentences:
        words = sentence.split() if isinstance(sentence, str) else sentence
        yield words, [f"T{k}" for k, _ in enumerate(words)]


def lines(content, path="-", **arguments):
    stream = io.BytesIO(content.encode())
    return "".join(f"{line}\n" for line in tagged_lines(path, tag, stream, **arguments))


def test_text():
    expected = "a\tT0\nb\tT1\n\n\nc\tT0\n\n"
    for content in ("a b\n\nc\n", "\ufeffa b\r\n\t\r\nc"):
        assert lines(content) == expected
    assert lines("") == ""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\n\n\nc\n", "a\tT0\nb\tT1\n\n\nc\tT0\n"),
        ("a X\nb Y\n \nc Z\n", "a X T0\nb Y T1\n \nc Z T0\n"),
        ("a\tX\nb c\tY\n", "a\tX\tT0\nb c\tY\tT1\n"),
        # What is not a word stays as it is.
        ("-DOCSTART- O\n\n# a b c\na O\n", "-DOCSTART- O\n\n# a b c\na O T0\n"),
        ("# nothing\n\n\n", "# nothing\n\n\n"),
        # A header, and a word.
        ("word tag\na X\n", "word tag\na X T0\n"),
        ("word\na\n", "word\tT0\na\tT1\n"),
        # A comment has other columns.
        ("# O\n#1 O\na O\n", "# O T0\n#1 O T1\na O T2\n"),
    ],
)
def test_columns(content, expected):
    assert lines(content, format="columns") == expected
    for name in ("in.conll", "in.BIO", "in.iob2.gz"):
        assert lines(content, name) == expected


def test_conllu():
    expected = TREEBANK.replace("AUX", "T0").replace("PART", "T1")
    assert lines(TREEBANK, "in.conllu") == expected
    assert lines(TREEBANK.removeprefix("# text = don't sit\n")).startswith("1-2\td")
    assert lines(TREEBANK, format="conllu", column="xpos") == (
        TREEBANK.replace("do\tAUX\tVB", "do\tAUX\tT0").replace("PART\tRB", "PART\tT1")
    )


def test_streams():
    """A sentence is written before the next one is read."""
    seen = []

    class Slow(io.BytesIO):
        def __next__(self):
            line = super().__next__()
            seen.append(line)
            return line

    written = tagged_lines("-", tag, Slow(b"a\n\nb\n\nc\n"), format="columns")
    assert next(written) == "a\tT0"
    assert b"c\n" not in seen


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a b\n", {"column": "xpos"}, "`column` applies only to CoNLL-U"),
        (TREEBANK, {"column": "form", "path": "x.conllu"}, "`column` must be the name"),
        ("a b\nc\n", {"format": "columns"}, "-, line 2: must have 2 columns"),
        ("a\tb\n\tc\n", {"format": "columns"}, "line 2: must have a word that is not"),
        ("1\ta\n", {"path": "x.conllu"}, "x.conllu, line 1: must have 10 columns"),
    ],
)
def test_malformed(content, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        lines(content, **arguments)
