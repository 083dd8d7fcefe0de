"""Compares keras_elmo on one Keras backend with the oracle, and trains a little.

    KERAS_BACKEND=jax python -m tests.backends.check_backend

A script and not a test, because a process has one backend. Where TensorFlow is
installed, it checks only what is different there. Prints `ok` at the end.
"""

import contextlib
import dataclasses
import importlib.util
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

import keras_elmo
from keras_elmo.files.published import load_published_weights, save_published_weights
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.batch_shapes import BatchShapes, form_batch
from keras_elmo.text.plain_ids import PlainIds, distinct_words
from keras_elmo.training import pretrain as pretrain_module
from keras_elmo.training.devices import choose_devices
from tests.backends.check_host import check_host
from tests.helpers import numpy_reference
from tests.helpers.combinations import BATCHES, DTYPES, check_combination
from tests.helpers.compilations import counted_compilations
from tests.helpers.layer_checks import numpy_of
from tests.helpers.looked_up import (
    LOOKED_UP,
    VOCABULARY,
    expected_layers,
    looked_up_ids,
)
from tests.helpers.looked_up import SENTENCES as LOOKED_UP_SENTENCES
from tests.helpers.runs import state_of
from tests.helpers.small import (
    CONFIG,
    SENTENCES,
    SMALLER,
    assert_same_weights,
    char_ids,
    published,
    random_encoder,
)
from tests.helpers.unfreezing import IDS, TARGETS, check_unfreezing, compiled, regressor
from tests.models.test_pretraining import (
    VOCABULARY_SIZE,
    batch_of,
    expected_nll,
    random_model,
)
from tests.training.test_seeding import check_seeded

TOLERANCE = 1e-5
BESIDE_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None


def close(found, wanted, tolerance=TOLERANCE):
    np.testing.assert_allclose(found, wanted, atol=tolerance, rtol=0)


def refused(error_class, message, function, *args):
    """Checks that a call raises an error; pytest need not be installed here."""
    try:
        function(*args)
    except error_class as error:
        assert message in str(error), error
    else:
        raise AssertionError("no error")


def computed(model, ids):
    """What a model returns; on JAX as one program: it compiles each part of a call."""
    on_jax = keras.backend.backend() == "jax"
    return numpy_of(model.predict_on_batch(ids) if on_jax else model(ids))


def computed_by(layer, ids):
    inputs = keras.Input(ids.shape[1:], dtype="int32")
    return computed(keras.Model(inputs, layer(inputs)), ids)


