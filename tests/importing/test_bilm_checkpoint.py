"""bilm-tf's training folder becomes a run that goes on."""

import json

import numpy as np
import pytest

import keras_elmo
from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.loading import load_language_model
from keras_elmo.importing.bilm_checkpoint import find_checkpoint, read_vocabulary
from keras_elmo.importing.models import import_model
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.training.optimizers import PublishedAdagrad
from tests.helpers import numpy_reference
from tests.helpers.bilm_files import (
    STEP,
    WORDS,
    checkpoint_options,
    checkpoint_variables,
    in_trainer,
    write_checkpoint,
    write_variables,
)
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import CONFIG, SENTENCES, char_ids

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A training folder, and the run that it was imported as."""
    folder = tmp_path_factory.mktemp("bilm")
    write_checkpoint(folder / "theirs")
    words = folder / "theirs" / "vocab.txt"
    arguments = ("--vocabulary", words, "--out", folder / "ours")
    assert command("import", folder / "theirs", *arguments) == (0, "", "")
    return folder / "theirs", folder / "ours"


def reference():
    options = checkpoint_options()
    _, weights = checkpoint_variables(options)
    return options, weights


def restored(run):
    """The model, the optimizer and the progress of a run's last checkpoint."""
    model = PretrainingModel(CONFIG, len(WORDS), 4)
    optimizer = PublishedAdagrad()
    model.compile(optimizer, jit_compile=False)
    optimizer.build(model.trainable_variables)
    checkpoints = Checkpoints(str(run / "checkpoints"))
    return model, optimizer, checkpoints.restore(model, print, lambda progress: None)


def test_layers(folders):
    """The layers are those of the formulas with the trainer's weights."""
    options, weights = reference()
    layers = keras_elmo.load(folders[1])(char_ids(SENTENCES))
    for row, tokens in enumerate(SENTENCES):
        expected, _ = numpy_reference.encode(tokens, options, weights)
        for layer, wanted in zip(layers, expected, strict=True):
            actual = numpy_of(layer)[row, : len(wanted)]
            np.testing.assert_allclose(actual, wanted, atol=2e-6, rtol=0)


@pytest.mark.usefixtures("eagerly")
def test_softmax(folders):
    """The special words come first, each with its own row."""
    model = load_language_model(folders[1])
    assert model.vocabulary.words == ["<S>", "</S>", "<UNK>", *WORDS[3:]]
    options, weights = reference()
    rows = [1, 0, *range(2, len(WORDS))]
    kernel, bias = (weights[f"softmax/{name}"][rows] for name in "Wb")
    np.testing.assert_array_equal(numpy_of(model.head.softmax.kernel), kernel)
    ids = np.array([0, 3, 4, 2, 1])
    tokens = ["the", "bank", "closed"]
    nats = numpy_reference.language_model_nll(
        numpy_reference.character_ids(tokens), ids, options, weights, kernel, bias
    )
    batch = {"char_ids": char_ids([tokens]), "token_ids": ids[np.newaxis]}
    actual = keras_elmo.perplexity(model, [batch])
    for direction, wanted in zip(("forward", "backward"), nats, strict=True):
        np.testing.assert_allclose(actual[direction], np.exp(wanted.mean()), rtol=1e-5)


def test_sums(folders):
    """Adagrad goes on with its sums, at its step."""
    variables, _ = checkpoint_variables(checkpoint_options())
    model, optimizer, progress = restored(folders[1])
    assert progress["step"] == int(optimizer.iterations) == STEP
    embedding = model.encoder.get_layer("char_cnn_embedding")
    sums = numpy_of(optimizer.sums_of(embedding.char_embedding))
    np.testing.assert_array_equal(sums[0], 1)
    np.testing.assert_array_equal(sums[1:], variables["lm/char_embed/Adagrad"])
    sums = numpy_of(optimizer.sums_of(model.head.softmax.kernel))
    wanted = variables["lm/softmax/W/Adagrad"]
    np.testing.assert_array_equal(sums[:2], wanted[1::-1])
    np.testing.assert_array_equal(sums[2:], wanted[2:])
    sums = numpy_of(optimizer.sums_of(model.encoder.get_layer("bilm").weights[0]))
    name = "lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/kernel/Adagrad"
    np.testing.assert_array_equal(sums, variables[name])


