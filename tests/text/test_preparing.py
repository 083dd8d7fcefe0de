"""Texts become the same folder, however often preparing is interrupted."""

import contextlib
import gzip
import json
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text import part_dictionaries, preparing
from keras_elmo.text.prepared import PreparedText
from keras_elmo.text.preparing import TextParts, prepare
from keras_elmo.text.stats import CorpusStats
from tests.helpers import killing
from tests.helpers.command_line import names
from tests.helpers.installed import require_installed
from tests.helpers.limits import files_of_at_most, open_files_of_at_most
from tests.helpers.prepared_text import LINES, read_lines, write_texts


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(preparing, "_PART_WORDS", 200)


@pytest.fixture
def texts(tmp_path):
    return write_texts(tmp_path)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the texts become in one go."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "_PART_WORDS", 200)
        prepare(write_texts(folder), folder / "whole", "whitespace")
    return content(folder / "whole")


def lines_of(folder):
    return read_lines(PreparedText(folder))


@contextlib.contextmanager
def interrupted(owner, name, calls, match=None):
    """Ends the next call of a function after some calls, as Ctrl-C does."""
    function, left = getattr(owner, name), iter(range(calls))

    def count(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return function(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, count)
        with pytest.raises(KeyboardInterrupt, match=match):
            yield


@pytest.mark.parametrize("number", [0, 1, 3])
def test_interrupted_while_splitting(number, texts, whole, out, monkeypatch):
    """Interrupted twice, it says what is kept, and splits no line again."""
    for kept in (number, 2 * number):
        parts = "1 part is" if kept == 1 else f"{kept} parts are"
        told = f"{parts} kept in {out}.parts; the same call goes on from there"
        told = f"^stopped; {told if kept else 'nothing is kept'}$"
        with interrupted(TextParts, "write", number, told):
            prepare(texts, out, "whitespace", progress=True)
    split, add = [], part_dictionaries.Part.add
    monkeypatch.setattr(
        part_dictionaries.Part, "add", lambda *line: [split.append(line), add(*line)]
    )
    prepare(texts, out, "whitespace")
    assert content(out) == whole
    lines = [lines for lines, _ in json.loads(whole["manifest.json"])["shards"]]
    assert len(split) == 126 - sum(lines[: 2 * number])
    assert names(out.parent) == ["out", *(f"text-{k}.txt" for k in range(3))]


@pytest.mark.parametrize("name", ["_merge", "_write_shard", "write_json"])
def test_interrupted_while_joining(name, texts, whole, out):
    """Interrupted twice, the parts are joined anew."""
    for number in (0, min(2, 3 * (name == "_write_shard"))):
        with interrupted(part_dictionaries, name, number, "parts are kept"):
            prepare(texts, out, "whitespace")
        # As if killed while it wrote.
        (out.parent / "out.parts" / ".prepared.0123.part").touch()
        assert not out.exists()
    prepare(texts, out, "whitespace")
    assert content(out) == whole
    assert not os.path.exists(f"{out}.parts")


def test_killed_while_parts_are_removed(texts, whole, out, capsys):
    """A complete folder stays; what is left beside it goes."""
    parts = out.parent / "out.parts"
    with interrupted(shutil, "rmtree", 0):
        prepare(texts, out, "whitespace")
    assert out.exists() and parts.exists()
    shutil.rmtree(parts / "part-00003")
    prepare(texts, out, "whitespace", progress=True)
    assert capsys.readouterr().err == f"{out} is complete; nothing to do\n"
    assert content(out) == whole and not parts.exists()


def test_a_complete_folder(texts, whole, out, capsys):
    """A folder of other files, or of another tokenizer, is not replaced."""
    # An empty folder is.
    out.mkdir()
    prepare(texts, out, "whitespace")
    prepare(texts, out, "whitespace", progress=True)
    assert capsys.readouterr().err == f"{out} is complete; nothing to do\n"
    for corpus, tokenizer in ((texts, None), (texts[:-5] + "1.txt", "whitespace")):
        with pytest.raises(ValueError, match="out exists already; name another, or"):
            prepare(corpus, out, tokenizer)
    assert content(out) == whole


def test_another_text(texts, out):
    """Parts of another text are refused."""
    with interrupted(TextParts, "write", 2):
        prepare(texts, out, "whitespace")
    with pytest.raises(ValueError, match="`tokenizer` must be 'whitespace', as in .*b"):
        prepare(texts, out, "unicode")
    with pytest.raises(ValueError, match="`corpus` must be the files that .*begun.jso"):
        prepare(texts[:-5] + "1.txt", out, "whitespace")
    path = out.parent / "text-0.txt"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"sat", b"ran", 1))
    with pytest.raises(ValueError, match="the text is not what it was when .*part-000"):
        prepare(texts, out, "whitespace")
    path.write_bytes(before)
    prepare(texts, out, "whitespace")


