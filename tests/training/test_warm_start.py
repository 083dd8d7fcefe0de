"""What a run begins from."""

import dataclasses
import shutil

import numpy as np
import pytest

from keras_elmo import embed
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.loading import load
from keras_elmo.files.published import save_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.training.perplexity import perplexity
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.warm_start import WarmStart
from tests.helpers.layer_checks import numpy_of
from tests.helpers.pretrained import model_of, write_pretrained
from tests.helpers.runs import SMALLER as CONFIG
from tests.helpers.runs import write_text
from tests.helpers.small import assert_same_weights

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]

WORDS = ["<S>", "</S>", "<UNK>", "the", "of", "Ann", "bank", "."]
OTHERS = ["<S>", "</S>", "<UNK>", "bank", "film", "the", "."]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A pretraining directory, as a run leaves it."""
    return write_pretrained(tmp_path_factory.mktemp("origin") / "run", CONFIG, WORDS)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


def assert_same_encoder(model, directory):
    assert_same_weights(model.encoder.weights, load(directory.path).weights)


def test_same_words(directory):
    origin, model = WarmStart(directory.path), model_of(CONFIG, WORDS)
    assert origin.tokenizer == "whitespace" and origin.config == CONFIG
    assert origin.load_into(model) == len(WORDS)
    assert_same_encoder(model, directory)
    wanted = directory.read_model().head.softmax
    assert_same_weights(model.head.softmax.weights[:2], wanted.weights[:2])


def test_model_in_memory(directory):
    """A model in memory gives what its files would, and stays as it is."""
    source, model = directory.read_model(), model_of(CONFIG, OTHERS)
    before = [numpy_of(weight) for weight in source.weights]
    origin = WarmStart(source)
    assert origin.tokenizer == "whitespace" and origin.vocabulary.words == WORDS
    assert origin.load_into(model) == 6
    from_files = model_of(CONFIG, OTHERS)
    WarmStart(directory.path).load_into(from_files)
    known = [row for row, word in enumerate(OTHERS) if word in WORDS]
    assert_same_weights(
        *(
            [numpy_of(weight)[known] for weight in one.head.softmax.weights[:2]]
            for one in (model, from_files)
        )
    )
    assert_same_encoder(model, directory)
    assert_same_weights(source.weights, before)
    encoder = WarmStart(source.encoder)
    assert encoder.vocabulary is None and encoder.name == "Encoder in memory"


def test_no_model(tmp_path):
    for source in (3, CONFIG):
        with pytest.raises(TypeError, match="`init` must be a name"):
            WarmStart(source)
    file = tmp_path / "encoder.keras"
    model_of(CONFIG, WORDS).encoder.save(file)
    with pytest.raises(ValueError, match=r"`init` must not .* keras.models.load_model"):
        WarmStart(file)


def test_other_words(directory):
    """Words that both models know keep their rows."""
    model = model_of(CONFIG, OTHERS)
    before = numpy_of(model.head.softmax.kernel)
    assert WarmStart(directory.path).load_into(model) == 6
    assert_same_encoder(model, directory)
    softmax = directory.read_model().head.softmax
    kernel, bias = map(numpy_of, model.head.softmax.weights[:2])
    for row, word in enumerate(OTHERS):
        wanted, wanted_bias = before[row], 0
        if word in WORDS:
            source = WORDS.index(word)
            wanted = numpy_of(softmax.kernel)[source]
            wanted_bias = numpy_of(softmax.bias)[source]
        np.testing.assert_array_equal(kernel[row], wanted)
        assert bias[row] == wanted_bias


def new_rows(model):
    """Returns what each LSTM's projection has for the cells beyond `CONFIG.units`."""
    shape = (3 * CONFIG.units, CONFIG.projection_units)
    rows = [numpy_of(w)[CONFIG.units :] for w in model.weights if w.shape == shape]
    assert len(rows) == 2 * CONFIG.num_layers
    return rows


