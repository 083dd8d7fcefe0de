"""The same values as on one machine, whatever the engine, and whoever is killed."""

import os
import random
import signal
import sys

import numpy as np
import pyarrow.parquet as parquet
import pytest

from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.exported_sources import ExportedModel
from keras_elmo.scale import count_words, embed_text, prepare_text
from keras_elmo.text import preparing
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.command_line import names
from tests.helpers.exports import embedding
from tests.helpers.installed import require_installed
from tests.scale.engines import (
    dask_runner,
    portable_runner,
    run_job,
    start_job,
    wait_until,
)

pytestmark = pytest.mark.graph


# Words that a vocabulary may stumble over, too.
WORDS = [*"the bank of a river 배 가 고프다 <S> saw".split(), "x" * 70]
BY_PLACE = ["file", "line", "position"]


def write_texts(folder, lines):
    """Four texts, whose lines are of any length, and rarely blank."""
    chance = random.Random(0)
    for number in range(4):
        text = (
            " ".join(chance.choices(WORDS, range(11, 0, -1), k=chance.randrange(12)))
            for _ in range(lines + number)
        )
        path = folder / f"text {number}.txt"
        path.write_text("\n".join(text) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, four texts, and what one machine makes of them."""
    folder = tmp_path_factory.mktemp("scale")
    export_saved_model(embedding(), folder / "model", "unicode")
    write_texts(folder, lines=1100)
    with pytest.MonkeyPatch.context() as patch:
        # Each reading compiles the model anew.
        encoder = ExportedModel(folder / "model").encoder()
        patch.setattr(ExportedModel, "encoder", lambda source: encoder)
        for number in range(4):
            out = folder / f"wanted-{number}.parquet"
            embed_file(folder / "model", folder / f"text {number}.txt", out)
    return folder


@pytest.fixture(scope="module")
def normed(tmp_path_factory):
    """Another model, whose layers have no mix."""
    path = tmp_path_factory.mktemp("normed") / "norm"
    export_saved_model(embedding(layer_norm=True), path, "whitespace")
    return path


@pytest.fixture
def texts(folder):
    return folder / "text *.txt"


def vectors(table, name):
    return np.array(table[name].to_pylist(), "float32")


def assert_parts_equal_one_machine(out, folder):
    """Asserts that every token has its vectors once."""
    table = parquet.read_table(out)
    # Dictionaries have no order.
    files = table["file"].cast("string")
    table = table.set_column(table.column_names.index("file"), "file", files)
    table = table.sort_by([(name, "ascending") for name in BY_PLACE])
    files = np.array(table["file"].to_pylist())
    for number in range(4):
        wanted = parquet.read_table(folder / f"wanted-{number}.parquet")
        ours = table.filter(files == f"text {number}.txt")
        for column in ("line", "position", "token"):
            assert ours[column].to_pylist() == wanted[column].to_pylist()
        for layer in ("layer_0", "layer_1", "layer_2"):
            difference = vectors(ours, layer) - vectors(wanted, layer)
            assert np.abs(difference).max() <= 1e-5
    assert set(files) == {f"text {number}.txt" for number in range(4)}


@pytest.mark.parametrize("options", [{"max_size": 9}, {"min_count": 1500}])
def test_the_vocabulary_is_that_of_one_machine(options, texts, tmp_path):
    count_words(texts, tmp_path / "words.txt", **options)
    wanted = Vocabulary.count(texts, **options)
    assert Vocabulary.load(tmp_path / "words.txt").words == wanted.words


def test_a_prepared_text_is_that_of_one_machine(texts, tmp_path, monkeypatch):
    """A job that failed goes on, to the same batches in the same order."""
    # Several parts per file.
    monkeypatch.setattr(preparing, "_PART_WORDS", 3000)
    out = tmp_path / "out"
    split, done = preparing.split_parts, []

    def split_two(lines, *arguments):
        """Fails like a worker that dies, after half of the text."""
        if len(done) == 2:
            raise OSError("died")
        yield from split(lines, *arguments)
        done.append(lines)

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[prepare_text.__module__], "split_parts", split_two)
        with pytest.raises(Exception, match="died"):
            prepare_text(texts, out)
    assert not out.exists()
    files = sorted((tmp_path / "out.parts").glob("file-*.json"))
    assert 0 < len(files) < 4
    kept = [path.stat().st_mtime_ns for path in files]
    with pytest.raises(ValueError, match="`tokenizer` must be what it was .*parts"):
        prepare_text(texts, out, "whitespace")
    assert [path.stat().st_mtime_ns for path in files] == kept
    prepare_text(texts, out)
    assert not (tmp_path / "out.parts").exists()
    vocabulary = Vocabulary.count(out)
    assert vocabulary.words == Vocabulary.count(texts).words
    ours, wanted = (
        Corpus(text, vocabulary, batch_tokens=200, max_tokens=20).batches(epoch=1)
        for text in (out, texts)
    )
    for batch, other in zip(ours, wanted, strict=True):
        for name, values in batch.items():
            np.testing.assert_array_equal(values, other[name])
    with pytest.raises(ValueError, match="exists already"):
        prepare_text(texts, out)


def test_the_vectors_are_those_of_one_machine(folder, texts, tmp_path):
    """A job goes on, and does nothing again."""
    out = tmp_path / "out"
    embed_text(folder / "model", texts, out)
    *kept, lost = sorted(out.rglob("*.parquet"))
    # Two chunks each.
    assert len(kept) == 7
    times = [path.stat().st_mtime_ns for path in kept]
    lost.unlink()
    embed_text(folder / "model", texts, out)
    assert [path.stat().st_mtime_ns for path in kept] == times
    assert_parts_equal_one_machine(out, folder)


def test_a_mean_of_the_mix_in_half_of_the_bytes(folder, tmp_path):
    options = {"layers": "mix", "rows": "sentences", "dtype": "float16"}
    text = folder / "text 0.txt"
    embed_text(folder / "model", text, tmp_path / "out", **options)
    embed_file(folder / "model", text, tmp_path / "wanted.parquet", **options)
    table = parquet.read_table(tmp_path / "out").sort_by("line")
    wanted = parquet.read_table(tmp_path / "wanted.parquet")
    assert table.column_names == [*wanted.column_names, "file"]
    assert table["line"].to_pylist() == wanted["line"].to_pylist()
    assert table["num_tokens"].to_pylist() == wanted["num_tokens"].to_pylist()
    # A number may lie on either side of where float16 rounds.
    difference = vectors(table, "mix") - vectors(wanted, "mix")
    assert np.abs(difference).max() <= 4e-3
    assert str(table.schema.field("mix").type.value_type) == "halffloat"


def test_blank_lines_alone(folder, tmp_path):
    text, words = tmp_path / "text.txt", tmp_path / "words.txt"
    text.write_text("\n \n", encoding="utf-8")
    embed_text(folder / "model", text, tmp_path / "out")
    assert parquet.read_table(tmp_path / "out").num_rows == 0
    with pytest.raises(Exception, match="must leave a word"):
        count_words(text, words)
    with pytest.raises(ValueError, match="there is no word in .*text.txt"):
        prepare_text(text, tmp_path / "prepared")
    assert names(tmp_path) == ["out", "text.txt"]
    text.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="there is no text in .*text.txt"):
        count_words(text, words)


def test_another_job_is_refused(folder, normed, tmp_path):
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("the bank\n", encoding="utf-8")
    embed_text(folder / "model", text, out)
    with pytest.raises(ValueError, match="`layers` must be what it was when .*out was"):
        embed_text(folder / "model", text, out, layers="mix")
    with pytest.raises(ValueError, match="`model` must be what it was"):
        embed_text(normed, text, out)
    text.write_text("the bank of the river\n", encoding="utf-8")
    with pytest.raises(ValueError, match="`files` must be what it was"):
        embed_text(folder / "model", text, out)


def test_bad_arguments_leave_nothing(folder, normed, texts, tmp_path):
    (tmp_path / "text 0.txt").write_text("a", encoding="utf-8")
    model, out = folder / "model", tmp_path / "out"
    twice = [texts, tmp_path / "text 0.txt"]
    for job, arguments, said in [
        (embed_text, (model, twice, out), r"one name. Received: text 0\.txt, 2 times"),
        (embed_text, (tmp_path, texts, out), "`model` must be an exported model"),
        (embed_text, (model, texts, out, "top"), "`layers` must be"),
        (embed_text, (normed, texts, out, "mix"), "`layers` must be 'all' for .*norm"),
        (count_words, (texts, out, "unicode", 3), "`max_size` must be more"),
        (count_words, (texts, out, "unicode", 9, 0), "`min_count` must be at least 1"),
    ]:
        with pytest.raises(ValueError, match=said):
            job(*arguments)
    assert not out.exists()


# Beam's job service and its workers are processes that import TensorFlow.
@pytest.mark.whole
def test_a_job_service_and_a_pool_of_workers(folder, texts, tmp_path):
    """When a worker is killed, this engine waits for it; a new job goes on."""
    arguments = {"files": texts, "out": tmp_path / "words.txt", "max_size": 9}
    with portable_runner(tmp_path) as (options, workers):
        run_job("count_words", arguments, options, tmp_path)
        wanted = Vocabulary.count(texts, max_size=9)
        assert Vocabulary.load(tmp_path / "words.txt").words == wanted.words
        out = tmp_path / "out"
        arguments = {"model": folder / "model", "files": texts, "out": out}
        job = start_job("embed_text", arguments, options, tmp_path)
        try:
            wait_until(lambda: any(out.rglob("*.parquet")))
            for worker in workers():
                os.kill(worker, signal.SIGKILL)
            kept = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
        finally:
            job.kill()
            job.wait()
        assert 0 < len(kept) < 8
        run_job("embed_text", arguments, options, tmp_path)
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    assert_parts_equal_one_machine(out, folder)


@pytest.mark.slow
def test_a_worker_is_killed_and_the_job_completes(folder, texts, tmp_path):
    """When a worker is killed, this engine gives its work to another."""
    require_installed("distributed")
    out = tmp_path / "out"
    arguments = {"model": folder / "model", "files": texts, "out": out}
    with dask_runner(tmp_path) as (options, workers):
        job = start_job("embed_text", arguments, options, tmp_path)
        try:
            wait_until(lambda: any(out.rglob("*.parquet")))
            workers[0].kill()
            assert len(list(out.rglob("*.parquet"))) < 8
            assert job.wait(timeout=600) == 0
        finally:
            job.kill()
            job.wait()
    assert_parts_equal_one_machine(out, folder)