@pytest.mark.usefixtures("eagerly")
def test_resume(folders, tmp_path):
    """`pretrain --resume` needs no more than text, and then keeps its arguments."""
    theirs, _ = folders
    run, text = tmp_path / "run", tmp_path / "text.txt"
    text.write_text("the bank\n" * 40, encoding="utf-8")
    import_model(theirs, run, vocabulary=theirs / "vocab.txt")
    before = [numpy_of(v) for v in restored(run)[1].variables]
    arguments = ("pretrain", "--corpus", text, "--out", run, "--resume")
    sampled = ("--num-sampled", "4")
    status, _, err = command(*arguments, *sampled, "--steps", STEP + 2)
    assert status == 0, err
    _, optimizer, progress = restored(run)
    assert progress["step"] == STEP + 2
    after = [numpy_of(v) for v in optimizer.variables]
    # All but the learning rate and the norm: the sums have grown from what they were.
    for was, now in zip(before[2:-1], after[2:-1], strict=True):
        assert (now >= was).all()
        assert now.max() < was.max() + 100
    result = command(*arguments, *sampled, "--steps", STEP + 3, "--seed", "5")
    assert result[0] == 2
    assert "--seed must be 0" in result[2]


def test_model_of_one_layer(tmp_path):
    """TensorFlow leaves the number of a single layer out."""
    options = checkpoint_options(n_layers=1)
    variables, weights = checkpoint_variables(options, several_layers=False)
    write_checkpoint(tmp_path / "theirs", options, variables)
    words = tmp_path / "theirs" / "vocab.txt"
    import_model(tmp_path / "theirs", tmp_path / "ours", "checkpoint", words)
    kernel = keras_elmo.load(tmp_path / "ours").get_layer("bilm").forward_layers[0]
    wanted = weights["RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0"]
    np.testing.assert_array_equal(numpy_of(kernel.kernel), wanted)


# ---------------------------------------------------------------- the last checkpoint


def test_find_checkpoint(tmp_path):
    """The named one where the folder is now, else the last; or a prefix or index."""
    for step in (1250, 11250, 2500):
        (tmp_path / f"model.ckpt-{step}.index").touch()
    assert find_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-11250")
    state = tmp_path / "checkpoint"
    state.write_text('model_checkpoint_path: "C:\\\\gone\\\\model.ckpt-2500"\n')
    assert find_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-2500")
    state.write_text('model_checkpoint_path: "/etc/../model.ckpt-7"\n')
    assert find_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-11250")
    prefix = tmp_path / "model.ckpt-1250"
    assert find_checkpoint(prefix) == str(prefix)
    assert find_checkpoint(f"{prefix}.index") == str(prefix)
    assert find_checkpoint(tmp_path / "nowhere") is None


# ---------------------------------------------------------------- the vocabulary


def test_vocabulary(tmp_path):
    """bilm-tf strips lines, skips one of them, and predicts the last of equal words."""
    path = tmp_path / "vocab.txt"
    lines = ["<S>", " the ", "!!!MAXTERMID", "", "<UNK>", "bank", "the", "</S>"]
    path.write_text("\r\n".join(lines), encoding="utf-8")
    with pytest.warns(UserWarning, match="2 of its lines are empty or repeated"):
        vocabulary, rows = read_vocabulary(path, 7, "softmax")
    assert vocabulary.words == ["<S>", "</S>", "<UNK>", "the", "bank"]
    assert rows.tolist() == [0, 6, 3, 5, 4]


VOCABULARIES = {
    "more words": ([*WORDS, "more"], "has more words, but"),
    "fewer words": (WORDS[:-1], "has 5 words, but"),
    "no unknown word": (["</S>", "<S>", "a", *WORDS[3:]], "lacks the line <UNK>"),
    "not UTF-8": (b"</S>\n<S>\n\xff\n", "line 3 is not UTF-8"),
    "one line": (b"x" * (1 << 25), "line 1 has more than"),
}


@pytest.mark.parametrize("content", VOCABULARIES)
def test_other_vocabulary(content, tmp_path):
    """Another vocabulary than the model's is an error that names it."""
    path = tmp_path / "vocab.txt"
    words, said = VOCABULARIES[content]
    path.write_bytes(words if isinstance(words, bytes) else "\n".join(words).encode())
    with pytest.raises(ValueError, match=said) as raised:
        read_vocabulary(path, len(WORDS), "softmax")
    assert str(raised.value).startswith(f"{path}: ")


