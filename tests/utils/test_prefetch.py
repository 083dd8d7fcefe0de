import threading
import time

import pytest

from keras_elmo.utils.prefetch import prefetch_map


@pytest.mark.parametrize("num_threads", [0, 1, 3])
def test_order(num_threads):
    def slowly(number):
        time.sleep(0.001 * (number % 3))
        return 2 * number

    found = list(prefetch_map(slowly, range(50), num_threads))
    assert found == list(range(0, 100, 2))
    assert list(prefetch_map(slowly, [], num_threads)) == []


@pytest.mark.parametrize("num_threads", [0, 1, 2])
def test_values_read_ahead(num_threads):
    read = []

    def values():
        for number in range(9):
            read.append(number)
            yield number

    ahead = prefetch_map(str, values(), num_threads)
    assert next(ahead) == "0"
    time.sleep(0.05)
    assert read == list(range(1 + num_threads))
    assert list(ahead) == list("12345678")


@pytest.mark.parametrize("num_threads", [0, 2])
def test_error_in_its_place(num_threads):
    ahead = prefetch_map(lambda number: 1 / number, [1, 0.5, 0, 1], num_threads)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ZeroDivisionError):
        next(ahead)


def test_closing_ends_threads():
    """Who stops early leaves no thread."""
    before = set(threading.enumerate())
    ahead = prefetch_map(str, range(10), 2)
    next(ahead)
    ahead.close()
    assert set(threading.enumerate()) == before
