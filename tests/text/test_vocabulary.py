import gzip
import tracemalloc
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo.text import batching, word_counts
from keras_elmo.text.preparing import prepare
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import END, START, UNKNOWN, Vocabulary
from keras_elmo.text.word_counts import WordCounts
from tests.helpers.prepared_text import write_texts

SPECIALS = ["<S>", "</S>", "<UNK>"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("b a c\n\na b a 배\nd\n", encoding="utf-8")
    return path


def test_most_frequent_first_then_by_the_word(text):
    vocabulary = Vocabulary.count(text)
    assert vocabulary.words == [*SPECIALS, "a", "b", "c", "d", "배"]
    assert len(vocabulary) == 8 and repr(vocabulary) == "Vocabulary(8 words)"
    assert [SPECIALS[i] for i in (START, END, UNKNOWN)] == SPECIALS


def test_independent_of_files(text, tmp_path):
    """Cutting text into files changes nothing."""
    parts = tmp_path / "parts"
    parts.mkdir()
    lines = text.read_bytes().splitlines()
    for number, line in enumerate(reversed(lines)):
        with gzip.open(parts / f"{number}.gz", "wb") as file:
            file.write(line)
    assert Vocabulary.count(f"{parts}/*").words == Vocabulary.count(text).words


def test_pruning(text):
    for options, words in (
        ({"max_size": 5}, ["a", "b"]),
        ({"max_size": 5, "max_distinct": 10}, ["a", "b"]),
        ({"min_count": 2}, ["a", "b"]),
        ({"max_size": 4, "min_count": 2}, ["a"]),
        ({"max_distinct": 8}, ["a", "b", "c", "d", "배"]),
    ):
        assert Vocabulary.count(text, **options).words == [*SPECIALS, *words]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"max_size": 0}, "`max_size` .* max_size=0"),
        ({"max_size": 3}, "`max_size` .* max_size=3"),
        ({"min_count": 0}, "`min_count` must be at least 1"),
        ({"min_count": 4}, "count is 3. Received: min_count=4"),
        # Too little room.
        ({"max_distinct": 7}, "must be at least 8, twice .*=7, max_size=None$"),
        (
            {"max_distinct": -1, "max_size": 4},
            "be at least 8, twice .*=-1, max_size=4$",
        ),
        ({"max_distinct": 9, "max_size": 5}, "be at least 10, twice .*=9, max_size=5$"),
    ],
)
def test_wrong_options(options, rule, text):
    with pytest.raises(ValueError, match=rule):
        Vocabulary.count(text, **options)


def test_too_many_words(text, monkeypatch):
    """The rarest of too many words are dropped."""
    monkeypatch.setattr(batching, "_CHUNK_LINES", 1)
    # "i" is the ninth word, one too many: "a" and the last three stay.
    text.write_text("\n".join("aaabcdefghi" + "bbg"), encoding="utf-8")
    report = CorpusStats()
    vocabulary = Vocabulary.count(text, max_distinct=8, report=report)
    assert vocabulary.words == [*SPECIALS, "a", "b", "g", "h", "i"]
    assert (report.words, report.dropped_words, report.max_count_error) == (14, 5, 1)
    assert report.messages()[0].startswith("36 % of words were dropped")


def test_a_word_spelt_like_a_special_is_none(text):
    text.write_text("<S> a <UNK> </S> <s>\n", encoding="utf-8")
    vocabulary = Vocabulary.count(text, tokenizer="whitespace")
    assert vocabulary.words == [*SPECIALS, "<s>", "a"]
    assert vocabulary.ids(["<S>", "</S>", "<UNK>", "a"]) == [UNKNOWN] * 3 + [4]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n \n", "there is no word in .*text.txt"),
        (b"PAR1\x15\x04", "text.txt must be UTF-8 text; .*it is a Parquet file"),
    ],
)
def test_no_text(content, said, text):
    text.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        Vocabulary.count(text)


