"""The mean of the weights of several language models."""

import dataclasses
import os
from collections.abc import Sequence

from keras import ops

from keras_elmo.files.loading import open_model
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.utils.checks import called, check_type
from keras_elmo.utils.types import StrPath


def average_models(models: Sequence[StrPath | PretrainingModel]) -> PretrainingModel:
    """Averages the weights of models that are stages of one training.

    Where a run goes on from another, and its learning rate rises and falls again, the
    mean of both ends can have a lower perplexity than either. The mean of models that
    began with different weights is worth nothing.

    Args:
        models: what `load_language_model` takes, or checkpoints of a run; with the same
            sizes and words. A model that is named twice counts twice.

    Returns:
        A new `PretrainingModel`.

    Raises:
        ValueError: a model cannot be read, or they differ in sizes, words or tokenizer.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the boat lies at the bank\\nthe bank lends money\\n" * 20)
    options = {"num_sampled": 4, "steps": 2, "progress": False}
    config = keras_elmo.ElmoConfig.preset("tiny")
    keras_elmo.pretrain(config, "text.txt", directory="first", **options)
    keras_elmo.pretrain(None, "text.txt", directory="second", init="first", **options)
    model = keras_elmo.average_models(["first", "second"])
    print(keras_elmo.perplexity(model, "text.txt")["mean"])
    ```

    Reference: Izmailov et al. 2018, Averaging Weights Leads to Wider Optima and Better
    Generalization.
    """
    check_type((list, tuple), "a list of models", models=models)
    if not models:
        raise ValueError("`models` must name a model. Received: models=[]")
    first = open_model(models[0], "models").language_model()
    mean = PretrainingModel.from_config(first.get_config())
    mean.vocabulary = first.vocabulary
    sums = [0.0] * len(mean.weights)
    for source in models:
        model = open_model(source, "models").language_model()
        _check_same(first, model, source)
        for k, weight in enumerate(model.weights):
            sums[k] += ops.convert_to_numpy(ops.cast(weight, "float32")) / len(models)
    for weight, value in zip(mean.weights, sums, strict=True):
        weight.assign(value)
    return mean


def _check_same(
    first: PretrainingModel,
    model: PretrainingModel,
    source: StrPath | PretrainingModel,
) -> None:
    config = dataclasses.replace(model.config, dropout=first.config.dropout)
    words = [one.vocabulary and one.vocabulary.words for one in (first, model)]
    same = {
        "sizes": config == first.config,
        "words": words[0] == words[1],
        "tokenizer": model.encoder.tokenizer == first.encoder.tokenizer,
    }
    if different := [name for name, is_same in same.items() if not is_same]:
        name = "a model" if isinstance(source, PretrainingModel) else os.fspath(source)
        raise ValueError(
            f"{called('models')} must have the same sizes, words and tokenizer. "
            f"Received: {name}, whose {' and '.join(different)} differ from the first "
            "model's"
        )
