"""Folders with an options.json: runs, published weights. Imports nothing heavy."""

import glob
import os
import re
from typing import TYPE_CHECKING

from keras_elmo.config import ElmoConfig
from keras_elmo.files.finding import RunFiles, checkpoint_steps
from keras_elmo.files.sources import (
    ENCODER,
    LANGUAGE_MODEL,
    WEIGHTS,
    ModelSource,
    words_in,
)
from keras_elmo.files.validation import NoLanguageModel, check_tokenizer
from keras_elmo.utils.types import Config, StrPath

if TYPE_CHECKING:
    from keras_elmo.files.run_directory import PretrainingDirectory
    from keras_elmo.models.encoder import Encoder
    from keras_elmo.models.pretraining import PretrainingModel


class Run(ModelSource):
    """A directory that `pretrain` writes, or weights that were imported."""

    kind = "a run of keras_elmo"

    def __init__(
        self, path: StrPath, argument: str = "model", name: StrPath | None = None
    ) -> None:
        super().__init__(path, argument, name)
        self._files = RunFiles(self.path)
        self.is_validated = self._files.holds_a_model()

    @staticmethod
    def matches(path: str) -> bool:
        run = RunFiles(path)
        return run.holds_a_run() or run.holds_a_checkpoint()

    @property
    def _directory(self) -> "PretrainingDirectory":
        from keras_elmo.files.run_directory import PretrainingDirectory

        return PretrainingDirectory(self.path)

    def check(self) -> None:
        if not self.is_validated and not self._files.holds_a_checkpoint():
            raise ValueError(
                f"{self.path}: the run has no weights yet: neither "
                f"{self._files.weights}, which its first validation writes, nor a "
                "checkpoint; train on until then"
            )

    def encoder(self) -> "Encoder":
        if self.is_validated:
            return self._directory.read_encoder()
        return self.language_model().encoder

    def language_model(self) -> "PretrainingModel":
        self.check()
        if self.is_validated:
            return self._directory.read_model()
        return self._directory.read_checkpoint()

    def describe(self) -> Config:
        from keras_elmo.files.published import check_weights
        from keras_elmo.files.run_history import read_history

        files = self._directory
        manifest = files.read_manifest()
        steps = checkpoint_steps(files.checkpoints)
        rows = [row.perplexity_mean for row in read_history(files.history)]
        config = ElmoConfig.from_options(files.options)
        words = words_in(files.vocabulary)
        # Imported weights have a manifest, too, if their tokenizer is known.
        resume = ["pretrain --resume"] * ("num_sampled" in manifest)
        uses = resume
        if self.is_validated:
            check_weights(config, [files.weights], files.options)
            uses = [*WEIGHTS, *resume, *(LANGUAGE_MODEL if words else [])]
        elif files.holds_a_checkpoint():
            uses = [*ENCODER, *resume, *LANGUAGE_MODEL]
        return {
            "config": config,
            "tokenizer": check_tokenizer(manifest.get("tokenizer"), files.training),
            "words": words,
            "step": steps[-1] if steps else None,
            "perplexity": min((row for row in rows if row is not None), default=None),
            "uses": uses,
        }


class RunCheckpoint(ModelSource):
    """One checkpoint of a run."""

    kind = "a checkpoint of a run"
    is_validated = False

    @staticmethod
    def matches(path: str) -> bool:
        is_step = path.endswith(".npz") and os.path.isfile(path)
        return is_step and RunFiles(_run_folder(path)).holds_a_run()

    def encoder(self) -> "Encoder":
        return self.language_model().encoder

    def language_model(self) -> "PretrainingModel":
        from keras_elmo.files.run_directory import PretrainingDirectory

        return PretrainingDirectory(_run_folder(self.path)).read_checkpoint(self.path)

    def describe(self) -> Config:
        step = re.search(r"step-(\d+)\.npz$", self.path)
        return {
            **Run(_run_folder(self.path)).describe(),
            "step": int(step[1]) if step else None,
            "uses": [*ENCODER, *LANGUAGE_MODEL],
        }


class PublishedFolder(ModelSource):
    """A folder with options and weights in the published format, under any names."""

    kind = "published weights"
    is_foreign = True

    @staticmethod
    def matches(path: str) -> bool:
        return all(published_files(path))

    def _two_files(self) -> tuple[str, str]:
        files = published_files(self.path)
        for paths, what in zip(files, ("*options*.json", "*.hdf5"), strict=True):
            if len(paths) != 1:
                raise ValueError(
                    f"{self.path}: must hold one file {what}; else name the two files. "
                    f"Received: {', '.join(paths) or 'none'}"
                )
        return files[0][0], files[1][0]

    def encoder(self) -> "Encoder":
        from keras_elmo.files.published import load_published_weights

        return load_published_weights(*self._two_files())

    def language_model(self) -> "PretrainingModel":
        missing = RunFiles(self.path).training
        raise NoLanguageModel(
            f"{self.path}: holds an encoder but no language model: {missing} is missing"
        )

    def describe(self) -> Config:
        from keras_elmo.files.published import check_weights, published_config

        options, weights = published_files(self.path)
        config = published_config(options[0])
        check_weights(config, weights, options[0])
        return {"config": config, "uses": [*WEIGHTS, "import"]}

    def convert(
        self, directory: StrPath, tokenizer: str | None, vocabulary: StrPath | None
    ) -> None:
        from keras_elmo.files.run_directory import import_published

        import_published(*self._two_files(), directory, tokenizer, vocabulary)


def published_files(path: StrPath) -> tuple[list[str], list[str]]:
    """Returns the files in a folder that look like options.json and weights.hdf5."""
    run = RunFiles(path)
    if run.holds_a_model():
        # Whatever lies beside them.
        return [run.options], [run.weights]
    folder = glob.escape(run.path)
    options, hdf5, h5 = (
        sorted(glob.glob(os.path.join(folder, name)))
        for name in ("*options*.json", "*.hdf5", "*.h5")
    )
    return options, hdf5 + h5


def _run_folder(step: str) -> str:
    """Returns the directory of a checkpoint's run."""
    return os.path.dirname(os.path.dirname(os.path.abspath(step)))
