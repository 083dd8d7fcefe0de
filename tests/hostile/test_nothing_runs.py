"""No model file has Python run anything: test_damaged_files.py watches it."""

import ast
import re

from tests.helpers.fresh_process import ROOT


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
