import gzip
import random
from collections import Counter
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text import batching
from keras_elmo.text.batching import (
    interleaved,
    length_batches,
    shuffled,
    token_chunks,
    tokenized_file,
    tokenized_lines,
)
from keras_elmo.text.stats import CorpusStats


def test_chunks_change_nothing(monkeypatch):
    lines = ["a b.", "\u200b\u2003", "배를 먹다", "c", "\ue000"]

    def split():
        return [*chain.from_iterable(token_chunks(enumerate(lines), "unicode"))]

    whole = split()
    assert whole[0] == (0, [b"a", b"b", b"."])
    assert [place for place, _ in whole] == [*range(5)]
    for name, value in (("_CHUNK_LINES", 2), ("_CHUNK_CHARACTERS", 3)):
        monkeypatch.setattr(batching, name, value)
        assert split() == whole
    assert list(tokenized_lines(lines, "unicode")) == [tokens for _, tokens in whole]
    assert list(token_chunks([], "unicode")) == []


def test_words_are_counted():
    report = CorpusStats()
    list(tokenized_lines(["a b", "x" * 48, "가" * 17], "whitespace", report))
    assert (report.words, report.truncated_words) == (4, 1)


def test_tokenized_file(tmp_path):
    path = tmp_path / "text.txt.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"the bank\n\n\xff closed\n")
    stats = CorpusStats()
    *_, last = lines = list(tokenized_file(str(path), "whitespace", stats))
    assert [len(tokens) for _, tokens in lines] == [2, 0, 2]
    assert last[0] == path.stat().st_size
    assert (stats.words, stats.invalid_lines) == (4, 1)


def paced(lines):
    """Makes of lines what `interleaved` takes of a file."""
    return ((k / len(lines), line) for k, line in enumerate(lines, 1))


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=20))
def test_interleaved_keeps_order(streams):
    """Interleaving keeps every line and the order of each stream."""
    numbered = [[(k, value) for value in stream] for k, stream in enumerate(streams)]
    mixed = list(interleaved(map(paced, numbered)))
    for k, stream in enumerate(numbered):
        assert [line for line in mixed if line[0] == k] == stream


def test_interleaved_open_files(monkeypatch):
    """Interleaving mixes and holds few streams at a time."""
    monkeypatch.setattr(batching, "_OPEN_SHARDS", 2)
    opened = []

    def shard(k):
        opened.append(k)
        return paced([k] * 50)

    mixed = interleaved(shard(k) for k in range(4))
    first = [next(mixed) for _ in range(20)]
    assert Counter(first) == {0: 10, 1: 10} and opened == [0, 1]
    second = [next(mixed) for _ in range(100)]
    # A file that follows does not delay the open ones.
    assert Counter(second[-20:]) == {2: 10, 3: 10}
    assert Counter(first + second + list(mixed)) == dict.fromkeys(range(4), 50)


def test_interleaved_in_proportion():
    """Interleaving spreads a hundred long lines over ten thousand short ones."""
    mixed = list(interleaved([paced(["short"] * 10_000), paced(["long"] * 100)]))
    for part in range(10):
        counts = Counter(mixed[part * 1010 : (part + 1) * 1010])
        assert 9 <= counts["long"] <= 11


@given(st.lists(st.integers(1, 12)), st.integers(14, 60), st.booleans())
def test_batches_hold_each_sentence_once(lengths, batch_tokens, shuffle):
    lines = [[b"%d" % number] * length for number, length in enumerate(lengths)]
    order = random.Random(0) if shuffle else None
    batches = list(length_batches(iter(lines), batch_tokens, order))
    assert sorted(line for batch in batches for line in batch) == sorted(lines)
    full = [len(batch) == batch_tokens // (len(batch[0]) + 2) for batch in batches]
    assert all(full[:-1])
    for batch in batches:
        assert len(batch[0]) == max(map(len, batch))
        assert 1 <= len(batch) <= batch_tokens // (len(batch[0]) + 2)


def test_windows_carry_what_fills_no_batch(monkeypatch):
    monkeypatch.setattr(batching, "_WINDOW_SENTENCES", 10)
    monkeypatch.setattr(batching, "_WINDOW_BATCHES", 1)
    lengths = [random.Random(1).randint(1, 8) for _ in range(997)]
    lines = [[b"%d" % number] * length for number, length in enumerate(lengths)]
    batches = list(length_batches(iter(lines), 24, random.Random(0)))
    assert sorted(line for batch in batches for line in batch) == sorted(lines)
    assert all(len(batch) == 24 // (len(batch[0]) + 2) for batch in batches[:-1])


def test_shuffling_is_bounded_and_complete(monkeypatch):
    monkeypatch.setattr(batching, "_BUFFER_LINES", 50)
    read = []

    def lines():
        for number in range(1000):
            read.append(number)
            yield str(number)

    source = shuffled(lines(), random.Random(0))
    got = []
    for line in source:
        got.append(line)
        assert len(read) - len(got) <= 50
    assert Counter(got) == Counter(map(str, range(1000)))
    assert got != sorted(got, key=int)


def test_the_shuffle_buffer_counts_characters(monkeypatch):
    monkeypatch.setattr(batching, "_BUFFER_CHARACTERS", 10)
    read = []

    def lines():
        for _ in range(9):
            read.append(1)
            yield "abcd"

    source = shuffled(lines(), random.Random(0))
    next(source)
    assert len(read) == 3
    assert len(list(source)) == 8
