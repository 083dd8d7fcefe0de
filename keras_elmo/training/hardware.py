"""How much memory a run needs, told before its first step."""

import re
from pathlib import Path

from keras import ops

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.pretraining import PretrainingModel

_FLOAT = 4
# The process with TensorFlow, its graphs, and the reader of the text.
_PROCESS = 1_100_000_000
# What a backward pass finds of each position, in numbers of the size of a layer; fitted
# to what the sizes `mini` to `original` take.
_GATES = 9
_DISTINCT_WORDS = 0.5
_LOGITS = 3


def memory_message(
    model: PretrainingModel, num_slots: int, batch_tokens: int, num_replicas: int
) -> str:
    """Returns a sentence on the memory that training needs, and what for."""
    parts = estimate_memory(model, num_slots, batch_tokens, num_replicas)
    told = ", ".join(f"{name} {_megabytes(value)}" for name, value in parts.items())
    return f"Memory: about {_megabytes(sum(parts.values()))} MB ({told})"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f}"


def estimate_memory(
    model: PretrainingModel, num_slots: int, batch_tokens: int, num_replicas: int
) -> dict[str, float]:
    """Returns the bytes that training on a CPU needs, by what they are for.

    Args:
        model: what is trained.
        num_slots: numbers that the optimizer keeps of each weight.
        batch_tokens: positions of a batch.
        num_replicas: copies of the model.
    """
    config = model.config
    encoder, softmax = model.encoder.count_params(), model.head.count_params()
    weights = _FLOAT * (encoder + softmax) * num_replicas
    filters = sum(count for _, count in config.filters)
    position = (
        2 * config.num_layers * _GATES * config.units
        + _DISTINCT_WORDS * MAX_CHARACTERS * filters
        + 2 * _LOGITS * model.head.num_sampled
    )
    return {
        "process": _PROCESS,
        "weights": weights,
        "optimizer": num_slots * weights,
        # A softmax has but those of a batch's words.
        "gradients": _FLOAT * encoder * num_replicas,
        "a batch": _FLOAT * batch_tokens * position,
    }


# As Linux names what multiplies bfloat16, on x86 and on ARM.
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})
_CPUINFO = Path("/proc/cpuinfo")


def multiplies_bfloat16(cpuinfo: Path = _CPUINFO) -> bool | None:
    """Whether the processor has instructions for products of bfloat16.

    Args:
        cpuinfo: Linux's description of the processors.

    Returns:
        `None` if it is not known.
    """
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return None if found is None else not _BFLOAT16.isdisjoint(found[1].split())


def dtype_message(dtype: str) -> str | None:
    """Returns what a person should know of a dtype policy here, if anything."""
    if dtype != "mixed_bfloat16" or multiplies_bfloat16() is not False:
        return None
    if not _computes_on_it():
        return None
    return (
        "This processor has no products of bfloat16, and mixed_bfloat16 is many times "
        "slower than float32 on it"
    )


def _computes_on_it() -> bool:
    """Whether it is the processor that Keras computes on."""
    return "cpu" in str(ops.zeros(()).device).lower()