def test_more_units(directory):
    """More cells change nothing at first."""
    wide = dataclasses.replace(CONFIG, units=3 * CONFIG.units)
    origin, model = WarmStart(directory.path), model_of(wide, WORDS)
    assert origin.checked(wide) == wide
    origin.load_into(model)
    sentences = [["Ann", "of", "the", "bank", "."], ["the"]]
    vectors = (embed(one, sentences) for one in (model.encoder, load(directory.path)))
    for found, wanted in zip(*vectors, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert not any(map(np.any, new_rows(model)))


def test_new_cells_learn(directory, text, tmp_path):
    wide = dataclasses.replace(CONFIG, units=3 * CONFIG.units)
    arguments = {"init": directory.path, "num_sampled": 4, "progress": False}
    model = pretrain(wide, text, directory=tmp_path / "run", steps=2, **arguments)
    assert all(rows.any(axis=1).all() for rows in new_rows(model))


@pytest.mark.parametrize("kind", ["exported", "imported"])
def test_no_softmax(kind, directory, text, tmp_path):
    """A model without a softmax gives its encoder."""
    path = tmp_path / kind
    if kind == "exported":
        export_saved_model(directory.path, path, None)
    else:
        path.mkdir()
        save_published_weights(
            load(directory.path), path / "options.json", path / "weights.hdf5"
        )
    origin, model = WarmStart(path), model_of(CONFIG, WORDS)
    assert origin.vocabulary is None
    assert origin.load_into(model) == 0
    assert_same_encoder(model, directory)


def test_pretrain_from_init(directory, text, tmp_path):
    """The learning rate is tiny: what the run begins with is what it ends with."""
    arguments = {"init": directory.path, "num_sampled": 4, "steps": 1}
    arguments |= {"progress": False, "learning_rate": 1e-30}
    kept = pretrain(None, text, directory=tmp_path / "kept", **arguments)
    assert kept.vocabulary.words == WORDS
    assert kept.encoder.tokenizer == "whitespace"
    found = perplexity(kept, text)["mean"]
    assert found == pytest.approx(perplexity(directory.read_model(), text)["mean"])
    new = pretrain(
        None, text, directory=tmp_path / "new", vocabulary_size=12, **arguments
    )
    assert len(new.vocabulary) == 12 and "Tom" in new.vocabulary.words
    assert_same_encoder(PretrainingDirectory(tmp_path / "kept").read_model(), directory)


def test_pretrain_from_weights_without_tokenizer(directory, text, tmp_path):
    """Text is then taken as tokenized, as in every command."""
    options, weights = tmp_path / "options.json", tmp_path / "weights.hdf5"
    save_published_weights(load(directory.path), options, weights)
    # Of no softmax that is there.
    (tmp_path / "vocabulary.txt").write_text("\n".join(WORDS))
    arguments = {"init": tmp_path, "num_sampled": 4, "steps": 1, "progress": False}
    model = pretrain(None, text, directory=tmp_path / "run", **arguments)
    assert model.encoder.tokenizer == "whitespace"
    assert "Tom" in model.vocabulary.words


def test_resume_without_init(directory, text, tmp_path):
    """A run goes on when what it began from is gone."""
    origin = shutil.copytree(directory.path, tmp_path / "origin")
    arguments = {"directory": tmp_path / "run", "init": origin, "num_sampled": 4}
    arguments |= {"progress": False, "resume": True}
    pretrain(None, text, steps=1, **arguments)
    (tmp_path / "run" / "vocabulary.txt").unlink()
    pretrain(None, text, steps=1, **arguments)
    shutil.rmtree(origin)
    model = pretrain(None, text, steps=2, **arguments)
    assert model.vocabulary.words == WORDS
    assert model.encoder.tokenizer == "whitespace"
    with pytest.raises(ValueError, match="`init` must be '.*origin', as in"):
        pretrain(None, text, steps=3, **{**arguments, "init": tmp_path / "other"})
    with pytest.raises(ValueError, match="Received: init='PretrainingModel in memory'"):
        pretrain(None, text, steps=3, **{**arguments, "init": model})
    (tmp_path / "run" / "vocabulary.txt").unlink()
    with pytest.raises(ValueError, match=r"vocabulary\.txt: is lost, and `init`, whi"):
        pretrain(None, text, steps=3, **arguments)


def test_text_messages(directory, tmp_path, capsys):
    """Words are not counted here, so the report comes at the end."""
    text = tmp_path / "text.txt"
    text.write_bytes(
        b"the bank of \xff Ann\n" + b"Ann " + b"x" * 99 + b" bank \xc3\xa9 .\n"
    )
    pretrain(None, text, directory=tmp_path / "run", init=directory.path, steps=1)
    told = capsys.readouterr().err
    assert "1 of 2 lines held invalid UTF-8" in told
    assert "of words are longer than 48 bytes and are truncated" in told
    assert "of words are not in the vocabulary" in told


def test_other_sizes(directory, text, tmp_path):
    """Sizes must equal the origin's, but for more units."""
    arguments = {"directory": tmp_path / "run", "init": directory.path}
    for other in ({"units": CONFIG.units - 1}, {"projection_units": 10}):
        other = dataclasses.replace(CONFIG, **other)
        with pytest.raises(ValueError, match="`config` must have the sizes of"):
            pretrain(other, text, **arguments)
    with pytest.raises(ValueError, match="`config` may be None only where"):
        pretrain(None, text, directory=tmp_path / "run")
    with pytest.raises(ValueError, match="nowhere"):
        pretrain(None, text, directory=tmp_path / "run", init="nowhere")
    assert not (tmp_path / "run").exists()
