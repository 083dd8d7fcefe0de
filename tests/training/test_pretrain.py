import contextlib
import dataclasses
import json
import math
import random
import shutil
import signal
from pathlib import Path
from unittest import mock

import h5py
import keras
import numpy as np
import pytest

from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.loading import load
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.batch_shapes import BatchShapes
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.preparing import prepare
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training import recorder as record
from keras_elmo.training.perplexity import perplexity
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.recorder import Diverged
from keras_elmo.training.training_data import TrainingData
from keras_elmo.utils import bfloat16
from tests.helpers import killing
from tests.helpers.installed import require_installed
from tests.helpers.layer_checks import numpy_of
from tests.helpers.runs import SMALLER as CONFIG
from tests.helpers.runs import (
    assert_same_arrays,
    assert_same_state,
    on_batches,
    ready_made,
    state_of,
    timeless,
    validation_is,
    write_text,
)
from tests.helpers.small import assert_same_weights
from tests.helpers.without_graphs import without_graphs

pytestmark = pytest.mark.graph

FILES = [
    "checkpoints",
    "history.csv",
    "history.png",
    "options.json",
    "training.json",
    "vocabulary.counts.txt",
    "vocabulary.txt",
    "weights.hdf5",
]


class Held:
    """Batches; Ctrl-C is pressed while the `at`-th is made, counted from 1."""

    def __init__(self, batches, at):
        self._batches, self._at, self._made = batches, at, 0

    def __iter__(self):
        for batch in self._batches:
            self._made += 1
            if self._made == self._at:
                signal.raise_signal(signal.SIGINT)
            yield batch


