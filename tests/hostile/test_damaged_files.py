"""Every file that users hand in: damaged, it is an error that names it, or is read.

`KERAS_ELMO_SPOILED` multiplies how often each file is changed at random.
"""

import ast
import gzip
import lzma
import os
import pickle
import re
import shutil
import sys
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
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.checkpoint import restore_checkpoint, save_checkpoint
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
from tests.files.test_checkpoint import compiled
from tests.helpers.fresh_process import ROOT
from tests.helpers.installed import import_installed
from tests.helpers.limits import memory_of_at_most
from tests.helpers.many_langs_oracle import ManyLangs, sizes
from tests.helpers.small import SMALLER, random_encoder
from tests.helpers.tasks import litert_tagger

pytestmark = pytest.mark.graph

MANY = int(os.environ.get("KERAS_ELMO_SPOILED", 1))
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


def served(folder, originals):
    export_saved_model(random_encoder(SMALLER), folder / "served", None)
    return folder / "served"


def onnx(**options):
    def make(folder, originals):
        export_onnx(originals / "directory", folder / "model.onnx", **options)
        return folder / "model.onnx"

    return make


def litert(folder, originals):
    (folder / "model.tflite").write_bytes(litert_tagger()[1])
    return folder / "model.tflite"


def checkpoint(folder, originals):
    save_checkpoint(folder / "checkpoint.npz", compiled(), {})
    return folder / "checkpoint.npz"


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
    actual = Index.load(path)
    return actual.closest(np.ones(14, "float32"), 99), actual.occurrences("bank", 99)


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


def read_checkpoint(path, models=[]):  # noqa: B006
    models[:] = models or [compiled()]
    restore_checkpoint(path, models[0])


def load_and_tag(path):
    return load(path).predict([QUERY])


def load_and_embed(path):
    return list(embed(load(path), [QUERY]))


