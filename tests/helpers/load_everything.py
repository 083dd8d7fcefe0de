"""Loads every kind of model file in a process that writes down what it does.

Arguments: the folder of the originals; then a folder to make the others in. Prints, as
JSON, what Python was asked to do that loading a model does not need.
"""

import json
import os
import sys
from pathlib import Path

import keras

import keras_elmo
from keras_elmo.cli import main as command_line
from keras_elmo.files.checkpoint import restore_checkpoint, save_checkpoint
from keras_elmo.importing.hub import HubModule
from tests.files.test_checkpoint import compiled

FORBIDDEN = {
    "code.__new__",
    "exec",
    "import",
    "marshal.loads",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pickle.find_class",
    "socket.connect",
    "subprocess.Popen",
}


def load(originals, folder, model):
    """Reads one of each; what they are has been tested elsewhere."""
    keras_elmo.load(originals / "directory")
    keras_elmo.load(originals / "saved_model")
    keras_elmo.ElmoEmbedding.from_saved_model(originals / "saved_model")
    keras_elmo.load_language_model(originals / "language_model")
    keras_elmo.load_published_weights(
        originals / "directory" / "options.json",
        originals / "directory" / "weights.hdf5",
    )
    imported = folder / f"imported-{len(list(folder.glob('imported-*')))}"
    words = originals / "bilm" / "vocab.txt"
    keras_elmo.import_model(originals / "bilm", imported, vocabulary=words)
    keras_elmo.ElmoEmbedding(HubModule(originals / "hub"))
    for name in ("bilm", "hub", "directory", "saved_model"):
        keras_elmo.inspect_model(originals / name)
    keras_elmo.Vocabulary.load(originals / "directory" / "vocabulary.txt")
    restore_checkpoint(folder / "checkpoint.npz", model)
    keras.models.load_model(folder / "model.keras")
    status = command_line(
        ["evaluate", "--model", str(originals / "directory"), "--corpus"]
        + [str(folder / "text.txt")]
    )
    if status:
        raise RuntimeError(f"evaluate ended with {status}")


def main(originals, folder):
    model = compiled()
    save_checkpoint(folder / "checkpoint.npz", model, {})
    char_ids = keras.Input((None, 50), dtype="int32")
    words = keras_elmo.ElmoEmbedding(keras_elmo.load(originals / "directory"))
    keras.Model(char_ids, words(char_ids)).save(folder / "model.keras")
    (folder / "text.txt").write_text("the bank\n", encoding="utf-8")
    # What is imported and traced on first use has nothing to do with the files.
    load(originals, folder, model)
    done = []

    def notice(event, arguments):
        if event in FORBIDDEN:
            done.append([event, str(arguments)[:200]])
        if event == "open" and isinstance(arguments[0], str):
            done.append([event, os.path.realpath(arguments[0])])

    sys.addaudithook(notice)
    load(originals, folder, model)
    noticed = list(done)
    # The hook does notice.
    __import__("pickle").loads(b"cos\ngetpid\n.")
    print(json.dumps({"loading": noticed, "after": done[len(noticed) :]}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
