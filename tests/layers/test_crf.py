import itertools

import keras
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from keras import ops

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.precompute import precompute
from keras_elmo.downstream.token_mask import CharacterMask
from keras_elmo.layers.crf import CRF, CRFDecode, CRFLoss
from keras_elmo.layers.crf_paths import crf_decode, crf_marginals
from keras_elmo.utils.tag_schemes import convert
from tests.helpers.installed import import_installed
from tests.helpers.layer_checks import check_layer, global_policy, numpy_of
from tests.helpers.small import SMALLER, char_ids, random_encoder

pytestmark = pytest.mark.graph


class Paths:
    """All paths of one sequence, in float64: the definition, without recursion."""

    def __init__(self, scores, transitions, start, end):
        num_tokens, self.num_tags = scores.shape
        paths = list(itertools.product(range(self.num_tags), repeat=num_tokens))
        self.paths = np.array(paths, int).reshape(len(paths), num_tokens)
        self.scores = np.zeros(len(paths))
        if num_tokens:
            self.scores = start[self.paths[:, 0]] + end[self.paths[:, -1]]
            self.scores += scores[np.arange(num_tokens), self.paths].sum(axis=1)
            pairs = transitions[self.paths[:, :-1], self.paths[:, 1:]]
            self.scores += pairs.sum(axis=1)
        self.log_sum = np.logaddexp.reduce(self.scores)
        self.probabilities = np.exp(self.scores - self.log_sum)

    def loss(self, tags):
        chosen = (self.paths == tags).all(axis=1)
        return self.log_sum - self.scores[chosen].item()

    def marginals(self):
        return self._counts(self.probabilities)[0]

    def gradients(self, tags):
        """Of the loss, by the scores, the transitions, the start and the end."""
        chosen = (self.paths == tags).all(axis=1)
        return self._counts(self.probabilities - chosen)

    def _counts(self, weights):
        """How often tags and pairs of them are on the paths, which have weights."""
        is_tag = (self.paths[:, :, None] == np.arange(self.num_tags)).astype(float)
        tags = np.einsum("p,ptn->tn", weights, is_tag)
        before, after = is_tag[:, :-1], is_tag[:, 1:]
        pairs = np.einsum("p,pta,ptb->ab", weights, before, after, optimize=True)
        ends = [tags[0], tags[-1]] if len(tags) else np.zeros((2, self.num_tags))
        return tags, pairs, *ends


def random_layer(num_tags, rng, **arguments):
    layer = CRF(num_tags, **arguments)
    layer.build((None, None, num_tags))
    for weight in layer.weights:
        weight.assign(rng.normal(0, 2, weight.shape))
    return layer


def paths_of(layer, scores, lengths):
    weights = [numpy_of(weight).astype("float64") for weight in layer.weights]
    return [
        Paths(row[:length].astype("float64"), *weights)
        for row, length in zip(scores, lengths, strict=True)
    ]


def test_contract(tmp_path):
    scores = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    tags = ["O", "B-X", "I-X"]
    # In float32 whatever the policy is, the inputs too.
    same = {"low_precision_dtype": "float32", "low_precision_tolerance": 0}
    check_layer(CRF, {"num_tags": 3}, [scores], path=tmp_path, **same)
    arguments = {"num_tags": 3, "tags": tags}
    layer = check_layer(CRF, arguments, [scores], path=tmp_path, **same)
    loss = keras.losses.deserialize(keras.losses.serialize(CRFLoss("sum", "other")))
    assert (loss.reduction, loss.name) == ("sum", "other")
    mask = np.array([[1, 1, 1, 0], [0, 0, 0, 0]], "bool")
    decoded = CRFDecode()(layer(scores, mask=mask))
    np.testing.assert_array_equal(numpy_of(decoded._keras_mask), mask)


