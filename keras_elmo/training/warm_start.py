"""What a run starts from: its sizes, and the weights of a trained model."""

import dataclasses
import gc
import os
import reprlib

import keras
import numpy as np
from keras import ops

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, ElmoConfig
from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.loading import open_model
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.sources import Source
from keras_elmo.files.validation import NoLanguageModel
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called
from keras_elmo.utils.large_variables import blocks_of, looked_up_rows


def starting_point(
    options: TrainingOptions, files: PretrainingDirectory, checkpoints: Checkpoints
) -> tuple["WarmStart | None", ElmoConfig, str | None]:
    """Returns the weights to start from, the sizes, and the tokenizer, if known."""
    config, tokenizer = options.config, options.tokenizer
    if options.resume and files.holds_a_run() and os.path.exists(files.options):
        config = config or ElmoConfig.from_options(files.options)
        tokenizer = tokenizer or files.read_manifest().get("tokenizer")
    # A run with a checkpoint has what it took from `init`, which may be gone by now.
    is_taken = config is not None and options.resume and checkpoints.steps()
    if options.init is not None and not is_taken:
        start = WarmStart(options.init)
        tokenizer = tokenizer or start.tokenizer or TOKENIZER_IF_UNKNOWN
        return start, start.checked(config), tokenizer
    if config is None:
        raise ValueError(
            f"{called('config')} may be None only where {called('init')} is given, "
            "or a run is resumed. Received: both are None"
        )
    return None, config, tokenizer


class WarmStart:
    """A pretraining directory, exported model, imported weights or model in memory.

    `vocabulary` has the words of its softmax, `None` without one.
    """

    def __init__(self, source: Source) -> None:
        opened = open_model(source, "init")
        opened.check()
        self.name = opened.name
        if not opened.is_validated:
            raise ValueError(
                f"{self.name}: {called('init')} must have weights that a validation "
                "has chosen; export a checkpoint with its language model, and begin "
                "from that"
            )
        self._model: PretrainingModel | None = None
        self.vocabulary: Vocabulary | None = None
        try:
            self._model = opened.language_model()
        except (NoLanguageModel, TypeError):
            self._encoder = opened.keras_encoder()
        else:
            self._encoder = self._model.encoder
            self.vocabulary = self._model.vocabulary
        self.config: ElmoConfig = self._encoder.config
        self.tokenizer: str | None = self._encoder.tokenizer

    def checked(self, config: ElmoConfig | None) -> ElmoConfig:
        """Returns the sizes to train with; raises ValueError if they cannot be."""
        if config is None:
            return self.config
        # The dropout rate is no property of the weights.
        units = max(config.units, self.config.units)
        same = dataclasses.replace(self.config, dropout=config.dropout, units=units)
        for field in dataclasses.fields(config):
            size, needed = getattr(config, field.name), getattr(same, field.name)
            if size != needed:
                raise ValueError(
                    f"{called('config')} must have the sizes of {self.name}, of which "
                    f"only `units` may be larger. Received: {field.name} "
                    f"{reprlib.repr(size)} instead of {reprlib.repr(needed)}"
                )
        return config

    def load_into(self, model: PretrainingModel) -> int:
        """Assigns the weights to a model of `checked` sizes, once, and frees them.

        An LSTM of more `units` begins with the cells of the source; further cells
        change nothing until they are trained. Words that only the new model knows keep
        its initial rows of the softmax. Returns how many words both know, the special
        ones included.
        """
        pairs = zip(model.encoder.weights, self._encoder.weights, strict=True)
        for weight, source in pairs:
            weight.assign(_widened(weight, ops.convert_to_numpy(source)))
        known = 0
        if self._model is not None and self.vocabulary and model.vocabulary:
            row_of = {word: row for row, word in enumerate(self.vocabulary.words)}
            words = enumerate(model.vocabulary.words)
            rows = [(row, row_of[word]) for row, word in words if word in row_of]
            to_rows, from_rows = map(list, zip(*rows, strict=True))
            new, old = model.head.softmax, self._model.head.softmax
            for weight, source in ((new.kernel, old.kernel), (new.bias, old.bias)):
                array = np.concatenate(list(blocks_of(weight)))
                array[to_rows] = ops.convert_to_numpy(looked_up_rows(source, from_rows))
                weight.assign(array)
            known = len(rows)
            del old
        # Keras models are in reference cycles: without this, it stays in memory.
        del self._encoder, self._model, pairs, weight, source
        gc.collect()
        return known


def _widened(weight: keras.Variable, source: np.ndarray) -> np.ndarray:
    """Returns a source's values, with new cells if `weight` has more.

    Nothing reads the new cells: their rows of the projection are zero. Their gates keep
    the random weights, so that no two of them learn the same.

    Reference: Chen et al. 2016, Net2Net; there, new units are copies of old ones.
    """
    if weight.shape == source.shape:
        return source
    wide = np.array(ops.convert_to_numpy(weight))
    if weight.name == "projection_kernel":
        wide[:] = 0
        wide[: len(source)] = source
    else:
        # The columns are the four gates of every cell.
        cells = wide.reshape(*wide.shape[:-1], 4, -1)
        cells[..., : source.shape[-1] // 4] = source.reshape(*source.shape[:-1], 4, -1)
    return wide
