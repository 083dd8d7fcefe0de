import lzma

import pytest

from keras_elmo.text.lines import Shard
from keras_elmo.text.stats import CorpusStats

LINES = [f"line {k} of a text that is long enough" for k in range(100_000)]


@pytest.mark.parametrize("name", ["plain.txt", "packed.txt.xz"])
def test_it_knows_how_far_it_is(name, tmp_path):
    path = tmp_path / name
    content = "\n".join(LINES).encode()
    path.write_bytes(lzma.compress(content) if name.endswith(".xz") else content)
    report = CorpusStats()
    shard = Shard(str(path), report)
    assert shard.share_read == 0
    assert [next(shard) for _ in range(50_000)] == LINES[:50_000]
    # A packed file is read in pieces.
    assert 0.3 < shard.share_read < 0.7
    assert list(shard) == LINES[50_000:]
    assert shard.share_read == pytest.approx(1)
    assert report.lines == len(LINES)


def test_some_of_the_lines(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES[:10]))
    assert list(Shard(str(path), CorpusStats(), first=1, every=4)) == LINES[1:10:4]


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.txt").touch()
    assert list(Shard(str(tmp_path / "empty.txt"), CorpusStats())) == []
