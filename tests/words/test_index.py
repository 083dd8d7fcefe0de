import json
import shutil
import sys

import numpy as np
import pytest

from keras_elmo import Index
from keras_elmo.files.published import save_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from tests.helpers.installed import require_installed
from tests.helpers.small import random_encoder
from tests.helpers.words_by_hand import CORPUS, QUERY, assert_same, unit_vector

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def built(encoder):
    return Index.build(encoder, CORPUS)


@pytest.fixture(scope="module")
def folder(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "saved"
    built.save(folder)
    return folder


@pytest.mark.parametrize("layer", [0, 1, -1])
def test_against_reference(layer, encoder):
    """Cosines are those of a search by hand; sentences are as they were."""
    query = unit_vector(encoder, layer, QUERY, 4)
    expected = {
        (tuple(tokens), position): unit_vector(encoder, layer, tokens, position) @ query
        for tokens in CORPUS
        for position in range(len(tokens))
    }
    index = Index.build(encoder, CORPUS, layer)
    occurrences = index.query("bank", QUERY, num=100)
    assert len(occurrences) == len(index) == len(expected)
    cosines = [found.cosine for found in occurrences]
    assert cosines == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-5)
    for found in occurrences:
        cosine = expected[tuple(found.sentence), found.position]
        assert found.cosine == pytest.approx(cosine, abs=1e-5)
        assert found.word == found.sentence[found.position]
    # By a vector of any length, as by its word.
    assert_same(index.closest(3 * query, 7), occurrences[:7])


def test_same_word(encoder, built):
    """Any word, or the same one in upper or lower case."""
    found = built.query("bank", QUERY, num=100)
    same = [occurrence for occurrence in found if occurrence.word == "bank"]
    assert 0 < len(same) < len(found)
    assert_same(built.query("bank", QUERY, num=100, words="same"), same)
    assert_same(built.query("bank", QUERY, num=1, words="same"), same[:1])
    words = {found.word for found in built.query("the", QUERY, words="same")}
    assert words == {"the", "The"}
    assert built.query("I", QUERY, words="same") == []
    vector = unit_vector(encoder, 2, QUERY, 4)
    assert_same(built.closest(vector, 100, "Bank"), same)
    here = same[0].position, tuple(same[0].sentence)
    assert_same(built.closest(vector, 100, "bank", here), same[1:])


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
        by_model = unit_vector(encoder, 2, list(sentence), position)
        assert vector == pytest.approx(by_model, abs=1e-5)
    some, few = built.occurrences("the", 2)
    assert few == [places[0], places[-1]] and len(some) == 2
    assert built.count("nothing") == len(built.occurrences("nothing", 9)[1]) == 0


def test_several_words(built):
    """They count as one, in upper or lower case."""
    both = built.count(["bank", "river"])
    assert both == built.count("Bank") + built.count("river") > built.count("bank")
    _, places = built.occurrences(["bank", "river"], 100)
    assert {words[at].casefold() for at, words in places} == {"bank", "river"}
    assert {"bank", "river"} <= built.words and built.count([]) == 0


def test_saved(encoder, built, folder):
    """A saved index answers as before; its arrays are maps of its files."""
    loaded = Index.load(folder, encoder)
    for query in (("bank", QUERY), ("the", "on the bank")):
        assert_same(loaded.query(*query), built.query(*query))
    assert all(isinstance(array, np.memmap) for array in loaded._arrays.values())
    assert loaded.layer == 2 and loaded.model is None
    # It may be written over itself.
    loaded.save(folder)
    again = Index.load(folder, encoder)
    assert_same(again.query("bank", QUERY), built.query("bank", QUERY))
    said = f"Index({sum(map(len, CORPUS))} vectors, model=None, layer=2)"
    assert repr(built) == repr(again) == said


def test_by_name(encoder, tmp_path):
    """The model is found by what it was built with, and has to be the same."""
    path = tmp_path / "model"
    path.mkdir()
    files = PretrainingDirectory(path)
    save_published_weights(encoder, files.options, files.weights)
    Index.build(path, CORPUS, layer=0).save(tmp_path / "index")
    index = Index.load(tmp_path / "index")
    assert index.model == str(path) and index.layer == 0
    assert len(index.query("bank", QUERY, num=3)) == 3
    save_published_weights(random_encoder(seed=1), files.options, files.weights)
    with pytest.raises(ValueError, match="its weights differ. Received: model="):
        Index.load(tmp_path / "index").query("bank", QUERY)


