import io
from types import SimpleNamespace

import pytest

from keras_elmo.utils import progress
from keras_elmo.utils.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])

    def move(seconds):
        now[0] += seconds

    return move


@pytest.fixture
def stream(monkeypatch):
    """Standard error, which is no terminal."""
    stream = io.StringIO()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def terminal(stream, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream.isatty = lambda: True
    return stream


def test_plain_lines(clock, stream):
    """Without a terminal, a line every ten seconds."""
    with Progress("Training", total=100) as bar:
        for step in range(1, 101):
            clock(0.5)
            bar.update(200, position=step, loss=8 - step / 50, perplexity=1234.5)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 6
    assert lines[0] == (
        "Training: 20 %, 400 words/s, 0:40 left, loss 7.6, perplexity 1,234"
    )
    assert lines[-1] == (
        "Training: 100 %, 400 words/s, 20,000 words in 0:50, loss 6, perplexity 1,234"
    )


@pytest.mark.parametrize(
    ("total", "words", "seconds", "line"),
    [
        (None, 10, 2, "5 words/s, 10 words in 0:02"),
        (None, 1, 4, "0.2 words/s, 1 word in 0:04"),
        (0, 0, 0, "100 %, 0 words in 0:00"),
    ],
)
def test_short_task(total, words, seconds, line, clock, stream):
    with Progress("Embedding", total) as bar:
        clock(seconds)
        bar.update(words)
    assert stream.getvalue() == f"Embedding: {line}\n"


def test_metrics_stay(clock, stream):
    """Until they are given again."""
    with Progress("Training") as bar:
        bar.update(1, loss=2.0, rate=0.00025)
        bar.update(1, loss=float("nan"))
        clock(1)
    assert stream.getvalue() == (
        "Training: 2 words/s, 2 words in 0:01, loss nan, rate 0.00025\n"
    )


def test_speed_and_time_left(clock, stream):
    """The speed is the recent one; the time left counts from the start."""
    with Progress("Training", total=1000, start=900) as bar:
        clock(60)
        bar.update(10)
        for _ in range(60):
            clock(1)
            bar.update(1)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "Training: 91 %, 0.2 words/s, 9:00 left, 10 words"
    # 70 of 100 took 120 s, so the other 30 take 51 s.
    assert lines[-2] == "Training: 97 %, 1 words/s, 0:51 left, 70 words"
    assert "70 words in 2:00" in lines[-1]


def test_interrupted_task(clock, stream):
    """It has no last line; hours are told where they are left."""
    with pytest.raises(KeyboardInterrupt), Progress("Training", total=3) as bar:
        clock(3725)
        bar.update(1)
        raise KeyboardInterrupt
    assert stream.getvalue() == "Training: 33 %, 0.0003 words/s, 2:04:10 left, 1 word\n"


def test_bar_on_terminal(clock, terminal):
    with Progress("Training [a]", total=10) as bar:
        clock(5)
        bar.update(500, position=5, loss=4.25, perplexity=70.105)
        shown = terminal.getvalue()
        assert "Training [a]" in shown and "50%" in shown
        assert "100 words/s, 0:05 left, loss 4.25, perplexity 70.11" in shown
        clock(0.01)
        bar.update(1, position=6)
        assert terminal.getvalue() == shown
        clock(5)
        bar.update(1, position=10)
    assert "100%" in terminal.getvalue()
    # The cursor is shown again, and the prompt starts on a line of its own.
    assert "\x1b[?25h" in terminal.getvalue() and "\n" in terminal.getvalue()


def test_bar_without_total(clock, terminal):
    with Progress("Reading") as bar:
        clock(1)
        bar.update(7)
    assert "7 words/s" in terminal.getvalue() and "left" not in terminal.getvalue()
