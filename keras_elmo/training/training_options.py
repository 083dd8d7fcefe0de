"""The options of pretraining, declared once for Python and the command line."""

import dataclasses
from collections.abc import Iterable, Sequence
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING

from keras_elmo.config import TOKENIZERS, ElmoConfig
from keras_elmo.text.batching import MAX_BATCH_TOKENS
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.utils.checks import called, check_type, received, refuse
from keras_elmo.utils.options import REQUIRED, check_options, option
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from keras.callbacks import Callback
    from keras.optimizers import Optimizer
    from keras.optimizers.schedules import LearningRateSchedule

    from keras_elmo.files.sources import Source
    from keras_elmo.text.corpus import Corpus
    from keras_elmo.text.lines import Files

DTYPES = ("float32", "mixed_bfloat16")
_REASONS_AGAINST = {
    "bfloat16": ": updates smaller than a weight's last digit would be lost",
    "float16": ": it overflows, as gradients are taken of 20 times the loss",
}
# Learning rates of the optimizers, if none is given.
LEARNING_RATES = {"adagrad": 0.2, "adam": 0.002, "muon": 0.002}
# Passes, positions of a batch, and updates between two measurements, if not given.
EPOCHS = 10
BATCH_TOKENS = 1280
VALIDATE_EVERY = 1000

