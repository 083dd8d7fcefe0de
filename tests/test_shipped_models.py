"""The models of saved_models/, and the scripts that trained them."""

import json
import os
import re
import subprocess
from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.text.lines import read_lines
from tests.helpers.fresh_process import ROOT, forked_python, run
from tests.helpers.runs import SMALLER

pytestmark = pytest.mark.graph

SAVED_MODELS = ROOT / "saved_models"
NAMES = ("elmo-en", "elmo-ko")
SENTENCES = {
    "elmo-en": "We sat on the bank of the river.",
    "elmo-ko": "우리는 강에서 배를 탔다.",
}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_by_its_name_and_small(name):
    encoder = keras_elmo.load(name)
    assert encoder.tokenizer == "unicode"
    for weight in encoder.weights:
        assert np.isfinite(np.asarray(weight)).all()
    folder = SAVED_MODELS / name
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 60_000_000
    assert (SAVED_MODELS / f"{name}.md").exists()


@pytest.mark.parametrize("name", NAMES)
def test_it_is_served(name):
    # This brings the operations that the model cuts strings with.
    tokens = keras_elmo.Tokenizer("unicode").ragged([SENTENCES[name]]).to_list()
    model = tf.saved_model.load(str(SAVED_MODELS / name))
    for signature in model.signatures.values():
        # The mix's scalars and its factor.
        shapes = sorted(v.shape.as_list() for v in signature.trainable_variables)
        assert shapes == [[], [3]]
    outputs = model.signatures["default"](strings=tf.constant([SENTENCES[name]]))
    (layers,) = keras_elmo.embed(keras_elmo.load(name), tokens)
    np.testing.assert_allclose(outputs["lstm_outputs2"][0], layers[2], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "corpus"), [("elmo-en", "enwiki"), ("elmo-ko", "kowiki")]
)
@pytest.mark.slow
@pytest.mark.real_data
def test_it_predicts_text_that_it_has_not_read(name, corpus, data_folder, tmp_path):
    """The card has the figure of the whole text; this is its beginning."""
    lines = islice(read_lines([str(data_folder / corpus / "dev.txt.xz")]), 60)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = keras_elmo.perplexity(keras_elmo.load_language_model(name), str(text))
    assert found["mean"] < 75


@pytest.fixture
def commands(tmp_path):
    """A folder where `keras-elmo` writes down its arguments, and the file of them.

    A run of it has made its updates, or STOPPED_AT.
    """
    log = tmp_path / "commands.txt"
    program = tmp_path / "bin" / "keras-elmo"
    program.parent.mkdir()
    program.write_text(f"""#!/bin/sh
echo "$@" >> {log}
[ "$1" = pretrain ] || exit 0
while [ $# -gt 0 ]; do
    case $1 in --out) out=$2 ;; --steps) steps=$2 ;; esac
    shift
done
mkdir -p $out
echo "${{STOPPED_AT:-$steps}},0" > $out/history.csv
""")
    program.chmod(0o755)
    return program.parent, log


@pytest.mark.parametrize("language", ["en", "ko"])
def test_script_of_each_language(language, commands, tmp_path):
    """Its sizes are those of the shipped model; the next test trains with it."""
    program, log = commands
    path = os.pathsep.join([str(program), os.environ["PATH"]])
    script = SAVED_MODELS / f"train_{language}.sh"
    run("sh", script, "dev.txt", "[ab].txt", cwd=tmp_path, PATH=path)
    pretrained, exported, evaluated = log.read_text().splitlines()
    options = re.search(r"--options (\S+)", pretrained)[1]
    shipped = keras_elmo.load(f"elmo-{language}").config
    assert keras_elmo.ElmoConfig.from_options(options) == shipped
    assert f"--out runs/elmo-{language} " in pretrained
    assert "--corpus [ab].txt --options " in pretrained
    assert "--validation dev.txt " in pretrained
    assert "--steps 8000 " in pretrained
    assert "--optimizer adam " in pretrained
    assert pretrained.endswith(" --dtype mixed_bfloat16")
    out = f"runs/elmo-{language}-exported"
    assert exported.startswith(f"export --model runs/elmo-{language} --out {out} ")
    assert "--max-tokens 66 " in pretrained
    assert evaluated == f"evaluate --model {out} --corpus dev.txt --max-tokens 66"


def test_script_goes_on_from_a_model(commands, tmp_path):
    program, log = commands
    path = os.pathsep.join([str(program), os.environ["PATH"]])
    variables = {"PATH": path, "INIT": "runs/first", "STEPS": "58"}
    variables |= {"OPTIMIZER": "muon", "LEARNING_RATE": "0.002", "SEED": "9"}
    script = SAVED_MODELS / "train_en.sh"
    command = ("sh", script, "dev.txt", "a.txt", "b.txt")
    run(*command, cwd=tmp_path, **variables)
    variables |= {"OPTIONS": "wide.json", "AVERAGE": "runs/first", "MAX_TOKENS": "258"}
    run(*command, cwd=tmp_path, **variables)
    pretrained, exported, _, wider, averaged, evaluated = log.read_text().splitlines()
    assert "--corpus a.txt b.txt --init runs/first " in pretrained
    assert "--steps 58 " in pretrained
    assert "--warmup-steps 2 " in pretrained
    assert "--optimizer muon " in pretrained
    assert "--learning-rate 0.002 --seed 9 " in pretrained
    # The sizes and the words are those of the model.
    assert "--options" not in pretrained
    assert "--vocabulary-size" not in pretrained
    assert "--init runs/first --options wide.json --batch-tokens" in wider
    assert "--average" not in exported
    assert "--average runs/first --out runs/elmo-en-exported " in averaged
    assert "--max-tokens 258 " in wider
    assert evaluated.endswith(" --max-tokens 258")


