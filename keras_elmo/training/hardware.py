"""The memory that a run needs, and whether its device suits its dtype."""

import re
from pathlib import Path

from keras import ops

from keras_elmo.models.pretraining import PretrainingModel

_FLOAT_BYTES = 4
# The process with TensorFlow, its graphs, and the reader of the text.
_PROCESS_BYTES = 1_100_000_000
# Numbers that a backward pass needs of each position, relative to the size of a layer.
# Fitted to the measured memory of the presets `mini` to `original`.
_GATES = 9
_UNIQUE_WORDS = 0.5
_LOGITS = 3


def memory_message(
    model: PretrainingModel, num_slots: int, batch_tokens: int, num_replicas: int
) -> str:
    """Returns one line on the memory that training needs."""
    parts = estimate_memory(model, num_slots, batch_tokens, num_replicas)
    megabytes = [f"{name} {size / 1e6:,.0f}" for name, size in parts.items()]
    total = sum(parts.values()) / 1e6
    return f"Memory: about {total:,.0f} MB ({', '.join(megabytes)})"


def estimate_memory(
    model: PretrainingModel, num_slots: int, batch_tokens: int, num_replicas: int
) -> dict[str, float]:
    """Returns the bytes that training on a CPU needs, by purpose."""
    config = model.config
    encoder, softmax = model.encoder.count_params(), model.head.count_params()
    weights = _FLOAT_BYTES * (encoder + softmax) * num_replicas
    filters = sum(count for _, count in config.filters)
    position = (
        2 * config.num_layers * _GATES * config.units
        + _UNIQUE_WORDS * model.config.ids_per_token * filters
        + 2 * _LOGITS * model.head.num_sampled
    )
    return {
        "process": _PROCESS_BYTES,
        "weights": weights,
        "optimizer": num_slots * weights,
        # The softmax has gradients for the rows of a batch's words alone.
        "gradients": _FLOAT_BYTES * encoder * num_replicas,
        "a batch": _FLOAT_BYTES * batch_tokens * position,
    }


# Linux's names of the instructions, on x86 and on ARM.
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})
_CPUINFO = Path("/proc/cpuinfo")


def multiplies_bfloat16(cpuinfo: Path = _CPUINFO) -> bool | None:
    """Whether the device multiplies bfloat16 in hardware; `None` if unknown."""
    # A symbolic tensor may have no device.
    device = str(ops.zeros(()).device).lower()
    if device and "cpu" not in device:
        return True
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return None if found is None else not _BFLOAT16.isdisjoint(found[1].split())


def dtype_message(dtype: str) -> str | None:
    """Returns a warning if this processor is slow with a dtype policy."""
    if dtype != "mixed_bfloat16" or multiplies_bfloat16() is not False:
        return None
    return (
        "this processor has no instructions for bfloat16: mixed_bfloat16 is many times "
        "slower than float32 here"
    )