# What is made, what reads it, the files in it, and how often bytes are changed.
KINDS = {
    "zip, stored": (archive(zipfile.ZIP_STORED), load, ["."], 15),
    "zip, deflated": (archive(zipfile.ZIP_DEFLATED), load, ["."], 25),
    "zip, bzip2": (archive(zipfile.ZIP_BZIP2), load, ["."], 15),
    "zip, lzma": (archive(zipfile.ZIP_LZMA), load, ["."], 25),
    "run": (
        copied("directory"),
        load_language_model,
        ["options.json", "training.json", "weights.hdf5", "vocabulary.txt"],
        8,
    ),
    "history": (history, inspect_model, ["history.csv"], 15),
    "exported": (
        copied("saved_model"),
        load,
        [
            "assets.extra/keras_elmo.json",
            "variables/variables.index",
            "variables/variables.data-00000-of-00001",
        ],
        6,
    ),
    "language model": (
        copied("language_model"),
        load_language_model,
        ["assets.extra/vocabulary.txt", "assets.extra/softmax.hdf5"],
        6,
    ),
    "served": (
        served,
        lambda path: Model(path, 1),
        ["saved_model.pb"],
        5,
    ),
    "onnx": (onnx(), load_and_embed, ["."], 25),
    "onnx, int8": (onnx(quantize="int8"), load_and_embed, ["."], 15),
    # The graph is traced and converted: 10 s.
    "litert": (litert, load_and_tag, ["."], 25),
    "checkpoint": (checkpoint, read_checkpoint, ["."], 15),
    "bilm-tf": (
        copied("bilm"),
        import_bilm,
        ["options.json", "vocab.txt", "model.ckpt-1250.index"]
        + ["model.ckpt-1250.data-00000-of-00001"],
        6,
    ),
    "hub": (copied("hub"), inspect_model, ["variables/variables.index"], 6),
    "many_langs": (
        many_langs,
        lambda path: ManyLangsFolder(path).encoder(),
        ["config.json", "sizes.json", "char.dic", "word.dic"]
        + ["encoder.pkl", "token_embedder.pkl"],
        8,
    ),
    "index": (
        index,
        read_index,
        ["index.json", "vectors.npy", "places.npy", "tokens.npy", "words.npy"]
        + ["sentence_limits.npy", "word_limits.npy"],
        8,
    ),
    "keras": (keras_file, lambda path: read_mix_file(str(path)), ["."], 6),
    "mix": (mix_csv, lambda path: read_mix_file(str(path)), ["."], 15),
    "vectors": (vectors("vectors.txt", open), read_vector_file, ["."], 15),
    "vectors.gz": (vectors("vectors.txt.gz", gzip.open), read_vector_file, ["."], 25),
    "text.xz": (vectors("text.txt.xz", lzma.open), read_text, ["."], 25),
    "text.gz": (vectors("text.txt.gz", gzip.open), read_text, ["."], 25),
    "vectors.hdf5": (embedded(".hdf5"), read_out, ["."], 6),
    "vectors.parquet": (embedded(".parquet"), read_out, ["."], 6),
    "part": (interrupted, read_part, ["vectors.hdf5.parts/part.npy"], 15),
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
    # Of text; elsewhere, bytes that look like it.
    values = list(re.finditer(rb'"[^"\n]*"|-?\d+(\.\d+)?|[^\n\t]+', content))
    for k in range(times // 5 if values else 0):
        value = values[random.integers(len(values))]
        other = OTHER_VALUES[k % len(OTHER_VALUES)]
        yield content[: value.start()] + other + content[value.end() :]


OTHER_VALUES = [
    *(b"null", b"true", b"-1", b"0", b"1e308", b"NaN", b"0.5", b"[]", b"{}", b'""'),
    *(b'"/dev/zero"', b"1000000000000", b"9" * 5000, b"[" * 5000, b'"../outside"'),
    *(b'"\\ud800"', b'"a\\u0000b"'),
]


CASES = {
    f"{kind} {file}": (kind, file)
    for kind, (_, _, files, _) in KINDS.items()
    for file in files
}


# What Python is asked to do that loading a model does not need.
FORBIDDEN = {
    *("code.__new__", "exec", "import", "marshal.loads", "os.exec", "os.fork"),
    *("os.posix_spawn", "os.spawn", "os.system", "pickle.find_class"),
    *("socket.connect", "subprocess.Popen"),
}


class Watch:
    """Notes what Python is asked to do, within a `with`."""

    def __init__(self):
        self.events = None
        sys.addaudithook(self._notice)

    def __enter__(self):
        self.events = []
        return self.events

    def __exit__(self, *error):
        self.events = None

    def _notice(self, event, arguments):
        if self.events is None:
            return
        if event in FORBIDDEN:
            self.events.append(f"{event} {arguments}"[:200])
        elif event == "open" and isinstance(arguments[0], str):
            path = os.path.realpath(arguments[0])
            if not path.startswith(self.allowed):
                self.events.append(f"open {path}")


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    watch = Watch()
    own = (sys.prefix, sys.base_prefix, str(ROOT), "/proc/")
    folders = (tmp_path_factory.getbasetemp(), *own)
    watch.allowed = tuple(map(os.path.realpath, folders))
    return watch


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_damaged(case, sound, watch, tmp_path, monkeypatch):
    """No library's own error comes through: a ValueError or OSError names the file.

    Nothing runs, nothing outside is opened, and little memory is taken; nor by the
    sound file, which is read first.
    """
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "cache"))
    kind, file = CASES[case]
    folder, made = sound(kind)
    _, read, _, times = KINDS[kind]
    content = (made / file).read_bytes()
    refused = 0
    with watch as events:
        pickle.loads(b"cos\ngetpid\n.")
    assert events[0].startswith("pickle.find_class")

    def try_to_read():
        with watch as events, memory_of_at_most(1 << 30):
            try:
                read(path)
            except (ValueError, OSError) as error:
                assert str(path) in str(error), number
                return True, events
            return False, events

    for number, spoilt in enumerate([content, *damages(content, times * MANY)]):
        copy = shutil.copytree(folder, tmp_path / str(number))
        path = copy / made.relative_to(folder)
        os.remove(path / file)
        if spoilt is None:
            os.mkdir(path / file)
        else:
            (path / file).write_bytes(spoilt)
        is_refused, events = try_to_read()
        # What is imported and traced on first use is not the file's.
        if events:
            _, events = try_to_read()
        # What is served is a program: docs/security.md says so.
        assert not events or kind == "served", number
        refused += is_refused
        if not number:
            assert not refused, "the sound file"
        shutil.rmtree(copy)
    assert refused


# What serves a SavedModel has to run it; docs/security.md says so.
RUN_GRAPHS = {"serving", "scale"}


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
        actual = spelt.findall(code)
        assert not actual or path.parent.name in RUN_GRAPHS, (path, actual)
