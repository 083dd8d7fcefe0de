import threading
import time

import pytest

from keras_elmo.ahead import read_ahead


def test_the_order_stays():
    assert list(read_ahead(range(100))) == list(range(100))
    assert list(read_ahead([])) == []
    # What marks the end of one kind of iterator is a value of this one.
    assert list(read_ahead([None, False, ...])) == [None, False, ...]


def test_one_is_read_ahead_and_no_more():
    read = []

    def values():
        for number in range(5):
            read.append(number)
            yield number

    ahead = read_ahead(values())
    assert next(ahead) == 0
    deadline = time.monotonic() + 30
    while len(read) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(0.05)
    assert read == [0, 1]
    assert list(ahead) == [1, 2, 3, 4]


def test_an_error_comes_in_its_place():
    def values():
        yield "read"
        raise ValueError("damaged")

    ahead = read_ahead(values())
    assert next(ahead) == "read"
    with pytest.raises(ValueError, match="damaged"):
        next(ahead)


def test_who_stops_early_leaves_no_thread():
    before = set(threading.enumerate())
    ahead = read_ahead(range(10))
    next(ahead)
    ahead.close()
    assert set(threading.enumerate()) == before
