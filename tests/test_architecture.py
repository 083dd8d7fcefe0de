"""The floor plan of CONTRIBUTING.md, kept by reading every import.

A room is a folder or a module directly under keras_elmo. It may import rooms of
lower floors, and itself; whatever stands on the same floor stays strangers.
"""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_elmo"

FLOORS = {
    "utils": 0,
    "config": 1,
    "text": 2,
    "layers": 2,
    "models": 3,
    "files": 4,
    "plots": 4,
    "embedding": 5,
    "explore": 6,
    "training": 6,
    "serving": 6,
    "scale": 6,
    "__init__": 7,
    "cli": 8,
    "__main__": 9,
}

# Imported by nobody else but where it is known that Keras runs on TensorFlow.
ON_TENSORFLOW = {
    "layers/packed_layout.py",
    "layers/packed_recurrence.py",
}

# A room that nobody imports before it is asked for may import what it takes.
EXTRAS = {
    "serving": {
        *("google", "grpc", "httptools", "orjson", "prometheus_client", "starlette"),
        *("tensorflow", "tensorflow_serving", "uvicorn"),
    },
    "scale": {"apache_beam"},
}

FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def room_of(module: str) -> str:
    """keras_elmo.layers.highway -> layers; keras_elmo -> __init__."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def own_module(file: str) -> str:
    parts = ["keras_elmo", *file.removesuffix(".py").split("/")]
    return ".".join(parts)


def imported(tree: ast.Module, module: str) -> list[tuple[str, bool]]:
    """Every module that is imported, and whether on import of the file itself."""
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner.update(child for child in ast.walk(node) if child is not node)
        # What only a type checker reads is not run either.
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            inner.update(child for part in node.body for child in ast.walk(part))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                source = ".".join([*above, source] if source else above)
            # `from keras_elmo import config` imports a module, not a name.
            names = [
                f"{source}.{alias.name}" if source == "keras_elmo" else source
                for alias in node.names
            ]
        else:
            continue
        found += [(name, node not in inner) for name in names]
    return found


def imports_of(file: str) -> list[tuple[str, bool]]:
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"), file)
    return imported(tree, own_module(file))


def test_every_room_has_a_floor():
    rooms = {file.split("/")[0].removesuffix(".py") for file in FILES}
    assert rooms <= FLOORS.keys()
    assert {"config", "text", "layers", "models", "files", "training"} <= rooms


@pytest.mark.parametrize("file", FILES)
def test_imports_point_down(file):
    room = room_of(own_module(file))
    for name, _ in imports_of(file):
        if name.split(".")[0] != "keras_elmo":
            continue
        other = room_of(name)
        # A name that is no room comes from keras_elmo/__init__.py, the top floor.
        floor = FLOORS.get(other, FLOORS["__init__"])
        assert other == room or floor < FLOORS[room], (
            f"{file} (floor {FLOORS[room]}) imports {name} (floor {floor})"
        )


@pytest.mark.parametrize("file", [f for f in FILES if f.startswith("layers/")])
def test_layers_take_plain_arguments(file):
    names = [name for name, _ in imports_of(file)]
    assert not [name for name in names if name.startswith("keras_elmo.config")]


@pytest.mark.parametrize("file", FILES)
def test_only_text_imports_tensorflow_text(file):
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"), file)
    named = [name for name, _ in imports_of(file) if "tensorflow_text" in name]
    named += [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and "tensorflow_text"
        in ast.unparse(node.func) + "".join(map(ast.unparse, node.args))
    ]
    # utils/lazy.py holds the helper that text/ calls.
    if not file.startswith("text/") and file != "utils/lazy.py":
        assert not named


@pytest.mark.parametrize("file", FILES)
def test_importing_needs_no_more_than_the_dependencies(file):
    """Neither TensorFlow, which JAX and PyTorch users may lack, nor an extra."""
    with open(ROOT / "pyproject.toml", "rb") as project:
        dependencies = tomllib.load(project)["project"]["dependencies"]
    allowed = {
        name.split(">")[0].replace("-", "_")
        for name in dependencies
        if "tensorflow" not in name
    }
    allowed |= {"keras_elmo"} | set(sys.stdlib_module_names)
    if file in ON_TENSORFLOW:
        allowed |= {"tensorflow"}
    allowed |= EXTRAS.get(room_of(own_module(file)), set())
    at_once = [name for name, on_import in imports_of(file) if on_import]
    assert {name.split(".")[0] for name in at_once} <= allowed
    rooms = {room_of(name) for name in at_once if name.startswith("keras_elmo")}
    assert not rooms & (EXTRAS.keys() - {room_of(own_module(file))})
    if file not in ON_TENSORFLOW:
        assert not {own_module(other) for other in ON_TENSORFLOW} & set(at_once)


def test_the_reader_sees_every_kind_of_import():
    """The tests above can fail: they find what they forbid."""
    source = """
import tensorflow as tf
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo import config
from ..models import encoder
from . import highway
if TYPE_CHECKING:
    import jax
try:
    import torch
except ImportError:
    pass
def later():
    import tensorflow_text
"""
    assert imported(ast.parse(source), "keras_elmo.layers.bilm") == [
        ("tensorflow", True),
        ("keras_elmo.text.tokenizer", True),
        ("keras_elmo.config", True),
        ("keras_elmo.models", True),
        ("keras_elmo.layers", True),
        ("jax", False),
        ("torch", True),
        ("tensorflow_text", False),
    ]
