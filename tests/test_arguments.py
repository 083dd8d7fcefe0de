"""An error of a public name is about the argument that is wrong."""

import functools
import importlib
import inspect
from operator import attrgetter

import numpy as np
import pytest

import keras_elmo
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from tests.helpers.small import CONFIG

pytestmark = pytest.mark.graph

WORDS = Vocabulary([*SPECIALS, "bank"])
SENTENCES = [["the", "bank"]]
TAGGED = [(["the", "bank"], ["DET", "NOUN"])]
CHARACTERS = ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>", "a"]


@functools.cache
def encoder():
    return keras_elmo.build_encoder(CONFIG)


@functools.cache
def layer():
    return keras_elmo.ElmoEmbedding(encoder())


@functools.cache
def model():
    model = keras_elmo.build_pretraining_model(CONFIG, len(WORDS), num_sampled=2)
    model.vocabulary = WORDS
    return model


@functools.cache
def classifier():
    return keras_elmo.TextClassifier(encoder(), labels=["a", "b"])


@functools.cache
def index():
    return keras_elmo.Index.build(encoder(), SENTENCES)


@functools.cache
def tagger():
    return keras_elmo.Tagger(encoder(), tags=["DET", "NOUN"])


def corpus():
    return keras_elmo.Corpus("text.txt", WORDS)


def index_folder():
    index().save("index")
    return "index"


MADE = (encoder, layer, model, classifier, tagger, index, index_folder, corpus)
# What is not under test has these values.
LAYERS = {
    "BiLM": {"units": 4, "projection_units": 3},
    "CRF": {"num_tags": 3},
    "CRFDecode": {},
    "CharCNNEmbedding": {"filters": [[1, 4]], "projection_units": 3},
    "CharacterIds": {},
    "ElmoEmbedding": {"encoder": encoder},
    "Encoder": {"config": CONFIG},
    "Highway": {},
    "SampledSoftmax": {"vocabulary_size": 10, "num_sampled": 4},
    "ScalarMix": {},
    "StaticEmbedding": {"words": ["bank"], "units": 2},
    "Tokenizer": {},
    "VocabularyEmbedding": {
        "projection_units": 3,
        "num_words": 3,
        "word_embedding_units": 2,
        "num_characters": 9,
        "filters": [[1, 2]],
    },
}
OTHERS = {
    "Tagger": {"encoder": encoder},
    "Tagger.evaluate": {"self": tagger, "x": TAGGED},
    "Tagger.export": {"self": tagger, "filepath": "x"},
    "Tagger.fit": {"self": tagger, "x": TAGGED},
    "Tagger.predict": {"self": tagger, "sentences": SENTENCES},
    "Tagger.tag": {"self": tagger, "sentences": SENTENCES},
    "CRFLoss": {},
    "Corpus": {"files": "text.txt", "vocabulary": WORDS},
    "Corpus.batches": {"self": corpus},
    "Corpus.dataset": {"self": corpus},
    "ElmoConfig": {},
    "ElmoConfig.from_options": {"options": "o.json"},
    "ElmoConfig.preset": {"name": "tiny"},
    "ElmoEmbedding.from_saved_model": {"path": encoder},
    "Index.build": {"model": encoder, "corpus": SENTENCES},
    "Index.closest": {"self": index, "vector": np.ones(2 * CONFIG.projection_units)},
    "Index.count": {"self": index, "word": "bank"},
    "Index.load": {"path": index_folder, "model": encoder},
    "Index.occurrences": {"self": index, "word": "bank", "num": 1},
    "Index.query": {"self": index, "word": "bank", "sentence": ["bank"]},
    "Index.save": {"self": index, "path": "index"},
    "MixWeightsLogger": {},
    "StaticEmbedding.from_file": {"path": "vectors.txt"},
    "TextClassifier": {"encoder": encoder},
    "TextClassifier.evaluate": {"self": classifier, "texts": ["x"], "labels": ["a"]},
    "TextClassifier.fit": {
        "self": classifier,
        "texts": ["x"] * 2,
        "labels": ["a", "b"],
    },
    "TextClassifier.predict": {"self": classifier, "texts": ["x"]},
    "TextClassifier.predict_proba": {"self": classifier, "texts": ["x"]},
    "TokenVocabulary": {
        "words": ["<oov>"],
        "characters": CHARACTERS,
        "max_characters": 8,
    },
    "Vocabulary": {"words": WORDS.words},
    "Vocabulary.count": {"files": "text.txt"},
    "Vocabulary.from_counts": {"counts": {b"bank": 1}},
    "Vocabulary.load": {"path": "vocabulary.txt"},
    "Vocabulary.save": {"self": WORDS, "path": "vocabulary.txt"},
    "average_models": {"models": ["run"]},
    "build_encoder": {"config": CONFIG},
    "build_pretraining_model": {"config": CONFIG, "vocabulary_size": 9},
    "crf_decode": {"potentials": np.zeros((1, 2, 3, 3))},
    "crf_marginals": {"potentials": np.zeros((1, 2, 3, 3))},
    "distill": {"model": encoder, "corpus": SENTENCES, "out": "v.txt", "min_count": 1},
    "embed": {"model": encoder, "sentences": SENTENCES},
    "export_onnx": {"source": "run", "path": "x.onnx"},
    "export_saved_model": {"source": encoder, "path": "x"},
    "load": {"name_or_path": "run"},
    "load_language_model": {"name_or_path": "run"},
    "load_published_weights": {"options": "o.json", "weights": "w.hdf5"},
    "import_model": {"source": "elsewhere", "directory": "x"},
    "inspect_model": {"model": "run"},
    "nearest": {
        "model": encoder,
        "word": "bank",
        "sentence": ["bank"],
        "corpus": SENTENCES,
    },
    "perplexity": {"model": model, "corpus": "text.txt"},
    "plots.plot_history": {"rows": [1, 2], "path": "x.png"},
    "plots.plot_mix_weights": {"mixes": {"tagging": [[0.2, 0.8]]}, "path": "x.png"},
    "plots.plot_occurrences": {
        "words": {"bank": (np.ones((2, 2, 2)), ["river", "money"])},
        "path": "x.png",
    },
    "precompute": {"elmo": layer, "dataset": [np.ones((1, 3, 50), "int32")]},
    "prepare": {"corpus": "text.txt", "out": "x"},
    "pretrain": {"config": CONFIG, "corpus": "text.txt", "directory": "nowhere"},
    "save_published_weights": {"encoder": encoder, "options": "o", "weights": "w"},
    "scale.CountWords": {"tokenizer": "unicode"},
    "scale.EmbedText": {"model": "run", "out": "x", "options": EmbedOptions()},
    "scale.count_words": {"files": "text.txt", "out": "vocabulary.txt"},
    "scale.embed_text": {"model": "run", "files": "text.txt", "out": "x"},
    "score": {"model": model, "sentences": SENTENCES},
    "sample": {"language": "en"},
    "substitutes": {"model": model, "sentence": ["the", "bank"], "position": 1},
}
# Taken for true or false by Keras, written as text, or only compared.
FREE = {"self", "trainable", "title", "left_out"}
# Of Beam, once the model is exported.
FREE |= {"scale.embed_text.options"}


