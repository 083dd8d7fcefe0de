"""The memory that a run needs."""

import math

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
    model: PretrainingModel, batch_tokens: int, num_replicas: int
) -> str:
    """Returns one line on the memory that training needs."""
    weights = sum(math.prod(weight.shape) for weight in model.trainable_variables)
    kept = sum(math.prod(variable.shape) for variable in model.optimizer.variables)
    num_slots = round(kept / weights)
    parts = estimate_memory(model, num_slots, batch_tokens, num_replicas)
    megabytes = [f"{name} {_megabytes(size)}" for name, size in parts.items()]
    total = _megabytes(sum(parts.values()))
    return f"Memory: about {total} MB ({', '.join(megabytes)})"


def _megabytes(size: float) -> str:
    return "under 1" if 0 < size < 5e5 else f"{size / 1e6:,.0f}"


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
