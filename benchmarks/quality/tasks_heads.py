"""One run of `Tagger` or `TextClassifier` on a public data set.

Adds a JSON line to a file of results, unless the line is there already: a loop over
many runs can be stopped and started again. The frozen biLM runs once for each data set
and model; its layers are kept in float16 in the folder `--cache`.

    python benchmarks/quality/tasks_heads.py --data-set wnut17 --vectors both \\
        --head crf --seed 0 --elmo saved_models/elmo-en --static runs/static-en.txt \\
        --cache runs/layers --results runs/heads.jsonl
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

import common
import data_sets
import keras
import numpy as np
from layer_cache import LayerCache

import keras_elmo
from keras_elmo.embedding.parts import encoder_hash, file_hash
from keras_elmo.text.tagged_text import read_tagged

VECTORS = ("static", "elmo", "both")
HEADS = ("softmax", "crf")


class DataSet(NamedTuple):
    """Where a data set is; `{}` stands for `train` and `dev`.

    A tagger reads the `column` of its files, a classifier what `read` returns. What
    differs from the defaults stands in `model` and `fit`; `decay` is the rate that
    falls to 0 over all epochs by a cosine.
    """

    files: str
    language: str
    column: str | int | None = None
    read: Any = None
    model: dict[str, Any] = {}
    fit: dict[str, Any] = {}
    decay: float | None = None


DATA_SETS = {
    "ewt-upos": DataSet("ud_en_ewt/{}.conllu.xz", "en", "upos"),
    "ewt-xpos": DataSet("ud_en_ewt/{}.conllu.xz", "en", "xpos"),
    "gsd-upos": DataSet("ud_ko_gsd/{}.conllu.xz", "ko", "upos"),
    "gsd-xpos": DataSet("ud_ko_gsd/{}.conllu.xz", "ko", "xpos"),
    "wnut17": DataSet("wnut17/{}.conll", "en"),
    "sst2": DataSet("sst/sst2.{}.txt", "en", read=data_sets.read_labelled),
    "sst5": DataSet("sst/sst5.{}.txt", "en", read=data_sets.read_labelled),
    # Of so many texts a larger layer with less dropout learns more.
    "nsmc": DataSet(
        "nsmc/{}.tsv.xz",
        "ko",
        read=data_sets.read_tsv,
        model={"dropout": 0.2, "lstm_units": 128},
        fit={"epochs": 5, "batch_size": 64},
        decay=2e-3,
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains one model and adds its scores to the results."""
    path = {"metavar": "PATH"}
    options = common.options(
        __doc__,
        arguments,
        data_set=(None, "", {"choices": DATA_SETS, "required": True}),
        vectors=("elmo", "", {"choices": VECTORS}),
        head=("crf", "of a tagger", {"choices": HEADS}),
        seed=0,
        epochs=(None, "at most; if not given, as `fit` has it", {"type": int}),
        train=(None, "first training examples alone", {"type": int}),
        elmo=(None, "the model", path),
        static=(None, "file of static vectors", path),
        cache=(None, "folder of stored layers", path),
        results=(Path("runs/heads.jsonl"), "", path),
    )
    data_set = DATA_SETS[options.data_set]
    source = options.elmo or str(common.ROOT / f"saved_models/elmo-{data_set.language}")
    if options.vectors != "elmo" and options.static is None:
        raise SystemExit(f"--vectors {options.vectors} needs --static FILE")
    encoder = keras_elmo.load(source)
    run = {
        "data_set": options.data_set,
        "vectors": options.vectors,
        "head": "softmax" if data_set.read else options.head,
        "seed": options.seed,
        "epochs": options.epochs,
        "train": options.train,
        "settings": {**data_set.model, **data_set.fit, "decay": data_set.decay},
        "elmo": encoder_hash(encoder)[:12] if options.vectors != "static" else None,
        "static": file_hash(options.static)[:12] if options.vectors != "elmo" else None,
    }
    results = Path(options.results)
    if run in map(_run_of, _lines(results)):
        print(f"there already: {run}", file=sys.stderr)
        return
    result = {**run, **measure(data_set, run, encoder, options.static, options.cache)}
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf-8") as file:
        # One write, so that lines of two processes never mix.
        file.write(json.dumps(result) + "\n")
    print(json.dumps(result))


