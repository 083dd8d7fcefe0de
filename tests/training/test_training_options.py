"""The options of pretraining: one declaration, and what reads it."""

import inspect
import re

import keras
import pytest

import keras_elmo
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.options import options_of, python_help
from tests.helpers.fresh_process import ROOT

# Names, order and defaults are a contract.
SIGNATURE = """
(config, corpus, validation=None, directory='runs/elmo', *, init=None, tokenizer=None,
vocabulary_size=None, column=None, max_distinct=20000000, recipe=None,
num_sampled=None, batch_tokens=None, max_tokens=66, optimizer=None,
learning_rate=None, schedule=None, warmup_steps=0, dtype=None, seed=0, devices=None,
steps=None, epochs=None, minutes=None, patience=None, validate_every=None,
checkpoint_every=None, checkpoint_minutes=10.0,
keep_checkpoints=3, tensorboard=False, resume=False, progress=True, callbacks=None)
"""


def test_signature_of_pretrain():
    signature = inspect.signature(keras_elmo.pretrain)
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
    ]
    told = str(inspect.Signature(plain))
    assert told == " ".join(SIGNATURE.split()).replace("( ", "(")
    assert signature.parameters["steps"].annotation == int | None
    assert keras_elmo.pretrain.__module__ == "keras_elmo.training.pretrain"


def test_docstring_explains_every_option():
    names = options_of(TrainingOptions).keys()
    for name in names:
        assert f"\n    {name}: " in keras_elmo.pretrain.__doc__
    assert names == set(inspect.signature(keras_elmo.pretrain).parameters)


def test_page_lists_every_option():
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    rows = ["| Python | Command line | Default | Meaning |\n| --- | --- | --- | --- |"]
    parameters = inspect.signature(keras_elmo.pretrain).parameters
    help = python_help(TrainingOptions)
    for name, option in options_of(TrainingOptions).items():
        flag = f"`{option.flag}`" if option.flag else ""
        default = parameters[name].default
        default = "" if default is inspect.Parameter.empty else f"`{default!r}`"
        rows.append(f"| `{name}` | {flag} | {default} | {help[name]} |")
    assert "\n".join(rows) + "\n" in page


def test_help_and_default_are_written_once():
    """In training/training_options.py, and nowhere else in the package."""
    for path in (ROOT / "keras_elmo").rglob("*.py"):
        if path.parts[-2:] != ("training", "training_options.py"):
            source = path.read_text(encoding="utf-8")
            declared = re.findall(r"^\s*checkpoint_minutes: ", source, re.MULTILINE)
            assert not declared, path


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"steps": 0}, "`steps` must be positive"),
        ({"epochs": -1}, "`epochs` must be positive"),
        ({"minutes": float("nan")}, "`minutes` must be positive"),
        ({"validate_every": 0}, "`validate_every` must be positive"),
        ({"num_sampled": 0}, "`num_sampled` must be positive"),
        ({"keep_checkpoints": 0}, "`keep_checkpoints` must be positive"),
        ({"checkpoint_minutes": 0.0}, "`checkpoint_minutes` must be positive"),
        ({"devices": 2000}, "`devices` must be at most 1,024"),
        ({"batch_tokens": 10**12}, "`batch_tokens` must be at most 10,0"),
        ({"learning_rate": 1e9}, "`learning_rate` must be at most 1,000"),
        ({"vocabulary_size": 3}, "`vocabulary_size` must be more than the 3"),
        ({"tokenizer": "bpe"}, "`tokenizer` must be"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be positive"),
        ({"optimizer": "sgd"}, "`optimizer` must be 'adagrad' or 'adam' or 'muon'"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"seed": 2**32}, "`seed` must be at most 4,294,967,295"),
        ({"patience": 2}, "`patience` needs a `validation` text"),
        ({"schedule": "cosine"}, "`schedule` cosine needs `steps`"),
        ({"schedule": "cosine", "steps": 9, "learning_rate": abs}, "needs a number"),
        ({"schedule": "falling", "learning_rate": abs}, "falling needs a number"),
        ({"recipe": "best"}, "`recipe` must be 'device' or 'published'"),
        ({"warmup_steps": 2}, "`warmup_steps` needs `schedule` cosine"),
        (
            {"optimizer": keras.optimizers.SGD(), "learning_rate": 0.1},
            "`learning_rate` must be None where `optimizer` is an object",
        ),
        (
            {"schedule": "cosine", "steps": 9, "warmup_steps": 9},
            "`warmup_steps` must be at least 0 and below `steps`, 9",
        ),
        ({"dtype": "float16"}, "`dtype` must be 'float32' or .*overflows"),
        ({"dtype": "mixed_float16"}, "`dtype` must be .*overflows"),
        ({"dtype": "bfloat16"}, "`dtype` must be .*would be lost"),
        ({"dtype": "float64"}, "`dtype` must be .*'mixed_bfloat16'"),
    ],
    # The same ones in each process.
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_impossible_values(values, said):
    with pytest.raises(ValueError, match=said):
        TrainingOptions(None, "text.txt", **values)


def test_ten_epochs_if_nothing_ends_a_run():
    assert TrainingOptions(None, "text.txt").epochs == 10
    assert TrainingOptions(None, "text.txt", steps=3).epochs is None


def test_optimizer_that_is_none():
    with pytest.raises(TypeError, match="`optimizer` must be a name or a Keras opt"):
        TrainingOptions(None, "text.txt", optimizer=5)