@settings(max_examples=10, deadline=None)
@example(num_tags=6, lengths=[6, 6, 6], size=6, in_front=False, scale=3.0, seed=0)
@example(num_tags=3, lengths=[1, 1], size=1, in_front=False, scale=1.0, seed=0)
@example(num_tags=3, lengths=[0, 0], size=0, in_front=False, scale=1.0, seed=0)
@given(
    # JAX compiles for seconds whenever a size is new.
    num_tags=st.sampled_from([2, 6]),
    lengths=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    size=st.just(6),
    in_front=st.booleans(),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    seed=st.integers(0, 999),
)
def test_equals_enumeration(num_tags, lengths, size, in_front, scale, seed):
    if size == 0 and keras.backend.backend() == "torch":
        # Keras's own scan needs a step there.
        return
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, scale, (len(lengths), size, num_tags)).astype("float32")
    tags = rng.integers(0, num_tags, (len(lengths), size))
    layer = random_layer(num_tags, rng)
    expected = paths_of(layer, scores, lengths)
    mask = np.arange(size) < np.array(lengths)[:, None]
    if in_front:
        # The same sequences, behind their padding.
        place = np.argsort(mask, axis=1, kind="stable")
        scores = np.take_along_axis(scores, place[:, :, None], 1)
        tags, mask = (np.take_along_axis(x, place, 1) for x in (tags, mask))
    # Neither labels nor scores of padding may matter.
    scores[~mask] = np.nan
    tags[~mask] = -1
    potentials = layer(scores, mask=mask)
    losses = numpy_of(CRFLoss(reduction=None)(tags, potentials))
    decoded, best = map(numpy_of, crf_decode(potentials))
    marginals = numpy_of(crf_marginals(potentials))
    assert (decoded[~mask] == 0).all() and (marginals[~mask] == 0).all()
    for k, paths in enumerate(expected):
        real = mask[k]
        tolerance = 1e-5 * max(1, abs(paths.scores).max())
        np.testing.assert_allclose(losses[k], paths.loss(tags[k, real]), atol=tolerance)
        np.testing.assert_allclose(best[k], paths.scores.max(), atol=tolerance)
        np.testing.assert_allclose(
            paths.loss(decoded[k, real]),
            paths.log_sum - paths.scores.max(),
            atol=tolerance,
        )
        np.testing.assert_allclose(
            marginals[k, real], paths.marginals(), atol=tolerance
        )


def test_skips_masked_tokens_in_between():
    rng = np.random.default_rng(0)
    layer = random_layer(3, rng)
    scores = rng.normal(size=(1, 5, 3)).astype("float32")
    tags = np.array([[2, 1, 0, 1, 2]])
    mask = np.array([[True, True, False, False, True]])
    (expected,) = paths_of(layer, scores[:, mask[0]], [3])
    potentials = layer(scores, mask=mask)
    loss = numpy_of(CRFLoss()(tags, potentials))
    np.testing.assert_allclose(loss, expected.loss([2, 1, 2]), atol=1e-5)
    marginals = numpy_of(crf_marginals(potentials))
    np.testing.assert_allclose(marginals[mask], expected.marginals(), atol=1e-5)


def test_gradients_equal_enumeration():
    """Gradients of the scores, and of the weights of the layer."""
    rng = np.random.default_rng(1)
    layer = random_layer(6, rng)
    scores = rng.normal(size=(3, 6, 6)).astype("float32")
    tags = rng.integers(0, 6, (3, 6))
    lengths = [6, 3, 0]
    mask = np.arange(6) < np.array(lengths)[:, None]
    rows = [
        paths.gradients(row[:length])
        for paths, row, length in zip(
            paths_of(layer, scores, lengths), tags, lengths, strict=True
        )
    ]
    by_scores = np.zeros(scores.shape)
    for k, (row, *_) in enumerate(rows):
        by_scores[k, : len(row)] = row
    by_weights = [sum(parts) for parts in list(zip(*rows, strict=True))[1:]]

    # Scores as weights, to have their gradient on any backend.
    embedding = keras.layers.Embedding(18, 6)
    ids, is_token = keras.Input((6,), dtype="int32"), keras.Input((6,), dtype="bool")
    potentials = layer(embedding(ids), mask=is_token)
    model = keras.Model([ids, is_token], potentials)
    model.compile(keras.optimizers.SGD(1.0), CRFLoss("sum"))
    embedding.embeddings.assign(scores.reshape(18, 6))
    variables = [embedding.embeddings, *layer.weights]
    before = [numpy_of(variable).copy() for variable in variables]
    model.train_on_batch([np.arange(18).reshape(3, 6), mask], tags)
    wanted = [by_scores.reshape(18, 6), *by_weights]
    for old, variable, expected in zip(before, variables, wanted, strict=True):
        np.testing.assert_allclose(old - numpy_of(variable), expected, atol=1e-5)


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_never_decodes_what_the_scheme_forbids(scheme):
    letters = [letter for letter in scheme if letter != "O"]
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "AB")]
    rng = np.random.default_rng(0)
    layer = random_layer(len(tags), rng, tags=tags)
    scores = rng.normal(0, 20, (30, 9, len(tags))).astype("float32")
    decoded, _ = crf_decode(layer(scores))
    for path in numpy_of(decoded).tolist():
        found = [tags[tag] for tag in path]
        assert convert(found, scheme) == found


def test_other_names_forbid_nothing():
    """Parts of speech; tags of a scheme without their names are learned, too."""
    scores = np.zeros((1, 3, 3), "float32")
    for tags in (None, ["NOUN", "VERB", "I-X"]):
        layer = CRF(3, tags)
        marginals = numpy_of(crf_marginals(layer(scores)))
        assert marginals.min() > 0
    marginals = numpy_of(crf_marginals(CRF(3, ["O", "B-X", "I-X"])(scores)))
    assert marginals[0, 0, 2] == 0 and marginals[0, 1:].min() > 0


