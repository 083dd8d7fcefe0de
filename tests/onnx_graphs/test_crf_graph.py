import numpy as np
import onnxruntime
import pytest

from keras_elmo.layers.crf import CRF
from keras_elmo.layers.crf_paths import crf_decode, crf_marginals
from keras_elmo.onnx_graphs.crf_graph import TagPaths
from keras_elmo.onnx_graphs.graph import OnnxGraph
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import randomise

TAGS = ["O", "B-PER", "I-PER", "B-LOC"]


def paths(crf):
    """A function of scores and lengths: the best tags, and probabilities."""
    graph = OnnxGraph("paths")
    scores = graph.input("scores", "float32", ("batch", "tokens", crf.num_tags))
    lengths = graph.input("lengths", "int32", ("batch",))
    mask = graph.input("mask", "bool", ("batch", "tokens"))
    actual = TagPaths(graph, crf, scores, lengths, mask)
    graph.output(actual.best(), "int64", ("batch", "tokens"), "best")
    axes = ("batch", "tokens", crf.num_tags)
    graph.output(actual.marginals(), "float32", axes, "marginals")
    session = onnxruntime.InferenceSession(graph.serialize({}))

    def run(scores, lengths):
        mask = np.arange(scores.shape[1]) < lengths[:, np.newaxis]
        feeds = {"scores": scores, "lengths": lengths, "mask": mask}
        return *session.run(None, feeds), mask

    return run


@pytest.mark.parametrize("tags", [TAGS, None], ids=["constraints", "none"])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_paths(tags, scale):
    """Those of `crf_decode` and `crf_marginals`, of any lengths, also 0."""
    rng = np.random.default_rng(0)
    crf = CRF(4, tags)
    crf.build((None, None, 4))
    randomise(crf, rng, 1.0)
    run = paths(crf)
    # In a loop that Keras makes step by step: one long sentence is enough.
    for lengths in ([3, 0, 1, 7, 7], [0, 0], [1], [400 if scale > 1 and tags else 40]):
        lengths = np.array(lengths, "int32")
        shape = (len(lengths), lengths.max() + 2, 4)
        scores = rng.normal(0, scale, shape).astype("float32")
        best, marginals, mask = run(scores, lengths)
        potentials = crf(scores, mask=mask)
        wanted = numpy_of(crf_decode(potentials)[0])
        np.testing.assert_array_equal(np.where(mask, best, 0), wanted)
        wanted = numpy_of(crf_marginals(potentials))
        actual = np.where(mask[..., np.newaxis], marginals, 0)
        # Sums of 400 scores have few digits left for their differences.
        np.testing.assert_allclose(actual, wanted, atol=1e-3)


def test_no_tokens():
    crf = CRF(3)
    crf.build((None, None, 3))
    best, marginals, _ = paths(crf)(
        np.zeros((2, 0, 3), "float32"), np.zeros(2, "int32")
    )
    assert best.shape == (2, 0) and marginals.shape == (2, 0, 3)
