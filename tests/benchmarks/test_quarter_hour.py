"""What is carried to another machine is there as it was, and a run comes back."""

import json
import re
import shutil

import ml_dtypes
import numpy as np
import pytest

import keras_elmo
from keras_elmo.files.checkpoint import restore_checkpoint, save_checkpoint
from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import require_installed
from tests.helpers.pretrained import model_of, write_pretrained
from tests.helpers.runs import CONFIG, SMALLER, write_text
from tests.words.test_substitutes import ALL_WORDS

ARRAYS = [
    np.arange(12, dtype="float32").reshape(3, 4) / 7,
    np.float32(np.pi) * np.ones(()),
    np.array([1, 2**31], "uint32"),
    np.zeros((0, 3), "float32"),
]
# Megabytes of a file: 100 bytes.
SMALL = 100 / 2**20
_TRAIN = (
    "import sys; sys.path.insert(0, sys.argv[1]); import quarter_hour;"
    "quarter_hour.main(sys.argv[2:]); assert 'tensorflow' not in sys.modules"
)


@pytest.fixture(scope="module")
def quarter_hour(benchmark):
    return benchmark("quarter_hour")


def test_parts_are_joined(quarter_hour, tmp_path):
    files = {"a/b.bin": bytes(range(256)) * 9, "c": b""}
    parts, out = tmp_path / "parts", tmp_path / "out"
    quarter_hour.write_parts(files.items(), parts, SMALL, 4, mode="w:gz")
    names = sorted(str(path.relative_to(parts)) for path in parts.glob("*/*"))
    assert names[:2] == ["part-00/000", "part-00/001"]
    assert all(path.stat().st_size <= 100 for path in parts.glob("*/[0-9]*"))
    quarter_hour.read_parts(parts, out)
    assert dict(quarter_hour.files_of("", out)) == files


