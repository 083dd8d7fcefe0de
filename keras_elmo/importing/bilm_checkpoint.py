"""Makes a run of a model that bilm-tf trained."""

import os
import re
import reprlib
import warnings
from collections.abc import Mapping
from itertools import islice

import numpy as np

from keras_elmo.config import ElmoConfig, read_options
from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.published import (
    Dataset,
    encoder_datasets,
    read_trainer_words,
    softmax_datasets,
    with_words,
)
from keras_elmo.files.run_directory import IMPORTED, PretrainingDirectory
from keras_elmo.files.validation import check_size
from keras_elmo.importing.bilm_variables import SUMS, TRAINED, BilmVariables
from keras_elmo.importing.foreign_model import ForeignModel
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.optimizers import PublishedAdagrad
from keras_elmo.training.recorder import RunState
from keras_elmo.training.training_options import LEARNING_RATES
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.files import read_json_object, replacing
from keras_elmo.utils.large_variables import block_starts, fill
from keras_elmo.utils.types import Config, StrPath

# A file named `checkpoint` is a few lines that name the last checkpoints.
_MOST_BYTES = 1 << 16


def find_checkpoint(path: StrPath) -> str | None:
    """Returns the prefix of the last checkpoint's files in a folder, if there is one.

    `path` may be such a prefix, too, for another checkpoint than the last, or the file
    of its index.
    """
    path = os.fspath(path).removesuffix(".index")
    if os.path.isfile(f"{path}.index"):
        return path
    if not os.path.isdir(path):
        return None
    names = []
    state = os.path.join(path, "checkpoint")
    if os.path.isfile(state):
        with open(state, encoding="utf-8", errors="replace") as file:
            named = re.search(
                r'^\s*model_checkpoint_path:\s*"([^"]*)"', file.read(_MOST_BYTES), re.M
            )
        # It names the folder in which the model was trained.
        names = [re.split(r"[/\\]", named[1])[-1]] if named else []
    steps = {
        int(match[2]): match[1]
        for name in os.listdir(path)
        if (match := re.fullmatch(r"(model\.ckpt-(\d{1,18}))\.index", name))
    }
    names += [steps[step] for step in sorted(steps, reverse=True)]
    prefixes = (os.path.join(path, name) for name in names if name)
    return next((p for p in prefixes if os.path.isfile(f"{p}.index")), None)


def open_checkpoint(
    checkpoint: StrPath, vocabulary: StrPath | None = None
) -> tuple[BilmVariables, ElmoConfig, str]:
    """Returns the variables of a checkpoint, its sizes, and the file that says them.

    The sizes of a model of word ids have its words.
    """
    prefix = find_checkpoint(checkpoint)
    if prefix is None:
        raise ValueError(
            f"{os.fspath(checkpoint)}: holds no checkpoint of bilm-tf "
            "(model.ckpt-*.index)"
        )
    options = os.path.join(os.path.dirname(prefix), "options.json")
    described = read_json_object(options)
    if (value := described.get("bidirectional")) is not True:
        raise ValueError(
            f"{options}: bidirectional must be true. Received: {reprlib.repr(value)}"
        )
    variables = BilmVariables(prefix, TRAINED)
    if variables.token_embedding == "embedding":
        if vocabulary is None:
            raise ValueError(
                f"{prefix}: holds a model of word ids, whose sizes are known with its "
                f"words: {called('vocabulary')} must be the file of them. "
                + received(vocabulary=None)
            )
        described = with_words(described, options, vocabulary)
    config = read_options(described, options)
    shape = variables.shape("softmax/W")
    if len(shape) != 2 or shape[1] != config.projection_units:
        raise ValueError(
            f"{prefix}: the variable lm/softmax/W must have the shape (words, "
            f"{config.projection_units}), not {shape}"
        )
    return variables, config, options


def read_step(variables: BilmVariables) -> int:
    """Returns how many updates there were."""
    step = float(variables.read("global_step", ()))
    return int(_number({"global_step": step}, "global_step", 0, variables.prefix))