def reloaded(model):
    """A model, saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        return keras.saving.load_model(f"{folder}/model.keras")


@contextlib.contextmanager
def all_move(weights):
    """Each weight changes in the block."""
    before = numpy_of(weights)
    yield
    for weight, old in zip(weights, before, strict=True):
        assert not np.array_equal(numpy_of(weight), old), weight.path


def check_combinations():
    # JAX compiles each shape and type anew, so these are not all of them.
    sentences = [*BATCHES["shortest first"], *BATCHES["words of fifty bytes"]]
    check_combination(sentences, "float32")
    for dtype in DTYPES[1:]:
        check_combination(sentences, dtype, eagerly=False)


def check_character_gradient():
    """Sums of thousands of rows agree in both precisions."""
    ids = np.random.default_rng(0).integers(1, 60, (16, 128, 50), "int32")
    ids[..., 8:] = 261
    steps = []
    for dtype in ("float32", "mixed_bfloat16"):
        keras.utils.set_random_seed(0)
        layer = keras_elmo.CharCNNEmbedding([[3, 16]], 8, dtype=dtype)
        inputs = keras.Input((None, 50), dtype="int32")
        pooled = keras.layers.GlobalAveragePooling1D()(layer(inputs))
        model = keras.Model(inputs, pooled)
        model.compile(keras.optimizers.SGD(1.0), "mse")
        before = numpy_of(layer.char_embedding)
        model.train_on_batch(ids, np.ones((16, 8)))
        steps.append(numpy_of(layer.char_embedding) - before)
    wanted, found = steps
    assert np.linalg.norm(found - wanted) < 0.02 * np.linalg.norm(wanted)


def check_mix():
    encoder = random_encoder()
    options, weights = published(encoder)
    layer = keras_elmo.ElmoEmbedding(encoder)
    ids = char_ids(SENTENCES)
    layer.build(ids.shape)
    layer.mixes[0].scalars.assign([0.5, -1.0, 2.0])
    layer.mixes[0].gamma.assign(1.5)
    found = computed_by(layer, ids)
    for row, tokens in enumerate(SENTENCES):
        layers, _ = numpy_reference.encode(tokens, options, weights)
        wanted = numpy_reference.scalar_mix(
            [h[1:-1] for h in layers], [0.5, -1, 2], 1.5
        )
        close(found[row, : len(tokens)], wanted)
        assert not found[row, len(tokens) :].any()


def check_downstream():
    """The mix, which is logged, and the head learn; the frozen encoder does not."""
    layer = keras_elmo.ElmoEmbedding(random_encoder(SMALLER))
    model = compiled(regressor(layer))
    before = [numpy_of(weight) for weight in model.weights]
    logger = keras_elmo.MixWeightsLogger()
    history = model.fit(
        char_ids(SENTENCES),
        np.arange(5.0),
        epochs=2,
        batch_size=5,
        verbose=0,
        callbacks=[logger],
    )
    assert np.isfinite(history.history["loss"]).all()
    # On JAX the variables stand still while an epoch runs.
    [(shares, gamma)] = layer.mix_weights
    assert list(logger.rows[-1].values()) == [2, *shares, gamma]
    moved = {
        weight.path
        for weight, old in zip(model.weights, before, strict=True)
        if not np.array_equal(numpy_of(weight), old)
    }
    assert moved == {weight.path for weight in model.trainable_weights}
    assert len(moved) == 4
    ids = char_ids(SENTENCES)
    close(computed(reloaded(model), ids), computed(model, ids))


def check_in_models():
    """In a `Sequential` without an `Input`, and on documents of sentences."""
    ids = char_ids(SENTENCES)
    layer = keras_elmo.ElmoEmbedding(random_encoder(SMALLER), dtype="mixed_bfloat16")
    model = keras.Sequential([layer, keras.layers.GlobalAveragePooling1D()])
    lengths = np.array([[max(len(tokens), 1)] for tokens in SENTENCES])
    found = model.predict(ids, verbose=0)
    close(found, computed_by(layer, ids).sum(axis=1) / lengths, 0.05)
    layer = keras_elmo.ElmoEmbedding(random_encoder(SMALLER))
    documents = np.stack([ids, ids], axis=1)
    found = computed_by(keras.layers.TimeDistributed(layer), documents)
    wanted = computed_by(layer, ids)
    close(found, np.stack([wanted, wanted], axis=1))


def check_padding():
    """Padding in front raises where ids are known; in a graph, a sentence ends."""
    encoder = random_encoder(SMALLER)
    ids = char_ids([["the", "bank", "the"], ["the", "bank", "the"]])
    wanted = computed(encoder, ids[:, :2])
    ids[0, 2], ids[1, 0] = 0, 0
    # PyTorch has no graph.
    if keras.backend.backend() != "torch":
        found = encoder.predict(ids, verbose=0)
        for each, expected in zip(found, wanted, strict=True):
            close(each[0, :2], expected[0])
            assert not each[0, 2:].any() and not each[1].any()
    refused(ValueError, "`char_ids` must be padded with 0 at the end", encoder, ids)


def check_looked_up():
    """A model that looks up words and characters has its layers, trains and saves."""
    encoder = random_encoder(LOOKED_UP)
    ids = looked_up_ids(LOOKED_UP_SENTENCES, VOCABULARY)
    layers = computed(encoder, ids)
    for row, sentence in enumerate(ids):
        wanted = expected_layers(encoder, sentence[sentence[:, 0] > 0])
        for found, layer in zip(layers, wanted, strict=True):
            close(found[row, : len(layer)], layer)
            assert not found[row, len(layer) :].any()
    elmo = keras_elmo.ElmoEmbedding(encoder, trainable_encoder=True)
    model = compiled(regressor(elmo, VOCABULARY.ids_per_token))
    with all_move(model.trainable_weights):
        model.fit(ids, np.arange(float(len(ids))), batch_size=len(ids), verbose=0)
    close(computed(reloaded(model), ids), computed(model, ids))


def check_freezing():
    with tempfile.TemporaryDirectory() as folder:
        check_unfreezing(Path(folder) / "model.keras", SMALLER)


def check_copies():
    """Layers made from a model are trained, and the model stays as it was."""
    encoder = random_encoder(SMALLER)
    before = [numpy_of(weight) for weight in encoder.weights]
    first = keras_elmo.ElmoEmbedding(encoder, trainable_encoder=True)
    model = compiled(regressor(first))
    model.fit(IDS, TARGETS, verbose=0)
    trained = computed(model, IDS)
    # Another fold, and a layer of a trained layer.
    for source in (encoder, first):
        layer = keras_elmo.ElmoEmbedding(source, trainable_encoder=True)
        fold = compiled(regressor(layer))
        fold.fit(IDS, TARGETS, verbose=0)
        close(computed(model, IDS), trained, 0)
        assert_same_weights(encoder.weights, before)
    (vectors,) = keras_elmo.embed(encoder, [SENTENCES[0]])
    wanted = computed(encoder, char_ids(SENTENCES[:1]))
    close(vectors, np.stack(wanted)[:, 0, 1:-1])
    # A copy of the same type.
    copy = encoder.with_dtype("float32")
    zeros = [values * 0 for values in computed(copy, IDS)]
    compiled(copy).fit(IDS, zeros, verbose=0)
    assert_same_weights(encoder.weights, before)


def check_strings():
    """An error on text says what to do."""
    layer = keras_elmo.ElmoEmbedding(random_encoder(SMALLER))
    for text in (["The bank"], [["The", "bank"]], keras.Input((), dtype="string")):
        refused(RuntimeError, "`char_ids`", layer, text)
    if BESIDE_TENSORFLOW:
        found = layer.char_ids([["The", "bank"], ["bank"]])
        np.testing.assert_array_equal(found, char_ids([["The", "bank"], ["bank"]]))


def check_few_programs():
    """Batches of thirteen shapes have the encoder's vectors.

    On JAX, four programs compute them and one their words.
    """
    encoder = random_encoder(SMALLER)
    words = "I sat by the bank of a river and saw another boat".split()
    sentences = [words[:length] for length in range(len(words) + 1)]
    ids = char_ids(sentences)
    wanted = computed(encoder, ids)
    with counted_compilations() as programs:
        found = list(keras_elmo.embed(encoder, sentences, batch_size=1))
    on_jax = keras.backend.backend() == "jax"
    assert len(programs) == 5 * on_jax, programs
    elmo = keras_elmo.ElmoEmbedding(encoder)
    with counted_compilations() as programs:
        ((layers, _),) = keras_elmo.precompute(elmo, [(ids, np.arange(13.0))])
    # All in one batch, of another encoder.
    assert len(programs) == 2 * on_jax, programs
    for row, (vectors, stored) in enumerate(zip(found, layers, strict=True)):
        close(vectors, [layer[row, 1 : row + 1] for layer in wanted])
        close(numpy_of(stored)[:, :row], vectors)


def check_precompute():
    layer = keras_elmo.ElmoEmbedding(random_encoder(SMALLER))
    ids, targets = char_ids(SENTENCES), np.arange(5.0)
    cached = keras_elmo.precompute(layer, [(ids, targets)])
    ((layers, found),) = list(cached)
    close(numpy_of(found), targets)
    close(numpy_of(layer(layers)), numpy_of(layer(ids)))
    inputs = keras.Input(layer.layers_shape)
    pooled = keras.layers.GlobalAveragePooling1D()(layer(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(pooled))
    model.compile("sgd", "mse")
    model.fit(cached, shuffle=False, verbose=0)
    assert layer.mix_weights[0][1] != 1


def check_classifier():
    """Trained, saved and loaded on words, which need no TensorFlow."""
    classifier = keras_elmo.TextClassifier(
        random_encoder(SMALLER), lstm_units=3, hidden=4
    )
    # JAX compiles for each length.
    texts = [["The", "bank"], ["배", "가"], ["I", "sat"], ["the", "river"]]
    labels = ["a", "b", "a", "b"]
    classifier.fit(texts, labels, epochs=2, batch_size=4, verbose=0)
    wanted = classifier.predict_proba(texts)
    assert set(classifier.predict(texts)) <= {"a", "b"}
    close(reloaded(classifier).predict_proba(texts), wanted)


def check_pretraining():
    batch = batch_of(SENTENCES, extra=1)
    for num_sampled, training in ((8, False), (VOCABULARY_SIZE, True)):
        model = random_model(num_sampled=num_sampled)
        outputs = numpy_of(model(batch, training=training))
        for row, expected in enumerate(expected_nll(model, batch)):
            for name, wanted in zip(("forward", "backward"), expected, strict=True):
                close(outputs[name][row, : len(wanted)], wanted)


def check_distinct_words():
    """Padding changes neither losses nor gradients.

    The words of the padded one are listed once.
    """
    batch = batch_of(SENTENCES)
    tokens = [[token.encode() for token in tokens] for tokens in SENTENCES]
    words, positions = distinct_words(tokens)
    words = PlainIds().table(PlainIds().encode(words))
    np.testing.assert_array_equal(words[positions], batch["char_ids"])
    shapes = BatchShapes((4, 13), 24)
    padded = form_batch(words, positions, batch["token_ids"], 91, shapes)
    assert padded["token_ids"].shape == (7, 13) and len(padded["words"]) == 24
    updates = []
    for inputs in (batch, padded):
        model = random_model(SMALLER, num_sampled=VOCABULARY_SIZE)
        model.compile(keras.optimizers.SGD(1.0))
        before = numpy_of(model.trainable_weights)
        losses = model.train_on_batch(inputs, return_dict=True)
        after = numpy_of(model.trainable_weights)
        updates.append([a - b for a, b in zip(after, before, strict=True)])
        updates[-1] += [losses[name] for name in sorted(losses)]
    assert all(np.any(update) for update in updates[0])
    for wanted, found in zip(*updates, strict=True):
        close(found, wanted)
    refused(ValueError, "of `char_ids` and `token_ids`", model, {"char_ids": words})


def check_measuring():
    """A short text, of eight lengths, is measured; on JAX by one program."""
    model = random_model(SMALLER)
    words = [f"word{k}" for k in range(VOCABULARY_SIZE - 3)]
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])
    sentences = [words[:length] for length in range(1, 9)]
    corpus = keras_elmo.Corpus(sentences, vocabulary, batch_tokens=20, max_tokens=10)
    nats = []
    for batch in corpus.batches(shuffle=False, shapes=BatchShapes()):
        ids = {**batch, "char_ids": batch["words"][batch["positions"]]}
        nats += [np.sum(directions) for directions in expected_nll(model, ids)]
    with counted_compilations() as programs:
        found = keras_elmo.perplexity(model, corpus)
        assert keras_elmo.perplexity(model, corpus) == found
    assert found["tokens"] == sum(len(sentence) + 1 for sentence in sentences)
    close(np.log(found["mean"]), sum(nats) / (2 * found["tokens"]))
    assert len(programs) == (keras.backend.backend() == "jax"), programs


def check_run():
    """A run compiles few steps, and a resumed one ends with the same bits.

    The resumed one compiles its steps ahead at first, as on a GPU. On two devices,
    which share the rows and the distinct words, a run ends with the same numbers.
    """
    traced, step = [], PretrainingModel.train_step

    def train_step(model, *arguments):
        traced.append(model)
        return step(model, *arguments)

    def choose_ahead(count):
        devices = choose_devices(count)
        devices.compiles_ahead = True
        return devices

    PretrainingModel.train_step = train_step
    # PyTorch draws the masks of dropout from a generator that no checkpoint has.
    on_jax = keras.backend.backend() == "jax"
    config = dataclasses.replace(SMALLER, dropout=0.1 * on_jax)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        # Rows of 5, 10 and 11 positions.
        words = "the bank of a river by a boat bank".split()
        lines = [" ".join(words[: (3, 8, 9)[k % 3]]) for k in range(200)]
        text.write_text("\n".join(lines), encoding="utf-8")
        runs = [("whole", 8, 1), ("parts", 1, 1), ("parts", 8, 1)]
        if on_jax:
            runs.append(("two", 8, 2))
        counts = []
        for directory, steps, devices in runs:
            chosen = choose_ahead if steps == 1 else choose_devices
            pretrain_module.choose_devices = chosen
            keras_elmo.pretrain(
                config,
                text,
                directory=Path(folder) / directory,
                tokenizer="whitespace",
                optimizer="adagrad",
                num_sampled=4,
                batch_tokens=44,
                max_tokens=11,
                devices=devices,
                steps=steps,
                resume=True,
                progress=False,
            )
            counts.append(len(traced))
        manifest = json.loads((Path(folder) / "whole" / "training.json").read_text())
        whole, *others = (
            state_of(Path(folder) / directory)[0]
            for directory in dict.fromkeys(directory for directory, *_ in runs)
        )
    for tolerance, arrays in zip((0, TOLERANCE), others, strict=False):
        assert arrays.keys() == whole.keys()
        for name, array in whole.items():
            # The sums of Adagrad are large.
            np.testing.assert_allclose(
                arrays[name], array, atol=tolerance, rtol=tolerance, err_msg=name
            )
    PretrainingModel.train_step = step
    if on_jax:
        assert manifest["shapes"]["lengths"] == [5, 11]
        # Each length once in each call.
        assert len(traced) <= 2 * len(runs)
        # Both, for a single step.
        assert counts[1] - counts[0] == 2
    else:
        assert manifest["shapes"] is None and len(traced) == 8 + 8


def check_training():
    """A few steps of the sampled softmax, on ids from NumPy and from a generator."""
    model = keras_elmo.build_pretraining_model(SMALLER, VOCABULARY_SIZE, num_sampled=8)
    model.compile(
        keras.optimizers.Adagrad(
            0.2, initial_accumulator_value=1.0, global_clipnorm=10.0
        )
    )
    batch = batch_of(SENTENCES)
    first = model.evaluate(batch, verbose=0, return_dict=True)
    assert np.isfinite(list(first.values())).all()
    with all_move(model.trainable_weights):
        model.fit(
            ((batch,) for _ in range(3)), steps_per_epoch=3, shuffle=False, verbose=0
        )
    model.fit(batch, epochs=20, verbose=0)
    last = model.evaluate(batch, verbose=0, return_dict=True)
    assert last["loss"] < first["loss"] - 0.1


def check_softmax_memory():
    """Gradients of the exact softmax take the logits of one block of words."""
    positions, num_words = 256, 65536
    softmax = keras_elmo.SampledSoftmax(num_words, num_sampled=num_words, seed=0)
    hidden, targets = np.ones((positions, 4), "float32"), np.zeros(positions, "int32")
    softmax.build(hidden.shape)

    def loss(kernel):
        with keras.StatelessScope(state_mapping=[(softmax.kernel, kernel)]):
            return keras.ops.sum(softmax(hidden, targets, training=True))

    if keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(jax.grad(loss)).lower(softmax.kernel.value).compile()
        used = compiled.memory_analysis().temp_size_in_bytes
    else:
        from torch.autograd.graph import saved_tensors_hooks

        kept = []
        with saved_tensors_hooks(lambda x: kept.append(x.nbytes) or x, lambda x: x):
            loss(softmax.kernel.value)
        used = sum(kept)
        assert used
    assert used < positions * num_words * 4 / 2, used


def check_published():
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "options.json", Path(folder) / "weights.hdf5"
        options = CONFIG.to_options()
        weights = numpy_reference.random_weights(options)
        numpy_reference.write_published(options, weights, *files)
        encoder = load_published_weights(*files)
        save_published_weights(encoder, *files)
        for name, array in numpy_reference.read_published(*files)[1].items():
            np.testing.assert_array_equal(array, weights[name])


def check_what_needs_tensorflow():
    """An error on text names the package that is needed."""
    for kind in ("unicode", "whitespace"):
        for message in ("needs tensorflow", "pip install"):
            split = keras_elmo.Tokenizer(kind).ragged
            refused(ImportError, message, split, ["one sentence"])


def main():
    backend = keras.backend.backend()
    assert backend == os.environ["KERAS_BACKEND"], backend
    # Even where it is installed it costs seconds and memory.
    assert "tensorflow" not in sys.modules
    if backend == "jax":
        import jax

        # Before it has computed.
        jax.config.update("jax_num_cpu_devices", 2)
    checks = [check_strings]
    if not BESIDE_TENSORFLOW:
        other = {"jax": "torch", "torch": "jax"}[backend]
        assert importlib.util.find_spec(other) is None
        checks += [
            check_combinations,
            check_character_gradient,
            check_mix,
            check_downstream,
            check_in_models,
            check_padding,
            check_looked_up,
            check_freezing,
            check_copies,
            check_few_programs,
            check_precompute,
            check_classifier,
            check_pretraining,
            check_distinct_words,
            check_softmax_memory,
            check_training,
            check_published,
            check_seeded,
            check_measuring,
            check_run,
            check_host,
            check_what_needs_tensorflow,
        ]
    for check in checks:
        began = time.process_time()
        keras.utils.set_random_seed(0)
        check()
        print(f"{check.__name__}: {time.process_time() - began:.1f} s", flush=True)
    print("ok")


if __name__ == "__main__":
    main()
