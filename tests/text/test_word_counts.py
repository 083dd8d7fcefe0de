import tracemalloc
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text import vocabulary as word_counts
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import WordCounts

# Some words are much more frequent than others, as in a text.
words = st.integers(0, 60).map(lambda number: b"%d" % (number * number // 60))
chunks = st.lists(st.lists(words, max_size=8), max_size=40) | st.lists(
    st.lists(words, min_size=4, max_size=8), min_size=20, max_size=40
)


def counted(chunks, max_distinct):
    report = CorpusStats()
    counts = WordCounts(max_distinct, report)
    for chunk in chunks:
        counts.update(chunk)
        assert len(counts.counts) <= max_distinct
    return counts.counts, report


@given(chunks, st.integers(1, 20))
def test_no_count_is_further_off_than_told(chunks, max_distinct):
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


@given(chunks)
def test_with_enough_room_every_count_is_exact(chunks):
    exact = Counter(word for chunk in chunks for word in chunk)
    counts, report = counted(chunks, max(len(exact), 1))
    # In the same order, too.
    assert list(counts.items()) == list(exact.items())
    assert report == CorpusStats()


def test_the_rarest_are_dropped_and_of_those_the_oldest():
    frequent, rare = [b"a"] * 3 + [b"b"] * 2, [b"c", b"d", b"e", b"f"]
    counts, report = counted([rare, frequent], 5)
    assert counts == {b"f": 1, b"a": 3, b"b": 2}
    assert (report.dropped_words, report.max_count_error) == (3, 1)


def test_errors_add_up():
    # Each time the rarer of two words goes.
    chunks = [[b"a"] * 5, [b"b"] * 2, [b"c"] * 3, [b"b"] * 2]
    counts, report = counted(chunks, 1)
    assert counts == {b"a": 5}
    assert (report.dropped_words, report.max_count_error) == (7, 2 + 3 + 2)


def test_a_text_with_more_words_takes_no_more_memory(tmp_path, monkeypatch):
    # How many chunks threads have ready where most is held would be chance.
    monkeypatch.setattr(word_counts, "TOKENIZER_THREADS", 0)

    def peak(num_lines):
        path = tmp_path / f"{num_lines}.txt"
        with open(path, "w", encoding="utf-8") as file:
            for line in range(num_lines):
                # All but the first were never met before.
                print("the", *range(line * 9, line * 9 + 9), file=file)
        words = WordCounts(20_000, CorpusStats())
        tracemalloc.start()
        words.read([str(path)], "whitespace", progress=False)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert words.counts.most_common(1) == [(b"the", num_lines)]
        return most

    # What is made once in a process is made before.
    peak(100)
    assert peak(40_000) < 1.2 * peak(10_000)
