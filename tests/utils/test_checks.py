from keras_elmo.utils.checks import counted


def test_counted():
    told = [counted(number, "line") for number in (0, 1, 2, 1000)]
    assert told == ["0 lines", "1 line", "2 lines", "1,000 lines"]
