"""Every file that users hand in: damaged, it is an error that names it, or is read."""

import gzip
import lzma
import os
import shutil
import zipfile

import keras
import numpy as np
import pytest

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.embedding.embedder import embed
from keras_elmo.embedding.parts import PartFolder
from keras_elmo.explorer.mixes import read_mix_file
from keras_elmo.export.onnx import export_onnx
from keras_elmo.files.finding import RunFiles
from keras_elmo.files.loading import load, load_language_model
from keras_elmo.files.run_history import HistoryRow, write_history
from keras_elmo.importing.inspection import inspect_model
from keras_elmo.importing.many_langs import ManyLangsFolder
from keras_elmo.importing.models import import_model
from keras_elmo.serving.model import Model
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.vector_file import read_vector_file
from keras_elmo.words.index import Index
from tests.helpers.installed import import_installed
from tests.helpers.many_langs_oracle import ManyLangs, sizes
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.graph

TEXT = ["the bank lends money", "", "we sat on the bank ."]
QUERY = "the bank of the river"


def archive(method):
    def make(folder, originals):
        path = folder / "model.zip"
        with zipfile.ZipFile(path, "w", method) as file:
            for name in ("options.json", "weights.hdf5"):
                file.write(originals / "directory" / name, f"model/{name}")
        return path

    return make


def copied(name):
    return lambda folder, originals: shutil.copytree(originals / name, folder / "it")


def onnx(folder, originals):
    export_onnx(originals / "directory", folder / "model.onnx")
    return folder / "model.onnx"


def many_langs(folder, originals):
    import_installed("torch")
    return ManyLangs(sizes()).write(folder / "many_langs")


def index(folder, originals):
    lines = [line.split() for line in TEXT]
    Index.build(originals / "directory", lines).save(folder / "index")
    return folder / "index"


def keras_file(folder, originals):
    char_ids = keras.Input((None, 50), dtype="int32")
    model = keras.Model(char_ids, ElmoEmbedding(random_encoder())(char_ids))
    model.save(folder / "model.keras")
    return folder / "model.keras"


def mix_csv(folder, originals):
    (folder / "mix.csv").write_text("epoch,elmo/layer_0,elmo/layer_1\n0,0.4,0.6\n")
    return folder / "mix.csv"


def vectors(name, open_file):
    def make(folder, originals):
        path = folder / name
        with open_file(path, "wt", encoding="utf-8") as file:
            file.writelines(f"word{k} {k} 0.5 -1e-3\n" for k in range(99))
        return path

    return make


def history(folder, originals):
    run = copied("directory")(folder, originals)
    rows = [HistoryRow(step, 0, 9, 1.5, 9.0, 0.1, 1.0, 5.0, 5.0) for step in (5, 9)]
    write_history(RunFiles(run).history, rows)
    return run


def embedded(suffix):
    def make(folder, originals):
        (folder / "text.txt").write_text("\n".join(TEXT), encoding="utf-8")
        out = folder / f"vectors{suffix}"
        embed_file(originals / "directory", folder / "text.txt", out)
        return out

    return make


def interrupted(folder, originals):
    """What a command leaves that ended before its file was complete."""

    def stop(*arguments):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keras_elmo.embedding.writers.Hdf5Writer.finish", stop)
        with pytest.raises(KeyboardInterrupt):
            embedded(".hdf5")(folder, originals)
    (part,) = (folder / "vectors.hdf5.parts").glob("*.npy")
    part.rename(part.with_name("part.npy"))
    return folder


def read_text(path):
    expand_files(str(path))
    return list(read_lines([str(path)]))


def read_index(path):
    found = Index.load(path)
    return found.closest(np.ones(14, "float32"), 99), found.occurrences("bank", 99)


def read_out(path):
    """It may be of others, and then is an output that exists."""
    model, text = path.parent / "directory", path.parent / "text.txt"
    embed_file(model, text, path, resume=True)


def read_part(path):
    return PartFolder(str(path / "vectors.hdf5"), True).read(
        str(path / "vectors.hdf5.parts" / "part.npy"), [1]
    )


def import_bilm(path):
    out = path / "imported"
    shutil.rmtree(out, ignore_errors=True)
    import_model(path, out, vocabulary=path / "vocab.txt")


def load_and_embed(path):
    return list(embed(load(path), [QUERY]))


