import io
import json
import re

import numpy as np
import pytest

from keras_elmo.text.tagged_lines import json_lines, tagged_lines

TREEBANK = """\
# text = don't sit
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
2.1\tsit\t_\tVERB\tVB\t_\t_\t_\t_\t_

# end
"""


class Numbers:
    """The tag of a word is its number in the sentence."""

    tags = ("T0", "T1")

    def tag(self, sentences):
        for sentence in sentences:
            words = sentence.split() if isinstance(sentence, str) else sentence
            yield words, [f"T{k}" for k, _ in enumerate(words)]

    def tags_and_marginals(self, sentences):
        for words, tags in self.tag(sentences):
            rows = [[1, 4e-7] if name == "T0" else [0.25, 0.75] for name in tags]
            yield words, tags, np.array(rows, "float32").reshape(-1, 2)


def lines(content, path="-", read=tagged_lines, **arguments):
    stream = io.BytesIO(content.encode())
    tagged = read(Numbers(), path, stream, **arguments)
    return "".join(f"{line}\n" for line in tagged)


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

    written = tagged_lines(Numbers(), "-", Slow(b"a\n\nb\n\nc\n"), format="columns")
    assert next(written) == "a\tT0"
    assert b"c\n" not in seen


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a b\n", {"column": "xpos"}, "`column` applies only to CoNLL-U"),
        (TREEBANK, {"column": "form", "path": "x.conllu"}, "`column` must be the name"),
        ("a b\nc\n", {"format": "columns"}, "-, line 2: must have 2 columns"),
    ],
)
def test_malformed(content, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        lines(content, **arguments)


CONLL = """\
-DOCSTART- -X- O

We PRP O
sat VBD O
. . O

In IN O
London NNP B-LOC
. . O
"""


def test_columns_without_their_name(tmp_path):
    """The first lines of a file tell columns, of a stream the first line."""
    path = tmp_path / "train.txt"

    def tagged(content):
        path.write_text(content)
        return [*tagged_lines(Numbers(), str(path))]

    assert tagged(CONLL)[2] == "We PRP O T0"
    assert lines(CONLL).splitlines()[2] == "We PRP O T0"
    without = CONLL.partition("\n\n")[2]
    assert tagged(without)[0] == "We PRP O T0"
    # Read line by line, it may be text.
    assert lines(without).startswith("We\tT0\nPRP\tT1")
    assert lines("We\tO\nsat\tO\n").startswith("We\tO\tT0\nsat\tO\tT1")
    assert lines("We sat\tin London\n").startswith("We\tT0\nsat\tT1")
    assert tagged("We sat .\nIn London .\n" * 5)[0] == "We\tT0"
    # Comments come before the first line of CoNLL-U.
    assert lines(TREEBANK, column="xpos") == lines(TREEBANK, "x.conllu", column="xpos")


def test_json():
    """An object for each sentence; blank lines of text have no words."""

    def objects(content, **arguments):
        return [
            *map(json.loads, lines(content, read=json_lines, **arguments).splitlines())
        ]

    both = {
        "words": ["a", "\u00e9"],
        "tags": ["T0", "T1"],
        "probabilities": [{"T0": 1.0}, {"T0": 0.25, "T1": 0.75}],
    }
    none = dict.fromkeys(both, [])
    assert objects("a \u00e9\n\n") == [both, none]
    assert objects("# c d e\na X\n\u00e9 X\n\n", format="columns") == [both]
    assert objects("") == []
