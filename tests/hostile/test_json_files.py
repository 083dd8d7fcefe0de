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

pytestmark = pytest.mark.usefixtures("little_memory")

DEEP = 100_000
NO_JSON = {
    "nested lists": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "unclosed": b'{"lstm": [' * DEEP,
    "a key twice": b'{"lstm": {"dim": 9, "dim": 1000000}}',
    "not UTF-8": b'{"lstm": "\xff\xfe"}',
    "a number of 5,000 digits": b'{"lstm": ' + b"9" * 5000 + b"}",
    "nothing": b"",
    "NUL": b"\0" * 100,
    "another kind": b"[1, 2]",
    "many bytes": b" " * (1 << 25) + b"{}",
}


def spoil(path, content):
    Path(path).write_bytes(content)


@pytest.mark.parametrize("file", ["options", "training"])
@pytest.mark.parametrize("content", NO_JSON)
def test_not_json(file, content, directory, tmp_path):
    """Invalid JSON is an error of one line that names the file."""
    path = getattr(directory, file)
    spoil(path, NO_JSON[content])
    out = tmp_path / "out"
    result = command("export", "--model", directory.path, "--out", out)
    assert_one_line(*result, path)
    assert not out.exists()


@pytest.mark.parametrize("content", NO_JSON)
def test_description_not_json(content, saved_model, tmp_path):
    """Invalid JSON in an exported model's description is an error of one line."""
    path = os.path.join(saved_model, "assets.extra", "keras_elmo.json")
    spoil(path, NO_JSON[content])
    out = tmp_path / "out"
    result = command("export", "--model", saved_model, "--out", out)
    assert_one_line(*result, path)
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


@pytest.mark.parametrize("size", SIZES)
def test_sizes(size, directory, tmp_path):
    """Impossible sizes are a short error, and nothing of such a size is allocated."""
    options = options_with(*SIZES[size])
    spoil(directory.options, json.dumps(options).encode())
    out = tmp_path / "out.onnx"
    result = command("export", "--model", directory.path, "--out", out)
    assert_one_line(*result, directory.options)
    assert len(result[2]) < 1000
    assert not out.exists()


@pytest.mark.parametrize("size", SIZES)
def test_sizes_of_exported_model(size, saved_model):
    """Impossible sizes in an exported model are an error, too."""
    path = Path(saved_model, "assets.extra", "keras_elmo.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["options"] = options_with(*SIZES[size])
    path.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ValueError, match=r"keras_elmo\.json"):
        load(saved_model)


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


DESCRIPTIONS = {
    "a path for options": {"options": "/etc/passwd"},
    "options of a list": {"options": []},
    "another class": {"dtype": {"module": "os", "class_name": "system", "config": "x"}},
    "a lambda": {"dtype": {"class_name": "__lambda__", "config": {}}},
    "a policy of none": {"dtype": {"class_name": "DTypePolicy", "config": 3}},
    "no dtype": {"dtype": "string"},
    "a tokenizer": {"tokenizer": {"kind": "unicode"}},
}


@pytest.mark.parametrize("change", DESCRIPTIONS)
def test_description_values(change, saved_model):
    """No class or path that a description names is looked up."""
    path = Path(saved_model, "assets.extra", "keras_elmo.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**stored, **DESCRIPTIONS[change]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"keras_elmo\.json: "):
        load(saved_model)


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
