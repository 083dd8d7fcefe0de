import csv
import dataclasses

from keras_elmo.training.history import HistoryRow, read_history, write_history

FIRST = HistoryRow(
    10, 0, 1200, 3.5, 342.9, 0.2, 1.5, 6.123456789, 6.25, 400.0, 410.5, 405.2
)
SECOND = HistoryRow(20, 1, 2400, 7.0, 343.0, 0.1, 1.25, 5.0, 5.5)
DIVERGED = dataclasses.replace(
    FIRST,
    step=30,
    loss_forward=float("inf"),
    loss_backward=1e30,
    perplexity_forward=float("inf"),
)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "history.csv"
    write_history(path, [FIRST, SECOND, DIVERGED])
    assert read_history(path) == [FIRST, SECOND, DIVERGED]
    # And by any other program.
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0][:3] == ["step", "epoch", "words"]
    assert lines[1] == [str(value) for value in vars(FIRST).values()]
    assert lines[2][-3:] == ["", "", ""]


def test_there_need_be_no_file(tmp_path):
    assert read_history(tmp_path / "history.csv") == []
