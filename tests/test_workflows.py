"""The workflows of GitHub, which run where this repository is hosted."""

import re

import pytest

from tests.helpers.fresh_process import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned(path):
    """By a commit, which nobody can move, with its version beside it."""
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_jobs_may_read_alone():
    """Publishing alone has a right beyond: to say who it is, or to push the pages."""
    assert WORKFLOWS
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert "permissions:\n  contents: read\n" in text
        rights = set(re.findall(r"[\w-]+: write", text))
        pushed = {"contents: write"} if path.name == "docs.yml" else set()
        assert rights <= {"id-token: write"} | pushed


def test_issue_forms():
    """GitHub shows none of them if one lacks a key."""
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["bug", "idea"]
    for form in forms:
        text = form.read_text(encoding="utf-8")
        for key in ("name", "description", "body"):
            assert re.search(rf"^{key}:", text, re.MULTILINE), form.name
        assert text.count("- type: ") == text.count("\n    id: ") > 0