def test_a_part_is_missing_or_damaged(quarter_hour, tmp_path):
    parts, out = tmp_path / "parts", tmp_path / "out"
    quarter_hour.write_parts([("a", bytes(range(256)))], parts, SMALL, 1, mode="w:gz")
    last = max(parts.glob("*/[0-9]*"))
    for content in (last.read_bytes()[:-1] + b"?", b""):
        last.write_bytes(content)
        with pytest.raises(SystemExit, match=f"{last.name} is missing or damaged"):
            quarter_hour.read_parts(parts, out)
    last.unlink()
    with pytest.raises(SystemExit, match=f"{last.name} is missing or damaged"):
        quarter_hour.read_parts(parts, out)
    assert not out.exists()
    with pytest.raises(SystemExit, match="000 is missing"):
        quarter_hour.read_parts(tmp_path / "nothing", out)
    for path in parts.glob("*/manifest.json"):
        path.write_text("[")
    with pytest.raises(SystemExit, match=r"manifest\.json is damaged"):
        quarter_hour.read_parts(parts, out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "pack or unpack or train or bring expected; received: none"),
        ("help", "received: help"),
        ("unpack --parts {here} --out {here}", "{here} exists"),
        ("bring --run {here} --out {here}", "{here} exists"),
        ("bring --run {here} --out new", "{here} has no checkpoint of a run"),
        ("bring --run {here}", "--out DIR is needed"),
    ],
)
def test_wrong_use(quarter_hour, tmp_path, monkeypatch, arguments, message):
    """A line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "here"
    here.mkdir()
    with pytest.raises(SystemExit) as raised:
        quarter_hour.main(arguments.format(here=here).split())
    assert message.format(here=here) in str(raised.value)
    assert list(tmp_path.iterdir()) == [here]


def test_text_must_be_prepared(quarter_hour, tmp_path, capsys):
    text = write_text(tmp_path / "text.txt")
    arguments = ["pack", "--corpus", str(text), "--validation", str(text)]
    with pytest.raises(SystemExit):
        quarter_hour.main([*arguments, "--out", str(tmp_path / "parts")])
    assert "text.txt is no folder that keras-elmo prepare wrote" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_numbers_in_planes(quarter_hour, tmp_path, array):
    np.save(tmp_path / "array.npy", array)
    content = (tmp_path / "array.npy").read_bytes()
    moved = quarter_hour.in_planes(content, exact=True)
    assert quarter_hour.from_planes(moved) == content
    moved = quarter_hour.in_planes(content, exact=False)
    (tmp_path / "array.npy").write_bytes(quarter_hour.from_planes(moved))
    wanted = array
    if array.dtype == np.float32:
        wanted = array.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(np.load(tmp_path / "array.npy"), wanted)


@pytest.mark.parametrize("exact", [False, True])
def test_a_run_comes_back(quarter_hour, tmp_path, exact):
    """Its last checkpoint alone, rounded or not."""
    run = tmp_path / "run"
    write_pretrained(run, CONFIG, ALL_WORDS)
    model = model_of(CONFIG, ALL_WORDS)
    for step in (1, 2):
        save_checkpoint(run / f"checkpoints/step-{step:08}.npz", model, {"step": step})
    sizes = ["--file-mib", "1", *["--exact"] * exact]
    back, out = str(tmp_path / "back"), tmp_path / "out"
    quarter_hour.main(["bring", "--run", str(run), "--out", back, *sizes])
    quarter_hour.main(["unpack", "--parts", back, "--out", str(out)])
    assert not (out / "weights.hdf5").exists()
    (path,) = out.glob("checkpoints/*")
    other = model_of(CONFIG, ALL_WORDS)
    assert restore_checkpoint(path, other) == {"step": 2}
    tolerance = 0 if exact else 2**-8
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(two, one, rtol=tolerance)


# Its weights are those of its last step.
@pytest.mark.filterwarnings("ignore:.*no validation has chosen weights:UserWarning")
def test_weights_come_back_alone(quarter_hour, tmp_path):
    """They can be exported and trained further, but the run is not resumed."""
    run, back, out = (tmp_path / name for name in ("run", "back", "out"))
    write_pretrained(run, CONFIG, ALL_WORDS)
    model = model_of(CONFIG, ALL_WORDS)
    model.compile(optimizer="adam")
    model.optimizer.build(model.trainable_variables)
    save_checkpoint(run / "checkpoints/step-00000001.npz", model, {"step": 1})
    sizes = {}
    for alone in ([], ["--weights"]):
        quarter_hour.main(["bring", "--run", str(run), "--out", str(back), *alone])
        sizes[len(alone)] = sum(path.stat().st_size for path in back.glob("*/[0-9]*"))
        quarter_hour.main(["unpack", "--parts", str(back), "--out", str(out)])
        loaded = keras_elmo.load_language_model(out).get_weights()
        for one, two in zip(model.get_weights(), loaded, strict=True):
            np.testing.assert_allclose(two, one, rtol=2**-8)
        shutil.rmtree(back)
        shutil.rmtree(out)
    assert sizes[1] < sizes[0]


@pytest.mark.whole
def test_two_stages(quarter_hour, tmp_path, monkeypatch):
    """On the way that a session takes, packages aside, which are here."""
    require_installed("jax")
    monkeypatch.setattr(quarter_hour, "install", lambda site, python: site.mkdir())
    text = write_text(tmp_path / "text.txt")
    keras_elmo.prepare(text, tmp_path / "prepared")
    given = ["--corpus", tmp_path / "prepared", "--validation", tmp_path / "prepared"]
    options = tmp_path / "options.json"
    options.write_text(json.dumps(SMALLER.to_options()), encoding="utf-8")
    sizes = "--words 20 --batch-tokens 132 --max-tokens 34"
    sizes += " --dtype float32 --minutes 0.01 --plan 9"
    steps = []
    for stage, ready in (("one", 0), ("two", 1)):
        folder = tmp_path / stage
        folder.mkdir()

        def main(*arguments):
            quarter_hour.main([str(each) for each in arguments])

        main("pack", *given, "--out", folder / "parts")
        main("unpack", "--parts", folder / "parts", "--out", folder / "host")
        host = folder / "host"
        printed = run_python(
            *("-c", _TRAIN, BENCHMARKS, "train", "--host", host),
            *("--out", host / "run", "--sizes", options, *sizes.split()),
            *("--ready", ready),
            cwd=tmp_path,
            KERAS_BACKEND="jax",
        )
        assert not printed
        main("bring", "--run", host / "run", "--out", folder / "back")
        main("unpack", "--parts", folder / "back", "--out", folder / "run")
        (path,) = folder.glob("run/checkpoints/*.npz")
        steps.append(int(re.search(r"\d+", path.name)[0]))
        given[4:] = ["--run", folder / "run"]
    assert 0 < steps[0] < steps[1]
