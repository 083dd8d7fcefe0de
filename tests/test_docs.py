"""The Python blocks of the README and of the guides run as they stand, but for two.

Of the others, every command that they show has the options that it is shown with.
"""

import os
import re
import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

import keras
import pytest

import keras_elmo
from keras_elmo import cli

ROOT = Path(__file__).parents[1]
# These load a shipped model and train a classifier on it, whose graph alone takes 10 s,
# or export a model.
LONG = (
    "README.md",
    "README.ko.md",
    "docs/classifying.md",
    "docs/coming_from.md",
    "docs/coming_from_taggers.md",
    "docs/explore.md",
    "docs/keras.md",
    "docs/models.md",
    "docs/start.md",
    "docs/start.ko.md",
    "docs/tagging.md",
    "docs/training.md",
)
SHORT = ("docs/api.md", "docs/faq.md", "docs/how_it_works.md")
# One needs a cluster, one goes on from the reader's own program.
NOT_RUN = ("docs/bring_your_model.md", "docs/scale.md")
PAGES = [pytest.param(page, marks=pytest.mark.slow) for page in LONG] + [*SHORT]
# Runtimes that a block shows, which need not be installed.
OPTIONAL = {"ai_edge_litert"}

# Where links lead. `make linkcheck`, weekly in a workflow, asks whether they still do.
HOSTS = {
    "aclanthology.org",
    "allenai.org",
    "beam.apache.org",
    "creativecommons.org",
    "docs.allennlp.org",
    "github.com",
    "keepachangelog.com",
    "semver.org",
    "tfhub.dev",
    "www.tensorflow.org",
}

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="strings need TensorFlow"
)


def all_pages():
    return sorted([*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(page):
    return [code for code, _ in blocks_and_outputs(page)]


def blocks_and_outputs(page):
    """The Python blocks, with what a block directly below says that they print."""
    text = (ROOT / page).read_text(encoding="utf-8")
    block = r"^```python\n(.*?)^```\n(?:```\n(.*?)^```$)?"
    return re.findall(block, text, re.MULTILINE | re.DOTALL)


def as_numbers(text, number=float):
    """Splits a text into numbers and words."""
    is_number = re.compile(r"-?\d+\.\d+").fullmatch
    return [number(part) if is_number(part) else part for part in text.split()]


def nearly(number):
    """The last digit may differ between processors."""
    return pytest.approx(float(number), abs=0.015)


def test_every_page_is_run():
    pages = (path.relative_to(ROOT).as_posix() for path in all_pages())
    assert sorted(filter(blocks, pages)) == sorted([*LONG, *SHORT, *NOT_RUN])


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for folder in ("examples", "keras_elmo"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    names = {}
    assert blocks(page)
    for block, output in blocks_and_outputs(page):
        capsys.readouterr()
        try:
            exec(compile(block, page, "exec"), names)
        except ModuleNotFoundError as error:
            assert error.name in OPTIONAL, page
        printed = capsys.readouterr().out
        if output:
            # What else is printed comes first.
            printed = as_numbers(printed)[-len(output.split()) :]
            assert printed == as_numbers(output, nearly), page


def test_reference_has_every_public_name():
    """A name that is added to the package is added to docs/api.md, too."""
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^```{reference} keras_elmo\n(.*?)^```$", text, re.M | re.S)
    assert sorted(" ".join(listed).split()) == sorted(
        set(keras_elmo.__all__) - {"plots", "sklearn"}
    )


def commands():
    """Every call of `keras-elmo` in a block of a page, with the page's name."""
    for path in all_pages():
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                # Variables may stand before it.
                line = re.sub(r"^(\w+=\S* +)+", "", line)
                if line.startswith("keras-elmo ") and "..." not in line:
                    yield path.name, line.split(" | ")[0]


COMMANDS = list(commands())


def test_commands_are_found():
    assert len(COMMANDS) > 30
    assert {"README.md", "README.ko.md"} < {page for page, _ in COMMANDS}


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_have_their_options(page, line):
    """Nothing runs; a wrong option ends the process."""
    _, *arguments = shlex.split(line, comments=True)
    cli._parser().parse_args(arguments)


def links():
    """Every address of another host in the documents and in the package's source."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    documents += [*(ROOT / "saved_models").glob("*.md")]
    for path in sorted([*documents, *(ROOT / "keras_elmo").rglob("*.py")]):
        for link in re.findall(r"\bhttps?://[^\s<>()\"'`\]]+", path.read_text("utf-8")):
            if not re.match(r"https?://(127\.0\.0\.1|localhost|\[|\{)", link):
                yield path.relative_to(ROOT), link


def test_links_are_sound():
    found = list(links())
    assert len(found) > 20
    for path, link in found:
        parts = urlsplit(link)
        assert parts.scheme == "https", (path, link)
        assert parts.hostname in HOSTS, (path, link)
        assert re.fullmatch(r"[!-~]*[\w/]", link), (path, link)
