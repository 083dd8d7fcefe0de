import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.embedding import embedder as embeddings
from keras_elmo.embedding.embedder import embed
from keras_elmo.words.projector import write_projector
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.graph

SENTENCES = [
    ["I", "sat", "on", "the", "bank", "of", "the", "river", "."],
    ["no", "such", "word", ",", "only", "banks", "and", "Bank"],
    [],
    ("The", b"bank", "of", "the", "bank", "closed"),
]
PLACES = [(0, 4), (3, 1), (3, 4)]
NAMES = ["metadata.tsv", "projector_config.pbtxt", "vectors.tsv"]


@pytest.fixture(scope="module")
def encoder():
    return random_encoder()


def read_tsv(path):
    """As the projector reads it: no quotes, and nothing but \\n ends a line."""
    *lines, end = path.read_bytes().decode().split("\n")
    assert end == ""
    return [line.split("\t") for line in lines]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("layer", [None, 0, 1, 2, -1])
def test_files(layer, encoder, tmp_path):
    """A vector for each place of the word."""
    folder = tmp_path / "not" / "there"
    assert write_projector(encoder, iter(SENTENCES), "bank", folder, layer) == 3
    vectors = list(embed(encoder, SENTENCES))
    wanted = np.stack([vectors[row][:, place] for row, place in PLACES], axis=1)
    wanted = wanted.mean(axis=0) if layer is None else wanted[layer]
    found = np.array(read_tsv(folder / "vectors.tsv"), dtype="float32")
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert read_tsv(folder / "metadata.tsv") == [
        ["sentence", "position"],
        ["I sat on the [bank] of the river .", "4"],
        ["The [bank] of the bank closed", "1"],
        ["The bank of the [bank] closed", "4"],
    ]
    assert names(folder) == NAMES


def test_exact_numbers(encoder, tmp_path):
    """Every bit is written."""
    write_projector(encoder, SENTENCES[:1], "bank", tmp_path)
    (vectors,) = embed(encoder, SENTENCES[:1])
    found = np.array(read_tsv(tmp_path / "vectors.tsv"), dtype="float32")
    np.testing.assert_array_equal(found[0], vectors[:, 4].mean(axis=0))


def test_config(encoder, tmp_path):
    """The config names the other files."""
    write_projector(encoder, [["배"]], "배", tmp_path)
    config = (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")
    assert config.split() == [
        "embeddings",
        "{",
        "tensor_path:",
        '"vectors.tsv"',
        "metadata_path:",
        '"metadata.tsv"',
        "}",
    ]


def test_replaces_files(encoder, tmp_path):
    """Files are replaced and others stay."""
    (tmp_path / "events.out").write_text("mine", encoding="utf-8")
    write_projector(encoder, SENTENCES, "bank", tmp_path)
    write_projector(encoder, SENTENCES, "river", tmp_path)
    assert len(read_tsv(tmp_path / "vectors.tsv")) == 1
    assert names(tmp_path) == ["events.out", *NAMES]


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
WILD = WORDS | st.sampled_from(["\t", "a\nb", "\r\n", "\u2028", '"', "\x00", b"\xff\t"])


@given(sentences=st.lists(st.lists(WILD, max_size=3), max_size=3), word=WORDS)
def test_any_token(sentences, word, encoder, tmp_path_factory):
    """No token breaks the table."""
    sentences = [[word, *tokens, word] for tokens in [*sentences, ["\t"]]]
    folder = tmp_path_factory.mktemp("wild")
    count = write_projector(encoder, sentences, word, folder, layer=0)
    header, *rows = read_tsv(folder / "metadata.tsv")
    assert count == len(rows) == len(read_tsv(folder / "vectors.tsv"))
    assert {len(row) for row in [header, *rows]} == {2}
    places = [
        str(place)
        for tokens in sentences
        for place, token in enumerate(tokens)
        if token in (word, word.encode())
    ]
    assert [position for _, position in rows] == places
    for sentence, _ in rows:
        # It is one line for readers that know other line ends, too.
        assert len(sentence.splitlines()) == 1
        assert "[" in sentence and "]" in sentence


def test_streams_sentences(encoder, tmp_path, monkeypatch):
    """Few sentences are held, and those without the word are not embedded."""
    monkeypatch.setattr(embeddings, "_MAX_POSITIONS", 40)
    windows = []
    cut = embeddings.split_stream

    def noted(*arguments):
        for window in cut(*arguments):
            windows.append(window)
            yield window

    monkeypatch.setattr(embeddings, "split_stream", noted)
    sentences = (["the", "bank" if k % 10 == 0 else "river"] for k in range(300))
    assert write_projector(encoder, sentences, "bank", tmp_path) == 30
    assert len(windows) == 3
    assert all(tokens == [b"the", b"bank"] for window in windows for tokens in window)


def test_invalid_arguments(encoder, tmp_path):
    """Bad arguments leave nothing."""
    for layer in (-4, 3):
        with pytest.raises(ValueError, match="`layer` must be one of .* 3, -3 to 2. R"):
            write_projector(encoder, SENTENCES, "bank", tmp_path / "out", layer)
    for sentences in (SENTENCES, []):
        with pytest.raises(ValueError, match="`word` must be .*Received: word='BANK'"):
            write_projector(encoder, sentences, "BANK", tmp_path / "out")
    with pytest.raises(TypeError, match="`sentences` must hold lists of tokens"):
        write_projector(encoder, ["a bank"], "b", tmp_path / "out")
    assert names(tmp_path) == []


def test_error_keeps_files(encoder, tmp_path):
    """An error on the way leaves what was there."""
    write_projector(encoder, SENTENCES, "river", tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in NAMES}

    def sentences():
        yield from [["bank"]] * 600
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_projector(encoder, sentences(), "bank", tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
