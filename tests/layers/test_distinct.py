import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from keras_elmo.layers.char_cnn_embedding import unique_words
from tests.layers.layer_checks import numpy_of

pytest.importorskip("tensorflow")


@settings(max_examples=50, deadline=None)
@given(
    char_ids=arrays.arrays(
        "int32", st.tuples(st.integers(0, 6), st.just(9)), elements=st.integers(0, 2)
    ),
    tail=st.integers(0, 9),
    widest=st.integers(1, 9),
)
def test_words_come_back_but_for_what_no_window_can_tell(char_ids, tail, widest):
    char_ids[:, 9 - tail :] = 2
    words, positions = numpy_of(unique_words(char_ids, widest))
    assert len(np.unique(words, axis=0)) == len(words) <= len(char_ids) + 1
    kept = words.shape[1]
    assert widest <= kept <= max(widest, 9)
    np.testing.assert_array_equal(words[positions], char_ids[:, :kept])
    # What is cut off goes on as the last whole window does.
    last = char_ids[:, kept - widest :]
    assert kept == 9 or (last == last[:, :1]).all()


def test_a_batch_without_words_has_one_to_embed():
    words, positions = numpy_of(unique_words(np.zeros((0, 50), "int32"), 5))
    assert words.shape == (1, 5)
    assert positions.shape == (0,)


def test_repetitions_are_embedded_once():
    char_ids = np.array([[1, 2, 9, 9], [3, 9, 9, 9], [1, 2, 9, 9]], "int32")
    words, positions = numpy_of(unique_words(char_ids, 1))
    # The masked word, and the two others, up to the first end of all words.
    assert words.tolist() == [[0, 0, 0], [1, 2, 9], [3, 9, 9]]
    assert positions.tolist() == [1, 2, 1]
