"""What a run was begun with, and has to go on with."""

import os
from collections.abc import Sequence
from typing import Any

import keras

from keras_elmo.config import ElmoConfig
from keras_elmo.files.directory import PretrainingDirectory

_REASONS_AGAINST = {
    "bfloat16": ": updates smaller than a weight's last digit would be lost",
    "float16": ": it overflows under the recipe's gradients of 20 times the loss",
}


def check_dtype(dtype: str) -> None:
    """Refuses dtypes that do not learn.

    Raises:
        ValueError: with the reason.
    """
    if dtype in ("float32", "mixed_bfloat16"):
        return
    reason = _REASONS_AGAINST.get(dtype.removeprefix("mixed_"), "")
    raise ValueError(
        f"`dtype` must be 'float32' or 'mixed_bfloat16'{reason}. "
        f"Received: dtype={dtype!r}"
    )


def as_json(learning_rate: Any) -> Any:
    """Returns a number as it is, and a schedule as Keras writes it down."""
    if isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule):
        return keras.optimizers.schedules.serialize(learning_rate)
    return learning_rate


def check_recipe(
    files: PretrainingDirectory, config: ElmoConfig, recipe: dict[str, Any]
) -> None:
    """A run goes on as it began, or not at all.

    Raises:
        ValueError: an argument, or a file of the corpus, is another than before.
    """
    if not files.holds_a_run():
        return
    before = files.read_recipe()
    if os.path.exists(files.options):
        if ElmoConfig.from_options(files.options) != config:
            raise ValueError(f"`config` must be that of the run: {files.options}")
    for name, value in recipe.items():
        if name == "corpus":
            _check_shards(files.training, before.get(name), value)
        elif before.get(name) != value:
            raise ValueError(
                f"`{name}` must be {before.get(name)!r}, as in {files.training}. "
                f"Received: {name}={value!r}"
            )


def _check_shards(
    training: str, before: Sequence[Sequence[Any]] | None, now: Any
) -> None:
    if before == now:
        return
    if before is None or now is None:
        raise ValueError(
            f"`corpus` must be {'batches' if before is None else 'text'}, as when the "
            f"run began: {training}"
        )
    sizes, found = _sizes(before, training), dict(map(tuple, now))
    for name, size in sizes.items():
        if name not in found:
            raise ValueError(
                f"{name}: this file of the corpus, with which the run of {training} "
                "began, is not there"
            )
        if found[name] != size:
            raise ValueError(
                f"{name}: this file of the corpus had {size:,} bytes when the run of "
                f"{training} began, and has {found[name]:,}"
            )
    for name in found:
        if name not in sizes:
            raise ValueError(
                f"{name}: this file was not part of the corpus when the run of "
                f"{training} began; a new run can begin from its weights"
            )
    raise ValueError(
        f"the files of the corpus come in another order than when the run of "
        f"{training} began"
    )


def _sizes(shards: Any, training: str) -> dict[str, int]:
    """The size of each file, as a recipe names them."""
    try:
        return {str(name): int(size) for name, size in shards}
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{training}: corpus must be pairs of a file's name and its size"
        ) from error
