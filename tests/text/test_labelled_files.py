import gzip
import io
import json
import re

import pytest

from keras_elmo.text.columns import Columns
from keras_elmo.text.labelled_files import read_labelled, read_texts

TEXTS = ['a "warm" film', "dull , long"]
LABELS = ["good", "bad"]
FORMS = {
    "tsv": 'text\tlabel\na "warm" film\tgood\ndull , long\tbad\n',
    "csv": 'text,label\n"a ""warm"" film",good\n"dull , long",bad\n',
    "jsonl": "".join(
        json.dumps({"label": label, "text": text, "id": 3}) + "\n"
        for text, label in zip(TEXTS, LABELS, strict=True)
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(rows, multi_label=False):
    """The texts, or pairs of them, and the labels."""
    texts = [row.texts if len(row.texts) > 1 else row.texts[0] for row in rows]
    return texts, [row.labels if multi_label else row.labels[0] for row in rows]


def read(content, *columns, name="file.tsv", pairs=False, multi_label=False):
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write(content)
    rows = read_labelled(name, Columns(*columns), pairs, multi_label)
    return values(rows, multi_label)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    text = FORMS[form]
    assert read(text, name=f"file.{form}") == (TEXTS, LABELS)
    # By the first line, where the name tells nothing.
    assert read(text, name="file.txt") == (TEXTS, LABELS)
    # Byte order mark, blank lines, CR LF, no line end at the end.
    spread = f"\ufeff\n \n{text}".replace("\ngood", "\n\ngood").removesuffix("\n")
    with gzip.open(f"file.{form}.gz", "wb") as file:
        file.write(spread.replace("\n", "\r\n").encode())
    assert values(read_labelled(f"file.{form}.gz")) == (TEXTS, LABELS)


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        # By the names of a header, in any order, whatever else is there.
        ("label\tid\ttext\nx\t1\ta\ny\t2\tb\n", ()),
        ("id\treview\tmood\n1\ta\tx\n2\tb\ty\n", ("review", None, "mood")),
        # By usual names.
        ("Sentiment\tReview\nx\ta\ny\tb\n", ()),
        ("id\tSentences\tclass\n1\ta\tx\n2\tb\ty\n", ()),
        ("TEXT\tLabel\na\tx\nb\ty\n", ()),
        ("comment\tmood\na\tx\nb\ty\n", (None, None, "mood")),
        # The only other column, whatever it is called.
        ("mood\treview\nx\ta\ny\tb\n", (None, None, "mood")),
        # By places, without a header.
        ("a\tx\nb\ty\n", ()),
        ("x\ta\ny\tb\n", (1, None, 0)),
        ("1\ta\tx\n2\tb\ty\n", (1,)),
        # Or with one, which is no example.
        ("text\tlabel\na\tx\nb\ty\n", (0, None, 1)),
    ],
)
def test_columns(content, columns):
    assert read(content, *columns) == (["a", "b"], ["x", "y"])


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a\tb\tx\nc\td\ty\n", ()),
        ("pair\tlabel\ttext\nb\tx\ta\nd\ty\tc\n", ()),
        ("p\th\tlabel\na\tb\tx\nc\td\ty\n", ("p",)),
        ("p\tpair\tlabel\na\tb\tx\nc\td\ty\n", ()),
        ("p\th\tlabel\na\tb\tx\nc\td\ty\n", ("p", "h", "label")),
    ],
)
def test_pairs(content, columns):
    expected = [["a", "b"], ["c", "d"]], ["x", "y"]
    assert read(content, *columns, pairs=True) == expected


def json_lines(*rows):
    return "".join(
        json.dumps({"text": text, "label": label}) + "\n" for text, label in rows
    )


@pytest.mark.parametrize(
    ("content", "name", "labels"),
    [
        ("text\tlabel\na\tx, y\nb\t\nc\ty\n", "file.tsv", [["x", "y"], [], ["y"]]),
        (json_lines(("a", [" x,y "]), ("b", [])), "file.jsonl", [["x,y"], []]),
    ],
)
def test_multi_label(content, name, labels):
    assert read(content, name=name, multi_label=True)[1] == labels


def test_values_of_json():
    content = json_lines((["a", "film"], 3), ("b", 4))
    assert read(content, name="file.json") == ([["a", "film"], "b"], [3, 4])
    content = json_lines(("a", True), ("b", False))
    assert read(content, name="file.ndjson")[1] == [True, False]


