"""What waits to be written when something cannot be is not written, and not noted."""

import threading

import pytest

from keras_elmo.embedding.resumable import UnfinishedFile
from keras_elmo.embedding.sections import SectionWriter


class Failing:
    """A writer that holds its first call, and cannot write the second lines."""

    def __init__(self):
        self.go_on = threading.Event()
        self.done = []

    def write(self, lines):
        self.go_on.wait(30)
        if lines == ["second"]:
            raise OSError(28, "No space left on device")
        self.done.append(lines)

    def checkpoint(self):
        self.done.append("checkpoint")
        return 1

    def close(self):
        self.done.append("close")


@pytest.fixture
def unfinished(tmp_path):
    return UnfinishedFile(str(tmp_path / "out"), resume=False)


def test_nothing_counts_behind_what_failed(unfinished):
    writer = Failing()
    with unfinished.begun({}, {}):
        with pytest.raises(OSError, match="cannot be written: No space left"):
            with SectionWriter(unfinished, writer) as sections:
                sections.write(["first"])
                sections.write(["second"])
                sections.write(["third"])
                sections.end_section(3, 3)
                writer.go_on.set()
                for _ in range(9):
                    sections.write(["more"])
        assert writer.done == [["first"], "close"]
        assert unfinished.num_lines == 0


def test_so_many_calls_wait_and_no_more(unfinished):
    writer = Failing()
    with SectionWriter(unfinished, writer) as sections:
        # One runs, three wait.
        for _ in range(4):
            sections.write(["line"])
        fifth = threading.Thread(target=sections.write, args=(["line"],))
        fifth.start()
        fifth.join(0.1)
        assert fifth.is_alive()
        writer.go_on.set()
        fifth.join(30)
        assert not fifth.is_alive()
    assert writer.done == [["line"]] * 5 + ["close"]
