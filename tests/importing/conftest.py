"""Small models of ours and of other programs."""

import pytest

from keras_elmo.files.exported_sources import ExportedModel
from keras_elmo.files.run_sources import PublishedFolder, Run
from keras_elmo.importing.bilm_checkpoint import BilmCheckpoint
from keras_elmo.importing.hub import HubModule
from tests.helpers.bilm_files import module_variables, write_checkpoint, write_module
from tests.helpers.exports import export_weights
from tests.helpers.pretrained import write_pretrained
from tests.helpers.small import CONFIG, write_random

OUR_WORDS = ["<S>", "</S>", "<UNK>", "the", "배", "bank"]
KINDS = {
    "checkpoint": BilmCheckpoint,
    "hub": HubModule,
    "published": PublishedFolder,
    "run": Run,
    "exported": ExportedModel,
}


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """One of each kind, by its name."""
    folder = tmp_path_factory.mktemp("models")
    write_checkpoint(folder / "checkpoint")
    write_module(folder / "hub", module_variables(CONFIG.to_options())[0])
    (folder / "published").mkdir()
    options, weights = write_random(folder / "published")
    options.rename(folder / "published" / "elmo_small_options.json")
    weights.rename(folder / "published" / "elmo_small_weights.hdf5")
    write_pretrained(folder / "run", CONFIG, OUR_WORDS)
    export_weights(folder / "run", folder / "exported", language_model=True)
    return folder
