from keras_elmo.config import ElmoConfig
from keras_elmo.text.stats import CorpusStats
from keras_elmo.token_vocabulary import TokenVocabulary


def test_nothing_to_tell():
    assert CorpusStats(lines=3, sentences=3, words=9).messages() == []


def test_each_count_is_told():
    report = CorpusStats(
        lines=3000,
        used_lines=2000,
        invalid_lines=3,
        lines_with_nul=1,
        split_lines=1200,
        words=1_000_000,
        truncated_words=4_000,
        batched_words=500_000,
        unknown_words=23_561,
        dropped_words=12_000,
        max_count_error=3_000,
    )
    assert report.messages() == [
        "3 of 3,000 lines held invalid UTF-8; the bad bytes were replaced by U+FFFD",
        "1 line held NUL bytes, which were taken for spaces",
        "1,200 lines of 2,000 had more words than a row holds and became several rows",
        "0.4 % of words are longer than 48 bytes and are truncated",
        "4.7 % of words are not in the vocabulary",
        "1.2 % of words were dropped while counting, the rarest of too many distinct "
        "ones; a word's count may be too low by 3,000",
    ]


def test_a_small_share_is_not_told_as_none():
    report = CorpusStats(words=9_000_000, truncated_words=3)
    assert report.messages() == [
        "less than 0.01 % of words are longer than 48 bytes and are truncated"
    ]
    assert CorpusStats(words=7, truncated_words=7).messages()[0].startswith("100 % of")


def test_words_that_are_looked_up_are_not_truncated():
    report = CorpusStats(words=10, truncated_words=4)
    assert len(report.messages(ElmoConfig.preset("tiny"))) == 1
    words = TokenVocabulary(["<bos>", "<eos>", "<oov>"])
    looked_up = ElmoConfig(filters=(), word_embedding_units=4, token_vocabulary=words)
    assert report.messages(looked_up) == []
