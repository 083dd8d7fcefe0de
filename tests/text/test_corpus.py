import gc
import gzip
import lzma
import os
import shutil
import tempfile
import zlib
from collections import Counter
from dataclasses import replace
from itertools import islice

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo.text import batching, corpus_text, preparing
from keras_elmo.text.batch_shapes import BatchShapes
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import read_lines
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import require_installed
from tests.helpers.looked_up import VOCABULARY as LOOKED_UP
from tests.helpers.prepared_text import write_texts

SPECIALS = ["<S>", "</S>", "<UNK>"]
VOCABULARY = Vocabulary([*SPECIALS, *(f"w{number}" for number in range(40))])


def write_lines(folder, lengths, shards=2):
    """Writes lines of given numbers of words; no two lines are the same."""
    for shard in range(shards):
        with open(folder / f"shard-{shard}.txt", "w", encoding="utf-8") as file:
            for number in range(shard, len(lengths), shards):
                words = [f"w{(number + k) % 50}" for k in range(lengths[number] - 1)]
                file.write(" ".join([f"line{number}", *words]) + "\n\n")
    return f"{folder}/shard-*.txt"


def batches(corpus, epoch=0, **arguments):
    return list(corpus.dataset(epoch, **arguments).as_numpy_iterator())


def equal(some, others):
    """Whether batches have the same names and arrays."""
    return len(some) == len(others) and all(
        batch.keys() == other.keys()
        and all(np.array_equal(batch[name], other[name]) for name in batch)
        for batch, other in zip(some, others, strict=True)
    )


def spelt(*some):
    """The sentences of batches, read from their characters."""
    for batch in some:
        for row in batch["char_ids"]:
            words = [word for word in row.tolist() if word[0]]
            assert words[0][:3] == [259, 257, 260]
            assert words[-1][:3] == [259, 258, 260]
            yield " ".join(
                bytes(i - 1 for i in word[1 : word.index(260)]).decode()
                for word in words[1:-1]
            )


@given(st.lists(st.integers(1, 25), min_size=1, max_size=60), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
def test_each_sentence_once(tmp_path, lengths, shuffle):
    files = write_lines(tmp_path, lengths, shards=1)
    corpus = Corpus(
        files, VOCABULARY, tokenizer="whitespace", batch_tokens=40, max_tokens=27
    )
    sentences = Counter()
    positions = padding = 0
    for batch in batches(corpus, shuffle=shuffle):
        char_ids, token_ids = batch["char_ids"], batch["token_ids"]
        assert char_ids.shape == (*token_ids.shape, 50)
        assert char_ids.dtype == token_ids.dtype == np.int32
        np.testing.assert_array_equal(char_ids[..., 0] > 0, token_ids >= 0)
        assert (token_ids >= 0).all(axis=1).any()
        for text, row in zip(spelt(batch), token_ids.tolist(), strict=True):
            ids = row[: len(text.split()) + 2]
            assert ids == [0, *VOCABULARY.ids(text.split()), 1]
            assert set(row[len(ids) :]) <= {-1}
            sentences[text] += 1
        positions += token_ids.size
        padding += int((token_ids < 0).sum())
    with open(tmp_path / "shard-0.txt", encoding="utf-8") as file:
        assert sentences == Counter(line.strip() for line in file if line.strip())
    report, number = corpus.report, sentences.total()
    assert (report.lines, report.sentences) == (len(lengths), number)
    assert (report.positions, report.padding_positions) == (positions, padding)
    assert report.words == sum(lengths) == positions - padding - 2 * number


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    lengths = [1 + 7 * number % 31 for number in range(300)]
    files = write_lines(tmp_path_factory.mktemp("corpus"), lengths, shards=3)
    return Corpus(files, VOCABULARY, batch_tokens=128)


@pytest.fixture(scope="module")
def first(corpus):
    """The first epoch."""
    return batches(corpus)


def shapes_of(corpus, backend):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras.backend, "backend", lambda: backend)
        return corpus.choose_shapes()


