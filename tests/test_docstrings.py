"""The example in the docstring of each public name runs as it is written."""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from tests.helpers.fresh_process import ROOT

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]


def public_names():
    """The names of `__all__`, read without importing apache_beam or matplotlib."""
    for name in sorted(set(keras_elmo.__all__) - {"plots", "sklearn"}):
        yield pytest.param("keras_elmo", name, id=name)
    full_name = "keras_elmo.sklearn.ElmoVectorizer"
    yield pytest.param(*full_name.rsplit(".", 1), id=full_name, marks=pytest.mark.slow)
    for module in ("plots.py", "scale/__init__.py"):
        tree = ast.parse((ROOT / "keras_elmo" / module).read_text(encoding="utf-8"))
        (names,) = (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        )
        package = f"keras_elmo.{Path(module).with_suffix('').parts[0]}"
        # Apache Beam takes seconds to import.
        marks = [pytest.mark.slow] if package == "keras_elmo.scale" else []
        for name in names:
            yield pytest.param(package, name, id=f"{package}.{name}", marks=marks)


def example_of(public):
    """The code of the blocks under "Example:", as one script."""
    documented = inspect.getdoc(public) or ""
    section = re.search(r"^Examples?:\n(.*?)(?=^\w[\w ]*:|\Z)", documented, re.M | re.S)
    blocks = re.findall(
        r"^ *```python\n(.*?)^ *```$", section[1] if section else "", re.M | re.S
    )
    return "\n".join(map(textwrap.dedent, blocks))


@pytest.mark.parametrize(("module", "name"), list(public_names()))
def test_example_runs(module, name, tmp_path, monkeypatch):
    code = example_of(getattr(importlib.import_module(module), name))
    full_name = f"{module}.{name}"
    assert code, f"{full_name} needs an `Example:` with a ```python block"
    monkeypatch.chdir(tmp_path)
    imported = {"keras": keras, "keras_elmo": keras_elmo, "np": np, "tf": tf}
    exec(compile(code, full_name, "exec"), imported)
