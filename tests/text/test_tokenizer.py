import functools
import logging
import sys
import unicodedata

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.config import TOKENIZERS
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.text import tokenizer as tokenizer_module
from keras_elmo.text.character_ids import CharacterIds
from keras_elmo.text.tokenizer import Tokenizer
from tests.helpers.small import SMALLER, random_encoder

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has strings"
)

# One graph per kind.
tokenizer_of = functools.cache(Tokenizer)
# Unicode's White_Space property, all of it.
SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
# The byte order mark and the marks of direction.
UNSEEN = (
    "\ufeff\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def without(text, characters):
    return text.translate(dict.fromkeys(map(ord, characters)))


def words(tokens):
    return [[token.decode() for token in row] for row in np.asarray(tokens).tolist()]


def split(text, kind="unicode"):
    return words(tokenizer_of(kind)([text]))[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Cut at scripts and marks.
        ("Hello, world!", ["Hello", ",", "world", "!"]),
        ("don't", ["don", "'", "t"]),
        ("배를 먹었다. 한글123", ["배를", "먹었다", ".", "한글", "123"]),
        ("東京へ行く。カタカナ", ["東京", "へ", "行", "く", "。", "カタカナ"]),
        ("a_b x+1=2 (see)", ["a", "_", "b", "x", "+", "1", "=", "2", "(", "see", ")"]),
        # Numbers are whole and apart.
        ("3 4", ["3", "4"]),
        ("1990 1991, (1990)", ["1990", "1991", ",", "(", "1990", ")"]),
        ('! 3.14"', ["!", "3.14", '"']),
        ("2,000, or 1.", ["2,000", ",", "or", "1", "."]),
        # Characters of any script stay with their letters.
        ("كَتَبَ الوَلَدُ", ["كَتَبَ", "الوَلَدُ"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("ọ̀rọ̀ Yorùbá", ["ọ̀rọ̀", "Yorùbá"]),
        ("コーヒーを飲む", ["コーヒー", "を", "飲", "む"]),
        ("co\u00adoperate", ["co\u00adoperate"]),
        ("क्षत्रिय", ["क्षत्रिय"]),
        ("Hawai\u02bbi 5µm", ["Hawai\u02bbi", "5", "µm"]),
        # What goes with the letters before does not hide a change of script.
        ("aー한글\u0301b", ["aー", "한글\u0301", "b"]),
        ("ーあ", ["ーあ"]),
        ("\u0301 a", ["\u0301", "a"]),
        # Marks and numbers are apart with what belongs to them.
        ("I\u2764\ufe0fyou", ["I", "\u2764\ufe0f", "you"]),
        ("1\ufe0f\u20e3", ["1\ufe0f\u20e3"]),
        ("m² ½컵 ①첫째", ["m", "²", "½", "컵", "①", "첫째"]),
        ("ខ្ញុំ\u200bទៅ", ["ខ្ញុំ", "ទៅ"]),
        ("1\u200cها", ["1\u200c", "ها"]),
        ("hi👩\u200d👩\u200d👧👍🏽!", ["hi", "👩\u200d👩\u200d👧", "👍🏽", "!"]),
        ("🇰🇷🇺🇸x", ["🇰🇷", "🇺🇸", "x"]),
    ],
)
def test_unicode(text, expected):
    assert split(text) == expected


@given(st.text(st.characters(codec="utf-8", categories=("L",))))
def test_equals_tensorflow_text(text):
    """Letters are split as tensorflow text splits them."""
    scripts = tf.strings.unicode_script([ord(char) for char in text] or [1])
    # Python may know letters that TensorFlow's Unicode does not; their script is 103.
    scripts = zip(text, scripts.numpy(), strict=False)
    own = [char for char, script in scripts if script not in (0, 103)]
    text = unicodedata.normalize("NFC", "".join(own))
    tf_text = pytest.importorskip("tensorflow_text")
    expected = tf_text.UnicodeScriptTokenizer().tokenize([text]).to_list()[0]
    assert Tokenizer("unicode").ragged([text]).to_list()[0] == expected


@pytest.mark.parametrize("mark", UNSEEN, ids=ascii)
def test_invisible_marks(mark):
    """A mark that is not seen makes no other word."""
    text = f"{mark}שלום b{mark}ank{mark} ({mark})"
    assert split(text) == ["שלום", "bank", "(", ")"]


def test_without_tensorflow_text(tmp_path, monkeypatch):
    """As on Windows: Python composes, in `fit` and in tf.data; an export says why."""
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    texts = [unicodedata.normalize("NFD", "배를 먹었다"), "caf\u0065\u0301 \ufeffé"]
    expected = [["배를", "먹었다"], ["café", "é"]]
    tokenizer = Tokenizer("unicode")
    assert words(tokenizer(texts)) == expected
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(2).map(tokenizer)
    assert words(next(iter(dataset))) == expected
    model = keras.Sequential([keras.Input((), dtype="string"), tokenizer])
    assert words(model.predict(tf.constant(texts), verbose=0)) == expected
    encoder = random_encoder(SMALLER)
    with pytest.raises(ImportError, match="needs tensorflow_text"):
        export_saved_model(encoder, tmp_path / "elmo", tokenizer="unicode")
    assert not (tmp_path / "elmo").exists()
    export_saved_model(encoder, tmp_path / "elmo", tokenizer="whitespace")


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=("Cs", "Cn"))))
def test_python_composes_as_tensorflow_text(text):
    tf_text = pytest.importorskip("tensorflow_text")
    expected = tf_text.normalize_utf8([text], "NFC").numpy()
    composed = tokenizer_module._compose_in_python(np.array([text.encode()], object))
    assert composed.tolist() == expected.tolist()


