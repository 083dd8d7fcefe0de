"""The files of a pretraining directory."""

import os
import reprlib
import warnings
from collections.abc import Iterator

from keras_elmo.config import ElmoConfig
from keras_elmo.files.checkpoint import Checkpoints, restore_checkpoint
from keras_elmo.files.finding import RunFiles
from keras_elmo.files.published import (
    Dataset,
    encoder_datasets,
    load_published_weights,
    read_datasets,
    save_published_weights,
    softmax_datasets,
    write_datasets,
)
from keras_elmo.files.validation import NoLanguageModel, check_size, check_tokenizer
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.utils.files import read_json_object, replacing, write_json
from keras_elmo.utils.types import Config, StrPath

# Key of the manifest of a run that another program began: what it names. The first
# command that resumes the run replaces the manifest.
IMPORTED = "imported"


class PretrainingDirectory(RunFiles):
    """Reads and writes the files of a pretraining directory."""

    def write_manifest(self, config: ElmoConfig, manifest: Config) -> None:
        # training.json comes first: it tells a run from any other folder.
        write_json(self.training, manifest)
        write_json(self.options, config.to_options())

    def read_manifest(self) -> Config:
        """Returns what the run began with; nothing, if no run made the folder."""
        if not os.path.exists(self.training):
            return {}
        return read_json_object(self.training)

    def write_weights(self, model: PretrainingModel) -> None:
        write_datasets(self.weights, _datasets(model))

    def read_encoder(self) -> Encoder:
        """Returns the encoder without reading the rows of the softmax."""
        manifest = self.read_manifest()
        tokenizer = check_tokenizer(manifest.get("tokenizer"), self.training)
        return load_published_weights(self.options, self.weights, tokenizer)

    def read_model(self) -> PretrainingModel:
        """Returns the language model, or raises `ValueError`."""
        model, described_by = self._new_model([self.weights])
        read_datasets(self.weights, _datasets(model), described_by)
        return model

    def read_checkpoint(self, path: StrPath | None = None) -> PretrainingModel:
        """Returns the language model of a checkpoint, or of the last intact one.

        A warning names the step of the last one.
        """
        checkpoints = Checkpoints(self.checkpoints)
        paths = [path] if path else map(checkpoints.path, checkpoints.steps())
        model, _ = self._new_model([*paths])
        words = None if model.vocabulary is None else model.vocabulary.digest()

        def check(progress: Config) -> None:
            if progress.get("vocabulary", words) != words:
                raise ValueError(
                    f"{self.vocabulary} is not the one that the checkpoints of "
                    f"{self.path} were trained with"
                )

        if path is not None:
            restore_checkpoint(path, model, check)
            return model
        progress = checkpoints.restore(model, warnings.warn, check) or {}
        warnings.warn(
            f"{self.path}: no validation has chosen weights yet: takes the weights of "
            f"step {progress.get('step')}, the last checkpoint",
            stacklevel=3,
        )
        return model

    def _new_model(self, weights: list[StrPath]) -> tuple[PretrainingModel, str]:
        """Returns a model of the run's sizes, and the files that say them.

        `weights` are the files with its numbers, which must be large enough for it.
        """
        for file in (self.options, *weights):
            if not os.path.exists(file):
                raise ValueError(f"{self.path}: holds no model: {file} is missing")
        manifest = self.read_manifest()
        for key in ("vocabulary_size", "num_sampled", "tokenizer"):
            if key not in manifest:
                raise NoLanguageModel(
                    f"{self.path}: holds an encoder but no language model: "
                    f"{self.training} is missing, or names no {key}"
                )
        vocabulary, size, source = None, manifest["vocabulary_size"], self.training
        if os.path.exists(self.vocabulary):
            vocabulary = self.read_vocabulary()
            # The text may have had fewer words than were asked for.
            size, source = len(vocabulary), self.vocabulary
        elif size is None:
            raise NoLanguageModel(
                f"{self.path}: holds no language model: {self.vocabulary} is missing"
            )
        _check_count("vocabulary_size", size, source)
        _check_count("num_sampled", manifest["num_sampled"], self.training)
        tokenizer = check_tokenizer(manifest["tokenizer"], self.training)
        config = ElmoConfig.from_options(self.options)
        num_weights = config.num_weights + size * (config.projection_units + 1)
        described_by = f"{self.options} and {source}"
        check_size(num_weights, weights, described_by)
        model = PretrainingModel(config, size, manifest["num_sampled"])
        model.encoder.tokenizer = tokenizer
        model.vocabulary = vocabulary
        return model, described_by

    def read_vocabulary(self) -> Vocabulary:
        return Vocabulary.load(self.vocabulary)


def write_encoder(encoder: Encoder, directory: StrPath) -> None:
    """Writes a directory with the weights of an encoder that another program made."""
    with replacing(directory) as temporary:
        files = PretrainingDirectory(temporary)
        os.makedirs(temporary)
        if encoder.tokenizer is not None:
            files.write_manifest(encoder.config, {"tokenizer": encoder.tokenizer})
        save_published_weights(encoder, files.options, files.weights)


def import_published(
    options: StrPath,
    weights: StrPath,
    directory: StrPath,
    tokenizer: str | None = None,
    vocabulary: StrPath | None = None,
) -> None:
    """Checks options.json and weights.hdf5 and writes a directory of them."""
    encoder = load_published_weights(options, weights, tokenizer, vocabulary)
    write_encoder(encoder, directory)


def _check_count(name: str, value: object, where: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{where}: {name} must be a positive integer. "
            f"Received: {reprlib.repr(value)}"
        )


def _datasets(model: PretrainingModel) -> Iterator[Dataset]:
    yield from encoder_datasets(model.encoder)
    yield from softmax_datasets(model.head)
