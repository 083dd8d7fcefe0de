"""What an exported model says of itself, whoever wrote it."""

import pytest

from keras_elmo.files.description import Task, new_description, read_description
from tests.helpers.small import CONFIG

TASK = Task("tagger", ("O", "B-PER"))
SOUND = new_description(CONFIG, TASK, tokenizer=None, layer_norm=False)


def with_task(**changes):
    return {"task": {**SOUND["task"], **changes}}


# A path, a class or a function that is named is not looked up.
DAMAGED = {
    "no object": ([], "lacks the key format"),
    "no version": ({"format": None}, "the format must be 1; .* Received: None"),
    "later version": ({"format": 2}, "the format must be 1; a later keras_elmo may"),
    "a path for options": ({"options": "/etc/passwd"}, "options must be a JSON object"),
    "a list of options": ({"options": []}, "options must be a JSON object"),
    "a tokenizer": ({"tokenizer": {"kind": "unicode"}}, "the tokenizer must be"),
    "a signature": ({"signature_tokenizer": "rm"}, "the tokenizer must be .*'rm'"),
    "a class": ({"dtype": {"class_name": "system", "config": "x"}}, "the dtype must"),
    "a lambda": ({"dtype": {"class_name": "__lambda__", "config": {}}}, "the dtype"),
    "no policy": ({"dtype": {"class_name": "DTypePolicy", "config": 3}}, "the dtype"),
    "another dtype": ({"dtype": "string"}, "the dtype must be one of float32, "),
    "a number": ({"layer_norm": 1}, "layer_norm must be true or false"),
    "a mix": ({"mix": 3}, "description is damaged"),
    "a normalised mix": ({"mix": [[1.0], 1.0, 0]}, "layer_norm must be true or false"),
    "no task": ({"task": "tagger"}, "description is damaged"),
    "a kind": (with_task(kind="parser"), "its task is damaged"),
    "a text of names": (with_task(names="O"), "its task is damaged"),
    "no names": (with_task(names=[]), "its task is damaged"),
    "a number as name": (with_task(names=["O", 1]), "its task is damaged"),
    "a flag": (with_task(multi_label=1), "its task is damaged"),
    "pairs": (with_task(pairs="yes"), "its task is damaged"),
    "more": (with_task(more=1), "description is damaged"),
}


def stored(changes):
    """As JSON has it, where a tuple is a list."""
    task = {"task": {**SOUND["task"], "names": [*TASK.names]}}
    return {**SOUND, **task, **changes} if isinstance(changes, dict) else changes


@pytest.mark.parametrize("problem", DAMAGED)
def test_damaged(problem):
    changes, said = DAMAGED[problem]
    with pytest.raises(ValueError, match=f"^model.onnx: [^\n]*{said}[^\n]*$"):
        read_description(stored(changes), "model.onnx")


def test_formats():
    """Each format has some of it in a way of its own."""
    about = read_description(stored({}), "")
    assert about[:5] == (CONFIG, None, "float32", False, TASK)
    encoder = stored({"task": None, "mix": [[1.0], 1.0, True], "quantize": "int8"})
    assert read_description(encoder, "")[2:5] == ("int8", True, None)
    policy = {"class_name": "DTypePolicy", "config": {"name": "bfloat16"}}
    signature = {"tokenizer": "unicode", "signature_tokenizer": "whitespace"}
    saved = read_description(stored({"dtype": policy, **signature}), "")
    assert saved[1:3] == ("whitespace", "bfloat16")
