"""Is it worth to train the biLM, too? Against the frozen one, on reviews.

First the mix and a biLSTM are trained above the frozen biLM, as in docs/results.md.
Then either they are trained for longer, or the biLM is unfrozen: at once with one
learning rate, or from the top down, a layer an epoch, with rates that fall by a factor
from layer to layer.

    python benchmarks/quality/fine_tuning.py --elmo ko=saved_models/elmo-ko \\
        --tasks nsmc --size 2000 --out benchmarks/quality/fine_tuning_ko.json

Reference: Howard and Ruder 2018, "Universal Language Model Fine-tuning for Text
Classification".
"""

import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import common
import keras
import numpy as np
import tensorflow as tf
from common import markdown_table
from data_sets import DATA_SETS, Task, of_a_language
from experiments import TITLES
from head_models import LEARNING_RATE, LEAST_UPDATES, UNITS, MaxAndMean, batches

import keras_elmo

# ULMFiT's, from a layer to the one below it.
FACTOR = 2.6
_WAYS = ("frozen, longer", "at once", "from the top")


class LayerwiseAdam(keras.optimizers.Adam):
    """Adam with a factor of the learning rate for each variable.

    Args:
        learning_rate: where the factor is 1.
        factors: by the paths of variables; 1 for others.
    """

    def __init__(
        self, learning_rate: Any, factors: Mapping[str, float], **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._factors = factors

    def build(self, variables: list[Any]) -> None:
        super().build(variables)
        # TensorFlow's own variables, which are updated, have no path.
        self._in_order = [self._factors.get(each.path, 1.0) for each in variables]

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        rate = learning_rate * self._in_order[self._get_variable_index(variable)]
        super().update_step(gradient, variable, rate)


def main(arguments: Sequence[str] | None = None) -> None:
    options = common.options(
        __doc__,
        arguments,
        elmo=(
            None,
            "models",
            {"nargs": "+", "type": of_a_language, "required": True},
        ),
        tasks=(["sst2", "sst5", "nsmc"], ""),
        ways=(list(_WAYS), "", {"choices": _WAYS}),
        size=(0, "training sentences; 0 for all"),
        seeds=3,
        epochs=(2, "of the whole biLM, behind one for each layer above the lowest"),
        learning_rate=(1e-3, "of the head, and of the biLM from the top down"),
        rate_at_once=(3e-4, "of all weights, at once; of the head alone, for longer"),
        dtype="float32",
    )
    encoders = {language: keras_elmo.load(path) for language, path in options.elmo}
    runs = []
    for name in options.tasks:
        data_set = DATA_SETS[name]
        encoder = encoders[data_set.language]
        task = data_set.read(common.data_folder(), encoder.tokenizer or "whitespace")
        for seed in range(options.seeds):
            found = _Measurement(name, task, encoder, seed, options).runs()
            print(*found, sep="\n", file=sys.stderr, flush=True)
            runs += found
    common.publish(options, table, runs=runs)


class _Measurement:
    """One seed of a task: the frozen biLM, and each way to go on from there."""

    def __init__(
        self,
        name: str,
        task: Task,
        encoder: keras_elmo.Encoder,
        seed: int,
        options: Any,
    ) -> None:
        keras.utils.set_random_seed(seed)
        self._name, self._seed, self._options = name, seed, options
        self._training = training = DATA_SETS[name].training
        self._task = task
        self._places = task.drawn(options.size or None)
        self._train = _dataset(task, self._places, training.batch_size)
        self._dev = _dataset(task, task.dev, training.batch_size)
        self.elmo = keras_elmo.ElmoEmbedding(encoder, dtype=options.dtype)
        lstm = keras.layers.LSTM(UNITS, return_sequences=True)
        self.head = [
            keras.layers.LayerNormalization(),
            keras.layers.Dropout(training.dropout),
            keras.layers.Bidirectional(lstm),
            MaxAndMean(),
            keras.layers.Dense(len(task.classes), activation="softmax"),
        ]
        words = keras.Input((None,), dtype="string")
        self.model = self._above(words)

    def _above(self, inputs: Any) -> keras.Model:
        x = self.elmo(inputs)
        for layer in self.head:
            x = layer(x)
        return keras.Model(inputs, x)

    def runs(self) -> list[dict[str, Any]]:
        """Trains above the frozen biLM, and goes on from there in each way."""
        began = time.monotonic()
        cached = keras_elmo.precompute(self.elmo, self._train, shuffle=True)
        model = self._above(keras.Input(self.elmo.layers_shape))
        least = -(-LEAST_UPDATES // self._updates(1))
        epochs = max(self._training.epochs, least)
        self._fit_all(model, cached, LEARNING_RATE, epochs)
        found = [self._result("frozen", began)]
        weights = self.model.get_weights()
        # As many epochs as from the top down.
        epochs = self._options.epochs + len(self._groups()) - 1
        rate = self._options.rate_at_once
        for way in self._options.ways:
            self.model.set_weights(weights)
            began = time.monotonic()
            if way == "from the top":
                self._from_the_top()
            elif way == "at once":
                self.elmo.encoder.trainable = True
                self._fit_all(self.model, self._train, rate, epochs)
            else:
                self._fit_all(model, cached, rate, epochs)
            found.append(self._result(way, began))
            self.elmo.encoder.trainable = False
        return found

    def _fit_all(
        self, model: keras.Model, dataset: Any, rate: float, epochs: int
    ) -> None:
        optimizer = keras.optimizers.Adam(self._falling(rate, epochs))
        _fit(model, optimizer, dataset, epochs)

    def _from_the_top(self) -> None:
        groups = self._groups()
        rate: Any = self._options.learning_rate
        factors = {
            weight.path: FACTOR**-depth
            for depth, layers in enumerate(groups, 1)
            for layer in layers
            for weight in layer.weights
        }
        epochs = 1
        for depth, layers in enumerate(groups, 1):
            for layer in layers:
                layer.trainable = True
            if depth == len(groups):
                epochs = self._options.epochs
                rate = self._falling(rate, epochs)
            _fit(self.model, LayerwiseAdam(rate, factors), self._train, epochs)

    def _groups(self) -> list[list[keras.layers.Layer]]:
        """The layers of the encoder, the uppermost first."""
        bilm = self.elmo.encoder.get_layer("bilm")
        pairs = zip(bilm.forward_layers, bilm.backward_layers, strict=True)
        below = [each for each in self.elmo.encoder.layers if each is not bilm]
        return [*map(list, reversed(list(pairs))), below]

    def _falling(self, rate: float, epochs: int) -> Any:
        return keras.optimizers.schedules.CosineDecay(rate, self._updates(epochs))

    def _updates(self, epochs: int) -> int:
        return epochs * -(-len(self._places) // self._training.batch_size)

    def _result(self, way: str, began: float) -> dict[str, Any]:
        seconds = time.monotonic() - began
        right = [
            self.model.predict_on_batch(words).argmax(-1) == labels.numpy()
            for words, labels in self._dev
        ]
        return {
            "task": self._name,
            "way": way,
            "seed": self._seed,
            "score": 100 * float(np.concatenate(right).mean()),
            "seconds": round(seconds, 1),
        }


def _fit(model: keras.Model, optimizer: Any, dataset: Any, epochs: int) -> None:
    loss = "sparse_categorical_crossentropy"
    model.compile(optimizer, loss, jit_compile=False)
    model.fit(dataset, epochs=epochs, shuffle=False, verbose=0)


def _dataset(task: Task, places: np.ndarray, batch_size: int) -> tf.data.Dataset:
    """Batches of words and labels, of sentences of about the same length."""
    lengths = np.array([len(each) for each in task.sentences])
    found = list(batches(lengths, places, batch_size=batch_size))

    def examples() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for batch in found:
            longest = max(1, lengths[batch].max())
            words = [task.sentences[place] for place in batch]
            padded = [[*each, *[""] * (longest - len(each))] for each in words]
            labels = np.stack([task.labels[place] for place in batch])
            yield np.array(padded, object), labels

    signature = (
        tf.TensorSpec((None, None), tf.string),
        tf.TensorSpec((None,), tf.int32),
    )
    dataset = tf.data.Dataset.from_generator(examples, output_signature=signature)
    counted = tf.data.experimental.assert_cardinality(len(found))
    return dataset.apply(counted).shuffle(len(found))


def table(result: common.Result) -> str:
    """Returns mean and deviation of the scores, and the mean of the seconds."""
    ways = ["frozen", *result["ways"]]
    rows = []
    for task in result["tasks"]:
        runs = [run for run in result["runs"] if run["task"] == task]
        cells = []
        for way in ways:
            scores = [run["score"] for run in runs if run["way"] == way]
            seconds = [run["seconds"] for run in runs if run["way"] == way]
            spread = f" ± {statistics.stdev(scores):.2f}" if len(scores) > 1 else ""
            cells += [
                f"{statistics.mean(scores):.2f}{spread}",
                f"{statistics.mean(seconds):.0f}",
            ]
        rows.append([TITLES[task], *cells])
    header = ["Task", *(title for way in ways for title in (way.capitalize(), "s"))]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
