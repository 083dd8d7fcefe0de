import json
import shutil
import sys

import numpy as np
import pytest

from keras_elmo import Index, nearest
from keras_elmo.export.saved_model import export_saved_model
from tests.helpers.installed import require_installed
from tests.helpers.small import random_encoder
from tests.words.test_nearest import CORPUS, QUERY, by_hand

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def encoder():
    encoder = random_encoder()
    encoder.tokenizer = "whitespace"
    return encoder


@pytest.fixture(scope="module")
def built(encoder):
    return Index.build(encoder, CORPUS)


@pytest.fixture(scope="module")
def folder(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "saved"
    built.save(folder)
    return folder


def assert_same(found, expected):
    """The same tokens; a sum of products may differ by a rounding error."""
    assert [each[1:] for each in found] == [each[1:] for each in expected]
    cosines = [each.cosine for each in found]
    assert cosines == pytest.approx([each.cosine for each in expected], abs=1e-5)


def test_against_reference(encoder, built):
    """Cosines are those of a search by hand; sentences are as they were."""
    query = by_hand(encoder, 2, QUERY, 4)
    found = built.query("bank", QUERY, num=100)
    assert len(found) == len(built) == sum(map(len, CORPUS))
    for each in found:
        assert each.sentence in CORPUS
        cosine = by_hand(encoder, 2, each.sentence, each.position) @ query
        assert each.cosine == pytest.approx(cosine, abs=1e-5)
    assert_same(found, nearest(encoder, "bank", QUERY, CORPUS, num=100))


def test_repr(built, folder):
    said = f"Index({sum(map(len, CORPUS))} vectors, model=None, layer=2)"
    assert repr(built) == repr(Index.load(folder, built.encoder)) == said


def test_same_word(encoder, built):
    """Any word, or the same one in upper or lower case."""
    found = built.query("bank", QUERY, num=100)
    same = [each for each in found if each.word == "bank"]
    assert 0 < len(same) < len(found)
    assert_same(built.query("bank", QUERY, num=100, words="same"), same)
    assert_same(built.query("bank", QUERY, num=1, words="same"), same[:1])
    assert {each.word for each in built.query("the", QUERY, words="same")} == {
        "the",
        "The",
    }
    assert built.query("I", QUERY, words="same") == []
    assert_same(nearest(encoder, "bank", QUERY, CORPUS, words="same"), same)


def test_occurrences(encoder, built):
    """All of a word, or some from all over the text; each place of a sentence once."""
    vectors, places = built.occurrences("THE", 100)
    expected = [
        (position, tuple(sentence))
        for sentence in CORPUS
        for position, word in enumerate(sentence)
        if word.lower() == "the"
    ]
    assert built.count("the") == len(expected)
    assert places == list(dict.fromkeys(expected))
    for vector, (position, sentence) in zip(vectors, places, strict=True):
        by_model = by_hand(encoder, 2, list(sentence), position)
        assert vector == pytest.approx(by_model, abs=1e-5)
    some, few = built.occurrences("the", 2)
    assert few == [places[0], places[-1]] and len(some) == 2
    assert built.count("nothing") == len(built.occurrences("nothing", 9)[1]) == 0


def test_closest(encoder, built):
    """By a vector of any length, as by its word."""
    query = 3 * by_hand(encoder, 2, QUERY, 4)
    assert_same(built.closest(query, 7), built.query("bank", QUERY, num=7))
    same = built.query("bank", QUERY, num=100, words="same")
    assert_same(built.closest(query, 100, "Bank"), same)
    here = same[0].position, tuple(same[0].sentence)
    assert_same(built.closest(query, 100, "bank", here), same[1:])


def test_several_words(built):
    """They count as one, in upper or lower case."""
    both = built.count(["bank", "river"])
    assert both == built.count("Bank") + built.count("river") > built.count("bank")
    vectors, places = built.occurrences(["bank", "river"], 100)
    assert {words[at].casefold() for at, words in places} == {"bank", "river"}
    assert {"bank", "river"} <= built.words and built.count([]) == 0


def test_saved(encoder, built, folder):
    """A saved index answers as before; its arrays are maps of its files."""
    loaded = Index.load(folder, encoder)
    for query in (("bank", QUERY), ("the", "on the bank")):
        assert_same(loaded.query(*query), built.query(*query))
    assert all(isinstance(each, np.memmap) for each in loaded._arrays.values())
    assert loaded.layer == 2 and loaded.model is None
    # It may be written over itself.
    loaded.save(folder)
    again = Index.load(folder, encoder)
    assert_same(again.query("bank", QUERY), built.query("bank", QUERY))


def test_by_name(encoder, tmp_path):
    """The model is found by what it was built with, and has to be the same."""
    export_saved_model(encoder, tmp_path / "model", None)
    Index.build(tmp_path / "model", CORPUS, layer=0).save(tmp_path / "index")
    index = Index.load(tmp_path / "index")
    assert index.model == str(tmp_path / "model") and index.layer == 0
    assert len(index.query("bank", QUERY, num=3)) == 3
    shutil.rmtree(tmp_path / "model")
    export_saved_model(random_encoder(seed=1), tmp_path / "model", None)
    with pytest.raises(ValueError, match="its weights differ. Received: model="):
        Index.load(tmp_path / "index").query("bank", QUERY)


def test_tokenizer(encoder, tmp_path):
    """Text and sentence are split as asked; a saved index remembers how."""
    (tmp_path / "text.txt").write_text("the bank's", encoding="utf-8")
    index = Index.build(encoder, tmp_path / "text.txt", tokenizer="published")
    index.save(tmp_path / "index")
    asked = ("bank", "a bank's")
    for each in (index, Index.load(tmp_path / "index", encoder)):
        assert each.query(*asked)[0].sentence == ["the", "bank", "'s"]
    assert_same(
        nearest(encoder, *asked, tmp_path / "text.txt", tokenizer="published"),
        index.query(*asked),
    )
    # An index of before this was known: as the model.
    description = tmp_path / "index" / "index.json"
    stored = json.loads(description.read_text(encoding="utf-8"))
    assert stored.pop("tokenizer") == "published"
    description.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ValueError, match="must be a token of the sentence"):
        Index.load(tmp_path / "index", encoder).query(*asked)
    description.write_text(json.dumps({**stored, "tokenizer": 5}), encoding="utf-8")
    with pytest.raises(ValueError, match="index.json: the tokenizer must be"):
        Index.load(tmp_path / "index", encoder)


