"""The floor plan of CONTRIBUTING.md, kept by reading every import.

A room is a folder or a module directly under keras_elmo. It imports rooms of lower
floors and itself, and no room of its own floor.
"""

import ast
import re
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_elmo"

FLOORS = {
    "utils": 0,
    "token_vocabulary": 0,
    "config": 1,
    "text": 2,
    "layers": 2,
    "models": 3,
    "files": 4,
    "plots": 4,
    "embedding": 5,
    "onnx_graphs": 5,
    "downstream": 6,
    "export": 7,
    "words": 7,
    "training": 7,
    "serving": 7,
    "scale": 7,
    "sklearn": 7,
    "importing": 8,
    "explorer": 8,
    "spacy": 8,
    "__init__": 9,
    "cli": 10,
    "__main__": 11,
}

# The packages of a room's extra. No room without an extra imports such a room unasked.
EXTRAS = {
    "serving": {
        *("google", "grpc", "httptools", "orjson", "prometheus_client", "starlette"),
        *("tensorflow", "tensorflow_serving", "uvicorn"),
    },
    "explorer": {"orjson", "starlette"},
    "scale": {"apache_beam"},
    "sklearn": {"sklearn"},
    "spacy": {"spacy"},
}

# Options of such rooms, which the command line declares: they need no extra.
OPTIONS = {"keras_elmo.serving.limits"}

MAX_LINES = 350
MAX_ANY = 100


def modules():
    """The source of each module of the package, by its dotted name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts), path.read_text(encoding="utf-8")


def is_module(value):
    """Whether a constant is the name of a module of the package."""
    if not re.fullmatch(r"keras_elmo(\.\w+)+", str(value)):
        return False
    path = ROOT / value.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def room_of(module):
    """keras_elmo.layers.highway -> layers; keras_elmo -> __init__."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(module, source):
    """Every module that is imported, and whether on import of the module itself.

    A string that is the name of a module of the package is there to be imported.
    """
    tree = ast.parse(source, module)
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
            from_module = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                from_module = ".".join([*above, from_module] if from_module else above)
            # `from keras_elmo import config` imports a module, not a name.
            names = [
                f"{from_module}.{alias.name}"
                if from_module == "keras_elmo"
                else from_module
                for alias in node.names
            ]
        elif isinstance(node, ast.Constant) and is_module(node.value):
            names = [node.value]
            inner.add(node)
        else:
            continue
        found += [(name, node not in inner) for name in names]
    return found


def test_reader_sees_every_kind_of_import():
    """The test below can fail: it finds what it forbids."""
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
importlib.import_module("keras_elmo.layers.highway")
table = {"BiLM": "keras_elmo.layers.bilm", "files": "keras_elmo.json"}
"""
    assert imports_of("keras_elmo.layers.bilm", source) == [
        ("tensorflow", True),
        ("keras_elmo.text.tokenizer", True),
        ("keras_elmo.config", True),
        ("keras_elmo.models", True),
        ("keras_elmo.layers", True),
        ("jax", False),
        ("torch", True),
        ("tensorflow_text", False),
        ("keras_elmo.layers.highway", False),
        ("keras_elmo.layers.bilm", False),
    ]


def test_imports_point_down():
    """No room imports another of its floor or above, and no modules form a circle.

    An import of the package needs neither TensorFlow, which users of JAX and PyTorch
    may lack, nor an extra; layers take plain arguments, no config.
    """
    with open(ROOT / "pyproject.toml", "rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    allowed = {"keras_elmo", *sys.stdlib_module_names}
    for dependency in dependencies:
        if "tensorflow" not in dependency:
            allowed.add(dependency.split(">")[0].replace("-", "_"))
    wrong, graph = [], {}
    for module, source in modules():
        room = room_of(module)
        graph[module] = set()
        if room not in ("text", "utils") and re.search(
            "tensorflow_text|tf_text", source
        ):
            wrong.append(f"{module}: text/tokenizer.py alone uses tensorflow-text")
        for name, on_import in imports_of(module, source):
            where = f"{module} imports {name}"
            package, other = name.split(".")[0], room_of(name)
            if package == "keras_elmo":
                graph[module].add(name)
                # A name that is no room comes from keras_elmo/__init__.py, the top.
                floor = FLOORS.get(other, FLOORS["__init__"])
                if other != room and floor >= FLOORS[room]:
                    wrong.append(f"{where}: floor {floor} from floor {FLOORS[room]}")
                extra = other in EXTRAS and room not in EXTRAS
                if on_import and extra and name not in OPTIONS:
                    wrong.append(f"{where}, which needs an extra")
                if room == "layers" and other == "config":
                    wrong.append(f"{where}: layers take plain arguments")
            if on_import and package not in allowed | EXTRAS.get(room, set()):
                wrong.append(f"{where}, which users may lack")
    assert not wrong, "\n".join(wrong)
    # Raises CycleError, which names the modules.
    TopologicalSorter(graph).prepare()


def test_files_are_short_and_typed():
    """A file has at most 350 lines, the package at most 100 names `Any`."""
    lines = {module: source.count("\n") for module, source in modules()}
    long = {module: count for module, count in lines.items() if count > MAX_LINES}
    assert not long
    names = [
        module
        for module, source in modules()
        for node in ast.walk(ast.parse(source, module))
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert len(names) <= MAX_ANY, len(names)
