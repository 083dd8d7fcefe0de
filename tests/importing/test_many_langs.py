"""Models of ELMoForManyLangs: their layers, by the oracle and by their own program."""

import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.cli import main
from keras_elmo.embedding.embedder import embed
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.loading import load
from keras_elmo.files.published import save_published_weights
from keras_elmo.importing.many_langs import ManyLangsFolder
from tests.helpers.exports import padded
from tests.helpers.installed import import_installed, require_installed
from tests.helpers.limits import memory_of_at_most
from tests.helpers.many_langs_oracle import SENTENCES, ManyLangs, sizes
from tests.helpers.small import assert_same_weights

require_installed("torch")
KINDS = {
    "both": sizes(),
    "words": sizes(char_dim=0),
    "characters": sizes(word_dim=0),
    "words of the projection's size": sizes(char_dim=0, word_dim=6),
    "tanh": sizes(activation="tanh"),
    "no clips, three layers": sizes(cell_clip=0, proj_clip=None, n_layers=3),
}
TOLERANCE = 2e-6


class _Torch:
    """PyTorch, which is imported when something of it is used: it takes seconds."""

    def __getattr__(self, name):
        return getattr(import_installed("torch"), name)


torch = _Torch()


@pytest.fixture(scope="module")
def model():
    return ManyLangs(sizes())


@pytest.fixture(scope="module")
def original(model, tmp_path_factory):
    return model.write(tmp_path_factory.mktemp("many_langs"))


@pytest.fixture(scope="module")
def encoder(original):
    return ManyLangsFolder(original).encoder()


@pytest.fixture
def folder(model, tmp_path):
    """A copy to spoil."""
    return model.write(tmp_path / "model")


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("kind", KINDS)
def test_layers(kind, tmp_path):
    """Of each sentence, alone and in a batch, and from our own files."""
    model = ManyLangs(KINDS[kind], seed=1)
    assert not ManyLangsFolder.matches(str(tmp_path))
    assert ManyLangsFolder.matches(str(model.write(tmp_path)))
    encoder = ManyLangsFolder(tmp_path).encoder()
    assert encoder.count_params() == encoder.config.num_weights
    ours = tmp_path / "options.json", tmp_path / "weights.hdf5"
    save_published_weights(encoder, *ours)
    again = load(tmp_path)
    assert again.config == encoder.config
    assert_same_weights(again.weights, encoder.weights)
    batches = [list(embed(encoder, SENTENCES))]
    if kind == "both":
        batches.append([next(embed(encoder, [tokens])) for tokens in SENTENCES])
    for batch in batches:
        for tokens, layers in zip(SENTENCES, batch, strict=True):
            wanted = model.layers(tokens)
            np.testing.assert_allclose(layers, wanted, atol=TOLERANCE)


def test_command(original, encoder, tmp_path, capsys):
    assert main(["inspect", str(original), "--json"]) == 0
    actual = json.loads(capsys.readouterr().out)
    assert actual["kind"] == "a model of ELMoForManyLangs"
    assert actual["parameters"]["encoder"] == encoder.count_params()
    assert actual["config"]["token_vocabulary"] == {"words": 12, "characters": 20}
    for flags in ([], ["--many-langs"]):
        out = tmp_path / f"out{len(flags)}"
        assert main(["import", *flags, str(original), "--out", str(out)]) == 0
        assert load(out).config == encoder.config
        assert sorted(os.listdir(out)) == ["options.json", "weights.hdf5"]
    assert main(["inspect", str(tmp_path / "out0")]) == 0
    assert "12 words and 20 characters" in capsys.readouterr().out


@pytest.mark.graph
def test_saved_model(model, encoder, tmp_path):
    """Strings in; both lookups are in the graph, which is loaded as any other."""
    path = tmp_path / "exported"
    export_saved_model(encoder, path, tokenizer="whitespace")
    signature = tf.saved_model.load(path).signatures
    lengths = tf.constant([len(tokens) for tokens in SENTENCES], tf.int32)
    x = tf.constant(padded(SENTENCES))
    outputs = signature["tokens"](tokens=x, sequence_len=lengths)
    for k, tokens in enumerate(SENTENCES):
        wanted = model.layers(tokens)
        actual = outputs["lstm_outputs2"][k, : len(tokens)]
        np.testing.assert_allclose(actual, wanted[2], atol=TOLERANCE)
    text = signature["default"](strings=tf.constant(["the  bank 한국어"]))
    wanted = model.layers("the bank 한국어".split()).mean(axis=0)
    np.testing.assert_allclose(text["elmo"][0], wanted, atol=TOLERANCE)
    reloaded = load(path)
    assert reloaded.config == encoder.config
    (layers,) = embed(reloaded, SENTENCES[:1])
    np.testing.assert_allclose(layers, model.layers(SENTENCES[0]), atol=TOLERANCE)


