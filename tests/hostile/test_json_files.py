"""options.json, training.json, and the description of an exported model."""

import json
import os
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from keras_elmo.config import ElmoConfig
from keras_elmo.files.loading import load
from keras_elmo.training.manifest import check_manifest
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.small import CONFIG
from tests.utils.test_files import INVALID_JSON

pytestmark = pytest.mark.usefixtures("little_memory")


def spoil(path, content):
    Path(path).write_bytes(content)


@pytest.fixture
def load_spoilt(directory, saved_model):
    """Loads a model one of whose files has another content; yields what is said."""
    files = {
        "options": directory.options,
        "training": directory.training,
        "description": os.path.join(saved_model, "assets.extra", "keras_elmo.json"),
    }

    def load_spoilt(file, content):
        if isinstance(content, dict):
            stored = json.loads(Path(files[file]).read_text(encoding="utf-8"))
            content = json.dumps({**stored, **content}).encode()
        Path(files[file]).write_bytes(content)
        with pytest.raises(ValueError) as error:
            load(saved_model if file == "description" else directory.path)
        said = str(error.value)
        assert str(files[file]) in said and len(said) < 1000
        assert "\n" not in said

    return load_spoilt


@pytest.mark.parametrize("file", ["options", "training", "description"])
def test_not_json(file, load_spoilt):
    """Invalid JSON is an error of one line that names the file."""
    load_spoilt(file, INVALID_JSON["nested objects"])


def test_command(directory, tmp_path):
    """The command says it, and leaves nothing."""
    spoil(directory.options, INVALID_JSON["nested objects"])
    out = tmp_path / "out"
    result = command("export", "--model", directory.path, "--out", out)
    assert_one_line(*result, directory.options)
    assert not out.exists()


HUGE = 10**12
SIZES = {
    "units": ("lstm", "dim", HUGE),
    "units that might be": ("lstm", "dim", 1_000_000),
    "projection": ("lstm", "projection_dim", 1_000_000),
    "layers": ("lstm", "n_layers", HUGE),
    "layers that might be": ("lstm", "n_layers", 100),
    "highways": ("char_cnn", "n_highway", 10**6),
    "a filter": ("char_cnn", "filters", [[1, 10**6]]),
    "filters": ("char_cnn", "filters", [[1, 1]] * 10**5),
    "characters": ("char_cnn", "embedding", {"dim": 10**6}),
    "text": ("lstm", "dim", "9" * 10**6),
    "a truth": ("lstm", "n_layers", True),
    "a fraction": ("lstm", "dim", 9.5),
    "no number": ("lstm", "cell_clip", float("nan")),
    "no end": ("lstm", "proj_clip", float("inf")),
    "a list": ("char_cnn", "activation", [["relu"]] * 10**5),
    "an object": ("lstm", "use_skip_connections", {"a": 1}),
    "nothing": ("lstm", "projection_dim", None),
    "a filter of three": ("char_cnn", "filters", [[1, 4, 9]]),
    "filters of text": ("char_cnn", "filters", ["14"]),
}


def options_with(section, key, value):
    options = CONFIG.to_options()
    options[section][key] = value
    return options


@pytest.mark.parametrize(
    ("file", "size"),
    [*(("options", size) for size in SIZES), ("description", "units")],
)
def test_sizes(file, size, load_spoilt):
    """Impossible sizes are a short error, and nothing of such a size is allocated."""
    options = options_with(*SIZES[size])
    load_spoilt(file, options if file == "options" else {"options": options})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocabulary_size", 10**12),
        ("vocabulary_size", "6"),
        ("num_sampled", -1),
        ("num_sampled", [4]),
        ("tokenizer", ["whitespace"]),
        ("tokenizer", "../../tokenizer"),
    ],
    ids=str,
)
def test_manifest_values(key, value, directory, tmp_path):
    """Impossible values of training.json are an error of one line."""
    os.remove(directory.vocabulary)
    manifest = {**directory.read_manifest(), key: value}
    spoil(directory.training, json.dumps(manifest).encode())
    (tmp_path / "text.txt").write_text("the bank\n", encoding="utf-8")
    corpus = ("--corpus", tmp_path / "text.txt")
    result = command("evaluate", "--model", directory.path, *corpus)
    assert_one_line(*result, directory.training)


@pytest.mark.parametrize("corpus", [5, ["text.txt"], [["text.txt", "long"]]], ids=str)
def test_manifest_on_resume(corpus, directory):
    """An impossible corpus in training.json is an error."""
    manifest = {**directory.read_manifest(), "corpus": corpus}
    spoil(directory.training, json.dumps(manifest).encode())
    with pytest.raises(ValueError, match="training.json: corpus must be pairs"):
        check_manifest(directory, CONFIG, {"corpus": [["text.txt", 9]]})


def test_description_values(load_spoilt):
    """No class that a description names is looked up."""
    dtype = {"module": "os", "class_name": "system", "config": "x"}
    load_spoilt("description", {"dtype": dtype})


values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=5),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(
            strategies.sampled_from(["dim", "filters", "lstm", "a"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@hypothesis.given(
    strategies.sampled_from(["char_cnn", "lstm"]),
    strategies.sampled_from(
        ["dim", "n_layers", "cell_clip", "filters", "embedding", "n_highway"]
        + ["activation", "projection_dim", "use_skip_connections", "n_characters"]
    ),
    values,
)
def test_any_value(section, key, value):
    """Any value is accepted as a size, or a ValueError."""
    options = CONFIG.to_options()
    options[section][key] = value
    try:
        config = ElmoConfig.from_options(options)
    except ValueError:
        return
    assert ElmoConfig.from_options(config.to_options()) == config
    assert isinstance(config.num_weights, int)
