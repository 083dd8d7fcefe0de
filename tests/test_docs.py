"""The Python blocks of the README and of the guides run as they stand, but for two.

They run from an empty folder, with the package installed from a wheel. Commands of
two pages run, too; every other command has the options that it is shown with.
"""

import json
import os
import re
import runpy
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import keras
import pytest

import keras_elmo
from keras_elmo import cli
from tests.helpers.fresh_process import HELPERS, run_script
from tests.helpers.wheel import install_wheel

ROOT = Path(__file__).parents[1]
NOTEBOOKS = [
    *("vectors", "vectors.ko", "classifier", "classifier.ko", "tagger", "pretraining")
]
PAGES = (
    "README.md",
    "README.ko.md",
    "docs/api.md",
    "docs/classifying.md",
    "docs/coming_from.md",
    "docs/coming_from_taggers.md",
    "docs/explore.md",
    "docs/faq.md",
    "docs/how_it_works.md",
    "docs/index.md",
    "docs/keras.md",
    "docs/models.md",
    *(f"docs/notebooks/{name}.md" for name in NOTEBOOKS),
    "docs/start.md",
    "docs/start.ko.md",
    "docs/tagging.md",
    "docs/training.md",
)
# One needs a cluster, one goes on from the reader's own program.
NOT_RUN = ("docs/bring_your_model.md", "docs/scale.md")
# Commands run, too: they start no server and need no model of another program.
COMMANDS_RUN = ("README.md", "docs/explore.md")
# The reader's own text, where they look for it.
_TEXT = "".join(f"Sentence {k} is about the bank of the river .\n" for k in range(99))
OWN_FILES = {
    name: _TEXT for name in ("sentences.txt", "text/train-1.txt", "text/dev.txt")
}

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
    notebooks = (ROOT / "docs" / "notebooks").glob("*.md")
    return sorted([*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md"), *notebooks])


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
    assert sorted(filter(blocks, pages)) == sorted([*PAGES, *NOT_RUN])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A wheel, installed; the processes of pytest-xdist have one."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    return install_wheel(folder)


# Most train a classifier on a shipped model, whose graph alone takes 10 s.
@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, site, tmp_path):
    """In an empty folder, with nothing but the wheel."""
    steps, outputs = [], []
    for code, output in blocks_and_outputs(page):
        steps.append(("python", code))
        outputs.append(output)
    assert steps
    if page in COMMANDS_RUN:
        steps += [("command", line) for line in quick_commands(Path(page).name)]
    files = OWN_FILES if page in COMMANDS_RUN else {}
    printed = run_page(site, steps, tmp_path, files)
    for said, output in zip(printed, outputs, strict=False):
        if output:
            # What else is printed comes first.
            said = as_numbers(said)[-len(output.split()) :]
            assert said == as_numbers(output, nearly), page


def quick_commands(page):
    """The page's commands, with two steps of the smallest model instead of an hour."""
    for name, line in COMMANDS:
        if name == page:
            line = line.replace("pretrain", "pretrain --steps 2 --num-sampled 8")
            yield re.sub("preset [a-z]+", "preset tiny", line)


def run_page(site, steps, folder, files):
    """Runs blocks and commands in one process; returns what each printed."""
    empty = folder / "empty"
    empty.mkdir()
    for name, text in files.items():
        (empty / name).parent.mkdir(exist_ok=True)
        (empty / name).write_text(text, encoding="utf-8")
    path = folder / "blocks.json"
    path.write_text(json.dumps(steps), encoding="utf-8")
    # A block may call `keras-elmo`, and Python, in a process of its own.
    search = os.pathsep.join([str(site / "bin"), os.environ["PATH"]])
    script = HELPERS / "run_page.py"
    run_script(script, site, path, cwd=empty, PATH=search, PYTHONPATH=str(site))
    return json.loads((folder / "printed.json").read_text(encoding="utf-8"))


def test_notebooks_are_their_pages():
    """`make notebooks` writes them."""
    make = runpy.run_path(str(ROOT / "docs/notebooks/make.py"))
    assert sorted(path.stem for path in make["pages"]()) == sorted(NOTEBOOKS)
    for path in make["pages"]():
        content = path.with_suffix(".ipynb").read_text(encoding="utf-8")
        assert content == make["notebook"](path.read_text(encoding="utf-8")), path.name
        cells = json.loads(content)["cells"]
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        assert code == [block.strip() for block in blocks(path)]


def test_install_lines():
    """No command names a project on an index that nobody holds."""
    for path in all_pages():
        for line in re.findall(
            r"pip install ([^\n`]*)", path.read_text(encoding="utf-8")
        ):
            own = "keras-elmo" in line or "keras_elmo" in line
            assert not own or line.startswith("'./"), (path.name, line)


def test_readmes_are_short():
    for path in ROOT.glob("README*.md"):
        assert path.read_text(encoding="utf-8").count("\n") <= 150, path.name


def test_reference_has_every_public_name():
    """A name that is added to the package is added to docs/api, too."""
    groups = sorted((ROOT / "docs/api").glob("*.md"))
    text = "".join(path.read_text(encoding="utf-8") for path in groups)
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


def anchors(page: Path) -> set[str]:
    """What `page#...` can name, as GitHub and myst_parser make it from headings."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text("utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", h)) for h in headings)
    named = re.findall(r"\{#([\w-]+)\}|\(([\w-]+)\)=", page.read_text("utf-8"))
    return {h.strip().lower().replace(" ", "-") for h in plain} | {
        name for names in named for name in names
    }


def relative_links():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in sorted([*pages, *(ROOT / "saved_models").glob("*.md")]):
        text = re.sub(r"(?ms)^```.*?^```", "", page.read_text("utf-8"))
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if not re.match(r"[a-z]+:", link):
                yield page, link


def test_relative_links_lead_somewhere():
    every = list(relative_links())
    assert len(every) > 100
    for page, link in every:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), (page.relative_to(ROOT), link)
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), (page.relative_to(ROOT), link)
