from keras_elmo.text import batching as module
from keras_elmo.text.batching import token_chunks
from keras_elmo.text.stats import CorpusStats


def lines_of(chunks):
    return [
        tokens[start:end]
        for tokens, limits in chunks
        for start, end in zip(limits, limits[1:], strict=False)
    ]


def test_chunks_change_nothing(monkeypatch):
    lines = ["a b.", "\u200b\u2003", "배를 먹다", "c", "\ue000"]
    whole = lines_of(token_chunks(lines, "unicode", CorpusStats()))
    assert whole[0] == [b"a", b"b", b"."]
    assert len(whole) == 5
    for name, value in (("_CHUNK_LINES", 2), ("_CHUNK_CHARACTERS", 3)):
        monkeypatch.setattr(module, name, value)
        assert lines_of(token_chunks(lines, "unicode", CorpusStats())) == whole


def test_words_are_counted():
    report = CorpusStats()
    list(token_chunks(["a b", "x" * 48, "가" * 17], "whitespace", report))
    assert (report.words, report.truncated_words) == (4, 1)


def test_no_lines():
    assert list(token_chunks([], "unicode", CorpusStats())) == []