def test_report_and_progress(tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b\xff\n" + b"x" * 49 + b" \xc3\xa9\n")
    report = CorpusStats()
    vocabulary = Vocabulary.count(path, progress=True, report=report)
    assert (report.lines, report.invalid_lines) == (2, 1)
    assert (report.words, report.truncated_words) == (len(vocabulary) - 3, 1)
    told = capsys.readouterr().err
    assert told.startswith("Counting words: 100 %")
    assert "words/s" in told
    Vocabulary.count(path)
    assert capsys.readouterr().err == ""


def test_ids_of_bytes_and_of_text():
    vocabulary = Vocabulary([*SPECIALS, "a", "배"])
    assert vocabulary.ids(["배", "배".encode(), b"a", "x", b"\xff"]) == [4, 4, 3, 2, 2]
    assert vocabulary.ids([]) == []


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vocabulary.txt"


words = st.text(min_size=1).filter(
    lambda word: not set("\r\n\0") & set(word) and word not in SPECIALS
)


@given(st.lists(words, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_save_and_load(path, some):
    vocabulary = Vocabulary([*SPECIALS, *some])
    vocabulary.save(path)
    again = Vocabulary.load(path)
    assert again.words == vocabulary.words
    assert again.ids(some) == list(range(3, 3 + len(some)))
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_save_leaves_the_old_file(path, monkeypatch):
    Vocabulary([*SPECIALS, "old"]).save(path)
    broken = Vocabulary([*SPECIALS, "new"])
    broken.words.append("\ud800")
    with pytest.raises(UnicodeEncodeError):
        broken.save(path)
    assert Vocabulary.load(path).words == [*SPECIALS, "old"]
    assert list(path.parent.iterdir()) == [path]


def test_a_windows_file(path):
    path.write_bytes(b"\xef\xbb\xbf<S>\r\n</S>\r\n<UNK>\r\na\r\nb")
    assert Vocabulary.load(path).words == [*SPECIALS, "a", "b"]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "lines 1 to 3 must be <S>, </S>, <UNK>"),
        (b"the\nof\nand\n", "lines 1 to 3 must be .* Received: the, of, and"),
        (b"</S>\n<S>\n<UNK>\na\n", "lines 1 to 3 must be .* in this order; .* import"),
        (b"<S>\n</S>\n<UNK>\na\nb\0c\n", "line 5 must be a word without NULs"),
        (b"<S>\n</S>\n<UNK>\na\n\nb\n", "line 5 must be a word"),
        (b"<S>\n</S>\n<UNK>\na\nb\na\n", "line 6 repeats line 4: 'a'"),
        (b"<S>\n</S>\n<UNK>\na\n<S>\n", "line 5 repeats a special: '<S>'"),
        (b"<S>\n</S>\n<UNK>\n\xff\n", "line 4 is not UTF-8"),
    ],
)
def test_wrong_files(path, content, rule):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"vocabulary.txt: {rule}"):
        Vocabulary.load(path)


def test_counts(path):
    """Counts stand beside the words; <UNK> counts all that are left out."""
    counted = {b"the": 5, b"bank": 3, b"of": 2, b"<S>": 4, b"river": 1}
    vocabulary = Vocabulary.from_counts(counted, max_size=5)
    assert vocabulary.words == [*SPECIALS, "the", "bank"]
    assert vocabulary.counts == [0, 0, 7, 5, 3]
    vocabulary.save(path)
    assert Vocabulary.load(path).counts == vocabulary.counts
    # Counts of other words do not stay.
    Vocabulary([*SPECIALS, "a", "b"]).save(path)
    assert Vocabulary.load(path).counts is None
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(ValueError, match="number for each word. Received: 2 for 4 wo"):
        Vocabulary([*SPECIALS, "a"], [1, 2])


def test_new_words_never_lack_their_counts(path, monkeypatch):
    """A run that is stopped meanwhile counts again."""

    def save_on_a_full_disk(vocabulary):
        with monkeypatch.context() as patched:
            patched.setattr(Vocabulary, "_save_counts", failing)
            with pytest.raises(OSError, match="full"):
                vocabulary.save(path)

    vocabulary = Vocabulary([*SPECIALS, "a"], [0, 0, 1, 2])
    save_on_a_full_disk(vocabulary)
    assert not path.exists()
    vocabulary.save(path)
    save_on_a_full_disk(Vocabulary([*SPECIALS, "b"], [0, 0, 3, 4]))
    # No counts are better than counts of other words.
    assert Vocabulary.load(path).counts is None


def failing(*_):
    raise OSError("full")


def test_words_that_are_dropped_count_as_unknown(text):
    text.write_text("the bank\n" * 9 + "\n".join(f"w{k}" for k in range(40)))
    report = CorpusStats()
    vocabulary = Vocabulary.count(text, max_size=5, max_distinct=10, report=report)
    assert report.dropped_words
    assert sum(vocabulary.counts) == report.words


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"0\n0\n7\n", "must have 4 lines, one per word"),
        (b"0\n0\n7\n5\n" * 99, "must have 4 lines, one per word"),
        (b"0\n0\n7\n-5\n", "line 4 must be a number. Received: '-5'"),
        (b"0\n\xff\n7\n5\n", "line 2 is not UTF-8"),
    ],
)
def test_wrong_counts(path, content, rule):
    Vocabulary([*SPECIALS, "a"]).save(path)
    path.with_suffix(".counts.txt").write_bytes(content)
    with pytest.raises(ValueError, match=f"vocabulary.counts.txt: {rule}"):
        Vocabulary.load(path)


@pytest.mark.parametrize("word", ["a\nb", "a\r", "a\0b"])
def test_wrong_words(word):
    with pytest.raises(ValueError, match="line 4 must be a word without line ends"):
        Vocabulary([*SPECIALS, word])


