"""Does an exported tagger give the tags of the Keras model, how fast, and how large?

Each file is written anew from a `.keras` file of a `Tagger`, and tags all sentences of
a development set, in one process, in turn. F1 is of spans, as conlleval counts them.

    python benchmarks/exported_taggers.py --tagger ner.keras --out exported_taggers.json
"""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import markdown_table

# Files by road, and how they are written.
_FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "SavedModel": ("names", {"tokenizer": None}),
    "ONNX": ("names.onnx", {}),
    "ONNX, int8": ("names-int8.onnx", {"quantize": "int8"}),
    "LiteRT": ("names.tflite", {}),
    "LiteRT, int8": ("names-int8.tflite", {"quantize": "int8"}),
}

Sentences = list[list[str]]
Tag = Callable[[Sentences], Sentences]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    tagger = {"type": common.existing, "metavar": "FILE", "required": True}
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wnut17/dev.conll",
        tagger=(None, "a trained Tagger", tagger),
        batch_size=64,
        repeats=5,
    )
    import keras

    from keras_elmo import Tagger
    from keras_elmo.text.tagged_text import read_tagged

    model = keras.models.load_model(options.tagger)
    if not isinstance(model, Tagger):
        raise ValueError(f"{options.tagger}: holds no Tagger")
    dev = read_tagged(options.corpus)
    sentences = [sentence.words for sentence in dev]
    with tempfile.TemporaryDirectory() as folder:
        roads, sizes = make_roads(model, Path(folder), options.batch_size)
        sizes = {"Keras": os.path.getsize(options.tagger), **sizes}
        tags = {name: tag(sentences) for name, tag in roads.items()}
        count = sum(map(len, sentences))
        timed = {
            name: lambda tag=tag: _speed(tag, sentences, count)
            for name, tag in roads.items()
        }
        speeds = common.in_turn(timed, options.repeats)
    rows = [
        {
            "road": name,
            "f1": _f1([sentence.tags for sentence in dev], found),
            "other_sentences": sum(map(list.__ne__, found, tags["Keras"])),
            "words_per_second": speeds[name],
            "bytes": sizes[name],
        }
        for name, found in tags.items()
    ]
    common.publish(options, table, sentences=len(dev), words=count, rows=rows)


def make_roads(
    model: Any, folder: Path, batch_size: int
) -> tuple[dict[str, Tag], dict[str, int]]:
    """Returns what tags sentences by each road, and the bytes of its file."""
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    import keras_elmo

    sizes = {}
    for name, (file, how) in _FILES.items():
        model.export(folder / file, **how)
        files = [folder / file, *(folder / file).rglob("*")]
        sizes[name] = sum(path.stat().st_size for path in files if path.is_file())

    def padded(sentences: Sentences) -> Any:
        return tf.ragged.constant(sentences, dtype=tf.string).to_tensor("")

    served = tf.saved_model.load(str(folder / _FILES["SavedModel"][0]))

    def saved_model(sentences: Sentences) -> Sentences:
        lengths = tf.constant([len(words) for words in sentences], tf.int32)
        signature = served.signatures["tokens"]
        tags = signature(tokens=padded(sentences), sequence_len=lengths)["tags"]
        return [[tag.decode() for tag in row if tag] for row in tags.numpy()]

    def litert(name: str) -> Tag:
        path = str(folder / _FILES[name][0])
        run = Interpreter(path, num_threads=os.cpu_count()).get_signature_runner()

        def tag(sentences: Sentences) -> Sentences:
            ids = model.elmo.char_ids(padded(sentences))
            tags = run(char_ids=np.asarray(ids))["tags"]
            return [[model.tags[k] for k in row if k >= 0] for row in tags]

        return tag

    def in_batches(tag: Tag) -> Tag:
        """Sentences of like length together, as `predict` has them."""

        def tag_all(sentences: Sentences) -> Sentences:
            order = sorted(range(len(sentences)), key=lambda k: len(sentences[k]))
            rows: Sentences = [[] for _ in sentences]
            for start in range(0, len(order), batch_size):
                places = order[start : start + batch_size]
                found = tag([sentences[k] for k in places])
                for place, row in zip(places, found, strict=True):
                    rows[place] = row
            return rows

        return tag_all

    roads: dict[str, Tag] = {"Keras": lambda x: model.predict(x, batch_size)}
    roads["SavedModel"] = in_batches(saved_model)
    for name in ("ONNX", "ONNX, int8"):
        loaded = keras_elmo.load(folder / _FILES[name][0])
        roads[name] = lambda x, loaded=loaded: loaded.predict(x, batch_size)
    for name in ("LiteRT", "LiteRT, int8"):
        roads[name] = in_batches(litert(name))
    return roads, sizes


def _speed(tag: Tag, sentences: Sentences, count: int) -> float:
    """Returns words/s."""
    began = time.perf_counter()
    tag(sentences)
    return count / (time.perf_counter() - began)


def _f1(right: Sentences, found: Sentences) -> float:
    from keras_elmo.text.tag_scores import TagScores

    return 100 * TagScores(right, found).overall.f1


def table(result: common.Result) -> str:
    """Returns one row per road."""
    header = ["Road", "F1", "Sentences with other tags than Keras"]
    header += ["Words/s, median", "least to most", "MB"]
    rows = []
    for row in result["rows"]:
        figures = [f"{row['f1']:.2f}", f"{row['other_sentences']:,}"]
        figures += common.spread(row["words_per_second"])
        rows.append([row["road"], *figures, f"{row['bytes'] / 1e6:.1f}"])
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