def on_text(folder, directory, **arguments):
    """A run on text, without graphs: `test_killed_process` makes them."""
    defaults = {"validation": [folder / "held-out.txt"], "num_sampled": 5}
    defaults |= {"batch_tokens": 72, "max_tokens": 9, "validate_every": 3}
    with without_graphs():
        return pretrain(
            CONFIG,
            folder / "text.txt",
            directory=directory,
            progress=False,
            **defaults | arguments,
        )


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    """Draws the curves in fixtures alone: pictures add up to seconds."""
    monkeypatch.setattr(record, "plot_history", lambda rows, path: False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_text(folder / "text.txt")
    write_text(folder / "held-out.txt")
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    """A run on text, from the first step to the seventh; its model."""
    return on_text(folder, folder / "whole", steps=7)


@pytest.fixture(scope="module")
def four(folder):
    """Its first four steps alone; copies of this folder go on."""
    on_text(folder, folder / "four", steps=4)
    return folder / "four"


@pytest.fixture(scope="module")
def parts(four, folder):
    """Four steps and three more; the model."""
    shutil.copytree(four, folder / "parts")
    return on_text(folder, folder / "parts", steps=7, resume=True)


@pytest.fixture(scope="module")
def batches_run(folder):
    """A run on ready-made batches, and the weights of each measurement."""
    weights = []
    with validation_is([90.0, 70.0, 80.0], weights):
        model = on_batches(ready_made(4), folder / "batches")
    return model, weights


# ---------------------------------------------------------------- what it leaves


def test_files_of_a_run(whole, folder):
    require_installed("matplotlib")
    names = sorted(path.name for path in (folder / "whole").iterdir())
    assert names == FILES
    png = (folder / "whole" / "history.png").read_bytes()
    assert png.startswith(b"\x89PNG")


def test_history(whole, folder):
    rows = timeless(folder / "whole")
    assert [row.step for row in rows] == [3, 6, 7]
    # A pass has three batches, of eight sentences of seven words.
    assert [row.epoch for row in rows] == [0, 1, 2]
    assert [row.words for row in rows] == [56 * row.step for row in rows]
    for row in rows:
        assert 1 < row.perplexity_forward < 30
        assert 1 < row.perplexity_backward < 30
        assert row.perplexity_mean == pytest.approx(
            math.sqrt(row.perplexity_forward * row.perplexity_backward), rel=1e-6
        )
    assert rows[-1].perplexity_mean < rows[0].perplexity_mean


def test_load_trained_model(whole, folder):
    """The model can be loaded and knows its tokenizer."""
    directory = PretrainingDirectory(folder / "whole")
    words = directory.read_vocabulary().words
    model = directory.read_model()
    assert model.vocabulary.words == words
    assert model.head.vocabulary_size == len(words) == 19
    assert perplexity(folder / "whole", folder / "held-out.txt") == perplexity(
        model, folder / "held-out.txt"
    )
    encoder = load(folder / "whole")
    assert encoder.tokenizer == whole.encoder.tokenizer == "unicode"
    assert encoder.config == CONFIG


# ---------------------------------------------------------------- going on


def test_resume_is_bit_identical(whole, parts, folder):
    """Four steps and three more are the seven, bit for bit."""
    assert_same_weights(parts.weights, whole.weights)
    rows, wanted = timeless(folder / "parts"), timeless(folder / "whole")
    assert [row.step for row in rows] == [3, 4, 6, 7]
    # The end of a run is measured, so the means that follow begin there.
    loss = {"loss_forward": 0.0, "loss_backward": 0.0, "gradient_norm": 0.0}
    assert rows[0] == wanted[0]
    assert dataclasses.replace(rows[2], **loss) == dataclasses.replace(
        wanted[1], **loss
    )
    assert rows[3] == wanted[2]
    (arrays, _), (others, _) = state_of(folder / "parts"), state_of(folder / "whole")
    assert_same_arrays(arrays, others)
    assert_same_arrays(
        *(arrays_of(folder / name / "weights.hdf5") for name in ("parts", "whole"))
    )


def assert_same_run(directory, other):
    """Compares the last checkpoint and the history, but for the clock."""
    assert_same_state(state_of(directory), state_of(other))
    assert timeless(directory) == timeless(other)


def test_resume_after_sigint(batches_run, folder):
    """Ctrl-C leaves a checkpoint to go on from, once and again.

    In the middle of a pass and between two rows of the history. The sixth batch is
    being made, so the fifth step is the last.
    """
    directory = folder / "interrupted"
    with (
        validation_is([90.0]),
        pytest.raises(KeyboardInterrupt, match=r"after step 5; .*step-00000005\.npz"),
    ):
        on_batches(Held(ready_made(4), at=6), directory)
    progress = state_of(directory)[1]
    assert (progress["step"], progress["words"]) == (5, 75)
    assert progress["places"] == [[1, 1]]
    assert [row.step for row in timeless(directory)] == [3]
    # Again, before the last batch of the second pass.
    with (
        validation_is([70.0]),
        pytest.raises(KeyboardInterrupt, match="after step 7"),
    ):
        on_batches(Held(ready_made(4), at=4), directory, resume=True)
    with validation_is([80.0]):
        on_batches(ready_made(4), directory, resume=True)
    assert_same_run(directory, folder / "batches")


def test_resume_finished_run(batches_run, folder):
    shutil.copytree(folder / "batches", folder / "finished")
    with validation_is([]):
        model = on_batches(ready_made(4), folder / "finished", resume=True)
    assert_same_run(folder / "finished", folder / "batches")
    # What is returned has the last weights, not fresh ones.
    assert_same_weights(model.weights, batches_run[0].weights)


# ---------------------------------------------------------------- batches, limits


def test_best_and_last_weights(batches_run, folder):
    """Of the perplexities 90, 70 and 80, the second is the best."""
    model, (_, best, last) = batches_run
    kept = PretrainingDirectory(folder / "batches").read_model()
    for weight, values in zip(kept.weights, best, strict=True):
        # The file has no row for the mask, which nothing reads.
        rows = slice(int(weight.path.endswith("char_embedding")), None)
        np.testing.assert_array_equal(numpy_of(weight)[rows], values[rows])
    assert_same_weights(model.weights, last)
    arrays, progress = state_of(folder / "batches")
    stored = [arrays[name] for name in sorted(arrays) if name.startswith("model/")]
    for values in last:
        assert any(np.array_equal(array, values) for array in stored)
    assert (progress["step"], progress["words"]) == (8, 120)
    assert progress["places"] == [[1, 4]]
    assert [row.perplexity_mean for row in timeless(folder / "batches")] == [90, 70, 80]
    # No text, so no words.
    assert kept.vocabulary is None and kept.encoder.tokenizer is None
    assert not (folder / "batches" / "vocabulary.txt").exists()


def test_minutes_without_validation(tmp_path):
    """Minutes end a run and validation is optional."""
    on_batches(
        ready_made(4), tmp_path / "run", epochs=None, minutes=1e-6, validation=None
    )
    (row,) = timeless(tmp_path / "run")
    assert row.step == 1
    assert row.perplexity_mean is None
    # Without a validation text the last weights count as the best.
    assert (tmp_path / "run" / "weights.hdf5").exists()


def test_options_of_files_and_schedule(tmp_path):
    """Checkpoints by the clock, the last of them; TensorBoard; a falling rate."""
    on_batches(
        ready_made(4),
        tmp_path / "run",
        validation=None,
        learning_rate=0.1,
        schedule="cosine",
        warmup_steps=1,
        epochs=None,
        steps=4,
        validate_every=4,
        checkpoint_minutes=1e-9,
        keep_checkpoints=2,
        tensorboard=True,
    )
    assert Checkpoints(tmp_path / "run" / "checkpoints").steps() == [3, 4]
    assert list(Path(PretrainingDirectory(tmp_path / "run").tensorboard).iterdir())
    (row,) = timeless(tmp_path / "run")
    assert row.learning_rate == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- bad arguments


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ({"steps": 0}, "`steps`"),
        ({"batch_tokens": 10}, "`batch_tokens`"),
        ({"max_distinct": 10}, "`max_distinct`"),
        ({"corpus": []}, "`corpus`"),
        ({"validation": [{}]}, "`validation`"),
        ({"corpus": [{}]}, "`vocabulary_size`"),
        (
            {"corpus": [{}], "vocabulary_size": 13, "validation": "held-out.txt"},
            "`validation`",
        ),
    ],
    ids=str,
)
def test_bad_argument_leaves_nothing(argument, said, folder, tmp_path):
    """A bad argument is named before anything is written."""
    arguments = {"corpus": folder / "text.txt", **argument}
    with pytest.raises(ValueError, match=f"^{said}"):
        pretrain(CONFIG, directory=tmp_path / "run", progress=False, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_corrected_call(tmp_path):
    """A call that fails can be repeated, and leaves random generators as they were."""
    before = random.getstate()
    without = [{"char_ids": batch["char_ids"]} for batch in ready_made(4)]
    for corpus, error in ((without, ValueError), (ready_made(4), None)):
        with pytest.raises(error) if error else contextlib.nullcontext():
            on_batches(corpus, tmp_path / "run", steps=1, validation=None)
        assert (tmp_path / "run").exists() == (error is None)
    assert random.getstate() == before


def test_bad_learning_rate(folder, tmp_path):
    with pytest.raises(TypeError, match="`learning_rate` must be a number or a Keras"):
        on_text(folder, tmp_path / "run", learning_rate=lambda: 0.1)
    assert list(tmp_path.iterdir()) == []


def test_directory_in_use(batches_run, folder, tmp_path):
    with pytest.raises(ValueError, match="`directory` must not hold a run yet"):
        on_batches(ready_made(4), folder / "batches")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for resume in (False, True):
        with pytest.raises(ValueError, match=str(tmp_path)):
            on_batches(ready_made(4), tmp_path, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_resume_without_run(tmp_path, capsys):
    """A run begins; what a killed process left of a file is removed."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".training.json.7.part").write_text("{", encoding="utf-8")
    on_batches(
        ready_made(4),
        tmp_path / "run",
        steps=1,
        validation=None,
        resume=True,
        progress=True,
    )
    assert f"{tmp_path / 'run'} holds no run to resume" in capsys.readouterr().err
    assert timeless(tmp_path / "run")[-1].step == 1
    assert not (tmp_path / "run" / ".training.json.7.part").exists()


# ------------------------------------------------------------------------- precision


def test_mixed_precision(tmp_path, monkeypatch):
    """A processor that does not multiply bfloat16 is warned of, once."""
    monkeypatch.setattr(bfloat16, "multiplies_bfloat16", lambda: False)
    warns = pytest.warns(UserWarning, match="no instructions for bfloat16")
    losses = {}
    for dtype, context in (
        ("float32", contextlib.nullcontext()),
        ("mixed_bfloat16", warns),
    ):
        with context:
            model = pretrain(
                # Dropout would draw other masks.
                dataclasses.replace(CONFIG, dropout=0.0),
                ready_made(1),
                directory=tmp_path / dtype,
                vocabulary_size=13,
                num_sampled=13,
                dtype=dtype,
                epochs=40,
                validate_every=10,
                progress=False,
            )
        assert {str(w.dtype) for w in model.trainable_weights} == {"float32"}
        bilm = model.encoder.get_layer("bilm")
        assert bilm.compute_dtype == dtype.removeprefix("mixed_")
        rows = timeless(tmp_path / dtype)
        losses[dtype] = [row.loss_forward + row.loss_backward for row in rows]
        assert losses[dtype][-1] < 0.9 * losses[dtype][0]
    assert len([each for each in warns if each.category is UserWarning]) == 1
    # A few units a layer: what rounding does to one of them shows in the end.
    for rows, tolerance in ((2, 0.02), (4, 0.1)):
        np.testing.assert_allclose(
            losses["mixed_bfloat16"][:rows], losses["float32"][:rows], rtol=tolerance
        )


# ---------------------------------------------------------------- what goes wrong


def test_sigterm_while_measuring(batches_run, folder):
    """SIGTERM ends with status 0; the resumed run measures first."""
    directory = folder / "preempted"

    def taken_away(model, corpus):
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("measured")

    with mock.patch.object(record, "perplexity", taken_away):
        with pytest.raises(SystemExit) as left:
            on_batches(ready_made(4), directory)
    assert left.value.code == 0
    assert state_of(directory)[1]["step"] == 3
    assert timeless(directory) == []
    with validation_is([90.0, 70.0, 80.0]):
        on_batches(ready_made(4), directory, resume=True)
    assert_same_run(directory, folder / "batches")


def test_resume_from_damaged_checkpoint(batches_run, folder, capsys):
    """A damaged checkpoint costs the steps since the one before."""
    shutil.copytree(folder / "batches", folder / "damaged")
    last = max((folder / "damaged" / "checkpoints").iterdir())
    last.write_bytes(last.read_bytes()[:-100])
    with validation_is([80.0]):
        on_batches(ready_made(4), folder / "damaged", resume=True, progress=True)
    assert f"skipped a damaged checkpoint: {last}" in capsys.readouterr().err
    assert_same_run(folder / "damaged", folder / "batches")


def test_diverged_loss(tmp_path):
    """The third update is far too large; what was good before is kept."""
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([1], [0.2, 1e37])
    arguments = {"validation": None, "validate_every": 9, "checkpoint_every": 2}
    said = r"the loss of step 4 is nan; .*step-00000002\.npz.*lower"
    with pytest.raises(Diverged, match=said):
        on_batches(ready_made(4), tmp_path / "run", learning_rate=schedule, **arguments)
    assert Checkpoints(str(tmp_path / "run" / "checkpoints")).steps() == [2]
    arrays, _ = state_of(tmp_path / "run")
    assert all(np.isfinite(array).all() for array in arrays.values())


def test_diverged_weights(tmp_path):
    def measured(model, corpus):
        model.head.softmax.bias.assign([math.inf] * 13)
        return {"forward": 9.0, "backward": 9.0, "mean": 9.0}

    said = r"weights of \S+bias are no .*step 3; .*step-00000002\.npz"
    with mock.patch.object(record, "perplexity", measured):
        with pytest.raises(Diverged, match=said):
            on_batches(ready_made(4), tmp_path / "run", checkpoint_every=2)
    assert Checkpoints(str(tmp_path / "run" / "checkpoints")).steps() == [2]
    assert not (tmp_path / "run" / "weights.hdf5").exists()


def test_run_of_few_shapes(folder, tmp_path):
    """A run that began on JAX goes on with its shapes, to another end."""
    shapes = BatchShapes((9,), num_words=64)
    with mock.patch.object(TrainingData, "choose_shapes", lambda data: shapes):
        on_text(folder, tmp_path / "few", steps=1)
    manifest = json.loads((tmp_path / "few" / "training.json").read_text())
    assert manifest["shapes"] == {"lengths": [9], "num_words": 64}
    on_text(folder, tmp_path / "few", steps=2, resume=True)
    again = json.loads((tmp_path / "few" / "training.json").read_text())
    assert again["shapes"] == manifest["shapes"]
    assert (manifest["steps"], again["steps"], manifest["minutes"]) == (1, 2, None)
    on_text(folder, tmp_path / "any", steps=2)
    assert_same_arrays(*(state_of(tmp_path / name)[0] for name in ("few", "any")))


def test_resume_with_other_vocabulary(whole, folder):
    shutil.copytree(folder / "whole", folder / "other words")
    words = folder / "other words" / "vocabulary.txt"
    own = words.read_text("utf-8")
    # It must have as many words.
    (folder / "other words" / "vocabulary.counts.txt").unlink()
    # Another word, and one word less.
    for other in (own.replace("boat", "ship"), own.replace("boat\n", "")):
        words.write_text(other, "utf-8")
        with pytest.raises(ValueError, match=f"{words} is not the one"):
            on_text(folder, folder / "other words", steps=8, resume=True)


def test_lost_vocabulary(whole, folder):
    shutil.copytree(folder / "whole", folder / "no words")
    (folder / "no words" / "vocabulary.txt").unlink()
    on_text(folder, folder / "no words", steps=7, resume=True)
    assert (folder / "no words" / "vocabulary.txt").exists()


def test_resume_with_other_text(folder, tmp_path):
    """A shard that has changed is refused; elsewhere it is the same text."""
    text = tmp_path / "text"
    text.mkdir()
    for name in ("text.txt", "held-out.txt"):
        write_text(text / name)
    on_text(text, tmp_path / "run", steps=1)
    before = state_of(tmp_path / "run")
    with open(text / "text.txt", "a", encoding="utf-8") as file:
        file.write("one more\n")
    with pytest.raises(ValueError, match=r"text\.txt: this file of `corpus` had"):
        on_text(text, tmp_path / "run", steps=2, resume=True)
    assert_same_state(state_of(tmp_path / "run"), before)
    on_text(folder, tmp_path / "run", steps=2, resume=True)
    assert state_of(tmp_path / "run")[1]["step"] == 2


@pytest.mark.usefixtures("eagerly")
def test_corpus_vocabulary(folder, tmp_path):
    """A run keeps the words of its corpus, which may be those of another text."""
    words = Vocabulary([*SPECIALS, "the", "of", "saw"])
    others = Vocabulary([*SPECIALS, "the", "of", "left"])

    def corpus(words):
        path = folder / "text.txt"
        return Corpus(path, words, "whitespace", batch_tokens=36, max_tokens=9)

    def train(words, **given):
        arguments = {"validation": None, "vocabulary_size": None, **given}
        on_batches(corpus(words), tmp_path / "run", **arguments)

    with pytest.raises(ValueError, match="`vocabulary_size` must be 6, the words of"):
        train(words, vocabulary_size=7)
    assert not (tmp_path / "run").exists()
    train(words, steps=1)
    model = PretrainingDirectory(tmp_path / "run").read_model()
    assert model.vocabulary.words == words.words
    assert model.encoder.tokenizer == "whitespace"
    assert perplexity(tmp_path / "run", folder / "held-out.txt")["unknown_rate"] > 0.5
    with pytest.raises(ValueError, match=r"must have the words of .*vocabulary\.txt"):
        train(others, steps=2, resume=True)
    with pytest.raises(ValueError, match="`validation` must have the vocabulary of"):
        train(words, validation=corpus(others), resume=True)
    train(words, steps=2, resume=True)
    assert state_of(tmp_path / "run")[1]["step"] == 2


# ---------------------------------------------------------------- when it ends


def test_patience(tmp_path):
    arguments = {"epochs": None, "steps": 9, "validate_every": 1, "patience": 2}
    with validation_is([90.0, 70.0, 71.0, 72.0]):
        on_batches(ready_made(4), tmp_path / "run", **arguments)
    assert [row.step for row in timeless(tmp_path / "run")] == [1, 2, 3, 4]
    # It does not go on when it is resumed.
    with validation_is([]):
        on_batches(ready_made(4), tmp_path / "run", **arguments, resume=True)
    assert timeless(tmp_path / "run")[-1].step == 4


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_resume_schedule(tmp_path, optimizer):
    """An optimizer follows a schedule and goes on with it."""
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, 2, warmup_target=0.1, warmup_steps=1
    )

    def train(name, steps, **given):
        arguments = {"optimizer": optimizer, "learning_rate": rate, **given}
        arguments |= {"validation": None, "epochs": None, "validate_every": 2}
        on_batches(ready_made(4), tmp_path / name, steps=steps, **arguments)

    train("run", 3)
    rows = timeless(tmp_path / "run")
    assert [row.step for row in rows] == [2, 3]
    assert [row.learning_rate for row in rows] == pytest.approx([0.05, 0.0], abs=1e-6)
    train("parts", 2)
    train("parts", 3, resume=True)
    assert_same_run(tmp_path / "parts", tmp_path / "run")
    with pytest.raises(ValueError, match="`learning_rate` must be"):
        train("run", 4, resume=True, learning_rate=0.2)
    with pytest.raises(ValueError, match=f"`optimizer` must be '{optimizer}'"):
        train("run", 4, resume=True, optimizer="adagrad")


def test_resumed_on_the_prepared_text(four, parts, folder, tmp_path):
    shutil.copytree(four, tmp_path / "run")
    for name in ("text.txt", "held-out.txt"):
        prepare(folder / name, tmp_path / name)
    on_text(tmp_path, tmp_path / "run", steps=7, resume=True)
    assert_same_state(state_of(tmp_path / "run"), state_of(folder / "parts"))
    prepare(folder / "text.txt", tmp_path / "other" / "text.txt", "whitespace")
    with pytest.raises(ValueError, match="`tokenizer` must be 'whitespace', wit"):
        on_text(tmp_path / "other", tmp_path / "run", steps=7, resume=True)


@pytest.mark.usefixtures("eagerly")
def test_old_runs_go_on(tmp_path):
    """Runs of earlier versions keep their recipe, Adagrad."""
    arguments = {"vocabulary_size": 13, "progress": False, "steps": 1}
    arguments["directory"] = tmp_path / "run"
    pretrain(CONFIG, ready_made(2), recipe="published", **arguments)
    path = tmp_path / "run" / "training.json"
    manifest = json.loads(path.read_text("utf-8"))
    assert manifest["num_sampled"] == 8192 and manifest["learning_rate"] == 0.2
    del manifest["words_per_epoch"]
    path.write_text(json.dumps(manifest), "utf-8")
    arguments["steps"] = 2
    model = pretrain(CONFIG, ready_made(2), resume=True, **arguments)
    assert type(model.optimizer).__name__ == "PublishedAdagrad"
    assert model.head.num_sampled == 8192
    assert [row.learning_rate for row in timeless(tmp_path / "run")] == [0.2, 0.2]


# In updates and milliseconds: see `kill_often`.
PHASES = {
    "count": (1, 300),
    "step": (4, 20),
    "validation": (1, 100),
    "weights": (1, 20),
    "checkpoint": (2, 20),
}


# Each kill starts a process, which makes its graphs anew.
@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_killed_process(devices, folder, tmp_path):
    """SIGKILL in any phase, on the text and on the prepared text: the same bits."""
    options = tmp_path / "options.json"
    options.write_text(json.dumps(CONFIG.to_options()), encoding="utf-8")
    arguments = [
        *("--options", options, "--num-sampled", 8, "--batch-tokens", 132),
        *("--devices", devices, "--steps", 4 * (killing.KILLS + 1)),
        *("--validate-every", 4, "--checkpoint-every", 3),
    ]
    arguments = ["pretrain", "--validation", folder / "held-out.txt", *arguments]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    text, prepared = folder / "text.txt", tmp_path / "prepared"
    killing.finish(killing.command(*arguments, "--corpus", text, "--out", whole))
    prepare(text, prepared)
    arguments += ["--out", killed, "--resume", "--corpus"]
    commands = [killing.command(*arguments, corpus) for corpus in (prepared, text)]
    killing.kill_often(commands, PHASES, first=["count"])
    killing.finish(commands[1])
    assert_same_run(killed, whole)
    assert_same_arrays(*(arrays_of(run / "weights.hdf5") for run in (killed, whole)))


def arrays_of(path):
    arrays = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[...]

    with h5py.File(path) as file:
        file.visititems(keep)
    assert arrays
    return arrays