_TEXT = "text"
_MODEL = "model and vocabulary"
_UPDATES = "updates"
_END = "end of the run, whichever comes first"
_FILES = "measurements and files"


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """What `pretrain` takes. Each field has its own description."""

    config: ElmoConfig | None = option(
        REQUIRED,
        "Sizes and dropout rate (on the command line, `--preset` or `--options`); "
        "`None` for those of the run to resume, or of {init}. Training may go on "
        "from {init} with more `units`.",
        flag="",
    )
    corpus: "Files | Corpus | Iterable[object]" = option(
        REQUIRED,
        "Text files, as paths or glob patterns: UTF-8, one sentence or paragraph per "
        "line, plain, .gz or .xz; or a folder that keras-elmo prepare wrote.",
        _TEXT,
        in_python="In Python also texts or lists of tokens (an iterator, a column of "
        "pandas, a `tf.data.Dataset`), prepared first, as `directory` with .corpus "
        "behind it, and not read again by a resumed run; a `Corpus`, whose vocabulary "
        "is kept; or batches, dictionaries of `char_ids` and `token_ids`, that can be "
        "repeated: `vocabulary_size` is then the number of target ids, and required.",
        metavar="GLOB",
        many=True,
    )
    validation: "Files | Corpus | Iterable[object] | None" = option(
        None,
        "Held-out text, to measure perplexity on; of the same kind as {corpus}.",
        _TEXT,
        metavar="GLOB",
        many=True,
    )
    directory: StrPath = option(
        "runs/elmo",
        "Directory of the run.",
        _TEXT,
        in_python="The command line requires it.",
        required=True,
        flag="--out",
        metavar="DIR",
    )
    _: dataclasses.KW_ONLY
    init: "Source | None" = option(
        None,
        "Model to start from: a run, an exported model, imported weights, an archive "
        "of one, hf://OWNER/NAME, or the name of a shipped model. The optimizer starts "
        "afresh.",
        _MODEL,
        in_python="In Python also a `PretrainingModel` or an `Encoder`.",
        metavar="DIR",
        fixed=True,
    )
    tokenizer: str | None = option(
        None,
        'How text is split into words: "unicode" splits raw text of any language, '
        '"published" English as the published models had it, "treebank" as the Penn '
        'Treebank has it; "whitespace" keeps text that is tokenized already. If not '
        'given, that of {init}, "whitespace" if it names none; without {init}, '
        '"unicode". A prepared folder has its own, and takes no other.',
        _MODEL,
        choices=TOKENIZERS,
    )
    vocabulary_size: int | None = option(
        None,
        "Largest number of words to predict, the three special ones included; beyond "
        "1,000 they occur at least twice. All words get vectors. If not given, the "
        "words of {init}, or those of {corpus} that occur at least 5 times: 1,000 to "
        "50,000, on a GPU to 100,000. With {init}, the words of {corpus} are counted, "
        "and words that both know keep their rows of the softmax.",
        _MODEL,
        most=1e8,
        fixed=True,
    )
    column: str | None = option(
        None,
        "Name of the text in JSON lines or Parquet, which is prepared first.",
        _TEXT,
        in_python="Also in the rows of an iterable.",
        metavar="NAME",
    )
    max_distinct: int = option(
        20_000_000,
        "Distinct words held in memory while words are counted, at about 150 bytes "
        "each; beyond that the rarest are dropped, with a message.",
        _MODEL,
        most=1e10,
    )
    recipe: str | None = option(
        None,
        "What is chosen where {optimizer}, {batch_tokens}, {vocabulary_size} and "
        '{num_sampled} are not given: "device" suits the processor or GPU and the '
        'text; "published" is the published recipe, Adagrad, batches of 1,280, the '
        "50,000 most frequent words and 8,192 candidates. If not given, what a run to "
        'resume began with, else "device".',
        _UPDATES,
        choices=("device", "published"),
    )
    num_sampled: int | None = option(
        None,
        "Candidates of the sampled softmax; fewer are faster. If not given, a tenth "
        "of the vocabulary, 256 to 1,024; on a GPU the softmax is of all words, in "
        "parts, up to 100,000.",
        _UPDATES,
        most=1e8,
        fixed=True,
    )
    batch_tokens: int | None = option(
        None,
        "Tokens of a batch, padding and sentence boundaries included, on each worker. "
        "If not given, 1,280, on a GPU 32,768.",
        _UPDATES,
        most=MAX_BATCH_TOKENS,
    )
    max_tokens: int = option(
        66,
        "Tokens of the longest row of a batch, the two boundaries included; longer "
        "lines are split.",
        _UPDATES,
        most=MAX_BATCH_TOKENS,
    )
    optimizer: "str | Optimizer | None" = option(
        None,
        '"adagrad" is the published one; "adam" and "muon" learn more in the same '
        'time. If not given, "adam", on a GPU "muon".',
        _UPDATES,
        in_python="In Python also a Keras optimizer that can be serialized, with its "
        "own learning rate; a copy of it is trained with.",
        metavar="NAME",
        choices=tuple(LEARNING_RATES),
        fixed=True,
    )
    learning_rate: "float | LearningRateSchedule | None" = option(
        None,
        "Learning rate; it is constant if {schedule} is not given. If not given, "
        + ", ".join(f"{rate} for {name}" for name, rate in LEARNING_RATES.items())
        + "; where it falls, adam and muon begin with 0.01 in the smallest preset, "
        "less in larger ones, and with 0.001 at most after {init}.",
        _UPDATES,
        in_python="In Python also a Keras `LearningRateSchedule`.",
        most=1000,
        metavar="X",
        parse=float,
        fixed=True,
    )
    schedule: str | None = option(
        None,
        '"constant"; "falling": the learning rate falls as the square root of the '
        "updates, and to 0 over {minutes} or {epochs}, but not over {steps}, after "
        'which a run may go on; "cosine": it '
        'falls to 0 over {steps}, which has to be given. If not given, "falling", for '
        'adagrad "constant".',
        _UPDATES,
        choices=("constant", "falling", "cosine"),
    )
    warmup_steps: int = option(
        0,
        "Updates over which a cosine {schedule} first raises the learning rate.",
        _UPDATES,
        positive=False,
    )
    dtype: str | None = option(
        None,
        'Dtype policy: "float32", or "mixed_bfloat16", which is faster on GPUs and on '
        "processors with AMX. That of Keras if not given.",
        _UPDATES,
        choices=DTYPES,
        fixed=True,
    )
    seed: int = option(
        0,
        "Seed of initial weights, order of the text, dropout and candidates, from "
        "0 to 2^32 - 1.",
        _UPDATES,
        positive=False,
        most=2**32 - 1,
        fixed=True,
    )
    devices: int | None = option(
        None,
        "Devices of this process that share each batch. If not given, all GPUs, or "
        "the CPU. For several processes see docs/training.md.",
        _UPDATES,
        most=1024,
    )
    steps: int | None = option(None, "Updates to stop after.", _END)
    epochs: int | None = option(
        None,
        f"Passes over the corpus to stop after; {EPOCHS} if none of {{steps}}, "
        "{epochs} and {minutes} is given.",
        _END,
    )
    minutes: float | None = option(
        None,
        "Minutes to stop after, the last measurement included. A resumed run counts "
        "them anew, unless its learning rate falls over them: then they are those of "
        "the whole run.",
        _END,
    )
    patience: int | None = option(
        None,
        "Measurements without a lower perplexity of {validation} to stop after.",
        _END,
    )
    validate_every: int | None = option(
        None,
        "Updates between two measurements, each with a checkpoint. If not given, "
        f"{VALIDATE_EVERY:,}, and a tenth of {{minutes}} at most.",
        _FILES,
    )
    checkpoint_every: int | None = option(
        None, "Updates between two further checkpoints.", _FILES
    )
    checkpoint_minutes: float = option(
        10.0, "Minutes between two checkpoints at most.", _FILES
    )
    keep_checkpoints: int = option(
        3, "Number of the last checkpoints to keep.", _FILES, flag="--keep"
    )
    tensorboard: bool = option(
        False, "Write the learning curves for TensorBoard, too.", _FILES
    )
    resume: bool = option(
        False,
        "Go on with the run that {directory} holds; start it if there is none.",
        _FILES,
    )
    progress: bool = option(True, "Show bars and messages on standard error.", flag="")
    callbacks: "Sequence[Callback] | None" = option(
        None,
        "Keras callbacks. An epoch is a pass over {corpus}; a measurement in it gives "
        "`val_loss` and `val_perplexity`. With a callback that has methods for "
        "batches, each step waits for its loss.",
        flag="",
    )

    def __post_init__(self) -> None:
        if isinstance(self.dtype, str):
            _check_dtype(self.dtype)
        check_type((ElmoConfig, NoneType), "an ElmoConfig or None", config=self.config)
        check_options(self)
        size = self.vocabulary_size
        if size is not None and size <= len(SPECIALS):
            refuse("vocabulary_size", f"more than the {len(SPECIALS)} specials", size)
        if self.patience is not None and self.validation is None:
            raise ValueError(
                f"{called('patience')} needs a {called('validation')} text. "
                + received(patience=self.patience, validation=None)
            )
        _check_schedule(self)
        if self.steps is None and self.minutes is None and self.epochs is None:
            object.__setattr__(self, "epochs", EPOCHS)