# ------------------------------------------------------- damaged, contradicting

KERNEL = in_trainer("RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_0")


def without(name):
    return lambda variables, options: variables.pop(name)


def with_shape(name, *shape):
    def change(variables, options):
        variables[name] = np.zeros(shape, "float32")

    return change


def with_option(name, value):
    return lambda variables, options: options.update({name: value})


def word_ids(variables, options):
    variables["lm/embedding"] = variables.pop("lm/char_embed")


def another_layer(variables, options):
    options["lstm"]["n_layers"] = 1


REFUSED = {
    "no kernel": (without(KERNEL), [f"lacks the variable {KERNEL}, (14, 36)"]),
    "no softmax": (without("lm/softmax/W"), ["lacks the variable lm/softmax/W"]),
    "no sums": (without(f"{KERNEL}/Adagrad"), [f"lacks the variable {KERNEL}/Adagrad"]),
    "no step": (without("global_step"), ["lacks the variable global_step"]),
    "kernel": (with_shape(KERNEL, 14, 40), [KERNEL, "(14, 36)", "(14, 40)"]),
    "bias": (with_shape("lm/softmax/b", 5), ["lm/softmax/b", "(6,)", "(5,)"]),
    "softmax": (
        with_shape("lm/softmax/W"),
        ["lm/softmax/W must have the shape (words, 7), not ()"],
    ),
    "step": (
        lambda variables, options: variables.update(global_step=np.float32(np.nan)),
        ["global_step must be a positive number. Received: nan"],
    ),
    "words": (word_ids, ["options.json describes a model of characters"]),
    "layers": (another_layer, ["holds the variable lm/RNN_0/rnn", "cell_1"]),
    "one direction": (
        with_option("bidirectional", False),
        ["options.json: bidirectional must be true"],
    ),
    "candidates": (
        with_option("n_negative_samples_batch", "all"),
        ["options.json: n_negative_samples_batch must be a positive number"],
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, tmp_path):
    """What is missing or contradicts is named in one line, and nothing is written."""
    change, said = REFUSED[what]
    options = checkpoint_options()
    variables, _ = checkpoint_variables(options)
    change(variables, options)
    theirs = tmp_path / "theirs"
    write_checkpoint(theirs, options, variables)
    words = ("--vocabulary", theirs / "vocab.txt")
    result = command("import", theirs, *words, "--out", tmp_path / "ours")
    assert_one_line(*result, *said)
    assert not (tmp_path / "ours").exists()


def test_no_sums_at_all(tmp_path):
    """A checkpoint of another optimizer warns, and its sums start again."""
    options = checkpoint_options()
    variables, _ = checkpoint_variables(options)
    variables = {k: v for k, v in variables.items() if not k.endswith("Adagrad")}
    write_checkpoint(tmp_path / "theirs", options, variables)
    words = tmp_path / "theirs" / "vocab.txt"
    with pytest.warns(UserWarning, match="holds no sums of Adagrad"):
        import_model(tmp_path / "theirs", tmp_path / "ours", vocabulary=words)
    _, optimizer, _ = restored(tmp_path / "ours")
    assert all((numpy_of(v) == 1).all() for v in optimizer.variables[2:-1])


def test_vocabulary_is_needed(folders, tmp_path):
    result = command("import", "--checkpoint", folders[0], "--out", tmp_path / "out")
    assert_one_line(*result, "--vocabulary must be the file of the words")


def test_manifest(folders):
    """It says where the run came from, and what the recipe needs."""
    manifest = json.loads((folders[1] / "training.json").read_text(encoding="utf-8"))
    assert manifest["imported"] == f"model.ckpt-{STEP}"
    assert manifest["tokenizer"] == "whitespace"
    assert (manifest["num_sampled"], manifest["learning_rate"]) == (4, 0.2)


def test_other_checkpoint(tmp_path):
    """A prefix names another checkpoint than the last."""
    theirs = tmp_path / "theirs"
    variables = write_checkpoint(theirs)
    write_variables(
        theirs / "model.ckpt-7", {**variables, "global_step": np.float32(7)}
    )
    words = theirs / "vocab.txt"
    import_model(theirs / "model.ckpt-7", tmp_path / "ours", vocabulary=words)
    assert restored(tmp_path / "ours")[2]["step"] == 7