def test_many_duplicates(encoder):
    """Equal sentences are found once, however many there are."""
    index = Index.build(encoder, [["a", "bank"]] * 50 + CORPUS)
    found = index.query("bank", QUERY, num=5)
    places = [(tuple(each.sentence), each.position) for each in found]
    assert len(set(places)) == 5


def test_among(encoder):
    """Only those can be found; sentences without any are left out."""
    index = Index.build(encoder, CORPUS, among=lambda word: word == "bank")
    assert len(index) == 4
    assert {each.word for each in index.query("the", QUERY)} == {"bank"}
    nothing = Index.build(encoder, CORPUS, among=lambda word: False)
    assert len(nothing) == 0 and nothing.query("the", QUERY) == []


def test_empty_index_is_saved(encoder, tmp_path):
    """A text without words."""
    Index.build(encoder, [[]]).save(tmp_path / "index")
    assert Index.load(tmp_path / "index", encoder).query("the", QUERY) == []


def test_approximate(encoder, built, tmp_path):
    """With few vectors, all of them are visited."""
    require_installed("usearch")
    index = Index.build(encoder, CORPUS, approximate=True)
    index.save(tmp_path / "index")
    for each in (index, Index.load(tmp_path / "index", encoder)):
        for words in ("any", "same"):
            found = each.query("bank", QUERY, 5, words)
            assert_same(found, built.query("bank", QUERY, 5, words))


def test_without_extra(encoder, monkeypatch):
    """Before anything is computed."""
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r"pip install 'usearch"):
        Index.build(encoder, CORPUS, approximate=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"word": "Bank"}, r"whose tokens are \['I', 'sat'.*word='Bank'"),
        ({"sentence": ""}, "`sentence` must hold a token, and is empty"),
        ({"num": 0}, "`num` must be at least 1. Received: num=0"),
        ({"words": "all"}, "`words` must be 'any' or 'same'. Received: words='all'"),
    ],
)
def test_invalid_arguments(built, arguments, message):
    with pytest.raises(ValueError, match=message):
        built.query(**{"word": "bank", "sentence": QUERY, **arguments})


def test_invalid_folders(encoder, built, folder, tmp_path):
    """Something else than an index, and damaged ones."""
    with pytest.raises(ValueError, match="index.json is missing. Received: path="):
        Index.load(tmp_path)
    with pytest.raises(ValueError, match="`model` must be given: the index was built"):
        Index.load(folder)
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="must not exist, or hold an index"):
        built.save(tmp_path)
    description = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for name, damage, message in (
        ("index.json", {**description, "format": 9}, "the format must be 1"),
        ("index.json", {"format": 1}, "must name the model, its hash and the layer"),
        ("places.npy", np.zeros(3, "int64"), "do not belong together"),
        ("words.npy", np.zeros(3, "int64"), "words.npy: must hold uint8 of 1 axes"),
        ("tokens.npy", b"no array", "tokens.npy: cannot be read"),
    ):
        damaged = tmp_path / "damaged"
        shutil.copytree(folder, damaged)
        if isinstance(damage, dict):
            (damaged / name).write_text(json.dumps(damage), encoding="utf-8")
        elif isinstance(damage, bytes):
            (damaged / name).write_bytes(damage)
        else:
            np.save(damaged / name, damage)
        with pytest.raises(ValueError, match=message):
            Index.load(damaged, encoder)
        shutil.rmtree(damaged)
