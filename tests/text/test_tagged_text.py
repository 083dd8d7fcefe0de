import gzip
import re
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo.text.tagged_text import read_tagged

CONLL_2003 = """\
-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter NNP B-NP B-PER
"""
WNUT = "We\tO\nsat\tO\n\t\n#photo\tO\n10 000\tB-x\n"
CONLL_U = """\
# sent_id = 1
# text = don't sit
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tsit\tsit\tVERB\tVB\tVerbForm=Inf\t0\troot\t_\t_
3.1\tdown\t_\tADV\tRB\t_\t_\t_\t_\t_

1\t#\t#\tSYM\tNN\t_\t0\troot\t_\t_
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text, column=None, name="file.conll"):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return pairs(read_tagged(name, column))


def pairs(sentences):
    """The words and the tags of each sentence."""
    return [(sentence.words, sentence.tags) for sentence in sentences]


def test_numbered_words():
    """As in GermEval 2014; a number may be a word, too."""
    numbered = "# source\n1\tAnna\tB-PER\tO\n2\tsang\tO\tO\n\n1\tBonn\tB-LOC\tO\n"
    (words, tags), (more, _) = read(numbered, 2)
    assert (words, more) == (["Anna", "sang"], ["Bonn"]) and tags == ["B-PER", "O"]
    for column, name in ((0, "0"), (1, "1"), ("pos", "'pos'")):
        with pytest.raises(ValueError, match=f"from 2 to 3, .*Received: column={name}"):
            read(numbered, column)
    for text in ("1\tCD\tO\n\n", "1\tO\n2\tO\n\n", "1\tCD\tO\nday\tNN\tO\n\n"):
        assert read(text + text)[0][0][0] == "1"


@pytest.mark.parametrize(
    ("column", "tags"),
    [
        (None, [["B-ORG", "O"], ["B-PER"]]),
        ("ner", [["B-ORG", "O"], ["B-PER"]]),
        ("pos", [["NNP", "VBZ"], ["NNP"]]),
        ("chunk", [["B-NP", "B-VP"], ["B-NP"]]),
        (1, [["NNP", "VBZ"], ["NNP"]]),
        (-2, [["B-NP", "B-VP"], ["B-NP"]]),
    ],
)
def test_columns(column, tags):
    for text in (CONLL_2003, CONLL_2003.replace(" ", "  "), "\n\n" + CONLL_2003):
        words, read_tags = zip(*read(text, column), strict=True)
        assert words == (["EU", "rejects"], ["Peter"])
        assert [*read_tags] == tags


@pytest.mark.parametrize(
    ("column", "tags"),
    [
        (None, [["AUX", "PART", "VERB"], ["SYM"]]),
        ("upos", [["AUX", "PART", "VERB"], ["SYM"]]),
        ("xpos", [["VB", "RB", "VB"], ["NN"]]),
        ("feats", [["_", "_", "VerbForm=Inf"], ["_"]]),
        ("deprel", [["aux", "advmod", "root"], ["root"]]),
        (-3, [["aux", "advmod", "root"], ["root"]]),
    ],
)
def test_conll_u(column, tags):
    # Recognised by its content, too.
    for name in ("file.conllu", "file.txt"):
        words, read_tags = zip(*read(CONLL_U, column, name), strict=True)
        assert words == (["do", "n't", "sit"], ["#"])
        assert [*read_tags] == tags


def test_words_as_they_are():
    """With spaces between tabs, and those that look like comments."""
    assert read(WNUT) == [
        (["We", "sat"], ["O", "O"]),
        (["#photo", "10 000"], ["O", "B-x"]),
    ]
    assert read("# O\n#1 O\na O\n")[0][0] == ["#", "#1", "a"]
    assert read("a\u00a0b O\n\u2028 O\n") == [(["a\u00a0b", "\u2028"], ["O", "O"])]


def test_words_without_a_tag():
    """In a treebank _ is no part of speech; a word may have no features."""
    rows = [WORD, WORD.replace("AUX", "_").replace("1", "2", 1)] * 2
    said = r"column upos has words .* _ is .*: '_' \(2 times, first in .*line 2\)$"
    with pytest.warns(UserWarning, match=said):
        assert len(read("\n\n".join(["".join(rows[:2]), "".join(rows[2:])]))) == 2
    assert read(CONLL_U, "feats")
    with pytest.raises(ValueError, match="no tags but _ in column xpos"):
        read(WORD, "xpos")


def test_header_that_is_not_known():
    """Its tag comes once, in the first line, and looks like no other."""
    rows = "wir PRON\nsaßen VERB\n\ndort ADV\nsaßen VERB\n"
    said = "file.conll, line 2: the tag 'Wortart' comes in this line alone; if it is"
    with pytest.warns(UserWarning, match=said):
        read(f"# a b c\nWort Wortart\n{rows}")
    with pytest.warns(UserWarning, match="line 1: the tag 'POS' comes in this line al"):
        read(f"Wort POS\n{rows}{rows}")
    # Tags that come once, too; a header that is skipped; tags of spans.
    for text in (
        "ach INTJ\n" + rows,
        "token pos\n" + rows,
        "Ada B-PER\n" + 9 * "sat O\n",
    ):
        assert read(text)


PLAIN_TEXT = "We sat at the bank.\nThe bank lends us money.\nIt is good money .\n"


def test_plain_text():
    """Lines of equal numbers of words look like columns: a warning."""
    said = "^file.conll: every tag occurs once; is it text rather than a word and its"
    with pytest.warns(UserWarning, match=said):
        assert read(PLAIN_TEXT)[0][1] == ["bank.", "money.", "."]
    # A small file of words is none: with a tag twice, in two columns, or by tabs.
    for text in (
        PLAIN_TEXT + PLAIN_TEXT,
        PLAIN_TEXT.replace("\n", "\n\n"),
        PLAIN_TEXT.replace(" ", "\t"),
        "In O\nLondon B-LOC\n",
        "In IN O\n",
    ):
        assert read(text)


def test_comments():
    # As GermEval and MultiCoNER have them.
    germeval = "#\thttp://a.example [2009]\n1\tWo\tO\tO\n2\t#\tO\tO\n\n# end\n"
    assert read(germeval, column=2) == [(["Wo", "#"], ["O", "O"])]
    multiconer = "# id 1\tdomain=en\nwe _ _ O\n# _ _ O\n"
    assert read(multiconer) == [(["we", "#"], ["O", "O"])]


@pytest.mark.parametrize("text", [CONLL_2003, WNUT, CONLL_U])
def test_forms_of_files(text):
    """Byte order mark, CR LF, no line end at the end; compressed; and no warning."""
    expected = read(text)
    with gzip.open("file.conll.gz", "wb") as file:
        file.write(f"\ufeff{text}".removesuffix("\n").replace("\n", "\r\n").encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pairs(read_tagged("file.conll.gz")) == expected


@pytest.mark.parametrize(
    ("header", "column", "expected"),
    [
        ("word\ttag\tner", None, ["Y", "B-X"]),
        ("Token Tag NER", "tag", ["N", "V"]),
        ("# text = a b\nword ner pos", "ner", ["N", "V"]),
        ("word pos ner\n", 1, ["N", "V"]),
    ],
)
def test_header(header, column, expected):
    """Names of columns are no word, and say which is meant."""
    rows = "a N Y\nb V B-X\n"
    text = f"{header}\n{rows.replace(' ', chr(9)) if chr(9) in header else rows}"
    assert read(text, column) == [(["a", "b"], expected)]
    # A word beside real tags.
    assert read("Word NN\nsat V\n")[0][0] == ["Word", "sat"]
    with pytest.raises(ValueError, match="did you mean label"):
        read("token label\na X\n", "lable")


def test_several_files(folder):
    for name, word in {"b.conll": "b", "a.conll": "a", "c.conllu": "c"}.items():
        row = f"1\t{word}\t_\tX" + 6 * "\t_" if name == "c.conllu" else f"{word} X"
        (folder / name).write_text(row)
    words = [sentence.words for sentence in read_tagged("*.conl*")]
    assert words == [["a"], ["b"], ["c"]]


WORD = "1\tdo\t_\tAUX\t_\t_\t_\t_\t_\t_\n"
MALFORMED = {
    "empty": ("", "file.conll: must hold words with tags. Received: no words"),
    "no sentence": ("-DOCSTART- -X- O O\n\n", "file.conll: must hold words"),
    "one column": ("We\nsat\n", "line 1: must have a word and its tag"),
    "sentences": (
        "We sat down .\nHere\n",
        "4 columns, with spaces between them, as line 1",
    ),
    "docstart": ("-DOCSTART-\na b O\nc O\n", "line 3: must have 3 columns"),
    "tab missing": ("We\tO\nsat O\n", "line 2: must have 2 columns, with tabs between"),
    "word empty": ("We\tO\n  \tO\n", "line 2: must have a word that is not empty"),
    "tag empty": ("We\tO\nsat\t\n", "line 2: must have a tag that is not empty"),
    "comment below": ("a b O\n# c\n", "line 2: must have 3 columns"),
    "csv": ("word,tag\nWe, so,O\n", "line 1: must have a word and its tag"),
}
MALFORMED_CONLL_U = {
    "9 columns": (WORD + "2" + 8 * "\t_", "line 2: must have 10 columns between tabs"),
    "no number": (WORD.replace("1", "x"), "line 1: must begin with 1, the number of"),
    "blank line missing": (2 * WORD, "line 2: must begin with 2, the number of the"),
    "tag empty": (WORD.replace("AUX", ""), "line 1: must have a tag that is not empty"),
    "comments": ("# text = We sat\n", "file.conllu: must hold words with tags"),
    "no tags": (
        WORD.replace("AUX", "_"),
        "file.conllu: must hold words with tags. Received: no tags but _ in column up",
    ),
    "ranges": (WORD.replace("1", "1-2"), "file.conllu: must hold words with tags"),
}


CASES = {
    **{f"columns, {kind}": ("file.conll", *case) for kind, case in MALFORMED.items()},
    **{f"CoNLL-U, {k}": ("file.conllu", *v) for k, v in MALFORMED_CONLL_U.items()},
}


@pytest.mark.parametrize("kind", CASES)
def test_malformed(kind):
    name, text, message = CASES[kind]
    with pytest.raises(ValueError, match=re.escape(message)):
        read(text, name=name)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (CONLL_2003, 4, "ner, or from 1 to 3, in file.conll. Received: column=4"),
        (CONLL_2003, -5, "from 1 to 3, in file.conll. Received: column=-5"),
        # The words themselves.
        (CONLL_2003, 0, "from 1 to 3, in file.conll. Received: column=0"),
        (CONLL_2003, -4, "Received: column=-4"),
        (CONLL_2003, "upos", "in file.conll. Received: column='upos'"),
        (CONLL_2003, "chunks", "Received: column='chunks'; did you mean chunk?"),
        (WNUT, "chunk", "with tags: pos, ner, or from 1 to 1, in file.conll. Rec"),
        (CONLL_U, "form", "from 2 to 9, in file.conll. Received: column='form'"),
        (CONLL_U, "xpso", "Received: column='xpso'; did you mean xpos?"),
        (CONLL_U, 1, "Received: column=1"),
        (CONLL_U, True, "the name or the place of a column, or None. Received: col"),
        (CONLL_U, 1.0, "the name or the place of a column, or None. Received: col"),
    ],
)
def test_no_such_column(text, column, message):
    said = "`column` must be .*" + re.escape(message)
    with pytest.raises((TypeError, ValueError), match=said):
        read(text, column)


@given(
    st.lists(
        st.sampled_from(["a", "# a", "\t", " ", "\n", "O", "1", "_", "1-2", "é", "\r"]),
        max_size=12,
    ).map("".join)
    | st.binary(max_size=12)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_named(text):
    for name in ("file.conll", "file.conllu"):
        try:
            sentences = read(text, name=name)
        except ValueError as error:
            assert name in str(error)
        else:
            assert sentences
            for words, tags in sentences:
                assert len(words) == len(tags) > 0
                assert all(words) and all(tags)


@pytest.mark.real_data
def test_public_corpora(data_folder):
    """As many sentences and words as their authors count."""
    for name, sentences, words in [
        ("wnut17/train.conll", 3394, 62730),
        ("ud_en_ewt/dev.conllu.xz", 2001, 25147),
        ("ud_ko_gsd/dev.conllu.xz", 950, 11958),
    ]:
        tagged = read_tagged(data_folder / name)
        assert len(tagged) == sentences
        assert sum(len(sentence.words) for sentence in tagged) == words
