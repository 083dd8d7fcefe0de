import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.layers.highway import Highway
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import check_layer, numpy_of

pytestmark = pytest.mark.graph


def test_contract(tmp_path):
    inputs = np.random.default_rng(0).normal(size=(2, 5, 7)).astype("float32")
    check_layer(Highway, {"carry_bias": -0.5}, [inputs], path=tmp_path)


@settings(max_examples=15, deadline=None)
@given(
    leading=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    units=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_equals_the_oracle(leading, units, seed):
    rng = np.random.default_rng(seed)
    layer = Highway()
    layer.build((None, units))
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    inputs = rng.normal(size=(*leading, units)).astype("float32")
    expected = numpy_reference.highway(
        inputs,
        *map(
            numpy_of,
            (
                layer.carry_kernel,
                layer.carry_bias,
                layer.transform_kernel,
                layer.transform_bias,
            ),
        ),
    )
    np.testing.assert_allclose(numpy_of(layer(inputs)), expected, atol=1e-5)


def test_initializers():
    """Starts near the identity with the published initialisers."""
    layer = Highway()
    layer.build((None, 200))
    np.testing.assert_array_equal(numpy_of(layer.carry_bias), -2)
    np.testing.assert_array_equal(numpy_of(layer.transform_bias), 0)
    carry, transform = numpy_of(layer.carry_kernel), numpy_of(layer.transform_kernel)
    for kernel in (carry, transform):
        assert kernel.std() == pytest.approx(200**-0.5, rel=0.05)
    # Drawn apart from each other.
    assert abs(np.corrcoef(carry.ravel(), transform.ravel())[0, 1]) < 0.05


def test_needs_a_known_size():
    with pytest.raises(ValueError, match="`inputs` must .*Received"):
        Highway().build((None, None))