def test_script_ends_with_a_run_that_was_stopped(commands, tmp_path):
    """SIGTERM to pretrain alone: half a model is not exported."""
    program, log = commands
    path = os.pathsep.join([str(program), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", SAVED_MODELS / "train_en.sh", "dev.txt", "a.txt"],
        cwd=tmp_path,
        env={"PATH": path, "STOPPED_AT": "800"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "runs/elmo-en is stopped before update 8000; repeat the command to go on\n"
    )
    (command,) = log.read_text().splitlines()
    assert command.startswith("pretrain --resume ")


# Three commands, and the last of them again.
@pytest.mark.whole
def test_script_trains_exports_and_measures(tmp_path):
    """Repeated, it only measures. The other language's is the same behind its name.

    The model is small: another test compares the sizes with those of the shipped one.
    """
    (tmp_path / "options.json").write_text(json.dumps(SMALLER.to_options()))
    (tmp_path / "dev.txt").write_text("One sentence a line .\n배 가 고프다 .\n" * 9)
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("One word or two .\n배 가 오다 .\n" * 99)
    variables = {"RUN": "run", "STEPS": "2", "OPTIONS": "options.json"}
    variables["PATH"] = os.pathsep.join(
        [str(forked_python().parent), os.environ["PATH"]]
    )
    command = ("sh", SAVED_MODELS / "train_ko.sh", "dev.txt", "[ab].txt")
    found = json.loads(run(*command, cwd=tmp_path, **variables))
    assert found.keys() >= {"forward", "backward", "mean"}
    assert keras_elmo.load(tmp_path / "run-exported").config == SMALLER
    written = keras_elmo.load_language_model(tmp_path / "run-exported")
    assert written.vocabulary is not None
    assert json.loads(run(*command, cwd=tmp_path, **variables)) == found


def test_its_script_says_what_it_wants():
    script = SAVED_MODELS / "train_en.sh"
    done = subprocess.run(
        ["sh", script, "dev.txt"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "expected: LANGUAGE STEPS DEV TEXT [TEXT ...]; received: en 8000 dev.txt\n"
    )


def test_script_of_a_gpu(tmp_path):
    """The better sizes go on, then in longer rows; a run goes on at once."""
    log, program = tmp_path / "commands.txt", tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.write_text(f"""#!/bin/sh
echo "$@" >> {log}
while [ $# -gt 0 ]; do
    case $1 in --out) out=$2 ;; esac
    shift
done
mkdir -p $out
case $out in *narrow) perplexity=100.5 ;; *) perplexity=99.5 ;; esac
echo $perplexity > $out/perplexity.txt
""")
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    command = ("sh", SAVED_MODELS / "train_gpu.sh", "host")
    (tmp_path / "host").mkdir()
    files = ["narrow.json", "wide.json"]
    for name in files:
        (tmp_path / name).touch()
    run(*command, *files, cwd=tmp_path, PATH=path, MORE="--dtype float32")
    narrow, wide, longest, longer = log.read_text().splitlines()
    script = SAVED_MODELS / ".." / "benchmarks" / "quarter_hour.py"
    begin, end = f"{script} train --host host --out", "--words 28000 --dtype float32"
    plan = "--minutes 1.5 --plan 5"
    assert narrow == f"{begin} host/run-narrow --sizes narrow.json {plan} {end}"
    assert wide == f"{begin} host/run-wide --sizes wide.json {plan} {end}"
    sizes = "--sizes host/run/options.json --minutes"
    assert longest == f"{begin} host/run {sizes} 3.5 --plan 5 {end}"
    end = f"{sizes} 1.5 --init host/run --max-tokens 258 {end}"
    assert longer == f"{begin} host/longer {end}"
    assert (tmp_path / "host" / "run" / "perplexity.txt").read_text() == "99.5\n"
    log.unlink()
    run(*command, cwd=tmp_path, PATH=path, MINUTES="7", PLAN="12")
    more, _ = log.read_text().splitlines()
    assert more == f"{begin} host/run {sizes} 7 --plan 12 --words 28000"


def test_script_of_a_gpu_says_what_it_wants(tmp_path):
    """Before it trains anything."""
    (tmp_path / "host").mkdir()
    script = SAVED_MODELS / "train_gpu.sh"
    for arguments, message in (
        ([], "expected: HOST [SIZES ...]; received none\n"),
        (["host", "none.json"], "there is no file none.json\n"),
        (
            ["host"],
            "expected: files of sizes, or a run that goes on; there is no host/run\n",
        ),
    ):
        done = subprocess.run(
            ["sh", script, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
