"""The benchmarks of the server, at a small size, with one server for all of them."""

from types import SimpleNamespace

import pytest

from tests.helpers.exports import SENTENCES

pytestmark = pytest.mark.whole

TEXTS = [text for text in SENTENCES if text] * 20


@pytest.fixture(scope="module")
def server(served, exported):
    """With the limits that a user has."""
    with served(exported, "--receive-seconds", 8) as server:
        yield server


@pytest.mark.parametrize("kind", ["mean vector", "all layers", "mean vectors of 8"])
def test_load(kind, benchmark, server):
    serving = benchmark("serving")
    seconds = serving._load(server, TEXTS, kind, clients=2, seconds=3)
    assert len(seconds) >= 2
    assert all(0 < each < 10 for each in seconds)


def test_beside_long_requests(benchmark, server, monkeypatch):
    serving = benchmark("serving")
    monkeypatch.setattr(serving, "_LONG", (20, 64))
    options = SimpleNamespace(seconds=2.0, repeats=1)
    alone, beside = serving._beside_long(server, TEXTS, options)
    assert (alone["how"], beside["how"]) == ("alone", "beside long ones")
    assert 0 < alone["p50"] and 0 < beside["p50"]


def test_overhead(benchmark, server, exported):
    serving = benchmark("serving")
    times = serving._overhead(server, exported, TEXTS, calls=20)
    assert times["call"] > 0 and times["request"] > 0
    # It may be negative in so few calls.
    assert times["added"] == pytest.approx(times["request"] - times["call"])
    rows = [
        {
            "kind": "mean vector",
            "clients": clients,
            "sentences": 8,
            "requests_per_second": [10.0 * clients, 30.0 * clients],
            "p50": 0.005,
            "p99": 0.01,
        }
        for clients in (1, 4)
    ]
    result = {"preset": "tiny", "rows": rows, "overhead": times, "resident_bytes": 5e8}
    result["beside_long"] = [{"how": "alone", "p50": 0.005, "p99": 0.01}]
    table = serving.table(result)
    assert "| tiny | alone | 5.0 | 10.0 |" in table
    assert (
        "| tiny | mean vector | 4 | 5.0 | 10.0 | 80 | 40 to 120 | 640 | 4.00 |" in table
    )
