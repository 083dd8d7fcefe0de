"""The subcommands of `keras-elmo` that read models of other programs."""

import argparse
import json
import os
from collections.abc import Iterator

import keras_elmo
from keras_elmo.cli.parsing import (
    Given,
    Run,
    add_out,
    check_model,
    command,
    import_keras,
)
from keras_elmo.config import TOKENIZERS
from keras_elmo.utils.files import check_free


@command(
    "import",
    "convert a model of another program",
    "import elmo-dutch --out runs/dutch\n"
    "  keras-elmo import --checkpoint ckpt --vocabulary vocab.txt --out runs/mine",
    source="DIR",
    directory="--out",
    kind="--checkpoint, --hub, --many-langs, or --options with --weights,",
)
def _import(parser: argparse.ArgumentParser) -> Run:
    """Checks a model that another program made and writes one that every command takes.

    Of a TF Hub module, that is an exported model; of all others, a directory that
    embed, export and pretrain --init take.
    """
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "source",
        nargs="?",
        metavar="DIR",
        help="A folder with any of these; what it holds is found out",
    )
    source.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="A training folder of bilm-tf (options.json, model.ckpt-*), or the prefix "
        "of one checkpoint there; pretrain --resume goes on with it",
    )
    source.add_argument(
        "--hub", metavar="DIR", help="A module of TensorFlow Hub, with its mix"
    )
    source.add_argument(
        "--many-langs",
        metavar="DIR",
        help="A model of ELMoForManyLangs. Needs: pip install 'keras-elmo[torch]'",
    )
    source.add_argument(
        "--options", metavar="FILE", help="Published sizes, with --weights"
    )
    parser.add_argument("--weights", metavar="FILE", help="Published weights")
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        help="The words that the softmax of a checkpoint predicts, or of which "
        "published weights have an embedding, a line each",
    )
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        help="How the model's text was split, remembered with it: published for the "
        "original English models; if not given, text is taken as tokenized",
    )
    add_out(parser, "directory", "DIR", "The directory to write")

    def run(given: Given) -> None:
        check_free(given["directory"])
        if ("options" in given) != ("weights" in given):
            raise ValueError("--options and --weights must be given together")
        if "options" in given:
            import_keras()
            from keras_elmo.files.run_directory import import_published

            import_published(**given)
            return
        for kind in ("checkpoint", "hub", "many_langs"):
            if kind in given:
                given |= {"source": given.pop(kind), "kind": kind}
        if "source" not in given:
            raise ValueError(
                "one of DIR, --checkpoint, --hub, --many-langs, and --options with "
                "--weights, must say what to import"
            )
        import_keras()
        keras_elmo.import_model(**given)

    return run


@command(
    "inspect",
    "tell what a model is",
    "inspect saved_models/my-elmo",
    model="MODEL",
)
def _inspect(parser: argparse.ArgumentParser) -> Run:
    """Prints a model's kind, sizes, words and mix, and what can be done with it.

    The model may be of another program: then it has to be imported first.
    """
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="A folder, or what --model takes elsewhere",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON")

    def run(given: Given) -> None:
        if not os.path.exists(given["model"]):
            check_model(given["model"])
        import_keras()
        found = keras_elmo.inspect_model(given["model"])
        if "json" in given:
            print(json.dumps(found, ensure_ascii=False))
            return
        for name, text in _lines(found):
            print(f"{name:<12}{text}")

    return run


def _lines(found: Given) -> Iterator[tuple[str, str]]:
    """Yields what a model is for people to read."""
    cnn, lstm = found["config"]["char_cnn"], found["config"]["lstm"]
    numbers = found["parameters"]
    yield "model", found["path"]
    yield "kind", found["kind"]
    yield (
        "sizes",
        f"{lstm['n_layers']} layers of {lstm['dim']:,} LSTM units, projected to "
        f"{lstm['projection_dim']:,}; {lstm['n_layers'] + 1} vectors of "
        f"{found['vector_units']:,} for each word",
    )
    count = sum(number for _, number in cnn["filters"])
    if count:
        yield (
            "characters",
            f"{count:,} filters of widths "
            f"{', '.join(str(w) for w, _ in cnn['filters'])}, "
            f"{cnn['n_highway']} highway layer{'s' * (cnn['n_highway'] != 1)}",
        )
    if table := found["config"].get("token_vocabulary"):
        looked_up = (f"{table[each]:,} {each}" for each in table if table[each])
        yield "looks up", " and ".join(looked_up)
    softmax = f", {numbers['softmax']:,} in the softmax" if numbers["softmax"] else ""
    yield "parameters", f"{numbers['encoder']:,} in the encoder{softmax}"
    yield "computes in", found["dtype"]
    yield "tokenizer", found["tokenizer"] or "not known"
    if found["languages"]:
        yield "languages", ", ".join(found["languages"])
    words = found["vocabulary"]
    yield "vocabulary", f"{words:,} words" if words else "none: it predicts no words"
    if found["scripts"]:
        shares = found["scripts"].items()
        yield "scripts", ", ".join(f"{name} {share:.1%}" for name, share in shares)
    if mix := found["mix"]:
        weights = " ".join(f"{weight:.3f}" for weight in mix["weights"])
        yield "mix", f"{weights}, gamma {mix['gamma']:.3f}"
    if found["step"] is not None:
        yield "step", f"{found['step']:,}"
    if found["perplexity"] is not None:
        yield "perplexity", f"{found['perplexity']:.2f}, the lowest of the run"
    yield "for", ", ".join(found["uses"])
    yield "forms", "Keras, SavedModel, ONNX and int8: docs/models.md compares them"
