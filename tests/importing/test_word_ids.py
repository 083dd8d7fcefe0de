"""Models of bilm-tf that embed word ids instead of characters."""

import json

import numpy as np
import pytest

from keras_elmo.cli import main
from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import load, load_language_model
from keras_elmo.files.published import load_published_weights
from tests.helpers import numpy_reference
from tests.helpers.bilm_files import (
    checkpoint_options,
    checkpoint_variables,
    write_checkpoint,
)
from tests.helpers.layer_checks import numpy_of

WORDS = ["</S>", "<S>", "<UNK>", "the", "bank", "배가"]
SENTENCES = [["the", "bank"], ["bank"], ["배가", "unknown", "x" * 70, "the"]]
LSTM = {
    "cell_clip": 3,
    "dim": 9,
    "n_layers": 2,
    "proj_clip": 3,
    "projection_dim": 7,
    "use_skip_connections": True,
}


@pytest.fixture
def folder(tmp_path):
    """As bilm-tf writes it: no char_cnn, and a row of `embedding` for each line."""
    options = {"lstm": LSTM, "n_tokens_vocab": len(WORDS), "bidirectional": True}
    shapes = numpy_reference.published_shapes(
        {"lstm": LSTM, "char_cnn": {"embedding": {"dim": 1}, "filters": []}}
    )
    shapes = {name: shape for name, shape in shapes.items() if name[:3] == "RNN"}
    rng = np.random.default_rng(0)
    weights = {"embedding": rng.normal(0, 0.5, (len(WORDS), 7)).astype("float32")}
    for name, shape in shapes.items():
        weights[name] = rng.normal(0, 0.5, shape).astype("float32")
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    numpy_reference.write_published(options, weights, *files)
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    return tmp_path, options, weights


def test_layers(folder):
    path, options, weights = folder
    words, out = path / "words.txt", path / "out"
    command = ["import", str(path), "--vocabulary", str(words), "--out", str(out)]
    assert main(command) == 0
    encoder = load(out)
    assert encoder.count_params() == encoder.config.num_weights
    for tokens, actual in zip(SENTENCES, embed(encoder, SENTENCES), strict=True):
        rows = [WORDS.index(w) if w in WORDS else 2 for w in ("<S>", *tokens, "</S>")]
        layers, _ = numpy_reference.bilm(weights["embedding"][rows], options, weights)
        wanted = np.array(layers)[:, 1:-1]
        np.testing.assert_allclose(actual, wanted, atol=2e-6)


def word_id_checkpoint(path):
    """A training folder; returns its options and the weights by published names."""
    options = checkpoint_options()
    variables, weights = checkpoint_variables(options)
    del options["char_cnn"]
    rng = np.random.default_rng(2)
    weights["embedding"] = rng.normal(0, 0.5, (len(WORDS), 7)).astype("float32")
    without = ("lm/char", "lm/CNN")
    variables = {k: v for k, v in variables.items() if not k.startswith(without)}
    variables["lm/embedding"] = weights["embedding"]
    variables["lm/embedding/Adagrad"] = 1 + weights["embedding"] ** 2
    write_checkpoint(path, options, variables, WORDS)
    return options, weights


@pytest.mark.usefixtures("eagerly")
def test_checkpoint(tmp_path, capsys):
    """Its rows of both tables are those of the file; the run goes on."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    options, weights = word_id_checkpoint(theirs)
    words = ["--vocabulary", str(theirs / "vocab.txt")]
    assert main(["import", str(theirs), *words, "--out", str(ours)]) == 0
    model = load_language_model(ours)
    assert model.vocabulary.words == ["<S>", "</S>", "<UNK>", *WORDS[3:]]
    rows = [WORDS.index(word) for word in model.vocabulary.words]
    kernel = numpy_of(model.head.softmax.kernel)
    np.testing.assert_array_equal(kernel, weights["softmax/W"][rows])
    (actual,) = embed(load(ours), [["the", "unknown"]])
    ids = [WORDS.index(word) for word in ("<S>", "the", "<UNK>", "</S>")]
    layers, _ = numpy_reference.bilm(weights["embedding"][ids], options, weights)
    np.testing.assert_allclose(actual, np.array(layers)[:, 1:-1], atol=2e-6)
    text = tmp_path / "text.txt"
    text.write_text("the bank\n" * 40, encoding="utf-8")
    resume = ["--resume", "--num-sampled", "4", "--steps", "1251", "--corpus"]
    assert main(["pretrain", "--out", str(ours), *resume, str(text)]) == 0
    assert main(["inspect", str(theirs)]) == 2
    assert "holds a model of word ids" in capsys.readouterr().err


def test_refused(folder, capsys):
    """What does not fit is named: the file, the dataset and both shapes."""
    path, options, _ = folder
    files = path / "options.json", path / "weights.hdf5"
    words = path / "words.txt"
    with pytest.raises(ValueError, match="lacks the key char_cnn; .*`vocabulary` must"):
        load_published_weights(*files)
    assert main(["inspect", str(path)]) == 2
    assert "of a model of word ids" in capsys.readouterr().err
    for lines, message in {
        "\n".join([*WORDS, "more"]): r"embedding has the shape \(6, 7\), .* \(7, 7\)",
        "\n".join([*WORDS[:5], "the"]): "words.txt: .*'the' twice",
        "the\nbank": "words.txt: .*must have the entry <UNK>",
        "": "words.txt: .*must not both be empty",
    }.items():
        words.write_text(lines, "utf-8")
        with pytest.raises(ValueError, match=message):
            load_published_weights(*files, vocabulary=words)
    files[0].write_text(json.dumps({**options, "lstm": {}}))
    with pytest.raises(ValueError, match="lacks the key lstm.projection_dim"):
        load_published_weights(*files, vocabulary=words)
    command = ["import", "--options", str(files[0]), "--weights", str(files[1])]
    assert main([*command, "--out", str(path / "out")]) == 2
    assert "vocabulary" in capsys.readouterr().err and not (path / "out").exists()
