"""Writes the files that bilm-tf and TensorFlow Hub leave, without TensorFlow 1."""

import copy
import json
import re

import numpy as np
import tensorflow as tf

from tests.helpers import numpy_reference
from tests.helpers.small import CONFIG

# As bilm-tf's readme has them: not in the order of this package.
WORDS = ["</S>", "<S>", "<UNK>", "the", "bank", "배"]
STEP = 1250


def checkpoint_options(**changes):
    options = copy.deepcopy(CONFIG.to_options())
    options["char_cnn"]["n_characters"] = 261
    options |= {"n_tokens_vocab": len(WORDS), "n_negative_samples_batch": 4}
    options |= {"unroll_steps": 20, "all_clip_norm_val": 10.0, "n_train_tokens": 10**6}
    options["lstm"] |= changes
    return options


def in_trainer(dataset, several_layers=True):
    """The name that bilm-tf's trainer gives the variable of a dataset."""
    layer = r"rnn/multi_rnn_cell/cell_\1" if several_layers else "rnn"
    name = re.sub(r"RNN/MultiRNNCell/Cell(\d+)/LSTMCell", f"{layer}/lstm_cell", dataset)
    name = name.replace("cell/W_0", "cell/kernel").replace("cell/B", "cell/bias")
    return "lm/" + name.replace("W_P_0", "projection/kernel")


def in_module(dataset):
    """The name in a TF Hub module."""
    name = re.sub(r"(Cell\d+)/LSTMCell", r"\1/rnn/lstm_cell", dataset)
    name = name.replace("cell/W_0", "cell/kernel").replace("cell/B", "cell/bias")
    return "bilm/" + name.replace("W_P_0", "projection/kernel")


def write_variables(prefix, variables):
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(variables),
        shape_and_slices=[""] * len(variables),
        tensors=[tf.constant(value) for value in variables.values()],
    )


def checkpoint_variables(options, several_layers=True):
    """Weights, softmax and sums of squares, by bilm-tf's names; and the weights."""
    weights = numpy_reference.random_weights(options)
    rng = np.random.default_rng(1)
    units = options["lstm"]["projection_dim"]
    weights["softmax/W"] = rng.normal(0, 0.3, (len(WORDS), units)).astype("float32")
    weights["softmax/b"] = rng.normal(0, 0.3, (len(WORDS),)).astype("float32")
    variables = {"global_step": np.float32(STEP), "train_perplexity": np.float32(9)}
    for dataset, array in weights.items():
        name = in_trainer(dataset, several_layers)
        variables[name] = array
        variables[f"{name}/Adagrad"] = 1 + rng.random(array.shape, "float32")
    return variables, weights


def write_checkpoint(folder, options=None, variables=None, words=WORDS):
    """Writes a training folder and, in it, the vocabulary; returns its variables."""
    folder.mkdir(exist_ok=True)
    options = options or checkpoint_options()
    variables = variables or checkpoint_variables(options)[0]
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    write_variables(folder / f"model.ckpt-{STEP}", variables)
    where = f"/gone/models/model.ckpt-{STEP}"
    (folder / "checkpoint").write_text(
        f'model_checkpoint_path: "{where}"\nall_model_checkpoint_paths: "{where}"\n',
        encoding="utf-8",
    )
    return variables


def module_variables(options, rows=262):
    """The variables of a module, and the weights by their published names."""
    weights = numpy_reference.random_weights(options)
    variables = {in_module(name): array for name, array in weights.items()}
    if rows == 262:
        mask = np.zeros_like(weights["char_embed"][:1])
        variables["bilm/char_embed"] = np.concatenate([mask, weights["char_embed"]])
    mix = np.array([0.3, -0.5, 0.1], "float32")
    variables |= {"aggregation/weights": mix, "aggregation/scaling": np.float32(1.5)}
    return variables, weights


def write_module(folder, variables):
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"")
    write_variables(folder / "variables" / "variables", variables)