def test_in_a_model_with_a_mask():
    """Compiled, as a whole: masked tokens change nothing, and it learns."""
    tokens = np.array([[1, 2, 3, 0], [2, 0, 0, 0], [3, 1, 2, 1]] * 8)
    tags = tokens % 3
    inputs = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(4, 8, mask_zero=True)(inputs)
    scores = keras.layers.Dense(3)(embedded)
    potentials = CRF(3)(scores)
    model = keras.Model(inputs, potentials)
    model.compile(keras.optimizers.Adam(0.1), CRFLoss())
    longer = np.pad(tokens, [(0, 0), (0, 3)])
    first, padded = (
        model.evaluate(x, np.pad(tags, [(0, 0), (0, x.shape[1] - 4)]), verbose=0)
        for x in (tokens, longer)
    )
    np.testing.assert_allclose(first, padded, rtol=1e-5)
    losses = model.fit(tokens, tags, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.2 * first
    decoded = keras.Model(inputs, CRFDecode()(potentials)).predict(tokens, verbose=0)
    np.testing.assert_array_equal(decoded, tags * (tokens > 0))


@pytest.mark.usefixtures("eagerly")
def test_packed_layers_of_a_frozen_encoder():
    """What the CRF learns from stored layers is what it learns from sentences.

    They are stored without padding, and tell what is masked.
    """
    pytest.importorskip("tensorflow")
    sentences = [["a", "bank"], ["closed"], [], ["the", "bank", "closed", "."]]
    ids = char_ids(sentences)
    mask = np.arange(4) < np.array([*map(len, sentences)])[:, None]
    # Labels of padding are no tags.
    tags = np.where(mask, np.arange(4) % 3, -1)
    elmo = ElmoEmbedding(random_encoder(SMALLER))
    dense, crf = keras.layers.Dense(3), CRF(3, ["O", "B-X", "I-X"])
    inputs = {
        "ids": keras.Input((None, ids.shape[-1]), dtype="int32"),
        "layers": keras.Input(elmo.layers_shape),
    }
    models = {
        name: keras.Model(x, crf(dense(elmo(x)), mask=CharacterMask().tokens(x)))
        for name, x in inputs.items()
    }
    batches = {
        "ids": [(ids, tags)],
        "layers": precompute(elmo, [(ids, tags)]),
    }
    start, frozen = numpy_of([models["ids"].weights, elmo.encoder.weights])
    results = []
    for name, model in models.items():
        for weight, value in zip(models["ids"].weights, start, strict=True):
            weight.assign(value)
        model.compile(keras.optimizers.SGD(0.1), CRFLoss("sum"))
        losses = []
        for _ in range(2):
            ((x, y),) = batches[name]
            losses.append(float(model.train_on_batch(x, y)))
        assert losses[1] < losses[0]
        potentials = model(x)
        results.append(
            [losses, numpy_of(potentials), numpy_of(crf_decode(potentials)[0])]
        )
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert (results[0][2][~mask] == 0).all()
    for weight, value in zip(elmo.encoder.weights, frozen, strict=True):
        np.testing.assert_array_equal(numpy_of(weight), value)


def test_mask_of_other_potentials():
    """Potentials that no `CRF` made have their mask given, as lists too."""
    potentials = np.random.default_rng(0).normal(size=(1, 4, 2, 2)).astype("float32")
    potentials[:, 0] = potentials[:, 0, :1]
    mask = [[True, True, False, False]]
    tags, best = map(numpy_of, crf_decode(potentials.tolist(), mask))
    shorter, same = map(numpy_of, crf_decode(potentials[:, :2]))
    np.testing.assert_array_equal(tags, np.pad(shorter, [(0, 0), (0, 2)]))
    np.testing.assert_allclose(best, same, rtol=1e-6)
    marginals = numpy_of(crf_marginals(potentials, mask))[:, :2]
    wanted = numpy_of(crf_marginals(potentials[:, :2]))
    np.testing.assert_allclose(marginals, wanted, rtol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 3, 1000])
def test_loss_of_an_index_that_is_no_tag(wrong):
    """No number that looks like a loss; other sequences keep theirs."""
    potentials = CRF(3)(np.zeros((2, 2, 3), "float32"))
    losses = numpy_of(CRFLoss(None)([[0, wrong], [0, 1]], potentials))
    assert np.isnan(losses[0]) and np.isfinite(losses[1])