# It leaves files open.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["both", "words", "characters"])
def test_their_own_program(kind, tmp_path):
    """A fresh Embedder and a batch of one sentence: else its state is carried over."""
    theirs = pytest.importorskip("elmoformanylangs", reason="the program to compare to")
    model = ManyLangs(KINDS[kind], seed=2)
    encoder = ManyLangsFolder(model.write(tmp_path)).encoder()
    for tokens in filter(None, SENTENCES):
        (wanted,) = theirs.Embedder(str(tmp_path), 1).sents2elmo([tokens], -2)
        (actual,) = embed(encoder, [tokens])
        np.testing.assert_allclose(actual, wanted, atol=TOLERANCE)


# === Damaged and hostile files ===


def edited(folder, name, edit):
    """Writes a file of tensors or of JSON anew after a change."""
    path = folder / name
    if name.endswith(".json"):
        content = json.loads(path.read_text())
        edit(content)
        path.write_text(json.dumps(content))
        return
    state = torch.load(path, weights_only=True)
    edit(state)
    torch.save(state, path)


def remove(name):
    return lambda folder: (folder / name).unlink()


def change(name, *keys, to=None):
    def edit(content):
        for key in keys[:-1]:
            content = content[key]
        if to is None:
            del content[keys[-1]]
        else:
            content[keys[-1]] = to() if callable(to) else to

    return lambda folder: edited(folder, name, edit)


def lines(name, edit):
    def rewrite(folder):
        path = folder / name
        path.write_text("".join(edit(path.read_text("utf-8").splitlines(True))))

    return rewrite


class _Code:
    def __reduce__(self):
        return print, ("this ran",)


def code(folder):
    torch.save({"a": _Code()}, folder / "encoder.pkl")


def plain_pickle(folder):
    (folder / "encoder.pkl").write_bytes(pickle.dumps(_Code()))


