import signal
import threading

import pytest

from keras_elmo.training.interruption import Interruption


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """A job in the background of a script begins with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_control_c():
    signal.raise_signal(signal.SIGINT)


def test_the_first_one_waits_and_the_second_does_not():
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        assert not interruption.requested
        press_control_c()
        assert interruption.requested
        with pytest.raises(KeyboardInterrupt):
            press_control_c()
    assert signal.getsignal(signal.SIGINT) is before


def test_afterwards_it_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError), Interruption():
        raise ValueError
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        press_control_c()


def test_in_another_thread_it_does_nothing():
    """There Python allows no handler."""
    before = signal.getsignal(signal.SIGINT)
    found = []

    def run():
        with Interruption() as interruption:
            found.append(interruption.requested)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]
    assert signal.getsignal(signal.SIGINT) is before
