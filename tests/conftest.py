"""What every test starts from: quiet logs, a fixed seed, and the files kept outside."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

# Read when TensorFlow and PyTorch are imported, so this stands above other imports.
# pytest-xdist keeps every core busy: one thread for each process is faster.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest

from tests.helpers.installed import skip_without
from tests.helpers.without_graphs import without_graphs

_BESIDE = Path(__file__).resolve().parents[2] / "shared"

# The same examples in every run, and no time limit for one of them: the first
# call of a TensorFlow function takes longer than the usual 200 ms.
hypothesis.settings.register_profile(
    "keras_elmo", deadline=None, derandomize=True, database=None, max_examples=30
)
hypothesis.settings.load_profile("keras_elmo")


def pytest_configure(config: pytest.Config) -> None:
    # JAX compiles in every process anew, unless it finds what another has compiled.
    # What runs for a moment is not worth making faster, either.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # `-p no:cacheprovider` leaves no place to keep what was compiled.
    if (cache := getattr(config, "cache", None)) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache.mkdir("jax")))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    # What a script starts in the background ignores Ctrl-C, and what nohup starts the
    # end of a terminal: so would what is tested.
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (getattr(signal, "SIGHUP", signal.SIGINT), signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collectstart() -> None:
    """Imports Keras where tests are, so not in the process that shares them out.

    Without two packages that it, and TensorFlow, import where they are: with them it
    takes a third longer.
    """
    if "keras" in sys.modules:
        return
    hidden = {"jax", "sklearn"} - sys.modules.keys()
    sys.modules.update(dict.fromkeys(hidden))
    import keras  # noqa: F401

    for name in hidden:
        del sys.modules[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files run first: quick ones fill up the time of the last slow one.

    Then what is imported by now is left out of every garbage collection, a tenth of the
    time of a graph.
    """
    for item in items:
        if item.get_closest_marker("whole"):
            item.add_marker("slow")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    gc.freeze()


@pytest.fixture(autouse=True)
def seed() -> None:
    """Every test starts from the same random state, alone or after others.

    TensorFlow's own seed is set where it is another: setting it discards every function
    that was made ready to run, and the next call of each takes a tenth of a second.
    """
    import keras
    import tensorflow as tf
    from tensorflow.python.eager import context

    with pytest.MonkeyPatch.context() as patch:
        if context.global_seed() == 0:
            patch.setattr(tf.random, "set_seed", lambda seed: None)
        keras.utils.set_random_seed(0)


@pytest.fixture
def eagerly() -> Iterator[None]:
    """Makes no graphs; for tests of what is around the steps."""
    with without_graphs():
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The public corpora; a test that asks for them is marked `real_data`."""
    return _outside("KERAS_ELMO_DATA", _BESIDE / "data")


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Models in the published format with their expected outputs."""
    return _outside("KERAS_ELMO_FIXTURES", _BESIDE / "fixtures")


def _outside(variable: str, default: Path) -> Path:
    folder = Path(os.environ.get(variable, default))
    if not folder.is_dir():
        skip_without(f"no folder {folder}; {variable} names another one", "DATA")
    return folder
