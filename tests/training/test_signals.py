import signal
import threading

import pytest

from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal

pytestmark = pytest.mark.graph


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """A job in the background of a script begins with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_control_c():
    signal.raise_signal(signal.SIGINT)


def test_second_sigint_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with SignalGuard() as guard:
        assert not guard.requested
        press_control_c()
        assert guard.requested
        with pytest.raises(KeyboardInterrupt):
            press_control_c()
    assert signal.getsignal(signal.SIGINT) is before


def test_handlers_are_restored():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError), SignalGuard():
        raise ValueError
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        press_control_c()


def test_other_thread():
    """Python allows no handler there."""
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


def test_repeated_sigterm():
    """A scheduler may signal a process and its group, while a checkpoint is written."""
    with SignalGuard() as guard:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert guard.requested == signal.SIGTERM


def test_interruptible():
    """A block that changes nothing is left at once."""
    with SignalGuard() as guard:
        with pytest.raises(Interrupted) as caught, guard.interruptible():
            signal.raise_signal(signal.SIGTERM)
        assert caught.value.number == signal.SIGTERM
        # Nor is it begun.
        with pytest.raises(Interrupted), guard.interruptible():
            pytest.fail("begun")


def test_exit_for_signal():
    told = []
    with pytest.raises(SystemExit) as left:
        exit_for_signal(signal.SIGTERM, "stopped", told.append)
    assert (left.value.code, told) == (0, ["stopped"])
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        exit_for_signal(signal.SIGINT, "stopped", pytest.fail)
