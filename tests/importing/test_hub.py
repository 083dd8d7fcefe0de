"""TensorFlow Hub's module becomes an exported model, with its mix."""

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.importing.hub import HubModule
from keras_elmo.importing.models import import_model
from tests.helpers import numpy_reference
from tests.helpers.bilm_files import in_module, module_variables, write_module
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.small import CONFIG

pytestmark = pytest.mark.graph

TOKENS = [["the", "bank", "closed"], ["배"]]


def expected(options, weights, mix, gamma):
    """The five outputs of each sentence, by the formulas."""
    for tokens in TOKENS:
        layers, _ = numpy_reference.encode(tokens, options, weights)
        layers = [layer[1:-1] for layer in layers]
        elmo = numpy_reference.scalar_mix(layers, mix, gamma)
        outputs = {f"lstm_outputs{k}": layers[k] for k in (1, 2)}
        projection = options["lstm"]["projection_dim"]
        outputs |= {"word_emb": layers[0][:, :projection], "elmo": elmo}
        yield outputs, elmo.mean(axis=0)


def test_outputs(tmp_path):
    """All five outputs are those of the formulas with the module's weights and mix."""
    options = CONFIG.to_options()
    variables, weights = module_variables(options)
    write_module(tmp_path / "theirs", variables)
    arguments = ("import", tmp_path / "theirs", "--out", tmp_path / "ours")
    assert command(*arguments) == (0, "", "")
    model = tf.saved_model.load(str(tmp_path / "ours"))
    strings = tf.constant([" ".join(tokens) for tokens in TOKENS])
    actual = model.signatures["default"](strings=strings)
    mix = variables["aggregation/weights"], variables["aggregation/scaling"]
    for row, (outputs, mean) in enumerate(expected(options, weights, *mix)):
        for name, wanted in outputs.items():
            got = actual[name].numpy()[row]
            np.testing.assert_allclose(got[: len(wanted)], wanted, atol=1e-5, rtol=0)
            assert not got[len(wanted) :].any()
        np.testing.assert_allclose(actual["default"][row], mean, atol=1e-5, rtol=0)


def test_mask_row(tmp_path):
    """The row of the mask may be missing, as in the published files."""
    for rows in (261, 262):
        variables, _ = module_variables(CONFIG.to_options(), rows)
        write_module(tmp_path / str(rows), variables)
    without, with_row = (
        HubModule(tmp_path / rows).encoder().get_weights() for rows in ("261", "262")
    )
    for array, wanted in zip(without, with_row, strict=True):
        np.testing.assert_array_equal(array, wanted)


KERNEL = in_module("RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_0")


def changed(name, *shape):
    return lambda variables: variables.update({name: np.zeros(shape, "float32")})


REFUSED = {
    "no mix": (
        lambda variables: variables.pop("aggregation/weights"),
        "lacks the variable aggregation/weights, (3,)",
    ),
    "no gamma": (
        lambda variables: variables.pop("aggregation/scaling"),
        "lacks the variable aggregation/scaling, ()",
    ),
    "mix": (changed("aggregation/weights", 4), "of shape (3,), not float32 of (4,)"),
    "kernel": (changed(KERNEL, 14, 40), "(14, 36), not float32 of (14, 40)"),
    "no kernel": (lambda variables: variables.pop(KERNEL), f"variable {KERNEL}"),
    "filter": (changed("bilm/CNN/W_cnn_1", 5), "must have 4 axes. Received: the shape"),
    "no filters": (
        lambda variables: variables.pop("bilm/CNN/W_cnn_0"),
        "`filters` must be 1 to 100 pairs",
    ),
    "gap": (
        lambda variables: variables.pop("bilm/CNN/W_cnn_1"),
        "holds the variable bilm/CNN/W_cnn_2, (1, 3, 3, 6), but the number",
    ),
    "no characters": (
        lambda variables: variables.pop("bilm/char_embed"),
        "no variables of bilm-tf",
    ),
    "text": (
        lambda variables: variables.update({KERNEL: np.full((14, 36), b"x")}),
        "not string of (14, 36)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, tmp_path):
    """What is missing or contradicts is named in one line, and nothing is written."""
    change, said = REFUSED[what]
    variables, _ = module_variables(CONFIG.to_options())
    change(variables)
    write_module(tmp_path / "theirs", variables)
    result = command("import", "--hub", tmp_path / "theirs", "--out", tmp_path / "ours")
    assert_one_line(*result, "variables", said)
    assert not (tmp_path / "ours").exists()


def test_no_module(tmp_path):
    with pytest.raises(ValueError, match="variables.*: no such file"):
        import_model(tmp_path, tmp_path / "ours", kind="hub")
