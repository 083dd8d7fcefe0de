"""Tokens and lengths that do not agree."""

import numpy as np
import pytest

from keras_elmo.serving.limits import Code, ServingError
from keras_elmo.serving.signatures import check_padding


def padded(rows, lengths, prefix=""):
    return {
        f"{prefix}tokens": np.array(rows, object),
        f"{prefix}sequence_len": np.array(lengths, "int32"),
    }


@pytest.mark.parametrize(
    ("rows", "lengths", "said"),
    [
        ([[b"a"]], [5], "'sequence_len', item 0: must be from 0 to 1, the number of"),
        ([[b"a"], [b"b"]], [1, -1], "item 1: must be from 0 to 1, the number of 'tok"),
        ([[b"a", b"b"], [b"", b"b"]], [2, 2], "'tokens', item 1: must have no empty"),
        ([[b"a", b"", b"b"]], [3], "'tokens', item 0: must have no empty"),
    ],
)
def test_refused(rows, lengths, said):
    with pytest.raises(ServingError, match=said) as error:
        check_padding(padded(rows, lengths))
    assert error.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("rows", "lengths"),
    [
        ([[b"a"]], [0]),
        ([[b"a", b"", b"b"], [b"a", b"", b""]], [1, 3]),
        (np.empty((0, 0)), []),
    ],
)
def test_allowed(rows, lengths):
    check_padding(padded(rows, lengths))
    check_padding({"strings": np.array([b"a"], object)})


def test_second_text_of_a_pair():
    pair = padded([[b"a"]], [1]) | padded([[b"", b"a"]], [2], "second_")
    with pytest.raises(ServingError, match="'second_tokens', item 0: must have no"):
        check_padding(pair)