def _check_schedule(options: TrainingOptions) -> None:
    """Raises unless the learning rate, its schedule and the optimizer go together."""
    optimizer, schedule = options.optimizer, options.schedule
    rate, warmup_steps = options.learning_rate, options.warmup_steps
    if not isinstance(optimizer, str | None):
        if not hasattr(optimizer, "apply_gradients"):
            check_type(str, "a name or a Keras optimizer", optimizer=optimizer)
        for name, value in {"learning_rate": rate, "schedule": schedule}.items():
            if value is not None:
                refuse(name, "None where `optimizer` is an object, which has it", value)
    if schedule != "cosine" and warmup_steps:
        raise ValueError(
            f"{called('warmup_steps')} needs {called('schedule')} cosine. "
            f"{received(warmup_steps=warmup_steps)} alone"
        )
    if schedule in (None, "constant"):
        return
    if not isinstance(rate, Real | None):
        raise ValueError(
            f"{called('schedule')} {schedule} needs a number as "
            f"{called('learning_rate')}. {received(learning_rate=rate)}"
        )
    if schedule == "falling":
        return
    if options.steps is None:
        raise ValueError(
            f"{called('schedule')} cosine needs {called('steps')}, at whose end "
            f"the learning rate is 0. {received(steps=None)}"
        )
    if not 0 <= warmup_steps < options.steps:
        rule = f"at least 0 and below {called('steps')}, {options.steps}"
        refuse("warmup_steps", rule, warmup_steps)


def _check_dtype(dtype: str) -> None:
    """Raises a `ValueError` for dtype policies that do not learn."""
    if dtype not in DTYPES:
        reason = _REASONS_AGAINST.get(str(dtype).removeprefix("mixed_"), "")
        refuse("dtype", f"{' or '.join(map(repr, DTYPES))}{reason}", dtype)
