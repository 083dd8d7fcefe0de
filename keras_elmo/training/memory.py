"""How much memory a run needs, told before its first step."""

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
