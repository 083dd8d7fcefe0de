"""The folder of a prepared text: what is read from it, and what is refused."""

import hashlib
import json
import os
import shutil

import numpy as np
import pytest

from keras_elmo.text import prepared, preparing
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.prepared import LINE, PreparedText
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.fresh_process import run_python
from tests.helpers.limits import memory_of_at_most
from tests.helpers.prepared_text import (
    read_lines,
    write_texts,
)

MANY = 1 << 60
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "the"])


def read_manifest(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def write_manifest(folder, **changes):
    manifest = {**read_manifest(folder), **changes}
    text = json.dumps({k: v for k, v in manifest.items() if v is not None})
    (folder / "manifest.json").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "_PART_WORDS", 200)
        preparing.prepare(write_texts(folder), folder / "prepared", "whitespace")
    return folder / "prepared"


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "prepared")


def test_lines_are_those_of_the_text(original):
    text = PreparedText(original)
    assert len(read_manifest(original)["shards"]) > 3
    paths = sorted(original.parent.glob("*.txt"))
    lines = [
        line.split()
        for path in paths
        for line in path.read_text("utf-8", "replace").split("\n")
        if line.strip()
    ]
    assert read_lines(text) == lines
    assert [file.num_lines for file in text.files] == [43, 42, 41]
    assert text.names_and_sizes() == [
        [path.name, path.stat().st_size] for path in paths
    ]
    assert text.num_words == sum(map(len, lines))


@pytest.mark.parametrize("step", [1, 2, 7, 50, 1000])
def test_every_nth_line(step, original):
    text = PreparedText(original)
    everything = list(text.lines(0, text.num_lines))
    for start, stop in [(0, text.num_lines), (3, 40), (44, 45), (100, 90), (125, 126)]:
        part = list(text.lines(start, stop, step))
        assert part == everything[start:stop:step], (start, stop)


def test_few_shards_are_mapped_at_a_time(original, monkeypatch):
    many = PreparedText(original)
    monkeypatch.setattr(prepared, "_MAPPED_SHARDS", 1)
    few = PreparedText(original)
    # There and back.
    for line, _ in [*many.lines(0, few.num_lines), *many.lines(0, 9)]:
        np.testing.assert_array_equal(few.read_line(line), many.read_line(line))


def test_the_most_frequent_first(original):
    """Words of equal count are sorted by their bytes."""
    stats = CorpusStats()
    text = PreparedText(original)
    counts = text.counts(None, stats)
    assert [*counts] == sorted(counts, key=lambda word: (-counts[word], word))
    assert counts.total() == text.num_words == stats.words
    assert (stats.lines, stats.invalid_lines, stats.lines_with_nul) == (126, 3, 0)
    assert list(text.counts(3, CorpusStats())) == [*counts][:3]


def test_reading_takes_numpy_alone(original, tmp_path):
    """Reading imports neither TensorFlow nor Keras."""
    code = f"""
import sys
from random import Random

before = set(sys.modules)
from keras_elmo.text.corpus_text import open_text, read_rows
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary

vocabulary = Vocabulary.count({str(original)!r}, max_size=9)
text = open_text({str(original)!r}, None)
rows = list(read_rows(text, 20, CorpusStats(), Random(0), (0, 1)))
text.encoder(vocabulary, None)(rows[:3])
packages = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(packages - sys.stdlib_module_names))
"""
    loaded = set(run_python("-c", code, cwd=tmp_path).split())
    assert {"numpy"} <= loaded <= {"keras_elmo", "lazy_loader", "numpy"}


# === Damage ===


def read_all(folder):
    """Reads everything that training reads."""
    text = PreparedText(folder)
    for line, _ in text.lines(0, text.num_lines):
        text.read_line(line)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": None}, "of the format 'keras_elmo prepared text'. Received: f"),
        ({"format": 3}, "wrote, of the format 'keras_elmo .*. Received: format=3"),
        ({"version": 2}, "the version must be 1; another .* Received: version=2"),
        ({"version": "1"}, "version must be an integer and at least 0. Received: '1'"),
        ({"version": None}, "lacks the key version"),
        ({"tokenizer": "mine"}, "tokenizer must be one of unicode, .*: 'mine'"),
        ({"tokenizer": ["unicode"]}, "tokenizer must be one of unicode"),
        ({"text": []}, "text must be a list of rows. Received: .."),
        ({"text": [["a", 3]]}, r"text must be rows of str, int, int. Received: \['a'"),
        ({"text": [["a", 3, -1]]}, "text must be rows of"),
        ({"text": [["a", 3, MANY]]}, "shards must be of the lines of the text"),
        ({"shards": [[126, True]]}, "shards must be rows of int, int"),
        ({"shards": {}}, "shards must be a list of rows. Received: {}"),
        ({"words": 7}, "words must be the number of words in all shards. Received: 7"),
        ({"words": MANY}, "words must be the number of words in all shards"),
        ({"files": {}}, "lacks the key files.words.txt"),
        ({"files": {"words.txt": [1]}}, "files.words.txt must be rows of int, str"),
        ({"files": 3}, "lacks the key files.words.txt"),
    ],
)
def test_wrong_manifests(changes, message, folder):
    write_manifest(folder, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        PreparedText(folder)
    assert str(folder / "manifest.json") in str(caught.value)


def test_no_manifest(folder):
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="manifest.json: not valid JSON"):
        PreparedText(folder)
    os.remove(folder / "manifest.json")
    with pytest.raises(
        ValueError, match="no file matches '.*prepared' .it is a folder"
    ):
        Corpus(folder, VOCABULARY)


