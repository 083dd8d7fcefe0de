"""No model file has Python do anything but open files beside it."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.helpers.fresh_process import HELPERS, ROOT, run_script


@pytest.mark.slow
def test_audit(originals, tmp_path):
    """Loading each kind of file unpickles and runs nothing."""
    script = HELPERS / "load_everything.py"
    output = run_script(script, originals, tmp_path, cwd=tmp_path)
    told = json.loads(output.splitlines()[-1])
    opened = [what for event, what in told["loading"] if event == "open"]
    others = [event for event, _ in told["loading"] if event != "open"]
    assert others == []
    # Keras asks how much memory there is, where psutil is installed.
    expected = (str(originals), str(tmp_path), "/proc/meminfo")
    assert [path for path in opened if not path.startswith(expected)] == []
    # Each kind of file was opened, and the hook sees a pickle when there is one.
    names = {Path(path).name for path in opened}
    assert {"options.json", "keras_elmo.json", "vocabulary.txt"} <= names
    assert {"checkpoint.npz", "model.keras"} <= names
    assert told["after"][0][0] == "pickle.find_class"


def test_no_pickle():
    """The package uses neither pickle nor anything else that makes code of data."""
    spelt = re.compile(
        r"(?<!allow_)pickle|np\.load\((?!\w+, allow_pickle=False)|marshal|\bdill\b|"
        r"\beval\(|\bexec\(|yaml|os\.system|"
        r"safe_mode|enable_unsafe|saved_model\.load\(|import_meta_graph|\bpy_function"
    )
    for path in (ROOT / "keras_elmo").rglob("*.py"):
        # Comments are left out.
        code = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
        found = spelt.findall(code)
        assert not found or path.parent.name in RUN_GRAPHS, (path, found)


# What serves a SavedModel has to run it; docs/security.md says so.
RUN_GRAPHS = {"serving", "scale"}