def test_saved_and_compiled(tmp_path):
    """A compiled model comes back from its file, and goes on learning."""
    inputs = keras.Input((None, 3))
    scores = keras.layers.Masking()(inputs)
    crf = CRF(3, ["O", "B-X", "I-X"])
    model = keras.Model(inputs, crf(scores))
    # torch.compile takes longer than all tests of this file.
    jit_compile = keras.backend.backend() != "torch"
    model.compile("sgd", CRFLoss("sum"), jit_compile=jit_compile)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 4, 3)).astype("float32")
    x[0, 2:] = x[1] = 0
    y = np.tile([0, 1, 2, 1], (6, 1))
    model.fit(x, y, batch_size=6, verbose=0)
    expected = model.evaluate(x, y, batch_size=6, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert (loaded.loss.reduction, loaded.layers[-1].tags) == ("sum", crf.tags)
    found = loaded.evaluate(x, y, batch_size=6, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    loaded.fit(x, y, batch_size=6, verbose=0)
    assert loaded.evaluate(x, y, batch_size=6, verbose=0) < expected


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="writes a SavedModel"
)
def test_saved_model(tmp_path):
    """Viterbi is inside, for any number of tokens, and needs no package."""
    import tensorflow as tf

    inputs = keras.Input((None, 3))
    potentials = CRF(3)(keras.layers.Masking()(inputs))
    model = keras.Model(inputs, CRFDecode()(potentials))
    model.export(tmp_path / "crf", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "crf"))
    for shape in [(2, 5, 3), (1, 1, 3)]:
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        x[-1, shape[1] // 2 + 1 :] = 0
        np.testing.assert_array_equal(loaded.serve(x).numpy(), numpy_of(model(x)))


def test_equals_pytorch_crf():
    """On random batches with masks, of long sequences, too: losses, and best paths."""
    torch, torchcrf = import_installed("torch"), import_installed("torchcrf")
    for num_tags, num_tokens in ((2, 300), (17, 30)):
        rng = np.random.default_rng(num_tags)
        layer = random_layer(num_tags, rng)
        other = torchcrf.CRF(num_tags, batch_first=True)
        names = ("transitions", "start_transitions", "end_transitions")
        for name, weight in zip(names, layer.weights, strict=True):
            getattr(other, name).data = torch.tensor(numpy_of(weight))
        scores = rng.normal(0, 3, (16, num_tokens, num_tags)).astype("float32")
        tags = rng.integers(0, num_tags, (16, num_tokens))
        # Theirs refuses sequences without tokens.
        mask = np.arange(num_tokens) < rng.integers(1, num_tokens + 1, (16, 1))
        potentials = layer(scores, mask=mask)
        arrays = map(torch.tensor, (scores, tags, mask))
        with torch.no_grad():
            scores, tags, masked = arrays
            wanted = -other(scores, tags, masked, reduction="none").numpy()
            paths = other.decode(scores, masked)
        found = numpy_of(CRFLoss(None)(tags.numpy(), potentials))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
        decoded = numpy_of(crf_decode(potentials)[0])
        assert [
            row[real].tolist() for row, real in zip(decoded, mask, strict=True)
        ] == paths


def test_float32_under_another_policy():
    with global_policy("mixed_float16"):
        scores = ops.cast(np.full((1, 300, 2), 300.0), "float16")
        potentials = CRF(2)(scores)
        loss = CRFLoss()(np.zeros((1, 300)), potentials)
    assert keras.backend.standardize_dtype(potentials.dtype) == "float32"
    assert np.isfinite(numpy_of(loss))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_tags": 1}, "`num_tags` must be at least 2. Received: num_tags=1"),
        ({"num_tags": 2, "tags": ["O"]}, "`tags` must be 2 distinct names"),
        ({"num_tags": 2, "tags": ["O", "O"]}, "`tags` must be 2 distinct names"),
        ({"num_tags": 2, "tags": "OI"}, "`tags` must be 2 distinct names"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        CRF(**arguments)


def test_refuses_other_shapes():
    with pytest.raises(ValueError, match="`scores` must have 3 tags"):
        CRF(3)(np.zeros((1, 2, 4), "float32"))
    potentials = np.zeros((2, 3, 4, 4), "float32")
    for function in (crf_decode, crf_marginals, CRFDecode()):
        with pytest.raises(ValueError, match=r"`potentials` must be log potentials"):
            function(potentials[0])
    with pytest.raises(ValueError, match=r"`mask` must be booleans \(batch, tokens\)"):
        crf_decode(potentials, np.ones((2, 4), "bool"))
    with pytest.raises(ValueError, match="`y_pred` must be log potentials"):
        CRFLoss()(np.zeros((2, 3)), potentials[..., :3])
    # One-hot vectors, and tags that are padded to another length.
    for shape in [(2, 3, 4), (2, 2)]:
        with pytest.raises(ValueError, match=r"`y_true` must be indices of tags \(ba"):
            CRFLoss()(np.zeros(shape), potentials)