def test_few_shapes(corpus):
    """On JAX there is one shape for each of a few lengths."""
    assert shapes_of(corpus, "tensorflow") is None
    shapes = shapes_of(corpus, "jax")
    assert len(shapes.lengths) < 15
    padded = batches(corpus, shapes=shapes)
    report = corpus.report
    assert {batch["token_ids"].shape for batch in padded} == {
        (128 // length, length) for length in shapes.lengths if length < 66
    }
    assert {batch["words"].shape for batch in padded} == {(shapes.num_words, 50)}
    sizes = [batch["token_ids"].size for batch in padded]
    assert (report.positions, report.sentences) == (sum(sizes), 300)
    assert equal(batches(corpus, skip=3, shapes=shapes), padded[3:])
    assert shapes_of(corpus, "jax") is shapes


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_distinct_words(backend, corpus, first):
    """Batches that list each word once hold the same sentences."""
    sentences = Counter()
    for batch in batches(corpus, shapes=shapes_of(corpus, backend)):
        char_ids = batch["words"][batch["positions"]]
        np.testing.assert_array_equal(char_ids[..., 0] > 0, batch["token_ids"] >= 0)
        rows = char_ids[batch["token_ids"][:, 0] >= 0]
        sentences.update(spelt({"char_ids": rows}))
        words = [word.tobytes() for word in batch["words"] if word.any()]
        assert len(set(words)) == len(words)
        if backend == "torch":
            assert len(batch["words"]) == len(words) + 1
    assert sentences == Counter(spelt(*first))


def test_seed_and_epoch(corpus, first):
    """Order depends on seed and epoch alone; what is left out does not change it."""
    assert equal(first, batches(corpus))
    other = Corpus(corpus.files, VOCABULARY, batch_tokens=128, seed=1)
    second, unshuffled = batches(corpus, 1), batches(corpus, 5, shuffle=False)
    for changed in (second, unshuffled, batches(other)):
        assert not equal(first, changed)
    assert equal(batches(other, shuffle=False), unshuffled)
    for skip in (1, len(second) - 1, len(second) + 5):
        assert equal(batches(corpus, 1, skip=skip), second[skip:])
    # Without a number, each iteration over a dataset is the next pass.
    dataset = corpus.dataset(epoch=None)
    for wanted in (first, second):
        assert equal(list(dataset.as_numpy_iterator()), wanted)
    # A pass may be left.
    assert len(list(islice(corpus.dataset(2), 2))) == 2
    assert corpus.error is None


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(("files", "shards"), [(3, 2), (1, 3)])
def test_shards(files, shards, shuffle, tmp_path):
    """Each sentence is in one shard: of whole files, or else of lines."""
    pattern = write_lines(tmp_path, [1 + k % 9 for k in range(60)], shards=files)
    every = Counter()
    for index in range(shards):
        corpus = Corpus(pattern, VOCABULARY, shard=(index, shards))
        sentences = Counter(spelt(*batches(corpus, shuffle=shuffle)))
        assert 15 <= sentences.total() <= 40
        every += sentences
    assert every == Counter(spelt(*batches(Corpus(pattern, VOCABULARY))))
    assert set(every.values()) == {1} and len(every) == 60


def test_the_rows_of_a_long_line(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("a b c. d e f. g h\ni j\n", encoding="utf-8")
    corpus = Corpus(path, VOCABULARY, batch_tokens=100, max_tokens=9)
    rows = sorted(spelt(*batches(corpus)))
    assert rows == ["a b c .", "d e f . g h", "i j"]
    assert (corpus.report.lines, corpus.report.split_lines) == (2, 1)


def test_stats_of_used_lines(tmp_path):
    """Shares are of what was used, not of what was read ahead."""
    path = tmp_path / "t.txt"
    path.write_text("a b c d e f g h i j\n" * 20_000, encoding="utf-8")
    corpus = Corpus(path, VOCABULARY, batch_tokens=30, max_tokens=9)
    next(corpus.batches())
    report = corpus.report
    assert 0 < report.batched_words < report.words
    assert 0 < report.used_lines < report.lines
    unknown = report.unknown_words / report.batched_words
    assert f"{100 * unknown:.0f} % of words are not in" in " ".join(report.messages())
    assert f"of {report.used_lines:,} had more words" in " ".join(report.messages())


def test_hostile_text(tmp_path):
    path = tmp_path / "t.txt"
    text = b"x" * 1_000_000 + b"\n" + b"a b " * 250_000 + b"\n"
    path.write_bytes(text + b"c\xff\0d\n\0\n<S> </S>\n" + "\u2028\n".encode())
    corpus = Corpus(path, VOCABULARY, tokenizer="whitespace", batch_tokens=4096)
    token_ids = [batch["token_ids"] for batch in batches(corpus)]
    total = sum(int((ids >= 3).sum() + (ids == 2).sum()) for ids in token_ids)
    report = corpus.report
    assert total == report.words == 1 + 500_000 + 2 + 2
    assert report.unknown_words == report.words
    assert (report.truncated_words, report.split_lines) == (1, 1)
    assert (report.invalid_lines, report.lines_with_nul) == (1, 2)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "t.gz"
    noise = np.random.default_rng(0).bytes(100_000).hex().encode()
    path.write_bytes(gzip.compress(b"a line\n" + noise)[:50_000])
    corpus = Corpus(path, VOCABULARY)
    with pytest.raises(tf.errors.OpError):
        batches(corpus)
    assert isinstance(corpus.error, ValueError)
    assert "t.gz: cut short or damaged" in str(corpus.error)
    with pytest.raises(ValueError, match=r"t\.gz: cut short or damaged"):
        list(corpus.batches())


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"max_tokens": 2}, "`max_tokens` must be at least 3"),
        ({"batch_tokens": 65}, "batch_tokens=65, max_tokens=66"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"tokenizer": "bpe"}, "`tokenizer` must be"),
        ({"shard": (4, 4)}, r"`shard` must be .* Received: shard=\(4, 4\)"),
        ({"shard": (0, 0)}, "`shard` must be"),
        ({"vocabulary": VOCABULARY.words}, "`vocabulary` must be a Vocabulary"),
    ],
)
def test_wrong_arguments(wrong, rule, corpus):
    with pytest.raises((ValueError, TypeError), match=rule):
        Corpus(corpus.files, **{"vocabulary": VOCABULARY, **wrong})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b" \n\n", "there is no text in .*t.txt"),
        (b"PAR1\x15\x04", "t.txt must be UTF-8 text; .*it is a Parquet file"),
    ],
)
def test_no_text(content, said, tmp_path, corpus):
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        Corpus(path, VOCABULARY)
    for wrong in ({"epoch": -1}, {"skip": -1}):
        with pytest.raises(ValueError, match="must be at least 0"):
            corpus.dataset(**wrong)


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize("language", ["enwiki", "kowiki"])
def test_padding_on_real_text(data_folder, language):
    files = data_folder / language / "dev.txt.xz"
    corpus = Corpus(files, Vocabulary.count(files, max_size=10_000))
    shapes = {batch["token_ids"].shape for batch in corpus.dataset()}
    report = corpus.report
    assert len(shapes) <= 66
    assert report.padding_positions < 0.03 * report.positions
    assert 0 < report.unknown_words < 0.5 * report.words
    assert report.words > 100_000
    few = shapes_of(corpus, "jax")
    assert len(few.lengths) < 10
    shapes = {batch["token_ids"].shape for batch in corpus.dataset(shapes=few)}
    assert len(shapes) <= len(few.lengths)
    assert corpus.report.padding_positions <= 0.08 * corpus.report.positions


