"""Small models of every kind of file, for tests to spoil."""

from keras_elmo.export.saved_model import export_saved_model
from tests.helpers.bilm_files import module_variables, write_checkpoint, write_module
from tests.helpers.exports import embedding
from tests.helpers.pretrained import write_pretrained
from tests.helpers.small import CONFIG

WORDS = ["<S>", "</S>", "<UNK>", "the", "배", "bank"]


def write_originals(folder):
    """Writes a pretraining directory, exported models, and models of other programs."""
    write_pretrained(folder / "directory", CONFIG, WORDS)
    export_saved_model(embedding(), folder / "saved_model", None)
    words = folder / "language_model"
    export_saved_model(folder / "directory", words, None, language_model=True)
    write_checkpoint(folder / "bilm")
    write_module(folder / "hub", module_variables(CONFIG.to_options())[0])
