import io

import pytest

from keras_elmo.utils import progress
from keras_elmo.utils.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])

    def move(seconds):
        now[0] += seconds

    return move


def test_plain_lines(clock):
    """Without a terminal, a line every ten seconds."""
    stream = io.StringIO()
    with Progress("Training", total=100, stream=stream) as bar:
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
    ("words", "seconds", "line"),
    [(10, 2, "5 words/s, 10 words in 0:02"), (1, 4, "0.2 words/s, 1 word in 0:04")],
)
def test_short_task(clock, words, seconds, line):
    stream = io.StringIO()
    with Progress("Embedding", stream=stream) as bar:
        clock(seconds)
        bar.update(words)
    assert stream.getvalue() == f"Embedding: {line}\n"


def test_metrics_stay(clock):
    """Until they are given again."""
    stream = io.StringIO()
    with Progress("Training", stream=stream) as bar:
        bar.update(1, loss=2.0, rate=0.00025)
        bar.update(1, loss=float("nan"))
        clock(1)
    assert stream.getvalue() == (
        "Training: 2 words/s, 2 words in 0:01, loss nan, rate 0.00025\n"
    )


def test_speed_and_time_left(clock):
    """The speed is the recent one; the time left counts from the start."""
    stream = io.StringIO()
    with Progress("Training", total=1000, start=900, stream=stream) as bar:
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


def test_empty_task(clock):
    stream = io.StringIO()
    with Progress("Counting", total=0, stream=stream):
        pass
    assert stream.getvalue() == "Counting: 100 %, 0 words in 0:00\n"


def test_interrupted_task(clock):
    """It has no last line."""
    stream = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress("Training", stream=stream):
        raise KeyboardInterrupt
    assert stream.getvalue() == ""


def test_bar_on_terminal(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with Progress("Training [a]", total=10, stream=stream) as bar:
        clock(5)
        bar.update(500, position=5, loss=4.25, perplexity=70.105)
        shown = stream.getvalue()
        assert "Training [a]" in shown
        assert "50%" in shown
        assert "100 words/s, 0:05 left, loss 4.25, perplexity 70.11" in shown
        clock(0.01)
        bar.update(1, position=6)
        assert stream.getvalue() == shown
        clock(5)
        bar.update(1, position=10)
    assert "100%" in stream.getvalue()
    # The cursor is shown again, and the prompt starts on a line of its own.
    assert "\x1b[?25h" in stream.getvalue()
    assert "\n" in stream.getvalue()


def test_bar_without_total(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with Progress("Reading", stream=stream) as bar:
        clock(1)
        bar.update(7)
    assert "7 words/s" in stream.getvalue()
    assert "left" not in stream.getvalue()


def test_hours_left(clock):
    stream = io.StringIO()
    with Progress("Training", total=3, stream=stream) as bar:
        clock(3725)
        bar.update(1)
    assert stream.getvalue().splitlines()[0].endswith("2:04:10 left, 1 word")


def test_standard_error_by_default(clock, capsys):
    with Progress("Training"):
        pass
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Training: ")