def test_tokenizer(encoder, tmp_path):
    """Text and sentence are split as asked; a saved index remembers how."""
    (tmp_path / "text.txt").write_text("the bank's", encoding="utf-8")
    index = Index.build(encoder, tmp_path / "text.txt", tokenizer="published")
    index.save(tmp_path / "index")
    asked = ("bank", "a bank's")
    for either in (index, Index.load(tmp_path / "index", encoder)):
        assert either.query(*asked)[0].sentence == ["the", "bank", "'s"]
    # An index that does not say it is split as the model's text was.
    description = tmp_path / "index" / "index.json"
    stored = json.loads(description.read_text(encoding="utf-8"))
    assert stored.pop("tokenizer") == "published"
    description.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ValueError, match="must be a token of the sentence"):
        Index.load(tmp_path / "index", encoder).query(*asked)


def test_duplicates(encoder):
    """Occurrences at the same place of equal sentences are found once."""
    index = Index.build(encoder, [["a", "bank"]] * 50 + CORPUS * 3 + [QUERY])
    found = index.query("bank", QUERY, num=1000)
    assert len(found) == 2 + sum(map(len, CORPUS)) + len(QUERY) - 1
    # Once from 1,000 and once from as few as are wanted.
    assert_same(index.query("bank", QUERY, num=5), found[:5])
    # The first "the" is asked for; the second is another place.
    found = index.query("the", QUERY, num=1000)
    places = sorted(one.position for one in found if one.sentence == QUERY)
    assert places == [0, 1, 2, 4, 5, 6, 7]


def test_among(encoder, tmp_path):
    """Only those can be found; sentences without any are left out."""
    index = Index.build(encoder, CORPUS, among=lambda word: word == "bank")
    assert len(index) == 4
    assert {found.word for found in index.query("the", QUERY)} == {"bank"}
    for nothing in (
        Index.build(encoder, CORPUS, among=lambda word: False),
        Index.build(encoder, [[]]),
    ):
        nothing.save(tmp_path / "index")
        for index in (nothing, Index.load(tmp_path / "index", encoder)):
            assert len(index) == 0 and index.query("the", QUERY) == []


def test_approximate(encoder, built, tmp_path, monkeypatch):
    """With few vectors, all of them are visited."""
    require_installed("usearch")
    index = Index.build(encoder, CORPUS, approximate=True)
    index.save(tmp_path / "index")
    for either in (index, Index.load(tmp_path / "index", encoder)):
        for words in ("any", "same"):
            found = either.query("bank", QUERY, 5, words)
            assert_same(found, built.query("bank", QUERY, 5, words))
    # Before anything is computed.
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r"pip install 'usearch"):
        Index.build(encoder, iter([None]), approximate=True)


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


def test_folders_of_something_else(built, folder, tmp_path):
    with pytest.raises(ValueError, match="index.json is missing. Received: path="):
        Index.load(tmp_path)
    with pytest.raises(ValueError, match="`model` must be given: the index was built"):
        Index.load(folder)
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="must not exist, or hold an index"):
        built.save(tmp_path)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("index.json", {"format": 9}, "the format must be 1"),
        ("index.json", {"layer": "top"}, "must name the model, its hash and the layer"),
        ("index.json", {"tokenizer": 5}, "index.json: the tokenizer must be"),
        ("places.npy", np.zeros(3, "int64"), "do not belong together"),
        ("words.npy", np.zeros(3, "int64"), "words.npy: must hold uint8 of 1 axes"),
        ("tokens.npy", b"no array", "tokens.npy: cannot be read"),
    ],
)
def test_damaged_folders(name, damage, message, encoder, folder, tmp_path):
    path = tmp_path / "damaged" / name
    shutil.copytree(folder, path.parent)
    if isinstance(damage, dict):
        stored = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(stored | damage), encoding="utf-8")
    elif isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        np.save(path, damage)
    with pytest.raises(ValueError, match=message):
        Index.load(path.parent, encoder)
