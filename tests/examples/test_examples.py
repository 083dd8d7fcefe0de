"""Every example runs as a user runs it: a process of its own, in an empty folder."""

import gzip
import json
import re
import runpy
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.text.lines import expand_files, read_lines
from tests.helpers.fresh_process import ROOT, run_python, run_script
from tests.helpers.small import CONFIG, random_encoder

EXAMPLES = ROOT / "examples"

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the examples run."""
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def pretrained(folder):
    """What the second example leaves, and what it prints."""
    (folder / "a.txt").write_text("One sentence a line .\nAnd one more .\n" * 50)
    (folder / "b.txt").write_text("All of it is read .\n" * 50)
    out = folder / "my"
    files = ("--corpus", "[ab].txt", "--validation", "a.txt", "--out", out)
    return out, run("02", *files, "--steps", 4, cwd=folder)


def run(name, *arguments, cwd):
    (script,) = EXAMPLES.glob(f"{name}*.py")
    # The example of ONNX tells whether it has imported TensorFlow.
    run_one = run_python if name == "11" else run_script
    return run_one(script, *arguments, cwd=cwd)


def test_quickstart(folder):
    output = run("01", cwd=folder)
    # A word alone is the same everywhere; in its sentences, the river is another.
    assert "layer 0: another river  1.00   money  1.00" in output
    found = re.findall(r"layer [12]: another river +([\d.]+) +money +([\d.]+)", output)
    assert len(found) == 2
    assert all(float(river) > float(money) for river, money in found)


def test_quickstart_with_a_model_of_ones_own(folder, pretrained):
    output = run("01", "--model", pretrained[0] / "bilm", cwd=folder)
    assert "3 layers of 64 numbers" in output
    assert "layer 0: another river  1.00   money  1.00" in output
    assert "layer 2:" in output


def test_pretrain_on_your_text(pretrained):
    out, output = pretrained
    assert "Held-out perplexity: {'forward'" in output
    assert json.loads((out / "bilm" / "options.json").read_text())["lstm"]["dim"] == 64
    assert (out / "saved_model" / "saved_model.pb").exists()


def test_pretrain_on_generated_text(folder):
    before = set(folder.iterdir())
    assert "Held-out perplexity" in run("02", "--steps", 2, cwd=folder)
    assert set(folder.iterdir()) == before


def test_published_weights(folder):
    output = run("03", cwd=folder)
    assert "layers, tokens, dimensions: (3, 9, 64)" in output


def test_published_weights_of_ones_own(folder, pretrained):
    # A pretraining folder is in the published format, with a softmax besides.
    bilm = pretrained[0] / "bilm"
    with h5py.File(bilm / "weights.hdf5") as file:
        assert "char_embed" in file
    files = ("--options", bilm / "options.json", "--weights", bilm / "weights.hdf5")
    run("03", *files, "--saved-model", "published", cwd=folder)
    assert (folder / "published" / "saved_model.pb").exists()


def test_sentiment_classifier(folder):
    """It knows the sense of sentences that it has not seen."""
    output = run("04", cwd=folder)
    accuracy = float(output.split("val_accuracy: ")[-1].split()[0])
    # Chance is 0.5.
    assert accuracy > 0.75
    assert output.count("% sure): ") == 2
    assert (folder / "runs" / "sentiment.keras").exists()


def test_labelled_sentences_may_be_a_table(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    from labelled_sentences import read_examples

    table = tmp_path / "table.tsv"
    table.write_text("id\tdocument\tlabel\n1\t정말 좋다\t1\n2\t별로다\t0\n")
    assert read_examples(table) == (["정말 좋다", "별로다"], ["1", "0"])


def test_labelled_sentences_of_a_spreadsheet_or_with_other_labels(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(EXAMPLES)
    from labelled_sentences import numbered, read_examples

    path = tmp_path / "dev.txt"
    path.write_text("1 A great evening .\n0 It is dull .\n", encoding="utf-8-sig")
    sentences, labels = read_examples(path)
    assert labels == ["1", "0"]
    assert numbered(path, ["0", "1"]) == (sentences, [1, 0])
    with pytest.raises(SystemExit, match="dev.txt: labels must be .* 0. Received: 1"):
        numbered(path, ["0"])


@pytest.mark.parametrize(
    ("number", "option", "message"),
    [
        ("02", "--validation", "--validation goes with --corpus"),
        ("03", "--options", "--options and --weights go together"),
        ("03", "--weights", "--options and --weights go together"),
        ("07", "--corpus", "--corpus and --held-out go together"),
    ],
)
def test_half_of_what_belongs_together(number, option, message, monkeypatch, capsys):
    (script,) = EXAMPLES.glob(f"{number}_*.py")
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr("sys.argv", [script.name, option, "file"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


def test_tagger(folder):
    output = run("05", "--epochs", 2, cwd=folder)
    assert "val_accuracy" in output and "% of 44 words have the right tag" in output
    assert output.strip().splitlines()[-1].startswith("Anna/")
    assert (folder / "runs" / "tagger.keras").exists()


def test_saved_model_without_keras_elmo(folder):
    output = run("06", "--epochs", 20, cwd=folder)
    assert "signature 'tokens'" in output
    first, last = output.split("loss: ")[1].split("\n")[0].split(" -> ")
    assert float(last) < float(first)


def test_domain_adaptation(folder, pretrained):
    general = ("--general", pretrained[0] / "bilm")
    output = run("07", *general, "--seeds", 1, cwd=folder)
    before, after = map(float, re.findall(r"perplexity ([\d.]+)", output))
    assert after < before
    assert len(re.findall(r"\d% right", output)) == 2


# Six trainings in processes of their own, two of them twice: a minute.
def test_distributed(folder):
    output = run("08", "--steps", 11, cwd=folder)
    assert re.search(r"killed one; exit statuses: \[-?[1-9]\d*, -9\]", output)
    for name in ("one device", "2 devices", "2 workers"):
        assert re.search(rf"^{name}: step 11, perplexity [\d.]+$", output, re.MULTILINE)


def test_beam(folder, pretrained):
    files = ("--text", "[ab].txt", "--model", pretrained[0] / "saved_model")
    output = run("10", *files, cwd=folder)
    assert re.search(r"^[\d,]+ words, the most frequent: \['", output, re.MULTILINE)
    assert "150 sentences, a vector of 64 numbers each" in output
    # As far as it goes, the nearest sentence is another one.
    assert len(re.findall(r"^   [ab].txt, line \d+: cosine", output, re.MULTILINE)) == 2


def test_billion_words(tmp_path):
    """From a small data set of the same name and form."""
    data = tmp_path / "data"
    run_script(Path(__file__).with_name("lm1b_stand_in.py"), data, cwd=tmp_path)
    script = EXAMPLES / "billion_words.py"
    arguments = ("--data-dir", data, "--num-files", 3)
    # What a run before has finished stays; what it has not is written.
    out = tmp_path / "text" / "lm1b"
    out.mkdir(parents=True)
    with gzip.open(out / "train-00000-of-00003.txt.gz", "wb") as file:
        file.write(b"kept\n")
    (out / "train-00001-of-00003.txt.unfinished").write_bytes(b"half")
    printed = run_script(script, *arguments, cwd=tmp_path)
    assert len(printed.splitlines()) == 5
    names = sorted(path.name for path in out.iterdir())
    assert len(names) == 6 and not [name for name in names if "unfinished" in name]
    (out / "train-00000-of-00003.txt.gz").unlink()
    run_script(script, *arguments, cwd=tmp_path)
    for split, numbers in (("train", range(50)), ("test", range(50, 60))):
        lines = list(read_lines(expand_files(str(out / f"{split}-*"))))
        assert sorted(lines) == sorted(f"Sentence number {k} ." for k in numbers)


def test_client(folder):
    output = run("09", cwd=folder)
    assert "Over REST: 3 vectors of 512 numbers" in output
    assert float(output.split("the same, ")[1].split()[0]) < 1e-5
    # A text beside itself.
    assert " 1.00  The heron slept" in output


def test_onnx(folder):
    output = run("11", cwd=folder)
    assert "(10, 512): the heron slept" in output
    text = folder / "three.txt"
    text.write_text("One two three\n\n배 가\n", encoding="utf-8")
    model = folder / "model.onnx"
    keras_elmo.export_onnx(random_encoder(), model)
    output = run("11", "--model", model, "--input", text, cwd=folder)
    units = 2 * CONFIG.projection_units
    assert output.splitlines() == [
        f"(3, {units}): One two three",
        f"(2, {units}): 배 가",
    ]


def test_nearest(folder):
    output = run("12", "--words", "bank", "배", "손", cwd=folder)
    assert "bank, river: We sat on the bank of the river" in output
    assert output.count("\n   closest, ") == output.count("\n   instead: ") == 7
    right = {
        word: int(
            re.search(
                rf"^{word}: the closest means the same in (\d+) of {count}$",
                output,
                re.MULTILINE,
            )[1]
        )
        for word, count in (("bank", 8), ("배", 12), ("손", 8))
    }
    # Of three meanings of 배, a guess finds 3 of 11.
    assert right["bank"] > 4 and right["배"] > 3 and right["손"] > 4


def test_fine_tuning(folder, pretrained):
    """From the top down; it needs no model or text to learn anything from."""
    text = folder / "reviews.txt"
    text.write_text("1 A great evening .\n0 It is dull .\n" * 16, encoding="utf-8")
    arguments = ("--train", text, "--dev", text, "--epochs", 1)
    output = run("13", "--model", pretrained[0] / "bilm", *arguments, cwd=folder)
    layers = ["frozen", "forward_1, backward_1", "forward_0, backward_0"]
    found = re.findall(r"^(.+): [\d.]+% right$", output, re.MULTILINE)
    assert found[:3] == layers and len(found) == 4


def test_projector(folder):
    """A vector and a sentence for each place of the word; no quotes, for the page."""
    sentences = "I sat on the bank\n\nbanks\nThe bank of the bank\n"
    (folder / "banks.txt").write_text(sentences, encoding="utf-8")
    output = run("14", "--text", "banks.txt", "--out", "projector", cwd=folder)
    assert output == "3 vectors of bank are in projector\n"
    metadata, config, vectors = (
        path.read_text(encoding="utf-8").splitlines()
        for path in sorted((folder / "projector").iterdir())
    )
    assert metadata == [
        "sentence\tposition",
        "I sat on the [bank]\t4",
        "The [bank] of the bank\t1",
        "The bank of the [bank]\t4",
    ]
    tokens = [line.split() for line in sentences.split("\n")]
    layers = [each[-1] for each in keras_elmo.embed("elmo-en", tokens)]
    found = [[float(number) for number in row.split("\t")] for row in vectors]
    wanted = [layers[0][4], layers[3][1], layers[3][4]]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert 'tensor_path: "vectors.tsv"' in " ".join(config)


def test_sense_examples_that_do_not_fit(folder, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import sense_examples

    path = folder / "own.tsv"
    good = "bank\triver\tOn the [bank] .\n\n"
    for bad in ("bank\triver\tOn the [bank].", "bank river", "a\tb\tno brackets"):
        path.write_text(good + bad, encoding="utf-8")
        with pytest.raises(SystemExit, match=r"own.tsv, line 3: must be a word, a"):
            sense_examples.read_examples(path)
    for bad, message in (
        ("bank\triver\tThe bank and the [bank] .", "must stand once in its sentence"),
        ("bank\tmoney\tOn the [bank] .", "must stand once in the file"),
    ):
        path.write_text(good + bad, encoding="utf-8")
        with pytest.raises(SystemExit, match=f"own.tsv, line 3: .* {message}"):
            sense_examples.read_examples(path)
    # The other word of a sentence is another example.
    path.write_text(good + "on\tplace\t[On] the bank .", encoding="utf-8")
    assert [each.position for each in sense_examples.read_examples(path)] == [2, 0]
    # As some editors begin it.
    path.write_text(good, encoding="utf-8-sig")
    examples = sense_examples.read_examples(path)
    assert examples == [("bank", "river", ["On", "the", "bank", "."], 2)]
    assert sense_examples.examples_of(None, examples) == {"bank": examples}
    with pytest.raises(SystemExit, match="must be of bank. Received: bnak"):
        sense_examples.examples_of(["bnak"], examples)


def test_sense_picture(folder):
    words = ("--words", "play", "쓰다", "--out", "senses.png")
    output = run_script(EXAMPLES / "sense_picture.py", *words, cwd=folder)
    assert output == "2 words are drawn in senses.png\n"
    assert (folder / "senses.png").stat().st_size > 10_000


# Trains a model and classifiers, embeds with three models, draws a picture.
def test_demo(pretrained, tmp_path):
    # What a run before has left is in nobody's way.
    exported = tmp_path / "saved_models" / "demo"
    shutil.copytree(pretrained[0] / "saved_model", exported)
    (exported / "left").touch()
    bilm = tmp_path / "runs" / "demo" / "bilm"
    bilm.mkdir(parents=True)
    (bilm / "training.json").write_text("{}")
    arguments = ("--steps", 2, "--sentences", 400, "--epochs", 1)
    output = run_script(EXAMPLES / "demo.py", *arguments, cwd=tmp_path)
    assert "Perplexity of sentences it has not seen" in output
    assert "ELMo, pretrained" in output and "elmo-en and elmo-ko" in output
    assert "gamma" in output
    assert (bilm.parent / "senses.png").stat().st_size > 10_000
    assert (exported / "saved_model.pb").exists()
    assert not (exported / "left").exists()


def test_each_example_is_short():
    scripts = sorted(EXAMPLES.glob("[0-9]*.py"))
    assert len(scripts) == 14
    for script in scripts:
        assert len(script.read_text(encoding="utf-8").splitlines()) < 100, script.name
