"""Checks of the options of pretraining that concern several of them."""

from numbers import Real

from keras_elmo.utils.checks import called, check_type, received, refuse

DTYPES = ("float32", "mixed_bfloat16")
_REASONS_AGAINST = {
    "bfloat16": ": updates smaller than a weight's last digit would be lost",
    "float16": ": it overflows, as gradients are taken of 20 times the loss",
}


def check_schedule(
    optimizer: object,
    schedule: str | None,
    rate: object,
    warmup_steps: int,
    steps: int | None,
) -> None:
    """Raises unless the learning rate, its schedule and the optimizer go together."""
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
    if steps is None:
        raise ValueError(
            f"{called('schedule')} cosine needs {called('steps')}, at whose end "
            f"the learning rate is 0. {received(steps=None)}"
        )
    if not 0 <= warmup_steps < steps:
        rule = f"at least 0 and below {called('steps')}, {steps}"
        refuse("warmup_steps", rule, warmup_steps)


def check_dtype(dtype: str) -> None:
    """Raises a `ValueError` for dtype policies that do not learn."""
    if dtype not in DTYPES:
        reason = _REASONS_AGAINST.get(str(dtype).removeprefix("mixed_"), "")
        refuse("dtype", f"{' or '.join(map(repr, DTYPES))}{reason}", dtype)