# What is made, what reads it, the files in it, and how often bytes are changed.
KINDS = {
    "zip, stored": (archive(zipfile.ZIP_STORED), load, ["."], 30),
    "zip, deflated": (archive(zipfile.ZIP_DEFLATED), load, ["."], 60),
    "zip, bzip2": (archive(zipfile.ZIP_BZIP2), load, ["."], 30),
    "zip, lzma": (archive(zipfile.ZIP_LZMA), load, ["."], 60),
    "run": (
        copied("directory"),
        load_language_model,
        ["options.json", "training.json", "weights.hdf5", "vocabulary.txt"],
        15,
    ),
    "history": (history, inspect_model, ["history.csv"], 30),
    "exported": (
        copied("saved_model"),
        load,
        [
            "assets.extra/keras_elmo.json",
            "variables/variables.index",
            "variables/variables.data-00000-of-00001",
        ],
        10,
    ),
    "language model": (
        copied("language_model"),
        load_language_model,
        ["assets.extra/vocabulary.txt", "assets.extra/softmax.hdf5"],
        10,
    ),
    "served": (
        copied("saved_model"),
        lambda path: Model(path, 1),
        ["saved_model.pb"],
        8,
    ),
    "onnx": (onnx, load_and_embed, ["."], 60),
    "bilm-tf": (
        copied("bilm"),
        import_bilm,
        ["options.json", "vocab.txt", "model.ckpt-1250.index"]
        + ["model.ckpt-1250.data-00000-of-00001"],
        10,
    ),
    "hub": (copied("hub"), inspect_model, ["variables/variables.index"], 10),
    "many_langs": (
        many_langs,
        lambda path: ManyLangsFolder(path).encoder(),
        ["config.json", "sizes.json", "char.dic", "word.dic"]
        + ["encoder.pkl", "token_embedder.pkl"],
        15,
    ),
    "index": (
        index,
        read_index,
        ["index.json", "vectors.npy", "places.npy", "tokens.npy", "words.npy"]
        + ["sentence_limits.npy", "word_limits.npy"],
        15,
    ),
    "keras": (keras_file, lambda path: read_mix_file(str(path)), ["."], 10),
    "mix": (mix_csv, lambda path: read_mix_file(str(path)), ["."], 30),
    "vectors": (vectors("vectors.txt", open), read_vector_file, ["."], 30),
    "vectors.gz": (vectors("vectors.txt.gz", gzip.open), read_vector_file, ["."], 60),
    "text.xz": (vectors("text.txt.xz", lzma.open), read_text, ["."], 60),
    "text.gz": (vectors("text.txt.gz", gzip.open), read_text, ["."], 60),
    "vectors.hdf5": (embedded(".hdf5"), read_out, ["."], 10),
    "vectors.parquet": (embedded(".parquet"), read_out, ["."], 10),
    "part": (interrupted, read_part, ["vectors.hdf5.parts/part.npy"], 30),
}


@pytest.fixture(scope="module")
def sound(originals, tmp_path_factory):
    """Makes a file or folder once; returns its path within a folder to copy."""
    made = {}

    def make(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp("sound") / "sound"
            shutil.copytree(originals / "directory", folder / "directory")
            made[kind] = folder, KINDS[kind][0](folder, originals)
        return made[kind]

    return make


def damages(content, times):
    """Yields what there is instead of the bytes of a file; `None` is a folder."""
    random = np.random.default_rng(0)
    yield None
    yield b""
    for share in (0.01, 0.3, 0.7, 0.99):
        yield content[: int(share * len(content))]
    yield content[:-1]
    for other in (
        b"PK\x03\x04",
        b"\x89HDF\r\n\x1a\n",
        b"\x93NUMPY\x01\0",
        b"\x80\x02}q\0.",
    ):
        yield other + content[len(other) :]
        yield other
    for k in range(times):
        spoilt = bytearray(content)
        # In the head, in the tail, and anywhere.
        first, last = [(0, 200), (-200, 0), (0, 0)][k % 3]
        first %= len(content)
        last = min(last, len(content)) or len(content)
        for place in random.integers(first % last, last, 1 + k % 4):
            spoilt[place] ^= int(random.integers(1, 256))
        yield bytes(spoilt)


CASES = {
    f"{kind} {file}": (kind, file)
    for kind, (_, _, files, _) in KINDS.items()
    for file in files
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_damaged(case, sound, tmp_path, monkeypatch):
    """No library's own error comes through: a ValueError or OSError names the file."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "cache"))
    kind, file = CASES[case]
    folder, made = sound(kind)
    _, read, _, times = KINDS[kind]
    content = (made / file).read_bytes()
    refused = 0
    for number, spoilt in enumerate(damages(content, times)):
        copy = shutil.copytree(folder, tmp_path / str(number))
        path = copy / made.relative_to(folder)
        os.remove(path / file)
        if spoilt is None:
            os.mkdir(path / file)
        else:
            (path / file).write_bytes(spoilt)
        try:
            read(path)
        except (ValueError, OSError) as error:
            refused += 1
            assert str(path) in str(error), number
        shutil.rmtree(copy)
    assert refused