# Some words are much more frequent than others, as in a text.
ordinals = st.integers(0, 60).map(lambda number: b"%d" % (number * number // 60))
chunks = st.lists(st.lists(ordinals, max_size=8), max_size=40) | st.lists(
    st.lists(ordinals, min_size=4, max_size=8), min_size=20, max_size=40
)


def counted(chunks, max_distinct):
    report = CorpusStats()
    counts = WordCounts(max_distinct, report)
    for chunk in chunks:
        counts.update(chunk)
        assert len(counts.counts) <= max_distinct
    return counts.counts, report


@given(chunks, st.integers(1, 20))
def test_count_error(chunks, max_distinct):
    """No count is further off than told."""
    exact = Counter(word for chunk in chunks for word in chunk)
    counts, report = counted(chunks, max_distinct)
    assert counts.keys() <= exact.keys()
    assert min(counts.values(), default=1) >= 1
    for word, number in exact.items():
        # Where it is more frequent than the error, it is there.
        assert 0 <= number - counts[word] <= report.max_count_error
    assert report.dropped_words == exact.total() - counts.total()
    if len(exact) > max_distinct:
        assert len(counts) >= max_distinct / 2
        assert report.dropped_words
    else:
        # In the same order, too.
        assert list(counts.items()) == list(exact.items())
        assert report == CorpusStats()


@given(st.integers(0, 2**32), st.integers(4, 20), st.integers(0, 100))
def test_frequent_words_kept(seed, max_size, more_room):
    """A word frequent enough is never missing."""
    draw = Random(seed).paretovariate
    text = [b"%d" % int(draw(0.7)) for _ in range(300)]
    parts = [text[k : k + 20] for k in range(0, 300, 20)]
    counts, report = counted(parts, 2 * max_size + more_room)
    words = [word.encode() for word in Vocabulary.from_counts(counts, max_size).words]
    words, exact = words[3:], Counter(text)
    top = sorted(exact, key=lambda word: (-exact[word], word))[: max_size - 3]
    assert len(words) == len(top)
    if not report.dropped_words:
        assert words == top
    least = exact[words[-1]] + report.max_count_error
    assert {word for word in top if exact[word] > least} <= set(words)


@pytest.mark.parametrize(
    ("chunks", "max_distinct", "kept", "dropped", "error"),
    [
        # The oldest of the rarest.
        ([b"cdef", b"aaabb"], 5, {b"f": 1, b"a": 3, b"b": 2}, 3, 1),
        # Errors add up: each time the rarer of two words goes.
        ([b"aaaaa", b"bb", b"ccc", b"bb"], 1, {b"a": 5}, 7, 2 + 3 + 2),
    ],
)
def test_dropped_words(chunks, max_distinct, kept, dropped, error):
    words = [[bytes([byte]) for byte in chunk] for chunk in chunks]
    counts, report = counted(words, max_distinct)
    assert counts == kept
    assert (report.dropped_words, report.max_count_error) == (dropped, error)


def test_memory_is_bounded(tmp_path, monkeypatch):
    """A text with more words takes no more memory."""
    # With threads, it would be chance how many chunks are ready at the peak.
    monkeypatch.setattr(word_counts, "TOKENIZER_THREADS", 0)
    monkeypatch.setattr(batching, "_CHUNK_LINES", 500)

    def peak(num_lines):
        path = tmp_path / f"{num_lines}.txt"
        with open(path, "w", encoding="utf-8") as file:
            for line in range(num_lines):
                # All but the first were never met before.
                print("the", *range(line * 9, line * 9 + 9), file=file)
        words = WordCounts(5_000, CorpusStats())
        tracemalloc.start()
        words.read([str(path)], "whitespace", progress=False)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert words.counts.most_common(1) == [(b"the", num_lines)]
        return most

    # Before it is measured, make what is made once per process.
    peak(100)
    assert peak(4_000) < 1.2 * peak(1_500)


def test_a_prepared_text(tmp_path):
    """A prepared text has the words and counts of the text, whatever the size."""
    files = write_texts(tmp_path)
    prepare(files, tmp_path / "prepared", "whitespace")
    sizes = ({"max_size": size} for size in (4, 5, 20, 59))
    for options in ({}, {"min_count": 3}, *sizes):
        reports = CorpusStats(), CorpusStats()
        text = Vocabulary.count(files, "whitespace", **options, report=reports[0])
        other = Vocabulary.count(tmp_path / "prepared", **options, report=reports[1])
        assert other.words == text.words
        assert other.counts == text.counts
        assert reports[0] == reports[1]
        assert reports[0].truncated_words == 21
    with pytest.raises(ValueError, match=r"`min_count` must leave a word; .* is 123\."):
        Vocabulary.count(tmp_path / "prepared", min_count=1000)