def test_a_folder_in_use(texts, out):
    """Parts of a running process, and a folder of other files, are refused."""
    parts = out.parent / "out.parts"
    source = preparing.open_source(texts, None, CorpusStats())
    with TextParts(str(out), source, "whitespace").opened():
        with pytest.raises(ValueError, match="out.parts must not be in use: another"):
            prepare(texts, out, "whitespace")
    assert not parts.exists()
    parts.mkdir()
    (parts / "mine.txt").touch()
    with pytest.raises(ValueError, match="out.parts exists already"):
        prepare(texts, out, "whitespace")
    assert names(parts) == ["mine.txt"]


def test_no_word(tmp_path):
    path = tmp_path / "text.txt"
    for text in ("\n \n", "\u200b\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="there is no word in .*text.txt"):
            prepare(path, tmp_path / "out")
        assert names(tmp_path) == ["text.txt"]


def test_a_full_disk(texts, whole, out):
    """A full disk leaves nothing half-written."""
    with files_of_at_most(700):
        with pytest.raises(OSError, match="out.parts/part-00000"):
            prepare(texts, out, "whitespace")
    assert not os.path.exists(f"{out}.parts")
    prepare(texts, out, "whitespace")
    assert content(out) == whole


def test_more_parts_than_open_files(out, monkeypatch):
    monkeypatch.setattr(preparing, "_PART_WORDS", 5)
    with open_files_of_at_most(50):
        prepare(write_texts(out.parent, times=4), out, "whitespace")
    assert PreparedText(out).num_lines == 72
    assert len(list(out.glob("shard-*"))) > 100


def test_the_size_of_parts_does_not_show(texts, whole, tmp_path, monkeypatch):
    """Words are numbered in all parts together."""
    prepare(texts, tmp_path / "many", "whitespace")
    monkeypatch.setattr(preparing, "_PART_WORDS", 1_000_000)
    prepare(texts, tmp_path / "one", "whitespace")
    one = content(tmp_path / "one")
    assert one["words.txt"] == whole["words.txt"]
    assert one["counts.npy"] == whole["counts.npy"]
    assert lines_of(tmp_path / "one") == lines_of(tmp_path / "many")


# === Other sources than text files ===


ROWS = [
    {"id": 1, "body": "We sat .\n\nThe bank\r\nof a river"},
    {"id": 2, "body": None},
    {"id": 3, "body": "강가에 앉았다"},
]
EXPECTED = [
    ["We", "sat", "."],
    ["The", "bank"],
    ["of", "a", "river"],
    ["강가에", "앉았다"],
]


def test_json_lines(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n\n" for row in ROWS)
    out = tmp_path / "out"
    prepare(path, out, "whitespace", "body")
    assert lines_of(out) == EXPECTED
    assert PreparedText(out).names_and_sizes() == [
        ["rows.jsonl.gz:body", path.stat().st_size]
    ]
    with pytest.raises(ValueError, match="out exists already"):
        prepare(path, out, "whitespace", "id")


def test_parquet(tmp_path):
    require_installed("pyarrow")
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    prepare(path, tmp_path / "out", "whitespace", "body")
    assert lines_of(tmp_path / "out") == EXPECTED
    with pytest.raises(ValueError, match="rows.parquet: lacks the column text; it has"):
        prepare(path, tmp_path / "other", column="text")
    table = pyarrow.table({"tokens": [["New York", "is"], [], ["big"]]})
    parquet.write_table(table, path)
    prepare(path, tmp_path / "tokens", column="tokens")
    assert lines_of(tmp_path / "tokens") == [["New York", "is"], ["big"]]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="rows.parquet: cannot be read: "):
        prepare(path, tmp_path / "other", column="text")
    assert names(tmp_path) == ["out", "rows.parquet", "tokens"]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    (tmp_path / "rows").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match="Reading Parquet needs pyarrow, .*pyarrow"):
        prepare(tmp_path / "rows", tmp_path / "out", column="text")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 3: not valid JSON"),
        ("[3]", "line 3: must be a JSON object"),
        ('{"text": "b"}', "line 3: lacks the column body; it has text"),
        ('{"body": 3}', "line 3 must be text, as the first row is. Received: 3"),
        ('{"body": ["b"]}', r"line 3 must be text, as .* Received: \['b'\]"),
    ],
)
def test_wrong_rows(line, said, out):
    path = out.parent / "rows.jsonl"
    path.write_text('{"body": "a"}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"rows.jsonl: {said}"):
        prepare(path, out, column="body")
    assert names(out.parent) == ["rows.jsonl"]


@pytest.mark.parametrize(
    "corpus",
    [
        (row["body"] for row in ROWS),
        ROWS,
        [row["body"].encode() for row in ROWS if row["body"]].__iter__(),
        EXPECTED,
        [[b"We", "sat", "."], [], *map(np.array, EXPECTED[1:])],
        tf.data.Dataset.from_tensor_slices([" ".join(line) for line in EXPECTED]),
    ],
    ids=["generator", "rows", "bytes", "tokens", "mixed tokens", "tf.data"],
)
def test_iterables(corpus, out):
    column = "body" if corpus is ROWS else None
    tokenizer = None if isinstance(corpus, list) and column is None else "whitespace"
    prepare(corpus, out, tokenizer, column)
    assert lines_of(out) == EXPECTED
    assert PreparedText(out).tokenizer == "whitespace"
    # Nobody knows whether it is the same text.
    with pytest.raises(ValueError, match="out exists already"):
        prepare(iter(["a"]), out)


def test_an_interrupted_iterable(out):
    """An iterable is read again from its beginning; a change is noticed."""
    lines = LINES * 30
    with interrupted(TextParts, "write", 2, "2 parts are kept"):
        prepare(iter(lines), out)
    with pytest.raises(ValueError, match="the text is not what it was"):
        prepare(iter(["a", *lines]), out)
    prepare(iter(lines), out)
    again = out.parent / "again"
    prepare(iter(lines), again)
    assert content(out) == content(again)


@pytest.mark.parametrize(
    ("items", "options", "said"),
    [
        ([], {}, "there is no text in `corpus`"),
        ([None], {}, "there is no text in `corpus`"),
        (["a", 3], {}, "item 1 must be text, as the first row is. Received: 3"),
        ([3], {}, "`corpus`: item 0 must be a list of tokens, as the first row is"),
        ([["a"], "b"], {}, "`corpus`: item 1 must be a list of tokens"),
        ([["a", ""]], {}, "item 0 must be tokens in UTF-8, none empty. Received: b''"),
        ([["a\nb"]], {}, "item 0 must be tokens without line ends and NULs"),
        ([["a", 3]], {}, "item 0 must be tokens in UTF-8, none empty. Received: 3"),
        ([[b"\xff"]], {}, "item 0 must be tokens in UTF-8"),
        (
            [["a"]],
            {"tokenizer": "unicode"},
            "`tokenizer` must be None for text that is",
        ),
        (["a"], {"column": "text"}, "`corpus`: item 0 must be a row with named"),
    ],
)
def test_wrong_iterables(items, options, said, out):
    with pytest.raises(ValueError, match=said):
        prepare(iter(items), out, **options)
    with pytest.raises(TypeError, match="`corpus` must be text files or an iterable"):
        prepare(3, out)
    assert names(out.parent) == []


# In occurrences and milliseconds: see `kill_often`.
PHASES = {"part": (3, 5), "merge": (1, 5), "shard": (6, 3), "rename": (1, 2)}


# Each kill starts a process.
@pytest.mark.slow
def test_killed_process(tmp_path):
    """SIGKILL in each phase, then the same command: the same bytes."""
    arguments = ["prepare", "--corpus", write_texts(tmp_path, times=100)]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    killing.finish(killing.command(*arguments, "--out", whole, part=400))
    command = killing.command(*arguments, "--out", killed, part=400)
    killing.kill_often([command], PHASES, last=["merge", "shard", "rename"])
    killing.finish(command)
    assert content(killed) == content(whole)
    assert not (tmp_path / "killed.parts").exists()