def cut(folder):
    content = (folder / "encoder.pkl").read_bytes()
    (folder / "encoder.pkl").write_bytes(content[: len(content) // 2])


def compressed(folder):
    path = folder / "encoder.pkl"
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts["archive/data/0"] = b"\0" * (1 << 24)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)


def nothing(folder):
    """A gigabyte that takes no room on the disk."""
    with open(folder / "word.dic", "wb") as file:
        file.truncate(1 << 30)


def empty_lines(folder):
    (folder / "char.dic").write_bytes(b"\n" * (1 << 20))


def expanded(folder):
    """A shape that lies: one number for all rows."""
    rows = 1 << 28
    edited(
        folder,
        "token_embedder.pkl",
        lambda state: state.update(
            {"word_emb_layer.embedding.weight": torch.zeros(1, 1).expand(rows, 3)}
        ),
    )


TENSOR = "forward_layer_0.state_projection.weight"
SPOILED = {
    "no config": (remove("config.json"), "config.json"),
    "no sizes": (remove("sizes.json"), "sizes.json: no such file"),
    "path": (change("config.json", "config_path", to=7), "config_path must be"),
    "parent": (change("config.json", "config_path", to="a/.."), "must be a file"),
    "no key": (change("sizes.json", "encoder", "dim"), "lacks the key encoder.dim"),
    "no object": (change("sizes.json", "encoder", to=7), "lacks the key encoder.name"),
    "LSTM words": (
        change("sizes.json", "token_embedder", "name", to="lstm"),
        "token_embedder.name must be cnn",
    ),
    "dim": (
        change("sizes.json", "token_embedder", "word_dim", to=-3),
        "word_dim must be an integer",
    ),
    "units": (change("sizes.json", "encoder", "dim", to=1e9), "`units` must be"),
    "many units": (change("sizes.json", "encoder", "dim", to=1 << 19), "too few for"),
    "filters": (
        change("sizes.json", "token_embedder", "filters", to=[[51, 1]]),
        "widths of 1 to 50",
    ),
    "max": (
        change("sizes.json", "token_embedder", "max_characters_per_token", to="50"),
        "`max_characters` must be",
    ),
    "no encoder": (remove("encoder.pkl"), "encoder.pkl: no such file"),
    "code": (code, "encoder.pkl: holds no tensors of PyTorch, or other things"),
    "pickle": (plain_pickle, "encoder.pkl: holds no tensors of PyTorch, or other"),
    "cut": (cut, "encoder.pkl: holds no tensors of PyTorch, or other things"),
    "compressed": (compressed, "must be stored as they are"),
    "expanded": (expanded, "token_embedder.pkl: has .* bytes, too few"),
    "list": (lambda f: torch.save([], f / "encoder.pkl"), "must hold a dictionary"),
    "integers": (
        change("encoder.pkl", TENSOR, to=lambda: torch.zeros(6, 8, dtype=torch.int32)),
        "must be a tensor of floating-point numbers",
    ),
    "sparse": (
        change("encoder.pkl", TENSOR, to=lambda: torch.zeros(6, 8).to_sparse()),
        "must be a tensor of floating-point numbers",
    ),
    "no tensor": (change("encoder.pkl", TENSOR), f"lacks {TENSOR}"),
    "shape": (
        change("encoder.pkl", TENSOR, to=lambda: torch.zeros(8, 6)),
        r"has the shape \(8, 6\), but .*sizes.json asks for \(6, 8\)",
    ),
    "more": (
        change("encoder.pkl", "forward_layer_2.more", to=lambda: torch.zeros(3)),
        r"holds forward_layer_2.more, \(3,\), but",
    ),
    "no words": (remove("word.dic"), "word.dic: no such file"),
    "nothing": (nothing, "word.dic, line 1: must be an entry, a tab and its id"),
    "empty lines": (empty_lines, "char.dic, line 1: must be an entry"),
    "no UTF-8": (
        lambda f: (f / "word.dic").write_bytes(b"\xff\t1\n"),
        "word.dic, line 1: not UTF-8",
    ),
    "id": (
        lines("word.dic", lambda all: [*all, "more\t999\n"]),
        "word.dic, line 13: the id 999 must be below 12",
    ),
    "no id": (lines("word.dic", lambda all: [*all, "more\t-1\n"]), "an entry, a tab"),
    "same id": (
        lines("word.dic", lambda all: ["more\t3\n", *all]),
        "word.dic, line .*: the id 3 comes twice",
    ),
    "same entry": (
        lines("char.dic", lambda all: [all[0].split("\t")[0] + "\t5\n", *all[::-1]]),
        "char.dic, line .*: the .* comes twice",
    ),
    "few": (lines("word.dic", lambda all: all[1:]), "has 11 entries, but .* 12 rows"),
    "no <oov>": (
        lines("word.dic", lambda all: [x.replace("<oov>", "oov") for x in all]),
        "word.dic must have the entry <oov>",
    ),
    "no <bos>": (
        lines("char.dic", lambda all: [x.replace("<bos>", "bos") for x in all]),
        "char.dic must have the entry <bos>",
    ),
}


@pytest.mark.parametrize("problem", SPOILED)
def test_refused(problem, folder, capsys):
    """In one line that names the file, with little memory, and without running code."""
    spoil, message = SPOILED[problem]
    spoil(folder)
    with (
        memory_of_at_most(1 << 29),
        pytest.raises((ValueError, FileNotFoundError), match=message) as error,
    ):
        ManyLangsFolder(folder).encoder()
    assert "\n" not in str(error.value)
    assert "ran" not in capsys.readouterr().out


def test_stock_sizes(folder):
    """Named, they need no file; what they lack is decided by the numbers."""
    name = "cnn_0_100_512_4096_sample.json"
    change("config.json", "config_path", to=f"/configs/{name}")(folder)
    with pytest.raises(ValueError, match=r"\(12, 3\), but .*sample.* \(12, 100\)"):
        ManyLangsFolder(folder).encoder()


def test_needs_torch(original, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'torch"):
        ManyLangsFolder(original).encoder()
