import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.memory_estimate import estimate_memory, memory_message
from keras_elmo.training.optimizers import PublishedAdagrad


def test_estimate_memory():
    """Weights are what they are."""
    model = build_pretraining_model(ElmoConfig.preset("tiny"), 1000)
    parts = estimate_memory(model, 1, 1280, num_replicas=1)
    assert parts["weights"] == parts["optimizer"] == 4 * model.count_params()
    of_adam = estimate_memory(model, 2, 1280, num_replicas=1)
    assert of_adam["optimizer"] == 2 * of_adam["weights"]
    twice = estimate_memory(model, 1, 1280, num_replicas=2)
    assert twice["weights"] == 2 * parts["weights"]
    assert twice["a batch"] == parts["a batch"]
    assert estimate_memory(model, 1, 2560, 1)["a batch"] == 2 * parts["a batch"]


def test_memory_message():
    """It is told in megabytes."""
    model = build_pretraining_model(ElmoConfig.preset("tiny"), 1000)
    model.compile(PublishedAdagrad())
    model.optimizer.build(model.trainable_variables)
    message = memory_message(model, 1280, 1)
    parts = estimate_memory(model, 1, 1280, 1)
    total = sum(parts.values())
    assert 0 < parts["gradients"] < 5e5 and "gradients under 1, " in message
    assert message.startswith(f"Memory: about {total / 1e6:,.0f} MB (process 1,100, ")
    assert total == pytest.approx(1.5e9, rel=0.2)