NAMES = ["words.txt", "counts.npy", "shard-00001.words.npy", "shard-00001.lines.npy"]


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files(name, folder):
    """A damaged file is named before anything of it is used."""
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=rf"{name}: must have [\d,]+ bytes, as .*json"):
        PreparedText(folder)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match=f"{name}: is damaged; its SHA-256 must be"):
        read_all(folder)
    path.unlink()
    with pytest.raises(ValueError, match=f"{name}: is missing; .*manifest.json names"):
        PreparedText(folder)
    os.mkfifo(path)
    with pytest.raises(ValueError, match=f"{name}: is missing"):
        PreparedText(folder)


def header(array, **changes):
    """The bytes of an array's file whose header says something else."""
    text = repr({"descr": array.dtype.str, "fortran_order": False, **changes})
    line = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line


def forge(folder, name, content):
    """Replaces a file and its size and checksum in the manifest."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    content = path.read_bytes()
    files = read_manifest(folder)["files"]
    files[name] = [len(content), hashlib.sha256(content).hexdigest()]
    write_manifest(folder, files=files)


def test_forged_files(original, tmp_path):
    """A folder with right hashes and impossible content is refused."""
    words = np.load(original / NAMES[2])
    lines = np.load(original / NAMES[3])
    falling, short = lines.copy(), lines.copy()
    falling["end"][0] = len(words)
    short["end"] -= 1
    huge = words.copy()
    huge[3] = 1 << 31
    for number, (name, content, message) in enumerate(
        [
            (NAMES[2], huge, "words.npy: must hold numbers below"),
            (NAMES[2], words[1:], "words.npy: must hold .* numbers. Received: "),
            (NAMES[2], words.astype("int64"), "must hold uint32 of 1 axes"),
            (NAMES[2], np.array([{}]), "words.npy: cannot be read: "),
            (NAMES[2], b"no array", "words.npy: cannot be read: "),
            (NAMES[2], header(words, shape=(MANY,)), "words.npy: cannot be read: "),
            (NAMES[3], falling, "lines.npy: the ends of lines must rise to "),
            (NAMES[3], short, "lines.npy: the ends of lines must rise to "),
            (NAMES[3], lines["end"], "lines.npy: must hold "),
            (NAMES[3], np.empty(0, LINE), "lines.npy: must hold .* numbers"),
            ("words.txt", b"", "words.txt: cannot be read"),
            ("words.txt", b"a\nb\n", "counts.npy: must hold 2 numbers"),
            ("counts.npy", np.arange(3), "counts.npy: must hold .* numbers"),
        ]
    ):
        folder = shutil.copytree(original, tmp_path / str(number))
        forge(folder, name, content)
        with memory_of_at_most(1 << 28), pytest.raises(ValueError, match=message):
            read_all(folder)


def test_other_tokenizer(original):
    for read in (PreparedText, lambda *given: Corpus(given[0], VOCABULARY, given[1])):
        with pytest.raises(ValueError, match="`tokenizer` must be 'whitespace', with"):
            read(original, "unicode")
    with pytest.raises(ValueError, match="`tokenizer` must be 'whitespace', with wh"):
        Vocabulary.count(original, "treebank")


def test_alone(original, tmp_path):
    """A prepared text stands alone, and is not prepared again."""
    others = [original, tmp_path / "text.txt"]
    with pytest.raises(ValueError, match="prepared is a prepared text and must be "):
        Corpus(others, VOCABULARY)
    with pytest.raises(ValueError, match=".it is a prepared text, which pretraining"):
        preparing.prepare(original, tmp_path / "again")