class BilmCheckpoint(ForeignModel):
    """A folder that bilm-tf trained in, or the prefix of one checkpoint's files."""

    key = "checkpoint"

    @staticmethod
    def matches(path: str) -> bool:
        return find_checkpoint(path) is not None

    def describe(self) -> Config:
        variables, config, _ = open_checkpoint(self.path)
        return {
            "config": config,
            "tokenizer": "whitespace",
            "num_words": variables.shape("softmax/W")[0],
            "step": read_step(variables),
            "uses": ["import --vocabulary FILE"],
        }

    def convert(
        self, directory: StrPath, tokenizer: str | None, vocabulary: StrPath | None
    ) -> None:
        """Writes a run that goes on where bilm-tf's ended.

        `vocabulary` has the words of its softmax.
        """
        variables, config, options = open_checkpoint(self.path, vocabulary)
        if vocabulary is None:
            raise ValueError(
                f"{called('vocabulary')} must be the file of the words that the "
                f"softmax of {self.path} predicts. {received(vocabulary=None)}"
            )
        prefix, described = variables.prefix, read_json_object(options)
        num_rows, _ = variables.shape("softmax/W")
        words, rows = read_vocabulary(vocabulary, num_rows, f"{prefix}: lm/softmax/W")
        num_weights = config.num_weights + num_rows * (config.projection_units + 1)
        check_size(num_weights, variables.files(), options)
        num_sampled = int(_number(described, "n_negative_samples_batch", 8192, options))
        rate = _number(described, "learning_rate", LEARNING_RATES["adagrad"], options)
        for name, of_recipe in (("unroll_steps", 20), ("all_clip_norm_val", 10)):
            if (value := _number(described, name, of_recipe, options)) != of_recipe:
                warnings.warn(
                    f"{options}: {name} is {value:g}; a resumed run has {of_recipe}, "
                    "as published",
                    stacklevel=3,
                )
        step = read_step(variables)

        model = PretrainingModel(config, len(words), num_sampled)
        model.vocabulary = words
        optimizer = PublishedAdagrad(rate)
        model.compile(optimizer, jit_compile=False)
        optimizer.build(model.trainable_variables)
        optimizer.iterations.assign(step)
        _read_variables(variables, model, optimizer, rows, options)
        manifest = {
            # The first command that resumes the run adds the other arguments.
            IMPORTED: os.path.basename(prefix),
            "tokenizer": tokenizer or "whitespace",
            "vocabulary_size": None,
            "num_sampled": num_sampled,
            "optimizer": "adagrad",
            "learning_rate": rate,
        }
        state = RunState(step=step, positions=[(0, 0)], vocabulary=words.digest())
        with replacing(directory) as temporary:
            files = PretrainingDirectory(temporary)
            files.write_manifest(config, manifest)
            words.save(files.vocabulary)
            files.write_weights(model)
            Checkpoints(files.checkpoints).save(step, model, state.to_json())


def _number(
    described: Mapping[str, object], name: str, default: float, where: str
) -> float:
    value = described.get(name, default)
    if isinstance(value, int | float) and not isinstance(value, bool):
        # No comparison with NaN is true.
        if 0 < value < 1 << 31:
            return value
    raise ValueError(
        f"{where}: {name} must be a positive number. Received: {reprlib.repr(value)}"
    )


def read_vocabulary(
    path: StrPath, num_rows: int, softmax: str
) -> tuple[Vocabulary, np.ndarray]:
    """Returns the words with the special ones first, and each one's row of the softmax.

    bilm-tf takes the special words in any place. Of lines with the same word, it
    predicts the last.
    """
    path = os.fspath(path)
    try:
        lines = list(islice(read_trainer_words(path), num_rows + 1))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if len(lines) != num_rows:
        count = "more" if len(lines) > num_rows else f"{len(lines):,}"
        raise ValueError(
            f"{path}: has {count} words, but {softmax} has {num_rows:,} rows; it must "
            "be the vocabulary that the model was trained with"
        )
    row_of = {word: row for row, word in enumerate(lines)}
    row_of.pop("", None)
    for special in SPECIALS:
        if special not in row_of:
            raise ValueError(f"{path}: lacks the line {special}")
    if len(row_of) < num_rows:
        warnings.warn(
            f"{path}: {num_rows - len(row_of):,} of its lines are empty or repeated "
            "below; their rows of the softmax, which are never predicted, are left out",
            stacklevel=3,
        )
    words = [*SPECIALS, *(word for word in row_of if word not in SPECIALS)]
    return Vocabulary(words), np.array([row_of[word] for word in words])


def _read_variables(
    variables: BilmVariables,
    model: PretrainingModel,
    optimizer: PublishedAdagrad,
    rows: np.ndarray,
    options: str,
) -> None:
    """Assigns the weights, and the sums of squares that Adagrad keeps for each."""
    encoder = list(encoder_datasets(model.encoder))
    variables.check_all_known(encoder, options)
    first = variables.find(variables.token_embedding, SUMS)
    has_sums = first in variables.shapes
    if not has_sums:
        warnings.warn(
            f"{variables.prefix}: holds no sums of Adagrad; they start again",
            stacklevel=4,
        )
    num_rows = variables.shape("softmax/W")[0]
    softmax = [
        Dataset(dataset.name, dataset.weight, (num_rows, *dataset.shape[1:]))
        for dataset in softmax_datasets(model.head)
    ]
    for dataset in (*encoder, *softmax):
        _assign(dataset, variables.read_dataset(dataset), rows, 0.0)
        if has_sums:
            array = variables.read_dataset(dataset, SUMS)
            sums = optimizer.sums_of(dataset.weight)
            _assign(Dataset(dataset.name, sums, dataset.shape), array, rows, 1.0)


def _assign(
    dataset: Dataset, array: np.ndarray, rows: np.ndarray, before: float
) -> None:
    if not dataset.name.startswith("softmax/"):
        dataset.assign(array, before)
        return
    starts = block_starts(tuple(dataset.weight.shape), array.itemsize)
    fill(dataset.weight, (array[rows[k : k + starts.step]] for k in starts))