def test_csv_of_several_lines():
    assert read('"a\nb",x\nc,y\n', name="file.csv")[0] == ["a\nb", "c"]
    with pytest.raises(ValueError, match=r"line 4: must have 2 columns"):
        read('"a\n\nb",x\nc\n', name="file.csv")


def test_csv_with_semicolons():
    """As spreadsheets write it where a comma stands in numbers."""
    content = 'text;label\n"warm, ""and""; long";good\ndull, long;bad\n'
    expected = ['warm, "and"; long', "dull, long"], LABELS
    assert read(content, name="file.csv") == expected
    for content in ('"a";"good"\n"b";"bad"\n', '"a";good\nb;bad\n'):
        assert read(content, name="file.csv") == (["a", "b"], LABELS)
    quoted = '"warm, long";"good"\n"dull, long";"bad"\n'
    assert read(quoted, name="file.csv") == (["warm, long", "dull, long"], LABELS)
    said = "file.csv, line 2: must have 2 columns, with se"
    with pytest.raises(ValueError, match=said):
        read("text;label\na,good\n", name="file.csv")


def test_several_files(folder):
    for name, content in {"a.tsv": "a\tx\n", "b.csv": "b,y\n"}.items():
        (folder / name).write_text(content)
    assert values(read_labelled("?.*sv")) == (["a", "b"], ["x", "y"])


LINE = "a\tx\n"
# What is malformed, the columns, and what the error says.
MALFORMED = {
    "empty": ("", (), "file.tsv: must hold texts with labels. Received: none"),
    "header alone": ("text\tlabel\n", (), "file.tsv: must hold texts with labels"),
    "one column": ("a\nb\n", (), "line 1: must have a text and a label alone, or"),
    "column more": (LINE + "b\ty\tz\n", (), "line 2: must have 2 columns, with tabs"),
    "text empty": (LINE + " \ty\n", (), "line 2: must have a text that is not empty"),
    "label empty": (LINE + "b\t \n", (), "line 2: must have a label: a string or an"),
    "label missing": (
        "text\tid\na\t1\n",
        (None, None, "label"),
        "`label_column` must be one of text, id, in file.tsv, line 1. Rec",
    ),
    "text missing": (
        "id\tbody\tlabel\n1\ta\tx\n",
        (),
        "`text_column` must be one of id, body, label, in file.tsv, line 1",
    ),
    "misspelt": (
        "review\tmood\na\tx\n",
        ("reveiw", None, "mood"),
        "Received: text_column='reveiw'; did you mean review?",
    ),
    "no header": (
        f"{'a long film ' * 9}\tx\nb\ty\n",
        (None, None, "mood"),
        "`label_column` must be one of a long film a long film a long film a..., x, in "
        "file.tsv, line 1 (or, if that is no header, a number from 0 to 1). Received: ",
    ),
    "header twice": (
        "text\ttext\tlabel\na\tb\tx\n",
        (),
        "`text_column` must be a column that is there once, in file.tsv, line 1",
    ),
    "no such place": (
        LINE,
        (2, None, 0),
        "`text_column` must be from 0 to 1 in file.tsv, line 1. Received: text_col",
    ),
    "same place": (LINE, (1, None, 1), "line 1: must have a text and a label alone"),
    "labels twice": ("text\tlabel\na\tx,x\n", (), "line 2: must have distinct labels"),
}
MALFORMED_CSV = {
    "open quote": (
        'a,x\n"b,y\nc,z\n',
        "line 2: must begin a row of CSV, each quotation mark closed (unexpected end "
        "of data). Received: '\"b,y'",
    ),
    "open quote of a label": (
        '\ntext,label\n"a\nb",x\nc,"y\n"d",z\n',
        "line 5: must begin a row of CSV, each quotation mark closed (',' expected "
        "after '\"'). Received: 'c,\"y'",
    ),
    "column more": ("a,x\nb, or c,y\n", "line 2: must have 2 columns, with commas"),
    "long field": (f"{'a' * 200_000},x\n", "mark closed (field larger"),
}
MALFORMED_JSON = {
    "no json": ("a\tx\n", "file.jsonl, line 1: not valid JSON"),
    "list": ('["a", "x"]', "line 1: must be a JSON object"),
    "no text": ('{"label": "x"}', "line 1: must have the key text"),
    "text null": ('{"text": null, "label": 1}', "line 1: must have a text that is not"),
    "no words": ('{"text": [], "label": 1}', "line 1: must have a text that is not"),
    "word empty": ('{"text": ["a", ""], "label": 1}', "must have a text that is not"),
    "label null": ('{"text": "a", "label": null}', "line 1: must have a label: a str"),
    "label list": ('{"text": "a", "label": ["x"]}', "line 1: must have a label: a str"),
    "label types": (
        '{"text": "a", "label": 1}\n{"text": "b", "label": "1"}',
        "line 2: must have labels of the type that other lines have. Received: '1'",
    ),
}


