"""The component of spaCy's pipelines."""

import importlib
import tomllib

import numpy as np
import pytest

import keras_elmo
from tests.helpers.fresh_process import ROOT, run_python
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG

spacy = pytest.importorskip("spacy")

from keras_elmo import spacy as component  # noqa: E402
from keras_elmo.files.loading import open_model  # noqa: E402

pytestmark = pytest.mark.graph

WORDS = ["<S>", "</S>", "<UNK>", "bank", "river"]
TEXTS = ["The bank. We sat\n by the river.", "", "The bank closed.", " \n", "배가"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("spacy") / "run"
    write_pretrained(path, CONFIG, WORDS)
    return str(path)


@pytest.fixture(scope="module")
def encoder(path):
    return keras_elmo.load(path)


@pytest.fixture(autouse=True)
def models_are_read_once(encoder, path, monkeypatch):
    """Each reading would compile the model anew."""

    def opened(model):
        return open_model(encoder if model == path else model)

    monkeypatch.setattr(component, "open_model", opened)


def pipeline(path, sentences=False, **config):
    nlp = spacy.blank("en")
    if sentences:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("elmo", config={"model": path, **config})
    return nlp


def embedded(encoder, doc, layer=None):
    """The document's tensor, by `embed`."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    tensor = np.zeros((len(doc), 2 * CONFIG.projection_units), "float32")
    for span in spans:
        tokens = [token for token in span if not token.is_space]
        words = [[token.text for token in tokens]]
        (layers,) = keras_elmo.embed(encoder, words)
        tensor[[token.i for token in tokens]] = (
            layers.mean(axis=0) if layer is None else layers[layer]
        )
    return tensor


@pytest.mark.parametrize("layer", [None, 0, -1])
@pytest.mark.parametrize("sentences", [False, True])
def test_vectors(path, encoder, sentences, layer):
    """Those of `embed`, many documents at a time and one by one."""
    nlp = pipeline(path, sentences, layer=layer)
    docs = list(nlp.pipe(TEXTS, batch_size=2))
    assert [doc.text for doc in docs] == TEXTS
    assert len([*docs[0].sents]) == 2 if sentences else True
    for doc in docs:
        expected = embedded(encoder, doc, layer)
        np.testing.assert_allclose(doc.tensor, expected, atol=1e-5)
        np.testing.assert_allclose(nlp(doc.text).tensor, expected, atol=1e-5)
        for token in doc:
            np.testing.assert_array_equal(token.vector, doc.tensor[token.i])
            assert token.has_vector != token.is_space


def test_long_document(path, encoder):
    """It is split at the last end of a sentence."""
    words = (["a"] * 199 + ["."]) * 2
    doc = pipeline(path)(spacy.tokens.Doc(spacy.blank("en").vocab, words))
    first, second = keras_elmo.embed(encoder, [words[:200], words[200:]], layers="mix")
    np.testing.assert_allclose(doc.tensor, [*first, *second], atol=1e-5)


def test_reads_ahead_a_little(path):
    """Documents come out before the last one goes in."""
    read = 0

    def texts():
        nonlocal read
        for _ in range(3000):
            read += 1
            yield "the bank"

    nlp = pipeline(path)
    next(nlp.pipe(texts(), batch_size=10))
    assert read < 1000


def test_similarity(path):
    """Of the contexts, also where the words are equal or have static vectors."""
    nlp = pipeline(path)
    for with_vectors in (False, True):
        if with_vectors:
            nlp.vocab.set_vector("bank", np.ones(4, "float32"))
        river, money = nlp("the bank of a river"), nlp("the bank lends money")
        banks = river[1], money[1]
        vectors = [river.tensor[1], money.tensor[1]]
        cosine = np.dot(*vectors) / np.prod(np.linalg.norm(vectors, axis=1))
        # The random model's vectors lie close together.
        assert abs(1 - cosine) > 1e-5
        for one, other in (banks, (river[1:2], money[1:2])):
            assert one.similarity(other) == pytest.approx(cosine, abs=1e-6)
        np.testing.assert_array_equal(banks[0].vector, vectors[0])
        np.testing.assert_allclose(river.vector, river.tensor.mean(axis=0), atol=1e-5)
    assert nlp(" \n")[0].similarity(banks[0]) == 0


def test_saved_pipeline(path, tmp_path):
    """It names the model; vectors are the same."""
    nlp = pipeline(path, sentences=True, layer=1)
    expected = nlp(TEXTS[0]).tensor
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    other = spacy.blank("en", config=nlp.config).from_bytes(nlp.to_bytes())
    for pipe in (loaded, other):
        np.testing.assert_allclose(pipe(TEXTS[0]).tensor, expected, atol=1e-5)
    size = sum(p.stat().st_size for p in (tmp_path / "pipeline").rglob("*.*"))
    assert size < 1_000_000


def test_saved_document(path):
    """Its tensor is part of it; hooks are not, of which spaCy warns."""
    nlp = pipeline(path)
    doc = nlp(TEXTS[0])
    read = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes(exclude=["user_hooks"]))
    np.testing.assert_array_equal(read[1].vector, doc[1].vector)


def test_entry_point():
    """By which spaCy finds the component in an installed package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    points = project["project"]["entry-points"]["spacy_factories"]
    (name, target), *_ = points.items()
    module, _, function = target.partition(":")
    assert name == "elmo" and len(points) == 1
    assert (
        getattr(importlib.import_module(module), function) is component.make_component
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model": "nowhere"}, "nowhere"),
        ({"layer": 7}, "`layer` must be one of the model's 3"),
        ({"layer": "top"}, "layer"),
    ],
)
def test_errors(path, config, message):
    """When the component is added."""
    with pytest.raises(ValueError, match=message):
        pipeline(path, **config)


def test_without_spacy(tmp_path):
    code = """
import sys
sys.modules["spacy"] = None
try:
    import keras_elmo.spacy
except ImportError as error:
    print(error)
"""
    said = run_python("-c", code, cwd=tmp_path)
    assert said.startswith("The component of spaCy needs spacy, which cannot")