def valid_arguments(name):
    return {
        argument: value() if callable(value) and value in MADE else value
        for argument, value in {**LAYERS, **OTHERS}[name].items()
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the bank\n")


def test_every_public_name():
    tested = {name.partition(".")[0] for name in (*LAYERS, *OTHERS)}
    # scikit-learn's own checks are in tests/sklearn.
    untested = {"list_models", "sklearn"}
    assert tested - {"scale"} == {*keras_elmo.__all__} - untested


def parameters_of(public):
    """The parameters of a function, or those of a class's own constructor."""
    function = public.__init__ if inspect.isclass(public) else public
    parameters = dict(inspect.signature(function).parameters)
    parameters.pop("self", None)
    return parameters


@pytest.mark.parametrize("name", [*LAYERS, *OTHERS])
def test_error_names_argument(name, folder):
    if name.startswith("scale."):
        pytest.importorskip("apache_beam")
        importlib.import_module("keras_elmo.scale")
    public = attrgetter(name)(keras_elmo)
    valid = valid_arguments(name)
    for parameter in parameters_of(public).values():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if not FREE.isdisjoint([parameter.name, f"{name}.{parameter.name}"]):
            continue
        wrong = [object()]
        if isinstance(parameter.default, bool):
            wrong.append("no")
        for value in wrong:
            with pytest.raises((TypeError, ValueError)) as raised:
                result = public(**{**valid, parameter.name: value})
                if inspect.isgenerator(result):
                    next(result)
            names = (f"`{parameter.name}`", f"Parameter {parameter.name},")
            assert any(map(str(raised.value).__contains__, names)), parameter.name


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("nearest", {"sentence": [3]}, "`sentence` must be text, or hold tokens"),
        ("nearest", {"corpus": [3]}, "`corpus` must be .* Received: a sentence 3"),
        ("perplexity", {"corpus": []}, "`corpus` must be a file or a sentence"),
        ("perplexity", {"corpus": [{"char_ids": 1}]}, r"a batch of \['char_ids'\]"),
        (
            "pretrain",
            {"corpus": [{}], "vocabulary_size": 9, "progress": False},
            "a batch must be a dictionary of `char_ids` and `token_ids`",
        ),
        ("pretrain", {"corpus": []}, "`corpus` must be a file or a sentence"),
        ("pretrain", {"validation": 3}, "`validation` must be"),
        ("pretrain", {"seed": None}, "`seed` must be an integer. Received: seed=None"),
        ("precompute", {"dataset": [np.ones(2)]}, "`dataset` must suit `elmo`"),
        ("Vocabulary", {"words": []}, "`words`: lines 1 to 3 must be"),
        ("TokenVocabulary", {"end": "a!"}, "have the entry a!, which is `end`"),
        ("Index.closest", {"vector": np.ones(3)}, "`vector` must be an array of shape"),
    ],
)
def test_wrong_values(name, wrong, message, folder):
    with pytest.raises((TypeError, ValueError), match=message):
        attrgetter(name)(keras_elmo)(**{**valid_arguments(name), **wrong})


@pytest.mark.parametrize("name", [*LAYERS, "Tagger", "TextClassifier"])
def test_arguments_stay(name):
    """What a layer was made of cannot be changed; what Keras applies can."""
    public = getattr(keras_elmo, name)
    layer = public(**valid_arguments(name))
    for parameter in parameters_of(public):
        if parameter in vars(layer) and parameter not in ("trainable", "tokenizer"):
            with pytest.raises(AttributeError, match=f"`{parameter}` of {name} must"):
                setattr(layer, parameter, 0.5)
    layer.trainable = False
    assert not layer.trainable


def test_unknown_argument():
    with pytest.raises(TypeError, match=r"^pretrain\(\) got an unexpected .*'stpes'"):
        keras_elmo.pretrain(CONFIG, "text.txt", stpes=3)
    for rate in (-0.1, 1.5, "half", np.nan):
        with pytest.raises(ValueError, match="`dropout` must be a number from 0 to 1"):
            keras_elmo.ElmoEmbedding(keras_elmo.build_encoder(CONFIG), dropout=rate)
