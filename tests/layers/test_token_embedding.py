"""Whatever tokens are embedded by: trained, resumed, written in every form and read."""

import dataclasses

import numpy as np
import pytest

import keras_elmo
from keras_elmo.files.published import ENCODER_NAMES
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.models.encoder import build_encoder
from keras_elmo.onnx_graphs.encoder_graph import embed_words
from keras_elmo.onnx_graphs.graph import OnnxGraph
from tests.helpers.command_line import command
from tests.helpers.installed import import_installed
from tests.helpers.looked_up import LOOKED_UP
from tests.helpers.runs import assert_same_state, state_of, write_text
from tests.helpers.small import SMALLER, random_encoder

pytestmark = pytest.mark.graph

# A new kind of token embedding, and each size that it may lack, is a row here.
CONFIGS = {
    "no highway layers": dataclasses.replace(SMALLER, num_highway_layers=0),
    "words and characters": dataclasses.replace(LOOKED_UP, num_layers=1),
}
# What the card of a run and `inspect` say of each.
TOLD = {
    "no highway layers": ("a character CNN (9 filters)", "0 highway layers"),
    "words and characters": ("a character CNN (15 filters)", "looks up 7 words"),
}
TOKENS = [["the", "bank", "x" * 60], ["배"]]


@pytest.mark.parametrize("name", CONFIGS)
def test_description(name):
    """A config counts the weights, and options.json keeps it."""
    config = CONFIGS[name]
    encoder = build_encoder(config)
    assert encoder.count_params() == config.num_weights
    assert config.from_options(config.to_options()) == config
    names = [name for name, _, _ in encoder.token_embedding.stored_weights()]
    assert len(set(names)) == len(names) == len(encoder.token_embedding.weights)
    # By these a file is found to hold weights that its sizes do not describe.
    assert all(name.startswith(ENCODER_NAMES) for name in names)


@pytest.mark.parametrize("name", CONFIGS)
def test_training(name, tmp_path, eagerly):
    """A run that is resumed has the bits of one that was not, and keeps the sizes."""
    config, text = CONFIGS[name], write_text(tmp_path / "text.txt")
    (tmp_path / "held-out.txt").write_text("Ann saw the bank\n")
    arguments = {"tokenizer": "whitespace", "num_sampled": 3}
    arguments["validation"] = tmp_path / "held-out.txt"
    arguments |= {"validate_every": 1, "progress": False, "resume": True}
    for directory, steps in (("whole", 2), ("run", 1), ("run", 2)):
        arguments["directory"] = tmp_path / directory
        keras_elmo.pretrain(config, text, steps=steps, **arguments)
    assert_same_state(state_of(tmp_path / "run"), state_of(tmp_path / "whole"))
    assert keras_elmo.load(tmp_path / "run").config == config
    for program, text in zip(("card", "inspect"), TOLD[name], strict=True):
        assert text in " ".join(command(program, tmp_path / "run")[1].split())


@pytest.mark.parametrize("name", CONFIGS)
def test_forms(name, tmp_path):
    """Every form of the model has the same vectors and tells the same sizes."""
    import_installed("onnxruntime")
    encoder = random_encoder(CONFIGS[name])
    forms = [tmp_path / form for form in ("published", "saved_model", "elmo.onnx")]
    published, saved_model, onnx = forms
    files = published / "options.json", published / "weights.hdf5"
    keras_elmo.save_published_weights(encoder, *files)
    keras_elmo.export_saved_model(encoder, saved_model)
    keras_elmo.export_onnx(encoder, onnx)
    wanted = [*keras_elmo.embed(encoder, TOKENS)]
    for form in forms:
        model = keras_elmo.load(form)
        assert model.config == encoder.config
        found = [*keras_elmo.embed(model, TOKENS)]
        for layers, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(layers, expected, atol=1e-5)
        sizes = keras_elmo.inspect_model(form)["parameters"]
        assert sizes["encoder"] == encoder.count_params()


def test_no_form_in_onnx():
    with pytest.raises(ValueError, match="`source` must .* Received: a TokenEmbedding"):
        embed_words(TokenEmbedding(), OnnxGraph("elmo"), "words", 50)