def measure(
    data_set: DataSet,
    run: dict[str, Any],
    encoder: keras_elmo.Encoder,
    static: str | None,
    cache: str | None,
) -> dict[str, Any]:
    """Trains a model, and returns its scores, the seconds and the size."""
    keras.utils.set_random_seed(run["seed"])
    elmo = _no_elmo(encoder.tokenizer) if run["vectors"] == "static" else None
    settings = data_set.model | {"static": static if run["vectors"] != "elmo" else None}
    read = _labelled if data_set.read else _tagged
    train, dev = read(data_set)
    name = run["data_set"].partition("-")[0]
    began = time.monotonic()
    layers = None
    if cache is not None and elmo is None:
        layers = LayerCache(Path(cache), encoder, name)
        layers.add([*train[0], *dev[0]])
    train = [rows[: run["train"]] for rows in train]
    embedded = time.monotonic()
    model: Any
    if data_set.read:
        model = keras_elmo.TextClassifier(elmo or encoder, **settings)
    else:
        crf = run["head"] == "crf"
        model = keras_elmo.Tagger(elmo or encoder, crf=crf, **settings)
    fit = data_set.fit | ({"epochs": run["epochs"]} if run["epochs"] else {})
    if data_set.decay:
        steps = fit["epochs"] * -(-len(train[0]) // fit["batch_size"])
        rate = keras.optimizers.schedules.CosineDecay(data_set.decay, steps)
        model.compile(keras.optimizers.Adam(rate), model.loss, metrics=["accuracy"])
    with LayerCache.used(layers):
        history = model.fit(*train, validation_data=dev, verbose=2, **fit).history
    trained = time.monotonic()
    with LayerCache.used(layers):
        scores = model.evaluate(*dev)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        model.save(path)
        num_bytes = path.stat().st_size
    by_epoch = history.get("val_f1", history["val_accuracy"])
    return {
        "scores": {k: v for k, v in scores.items() if not isinstance(v, dict)},
        "by_epoch": [round(score, 4) for score in by_epoch],
        "seconds": {
            "layers": round(embedded - began, 1),
            "training": round(trained - embedded, 1),
        },
        "parameters": sum(int(np.prod(w.shape)) for w in model.trainable_weights),
        "bytes": num_bytes,
        "environment": common.environment(),
    }


def _tagged(data_set: DataSet) -> list[Any]:
    """Returns words and tags of the training and of the development data."""
    parts: list[Any] = []
    for split in ("train", "dev"):
        path = common.data_folder() / data_set.files.format(split)
        sentences = read_tagged(str(path), data_set.column)
        parts.append(
            [[row.words for row in sentences], [row.tags for row in sentences]]
        )
    return [parts[0], tuple(parts[1])]


def _labelled(data_set: DataSet) -> list[Any]:
    """Returns texts and labels, without empty texts."""
    parts: list[Any] = []
    for split in ("train", "dev"):
        pairs = data_set.read(common.data_folder() / data_set.files.format(split))
        texts, labels = zip(*(pair for pair in pairs if pair[0]), strict=True)
        parts.append([list(texts), list(labels)])
    return [parts[0], tuple(parts[1])]


def _no_elmo(tokenizer: str | None) -> keras_elmo.ElmoEmbedding:
    """Returns a layer of few units that are always 0."""
    config = keras_elmo.ElmoConfig(
        filters=((1, 1),), char_embedding_units=1, units=1, projection_units=1
    )
    elmo = keras_elmo.ElmoEmbedding(keras_elmo.Encoder(config, tokenizer=tokenizer))
    for mix in elmo.mixes:
        mix.gamma.assign(0)
        mix.trainable = False
    return elmo


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _run_of(result: dict[str, Any]) -> dict[str, Any]:
    names = ("data_set", "vectors", "head", "seed", "epochs", "train", "settings")
    return {name: result.get(name) for name in (*names, "elmo", "static")}


if __name__ == "__main__":
    main()