def test_repr(corpus):
    shown = repr(corpus)
    assert shown.startswith("Corpus(['") and shown.endswith("seed=0, shard=(0, 1))")
    assert "Vocabulary(43 words), tokenizer='unicode'" in shown


# === A prepared text ===


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A text, and the folder that is made of it, in several shards."""
    folder = tmp_path_factory.mktemp("texts")
    files = write_texts(folder, times=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "_PART_WORDS", 300)
        preparing.prepare(files, folder / "prepared")
    return files, folder / "prepared"


@pytest.mark.parametrize(
    ("options", "shuffle"),
    [
        ({}, True),
        ({"batch_tokens": 99, "max_tokens": 9}, False),
        ({"seed": 7, "batch_tokens": 300, "token_vocabulary": LOOKED_UP}, True),
        # Of whole files, and of lines.
        ({"shard": (1, 2), "batch_tokens": 200}, True),
        ({"shard": (2, 5), "batch_tokens": 66}, True),
        ({"shard": (2, 5), "batch_tokens": 66}, False),
    ],
    ids=str,
)
def test_a_prepared_text_gives_the_same(options, shuffle, prepared, monkeypatch):
    """Batches and reports are the same from any batch on, with rare words, too."""
    monkeypatch.setattr(corpus_text, "_KEPT_WORDS", 20)
    files, folder = prepared
    vocabulary = Vocabulary.count(files, max_size=30)
    text, other = (Corpus(path, vocabulary, **options) for path in prepared)
    read = batches(text, 1, shuffle=shuffle)
    assert len(read) > 2
    assert equal(batches(other, 1, shuffle=shuffle), read)
    # Invalid lines are counted for all shards together.
    assert replace(other.report, invalid_lines=0) == (
        replace(text.report, invalid_lines=0)
    )
    assert other.report.invalid_lines == 3
    assert equal(batches(other, 1, shuffle=shuffle, skip=2), read[2:])
    assert (other.files, other.tokenizer) == ([str(folder)], "unicode")
    assert other.names_and_sizes() == text.names_and_sizes()


@pytest.mark.parametrize("shapes", [BatchShapes(), BatchShapes((9, 20, 66), 64)])
def test_a_prepared_text_lists_words_in_the_same_order(shapes, prepared, monkeypatch):
    """So the sums in a training step have the same bits."""
    monkeypatch.setattr(corpus_text, "_KEPT_WORDS", 20)
    text, other = (
        batches(Corpus(path, VOCABULARY, batch_tokens=300), shapes=shapes)
        for path in prepared
    )
    assert text[0].keys() == {"words", "positions", "token_ids"}
    assert equal(other, text)


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_a_prepared_text_of_compressed_files(kind, tmp_path, monkeypatch):
    """Bytes read from each file decide the order."""
    monkeypatch.setattr(batching, "_BUFFER_LINES", 50)
    opener = {"gz": gzip.open, "xz": lzma.open}[kind]
    noise = np.random.default_rng(0)
    for number in range(3):
        with opener(tmp_path / f"{number}.{kind}", "wb") as file:
            for k in range(500 * (number + 1)):
                file.write(f"w{k} {noise.bytes(9).hex()} w{number}\n".encode())
    files, folder = f"{tmp_path}/*.{kind}", tmp_path / "prepared"
    preparing.prepare(files, folder, "whitespace")
    text, other = (
        Corpus(path, VOCABULARY, "whitespace", batch_tokens=3000)
        for path in (files, folder)
    )
    assert equal(batches(other), batches(text))


@pytest.mark.slow
def test_without_tensorflow(prepared, tmp_path):
    """On another backend, text and prepared text give the same, as arrays of NumPy."""
    require_installed("jax")
    files, folder = prepared
    script = f"""
