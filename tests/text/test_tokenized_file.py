import gzip

from keras_elmo.text.batching import TokenizedFile


def test_each_iteration_begins_anew(tmp_path):
    path = tmp_path / "text.txt.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"the bank\n\n\xff closed\n")
    text = TokenizedFile(str(path), "whitespace")
    for _ in range(2):
        assert [len(tokens) for tokens in text] == [2, 0, 2]
        assert text.position == path.stat().st_size
        assert (text.report.words, text.report.invalid_lines) == (4, 1)
