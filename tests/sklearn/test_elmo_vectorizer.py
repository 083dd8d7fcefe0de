import pickle

import numpy as np
import pytest

import keras_elmo
from tests.helpers.fresh_process import run_python
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

from keras_elmo.sklearn import ElmoVectorizer  # noqa: E402

pytestmark = pytest.mark.graph

WORDS = ["<S>", "</S>", "<UNK>", "bank", "river"]
TEXTS = ["the bank", "river", "the river bank", "bank"]
# Those that need no arrays of two axes.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("sklearn") / "run"
    write_pretrained(path, CONFIG, WORDS)
    return str(path)


@pytest.mark.parametrize("check", CHECKS)
def test_checks_of_estimators(check):
    getattr(estimator_checks, check)("ElmoVectorizer", ElmoVectorizer())


@pytest.mark.parametrize("layers", ["mix", "all"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_vectors(path, pooling, layers):
    vectorizer = ElmoVectorizer(path, pooling=pooling, layers=layers, batch_size=3)
    expected = keras_elmo.embed(path, TEXTS, pooling=pooling, layers=layers)
    vectors = vectorizer.fit(TEXTS).transform(TEXTS)
    np.testing.assert_allclose(vectors, expected.reshape(4, -1), atol=1e-5)
    assert vectors.dtype == "float32"
    names = vectorizer.get_feature_names_out()
    assert names.shape == (vectors.shape[1],) and names[1] == "elmovectorizer1"
    # Nothing is learnt.
    unfitted = ElmoVectorizer(path, pooling=pooling, layers=layers)
    words = [text.split() for text in TEXTS]
    arrays = np.array(TEXTS), np.array(TEXTS, object)
    for texts in (TEXTS, *arrays, iter(TEXTS), words):
        np.testing.assert_allclose(unfitted.transform(texts), vectors, atol=1e-5)


def test_mix_of_a_layer(path):
    layer = keras_elmo.ElmoEmbedding(path)
    layer.mixes[0].gamma.assign(3.0)
    plain = ElmoVectorizer(path).transform(TEXTS)
    np.testing.assert_allclose(
        ElmoVectorizer(layer).transform(TEXTS), 3 * plain, atol=1e-5
    )


def test_clones_and_pickles(path):
    vectorizer = ElmoVectorizer(path, pooling="max", layers="all")
    vectors = vectorizer.fit_transform(TEXTS)
    content = pickle.dumps(vectorizer)
    # Not the weights.
    assert len(content) < 1000
    for other in (clone(vectorizer), pickle.loads(content)):
        assert other.get_params() == vectorizer.get_params()
        np.testing.assert_allclose(other.transform(TEXTS), vectors, atol=1e-5)


def test_grid_search(path):
    pipeline = make_pipeline(ElmoVectorizer(path), LogisticRegression())
    grid = {"elmovectorizer__pooling": ["mean", "max"], "logisticregression__C": [1, 9]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(TEXTS * 3, [0, 1, 1, 0] * 3)
    assert search.best_params_.keys() == grid.keys()
    assert search.predict(["river", "bank"]).tolist() == [1, 0]


def test_data_frames(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "n": [1, 2, 3, 4]}, index=[*"abcd"])
    vectorizer = ElmoVectorizer(path).set_output(transform="pandas")
    vectors = vectorizer.fit_transform(frame["text"])
    assert [*vectors.index] == [*"abcd"]
    assert [*vectors.columns] == [*vectorizer.get_feature_names_out()]
    columns = ColumnTransformer(
        [("elmo", ElmoVectorizer(path), "text"), ("n", "passthrough", ["n"])]
    )
    assert columns.fit_transform(frame).shape == (4, vectors.shape[1] + 1)
    with pytest.raises(ValueError, match="`X` must have one axis"):
        vectorizer.transform(frame)


@pytest.mark.parametrize(
    ("arguments", "texts", "message"),
    [
        ({"pooling": "sum"}, TEXTS, "`pooling` must be 'mean' or 'max'"),
        ({"layers": "top"}, TEXTS, "`layers` must be 'mix' or 'all'"),
        ({"model": "nowhere"}, TEXTS, "nowhere"),
        ({"tokenizer": "x"}, TEXTS, "`tokenizer` must be"),
        ({"batch_size": 0}, TEXTS, "`batch_size` must be"),
        ({}, "a text", "`X` must be a list of texts"),
        ({}, [], "`X` must have a text. Received: 0 samples"),
        ({}, np.ones((2, 2)), r"`X` must have one axis.* shape \(2, 2\)"),
        ({}, [3], "Received: a sentence 3"),
        ({}, [None], "Received: a sentence None"),
    ],
)
def test_errors(path, arguments, texts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ElmoVectorizer(**{"model": path, **arguments}).fit_transform(texts)


def test_imports(tmp_path):
    code = """
import sys
import keras_elmo
keras_elmo.sklearn
print("sklearn" in sys.modules)
sys.modules["sklearn"] = None
try:
    keras_elmo.sklearn.ElmoVectorizer
except ImportError as error:
    print(error)
"""
    loaded, said = run_python("-c", code, cwd=tmp_path).splitlines()
    assert loaded == "False"
    assert said.startswith("ElmoVectorizer needs sklearn, which cannot be imported")