import sys
import tempfile
import zlib

sys.modules["tensorflow"] = None
import keras_elmo
from keras_elmo.text import preparing

preparing._PART_WORDS = 300
keras_elmo.prepare({files!r}, "again")
for text in ({files!r}, {str(folder)!r}):
    corpus = keras_elmo.Corpus(text, keras_elmo.Vocabulary.count(text))
    check = 0
    for batch in corpus.batches(2):
        for name in ("char_ids", "token_ids"):
            check = zlib.crc32(batch[name].tobytes(), check)
    print(check)
"""
    check = 0
    for batch in batches(Corpus(files, Vocabulary.count(files)), 2):
        for name in ("char_ids", "token_ids"):
            check = zlib.crc32(batch[name].tobytes(), check)
    printed = run_python("-c", script, cwd=tmp_path, KERAS_BACKEND="jax")
    assert printed.split() == [str(check)] * 2
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_damaged_shard_is_named(prepared, tmp_path):
    folder = shutil.copytree(prepared[1], tmp_path / "prepared")
    path = folder / "shard-00001.words.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    corpus = Corpus(folder, VOCABULARY)
    with pytest.raises(ValueError, match="shard-00001.words.npy: is damaged"):
        list(corpus.batches())


@pytest.mark.parametrize("kind", ["texts", "tokens"])
def test_an_iterable_gives_the_same(kind, corpus):
    lines = list(read_lines(corpus.files[:1]))
    texts = iter(lines) if kind == "texts" else [line.split() for line in lines]
    text, same = (
        Corpus(source, VOCABULARY, "whitespace", batch_tokens=99)
        for source in (corpus.files[0], texts)
    )
    for epoch in (0, 1):
        assert equal(list(same.batches(epoch)), list(text.batches(epoch)))


def test_an_iterable_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    corpus = Corpus(iter(["the bank"]), VOCABULARY)
    assert os.listdir(tmp_path)
    del corpus
    gc.collect()
    assert not os.listdir(tmp_path)
    with pytest.raises(ValueError, match="item 1 must be text, as the first row is"):
        Corpus(iter(["the bank", 3]), VOCABULARY)
    assert not os.listdir(tmp_path)


def test_files_of_an_iterator(tmp_path):
    """An iterator of paths is read once."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the bank\n", encoding="utf-8")
    vocabulary = Vocabulary.count(tmp_path.iterdir())
    corpus = Corpus(map(str, tmp_path.iterdir()), vocabulary)
    assert corpus.files == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
