"""What do more words of text buy? Equal updates, on texts of several sizes.

Every text is the beginning of the largest one, and every model predicts the words of
the smallest, so that perplexities compare. A model is the best of its run by the
held-out text. Parts of speech are read off its frozen vectors by least squares: from
the word alone (layer 0), and from all layers. 0 words is a model that was not trained.

Runs are kept in `--runs`; what is there is gone on with, or not trained again.

    python benchmarks/low_resource.py --text 'DATA/enwiki/train-*.txt.xz' \\
        --heldout DATA/enwiki/dev.txt.xz --treebank DATA/ud_en_ewt --runs runs/low
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
import keras
import numpy as np
from quality.data_sets import read_conllu

import keras_elmo
from keras_elmo.files.history import read_history
from keras_elmo.text.lines import expand_files, read_lines

# Held-out lines that choose among the measurements of a run; others are the test.
_CHOOSING, _TESTING = 200, 1000
_MEASUREMENTS = 10
# Of the squared weights of the tagger.
_PENALTY = 1.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        text=(None, "files or glob patterns", {"required": True, "nargs": "+"}),
        heldout=(None, "held-out text", {"required": True}),
        treebank=(
            None,
            "train and dev.conllu.xz",
            {"required": True, "type": common.existing},
        ),
        runs=(None, "folder of the runs", {"required": True, "type": Path}),
        words=[30_000, 100_000, 300_000, 1_000_000, 3_000_000],
        preset="tiny",
        dropout=0.1,
        vocabulary_size=3000,
        num_sampled=512,
        steps=1000,
        sentences=(2000, "that the tagger learns from"),
    )
    config = keras_elmo.ElmoConfig.preset(options.preset)
    config = dataclasses.replace(config, dropout=options.dropout)
    options.runs.mkdir(parents=True, exist_ok=True)
    choosing, testing = _heldout(options)
    smallest = _beginning(options, min(options.words))
    vocabulary = keras_elmo.Vocabulary.count(smallest, max_size=options.vocabulary_size)
    keras.utils.set_random_seed(0)
    untrained = keras_elmo.build_encoder(config)
    runs = [{"words": 0, **_tagged(untrained, options)}]
    for words in options.words:
        corpus = keras_elmo.Corpus(_beginning(options, words), vocabulary)
        directory = options.runs / str(words)
        keras_elmo.pretrain(
            config,
            corpus,
            keras_elmo.Corpus(choosing, vocabulary),
            directory,
            optimizer="adam",
            learning_rate=0.004,
            schedule="cosine",
            warmup_steps=options.steps // 20,
            steps=options.steps,
            num_sampled=options.num_sampled,
            validate_every=max(1, options.steps // _MEASUREMENTS),
            resume=True,
        )
        measured = keras_elmo.perplexity(str(directory), str(testing))
        tagged = _tagged(keras_elmo.load(str(directory)), options)
        runs.append(
            {
                "words": words,
                "perplexity": measured["mean"],
                "unknown_rate": measured["unknown_rate"],
                **_progress(directory),
                **tagged,
            }
        )
        print(runs[-1], file=sys.stderr)
    common.publish(options, table, runs=runs)


def _beginning(options: argparse.Namespace, words: int) -> str:
    """Writes the first lines of the text, of about so many words."""
    path = options.runs / f"{words}.txt"
    if not path.exists():
        lines = read_lines(expand_files(options.text))
        text = "\n".join(_first(lines, words)) + "\n"
        path.write_text(text, encoding="utf-8")
    return str(path)


def _first(lines: Iterator[Any], words: int) -> Iterator[str]:
    for line in lines:
        yield line
        words -= len(line.split())
        if words <= 0:
            return


def _heldout(options: argparse.Namespace) -> list[Path]:
    lines = read_lines(expand_files(options.heldout))
    paths = []
    for name, count in (("choosing", _CHOOSING), ("testing", _TESTING)):
        paths.append(options.runs / f"{name}.txt")
        text = "\n".join(islice(lines, count)) + "\n"
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def _progress(directory: Path) -> dict[str, float]:
    """Returns the words read at the end, and the update of the best measurement."""
    rows = read_history(directory / "history.csv")
    best = min(rows, key=lambda row: row.perplexity_mean)
    return {"words_read": rows[-1].words, "best_step": best.step}


def _tagged(
    encoder: keras_elmo.Encoder, options: argparse.Namespace
) -> dict[str, float]:
    """Returns the shares of tags that are right, in percent."""
    pairs = {
        part: read_conllu(options.treebank / f"{part}.conllu.xz")[: options.sentences]
        for part in ("train", "dev")
    }
    names = sorted({tag for _, tags in pairs["train"] for tag in tags})
    vectors, labels = {}, {}
    for part, sentences in pairs.items():
        found = keras_elmo.embed(encoder, [tokens for tokens, _ in sentences])
        vectors[part] = np.concatenate(list(found), axis=1)
        tags = [tag for _, tags in sentences for tag in tags]
        labels[part] = np.array(tags)[:, None] == np.array(names)
    shares = {}
    for name, layers in (("word_alone", slice(0, 1)), ("all_layers", slice(None))):
        train, dev = (
            _features(vectors[part][layers], vectors["train"][layers])
            for part in ("train", "dev")
        )
        penalty = _PENALTY * np.eye(train.shape[1])
        weights = np.linalg.solve(
            train.T @ train + penalty, train.T @ labels["train"].astype(float)
        )
        right = np.argmax(dev @ weights, axis=1) == np.argmax(labels["dev"], axis=1)
        shares[name] = 100 * float(np.mean(right & labels["dev"].any(axis=1)))
    return shares


def _features(vectors: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Returns `(words, features)`: standardised as the training words are, and 1."""
    flat, like = (
        np.moveaxis(each, 0, 1).reshape(each.shape[1], -1).astype(np.float64)
        for each in (vectors, train)
    )
    flat = (flat - like.mean(axis=0)) / (like.std(axis=0) + 1e-6)
    return np.pad(flat, [(0, 0), (0, 1)], constant_values=1)


def table(result: common.Result) -> str:
    """Returns a row for each text."""
    header = [
        "Words of text",
        "Passes over it",
        "Best update",
        "Perplexity",
        "Tags right, word alone, %",
        "all layers, %",
    ]
    rows = []
    for run in result["runs"]:
        trained = ["–"] * 3
        if run["words"]:
            trained = [
                f"{run['words_read'] / run['words']:.2g}",
                f"{run['best_step']:,.0f}",
                f"{run['perplexity']:.1f}",
            ]
        tags = [f"{run[name]:.1f}" for name in ("word_alone", "all_layers")]
        rows.append([f"{run['words']:,}", *trained, *tags])
    return common.markdown_table(header, rows)


if __name__ == "__main__":
    main()