CASES = {
    **{f"tsv, {kind}": ("file.tsv", *case) for kind, case in MALFORMED.items()},
    **{
        f"{name}, {kind}": (name, content, (), message)
        for name, cases in (("file.csv", MALFORMED_CSV), ("file.jsonl", MALFORMED_JSON))
        for kind, (content, message) in cases.items()
    },
}


@pytest.mark.parametrize("kind", CASES)
def test_malformed(kind):
    name, content, columns, message = CASES[kind]
    with pytest.raises(ValueError, match=re.escape(message)):
        read(content, *columns, name=name, multi_label=kind.endswith("labels twice"))


def test_malformed_lists_of_labels():
    for label in ("x", 3, [None], [""], [["x"]], None):
        content = json.dumps({"text": "a", "label": label})
        with pytest.raises(ValueError, match="line 1: must have a list of labels"):
            read(content, name="file.jsonl", multi_label=True)


def test_a_header_that_is_not_told():
    for count in (2, 9):
        content = "review\tmood\n" + "a\tx\nb\ty\n" * count
        with pytest.warns(UserWarning, match="'mood' comes in the first line alone"):
            assert len(read(content)[0]) == 2 * count + 1
    # Every label comes once.
    assert len(read("".join(f"a\t{k}\n" for k in range(19)))[0]) == 19


def texts(content, name="-", *columns, **arguments):
    """What is read of a stream."""
    stream = io.BytesIO(content.encode())
    return [*read_texts(name, stream, Columns(*columns), **arguments)]


def test_a_header_above_texts_to_classify():
    with pytest.warns(UserWarning, match="-, line 1: the label 'mood' is not known"):
        assert len(texts("review\tmood\na\tgood\n", labels=LABELS)) == 2
    for known in ("a\tgood\n", "a\tbad,good\n", "text\tlabel\na\tx\n"):
        assert texts(known, labels=LABELS) == ["a"]


def test_texts_alone():
    assert texts("\ufeffa film\r\n\nb\tc\n") == ["a film", None, "b\tc"]
    # Of a table by its name; a label may stand beside the text.
    for content, columns in (
        *(("a\tx\n", ()), ("a\n", ()), ("1\ta\n", (1,))),
        *(("id\ttext\n1\ta\n", ()), ("sentiment\tReview\n1\ta\n", ())),
    ):
        assert texts(content, "x.tsv", *columns) == ["a"]
    # Or by a column that is asked for.
    assert texts('{"review": "a"}\n', "-", "review") == ["a"]
    assert texts("a\tb\nc\td\n", pairs=True) == [("a", "b"), ("c", "d")]
    assert texts("") == []


def test_pairs_in_one_column():
    with pytest.raises(ValueError, match="line 1: must have a text and a pair alone"):
        texts("a\n", "x.tsv", pairs=True)


@pytest.mark.parametrize("form", FORMS)
def test_texts_of_a_table_without_its_name(form):
    """A first line that tells a table."""
    content = FORMS[form]
    assert texts(content, "x.txt") == TEXTS
    headless = content.partition("\n")[2] if form != "jsonl" else content
    assert texts(f"\n{headless}", "x.txt", labels=LABELS) == TEXTS


def test_tables_and_texts():
    """A text may have commas and braces."""
    assert texts("id\treview\tlabel\n1\ta film\tgood\n") == ["a film"]
    with pytest.raises(ValueError, match="x.txt, line 1: must have a text alone, or a"):
        texts("1\ta film\tgood\n", "x.txt")
    assert texts('a film,"good, bad"\n', labels=LABELS) == ["a film"]
    for text in (
        *("good", "not long, not good", "a film,bad , long"),
        *('"Good," he said,good', "{good}", "{"),
    ):
        lines = texts(f"{text}\n\nb\tc\n", "x.txt", labels=LABELS)
        assert lines == [text, None, "b\tc"]
