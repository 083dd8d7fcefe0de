"""The benchmark's own table."""


def test_a_row_is_a_system(benchmark):
    figures = {
        "median": 600.0,
        "words_per_second": [590.0, 600.0, 610.0],
        "peak_bytes": 1.5e9,
        "greatest_difference": 2e-6,
        "least_cosine": 1.0,
    }
    peer = {**figures, "median": 200.0}
    systems = {"keras_elmo": figures, "elmoformanylangs": peer}
    table = benchmark("many_langs").table(
        {"rows": [{"batch_size": 32, "sentences": 160, "systems": systems}]}
    )
    assert table.splitlines()[2] == (
        "| 32 | keras_elmo | 600 | 590 to 610 | 3.00 | 1,500 | 2.0e-06 |"
    )
    assert len(table.splitlines()) == 4
