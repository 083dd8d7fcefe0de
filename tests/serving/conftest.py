"""An exported model, in this process and behind a server in one of its own."""

import contextlib
import sys

import pytest

from keras_elmo.export.saved_model import export_saved_model
from tests.benchmarks.conftest import BENCHMARKS, benchmark
from tests.helpers.exports import embedding, in_memory
from tests.helpers.fresh_process import environment, forked_python

__all__ = ["benchmark"]

# Small, so that a test can go beyond them.
LIMITS = {
    "--max-body-bytes": 50_000,
    "--max-sentences": 50,
    "--max-tokens": 2_000,
    "--max-waiting": 40,
    "--receive-seconds": 1,
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks tests that need a server's process as slow."""
    for item in items:
        if {"server", "served"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "my-elmo"
    export_saved_model(embedding(), folder, "whitespace")
    return folder


@pytest.fixture(scope="session")
def wanted(exported):
    """What the signatures have to return for `SENTENCES`."""
    from keras_elmo.downstream.elmo_embedding import ElmoEmbedding

    return in_memory(ElmoEmbedding.from_saved_model(exported))


@pytest.fixture(scope="session")
def model(exported):
    from keras_elmo.serving.model import Model

    return Model(exported, 3)


@pytest.fixture(scope="session")
def served():
    """Starts servers, as the benchmarks do."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from served import served
    finally:
        sys.path.remove(str(BENCHMARKS))

    @contextlib.contextmanager
    def start(model, *options):
        with contextlib.ExitStack() as stack:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "executable", str(forked_python()))
                server = served(model, *options, environment=environment())
                started = stack.enter_context(server)
            yield started

    return start


@pytest.fixture(scope="session")
def server(served, exported):
    """A server whose limits are `LIMITS`; it has to end in order."""
    options = [part for pair in LIMITS.items() for part in pair]
    with served(exported, *options) as server:
        yield server
