import csv

from keras_elmo.training.history import History, Row, read_history

FIRST = Row(10, 0, 1200, 3.5, 6.123456789, 6.25, 400.0, 410.5, 405.2)
SECOND = Row(20, 1, 2400, 7.0, 5.0, 5.5)
DIVERGED = Row(30, 1, 3600, 9.0, float("inf"), 1e30, float("inf"), 1.0, float("inf"))


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "history.csv"
    history = History(str(path))
    for row in (FIRST, SECOND, DIVERGED):
        history.append(row)
    assert history.rows == [FIRST, SECOND, DIVERGED]
    assert read_history(path) == [FIRST, SECOND, DIVERGED]
    # And by any other program.
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0][:3] == ["step", "epoch", "words"]
    assert lines[1] == [str(value) for value in vars(FIRST).values()]
    assert lines[2][6:] == ["", "", ""]


def test_every_row_is_on_the_disk_at_once(tmp_path):
    path = tmp_path / "history.csv"
    history = History(str(path))
    assert read_history(path) == []
    history.append(FIRST)
    assert read_history(path) == [FIRST]


def test_rows_of_steps_to_be_repeated_are_dropped(tmp_path):
    path = tmp_path / "history.csv"
    history = History(str(path))
    for row in (FIRST, SECOND, DIVERGED):
        history.append(row)
    assert History(str(path), last_step=20).rows == [FIRST, SECOND]
    assert read_history(path) == [FIRST, SECOND]
    # A new run in the same place begins anew.
    assert History(str(path)).rows == []
    assert read_history(path) == []


def test_there_need_be_no_file(tmp_path):
    assert read_history(tmp_path / "history.csv") == []