def test_normal_form():
    """Text is composed, unless it is tokenized already."""
    decomposed = unicodedata.normalize("NFD", "배를 먹었다")
    assert split(decomposed) == ["배를", "먹었다"]
    assert split(decomposed, "whitespace") == decomposed.split()
    assert split("Hello, world! <S> ", "whitespace") == ["Hello,", "world!", "<S>"]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_any_text(kind):
    """Spaces split, invalid UTF-8 is replaced, and nothing has no tokens."""
    tokenizer = tokenizer_of(kind)
    texts = [f"a{space}{space}b" for space in SPACES + "\0"]
    assert words(tokenizer(texts)) == [["a", "b"]] * len(texts)
    tokens = tokenizer(tf.constant([b"a \xff b", b"\xeb\xb0"]))
    assert words(tokens)[0] == ["a", "\ufffd", "b"]
    assert set("".join(words(tokens)[1])) == {"\ufffd"}
    for texts, shape in (([], (0, 1)), ([""], (1, 1)), (["", " \n"], (2, 1))):
        tokens = tokenizer(tf.constant(texts, tf.string))
        assert tokens.shape == shape
        assert b"" not in set(tokenizer.ragged(tf.constant(texts, tf.string)).values)
        assert all(token == b"" for token in tokens.numpy().ravel())
    for texts in (["a b", "c"], np.array(["a b", "c"]), tf.constant(["a b", "c"])):
        assert words(tokenizer(texts)) == [["a", "b"], ["c", ""]]
    assert tokenizer([]).shape == (0, 1)


@given(st.lists(st.text(), max_size=4), st.sampled_from(("unicode", "whitespace")))
def test_tokens_are_the_text_without_spaces(texts, kind):
    ragged = Tokenizer(kind).ragged(texts)
    got = [b"".join(row).decode() for row in ragged.to_list()]
    form = "NFC" if kind == "unicode" else None
    for text, joined in zip(texts, got, strict=True):
        if form:
            text = unicodedata.normalize(form, without(text, UNSEEN + "\u200b"))
        kept = without(text, SPACES + "\0")
        assert joined == kept
    assert all(b"" not in row for row in ragged.to_list())


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_graphs_and_pipelines(kind, caplog):
    tokenizer = tokenizer_of(kind)
    texts = ["a b c", "", "d 배"]
    eager = words(tokenizer(texts))
    with caplog.at_level(logging.WARNING):
        function = tf.function(
            tokenizer, input_signature=[tf.TensorSpec([None], tf.string)]
        )
        assert words(function(tf.constant(texts))) == eager
        assert function(tf.constant([], tf.string)).shape == (0, 1)
        dataset = tf.data.Dataset.from_tensor_slices(texts).batch(3).map(tokenizer)
        assert words(next(iter(dataset))) == eager
    assert not caplog.records
    # All kinds but one use operations of TensorFlow alone.
    graph = function.get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    others = {node.op for node in nodes} & {"NormalizeUTF8", "PyFunc"}
    assert bool(others) == (kind == "unicode")


@pytest.mark.parametrize("kind", ["unicode", "published"])
def test_keras_file(kind, tmp_path):
    text = keras.Input((), dtype="string")
    tokens = Tokenizer(kind, name="split")(text)
    assert tokens.shape == (None, None)
    assert tokens.dtype == "string"
    model = keras.Model(text, CharacterIds()(tokens))
    path = tmp_path / "model.keras"
    model.save(path)
    again = keras.models.load_model(path)
    assert again.get_layer("split").kind == kind
    texts = tf.constant(["Hello, 배!", "", "a"])
    np.testing.assert_array_equal(model(texts), again(texts))
    np.testing.assert_array_equal(model(texts), model.predict(texts, verbose=0))


def test_config():
    config = Tokenizer("whitespace", name="t").get_config()
    again = Tokenizer.from_config(config)
    assert (again.kind, again.name) == ("whitespace", "t")
    assert not again.supports_jit


def test_wrong_arguments():
    with pytest.raises(ValueError, match="`kind` must be .* Received: kind='bpe'"):
        Tokenizer("bpe")
    for wrong in ("text", [["a", "text"]], keras.Input((2,), dtype="string")):
        with pytest.raises(ValueError, match="`strings` must have 1 axes"):
            Tokenizer()(wrong)


def test_another_backend_is_named(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    tokenizer = Tokenizer("whitespace")
    assert tokenizer.ragged(["a b"]).to_list() == [[b"a", b"b"]]
    for layer, argument in ((tokenizer, ["a"]), (CharacterIds(), [["a"]])):
        with pytest.raises(RuntimeError, match="TensorFlow backend only"):
            layer.call(argument)
        with pytest.raises(RuntimeError, match="backend='jax'"):
            layer.compute_output_spec(keras.KerasTensor((None,), "string"))
