import signal
import threading

import pytest

from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal


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
    with SignalGuard() as guard:
        assert not guard.requested
        press_control_c()
        assert guard.requested
        with pytest.raises(KeyboardInterrupt):
            press_control_c()
    assert signal.getsignal(signal.SIGINT) is before


def test_afterwards_it_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError), SignalGuard():
        raise ValueError
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        press_control_c()


def test_in_another_thread_it_does_nothing():
    """There Python allows no handler."""
    before = signal.getsignal(signal.SIGINT)
    found = []

    def run():
        with SignalGuard() as guard:
            found.append(guard.requested)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [None]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_machine_that_is_taken_away_says_so_more_than_once():
    """As to a process and to its group: the checkpoint is being written."""
    with SignalGuard() as guard:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert guard.requested == signal.SIGTERM


def test_what_needs_no_end_is_left_at_once():
    with SignalGuard() as guard:
        with pytest.raises(Interrupted) as caught, guard.interruptible():
            signal.raise_signal(signal.SIGTERM)
        assert caught.value.number == signal.SIGTERM
        # Nor is it begun.
        with pytest.raises(Interrupted), guard.interruptible():
            pytest.fail("begun")


def test_the_process_ends_as_the_signal_asks():
    told = []
    with pytest.raises(SystemExit) as left:
        exit_for_signal(signal.SIGTERM, "stopped", told.append)
    assert (left.value.code, told) == (0, ["stopped"])
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        exit_for_signal(signal.SIGINT, "stopped", pytest.fail)
