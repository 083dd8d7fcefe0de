"""How fast is a model of ELMoForManyLangs, next to its own program? Words/s.

A model of the stock size with random weights, written by the program itself, its words
those that come twice in the text. Both systems embed the same real sentences, in
batches of like length as each of them makes them, and return the mean of the layers;
each runs in a process of its own, in turn. The first batch is compared before anything
is timed.

    python benchmarks/many_langs.py --peer many-langs/bin/python --out many_langs.json

`embedder.py` says how to make the peer's environment.
"""

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread
from inference import Child, agreement, read_sentences

# Sentences of a repetition, by batch size: some seconds each.
_SENTENCES = {1: 20, 32: 160}
_TOLERANCE = 1e-5
_SIZES = "cnn_50_100_512_4096_sample.json"
_SPECIALS = ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="wikitext2/valid.txt.xz",
        peer=(None, "that has ELMoForManyLangs", {"metavar": "PYTHON"}),
        batch_sizes=(list(_SENTENCES), "", {"choices": list(_SENTENCES)}),
        repeats=5,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text, original = folder / "sentences.json", folder / "original"
        sentences = read_sentences(options.corpus)
        text.write_text(json.dumps(sentences), encoding="utf-8")
        common.call_in_process(
            "many_langs", "write_model", text, original, python=options.peer
        )
        common.call_in_process("many_langs", "convert", original, folder / "ours")
        rows = [_measure(size, folder, options) for size in options.batch_sizes]
    common.publish(options, table, rows=rows)


def write_model(text: str, folder: str) -> None:
    """Writes a model; runs in the peer's environment."""
    import elmoformanylangs
    import torch
    from elmoformanylangs.frontend import Model
    from elmoformanylangs.modules.embedding_layer import EmbeddingLayer

    sentences = json.loads(Path(text).read_text(encoding="utf-8"))
    words = Counter(word for sentence in sentences for word in sentence)
    characters = sorted({character for word in words for character in word})
    entries = {
        "word": [*_SPECIALS, *(word for word, count in words.items() if count > 1)],
        "char": [*_SPECIALS, *characters],
    }
    configs = Path(elmoformanylangs.__file__).parent / "configs"
    sizes = json.loads((configs / _SIZES).read_text(encoding="utf-8"))
    torch.manual_seed(0)
    layers = [
        EmbeddingLayer(
            sizes["token_embedder"][f"{name}_dim"],
            {entry: row for row, entry in enumerate(rows)},
            fix_emb=False,
        )
        for name, rows in entries.items()
    ]
    model = Model(sizes, *layers)
    out = Path(folder)
    out.mkdir()
    for name in ("token_embedder", "encoder"):
        torch.save(getattr(model, name).state_dict(), out / f"{name}.pkl")
    for name, rows in entries.items():
        lines = [f"{entry}\t{row}\n" for row, entry in enumerate(rows)]
        (out / f"{name}.dic").write_text("".join(lines), encoding="utf-8")
    (out / "config.json").write_text(json.dumps({"config_path": f"/{_SIZES}"}))


def convert(folder: str, out: str) -> None:
    """Imports the model, so that the process that is measured has not read it."""
    import keras_elmo

    keras_elmo.import_model(folder, out)


def _measure(
    batch_size: int, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Times every system on the same sentences, in turn."""
    ours = sys.executable, "keras_elmo_sorted"
    systems = {
        "keras_elmo": (*ours, "float32", folder / "ours"),
        "keras_elmo, bfloat16": (*ours, "bfloat16", folder / "ours"),
        "elmoformanylangs": (
            *(options.peer, "elmoformanylangs", "float32"),
            folder / "original",
        ),
    }
    text, count = folder / "sentences.json", _SENTENCES[batch_size]
    with contextlib.ExitStack() as stack:
        children = {
            name: stack.enter_context(Child(*system, batch_size))
            for name, system in systems.items()
        }
        first = {
            name: child.embed(text, batch_size, compare=True)["vectors"]
            for name, child in children.items()
        }
        agreements = {
            name: agreement(first["keras_elmo"], vectors)
            for name, vectors in first.items()
        }
        peer = agreements["elmoformanylangs"]
        if peer["greatest_difference"] > _TOLERANCE:
            raise RuntimeError(f"elmoformanylangs computes something else: {peer}")
        answers: dict[str, dict[str, Any]] = {}

        def speed(name: str) -> float:
            answers[name] = children[name].embed(text, count)
            return answers[name]["words"] / answers[name]["seconds"]

        speeds = common.in_turn(
            {name: partial(speed, name) for name in children},
            options.repeats,
            f"words/s, batches of {batch_size}, ",
        )
    return {
        "batch_size": batch_size,
        "sentences": count,
        "systems": {
            name: {
                "median": statistics.median(speeds[name]),
                "words_per_second": speeds[name],
                "peak_bytes": answers[name]["peak_bytes"],
                **agreements[name],
            }
            for name in children
        },
    }


def table(result: common.Result) -> str:
    """Returns the figures, a row a batch size and a system."""
    header = ["Sentences a batch", "System", "Words/s, median", "least to most"]
    header += ["of elmoformanylangs'", "Peak memory, MB", "Greatest difference"]
    rows = []
    for row in result["rows"]:
        peer = row["systems"]["elmoformanylangs"]["median"]
        rows += [
            [
                str(row["batch_size"]),
                system,
                *spread(figures["words_per_second"]),
                f"{figures['median'] / peer:.2f}",
                megabytes(figures["peak_bytes"]),
                f"{figures['greatest_difference']:.1e}",
            ]
            for system, figures in row["systems"].items()
        ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
