"""Pretrains a BERT-style encoder, what ELMo is compared with: same text, time and size.

KerasHub's BertBackbone on its two tasks, masked words and whether the second segment
goes on with the first; the learning rate rises for a tenth of the time and falls to 0.
Files are mixed and paragraphs drawn as `keras-elmo pretrain` does, and pairs of like
length share a batch, so that little of the time goes into padding. The same command
again goes on where it was stopped.

    python benchmarks/quality/pretrain_bert.py --corpus 'DATA/enwiki/train-*.txt.xz' \\
        --minutes 120 --out runs/bert-en
"""

import argparse
import functools
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

import bert
import common
import keras
import keras_hub
import numpy as np
from tensorflow_text.tools.wordpiece_vocab import (
    wordpiece_tokenizer_learner_lib as learner,
)

from keras_elmo.text.batching import mixed_lines, tokenized_lines
from keras_elmo.text.lines import expand_files
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.bfloat16 import warn_if_slow
from keras_elmo.utils.files import replacing, write_json

# The options that a run goes on with.
_RECIPE = (
    *("corpus", "tokenizer", "dtype", "vocabulary_size", "layers", "heads", "units"),
    *("max_pieces", "batch_pieces", "seed"),
)
_PEAK_LEARNING_RATE = 1e-3
_WEIGHT_DECAY = 0.01
_MASKED = 0.15
# Paragraphs from which the pieces are learned, and the characters that each word can be
# spelt with: of Hangul's syllables two thousand are in use.
_VOCABULARY_LINES = 100_000
_CHARACTERS = 3_000
_POOL = 4096
_UNFINISHED = "unfinished.npz"
# Seconds.
_KEPT_EVERY = 300


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, and writes the encoder."""
    options = _options(arguments)
    if options.out is None:
        raise SystemExit("--out DIR is needed")
    keras.utils.set_random_seed(options.seed)
    warn_if_slow(keras.dtype_policies.get(options.dtype))
    folder = Path(options.out)
    run = _described(folder, options)
    backbone = bert.build(run["sizes"], options.dtype)
    model = _pretraining_model(backbone, options)
    pieces = bert.Pieces(run["pieces"])
    steps, loss = _train(model, pieces, folder / _UNFINISHED, options)
    backbone.save_weights(folder / bert.WEIGHTS)
    parameters = backbone.count_params()
    print(f"{steps:,} steps, {parameters:,} parameters, loss {loss:.3f}")


def _save(model: Any, path: Path, *progress: float) -> None:
    """Writes all variables of a model and its optimizer, and its progress."""
    arrays = [np.asarray(variable) for variable in _variables(model)]
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, *arrays, progress=np.array(progress))


def _restore(model: Any, path: Path) -> tuple[float, int, float]:
    """Reads what `_save` has written, if it is there; returns the progress."""
    if not path.exists():
        return 0.0, 0, 0.0
    with np.load(path) as stored:
        for number, variable in enumerate(_variables(model)):
            variable.assign(stored[f"arr_{number}"])
        seconds, step, loss = stored["progress"].tolist()
    return seconds, int(step), loss


def _variables(model: Any) -> list[Any]:
    return [*model.variables, *model.optimizer.variables]


def _described(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Returns the recipe, sizes and pieces of a run, a new one or an earlier one."""
    recipe = {name: getattr(options, name) for name in _RECIPE}
    path = folder / bert.DESCRIPTION
    if path.exists():
        run = bert.read_description(folder)
        for name, value in recipe.items():
            if run["recipe"][name] != value:
                raise SystemExit(
                    f"--{name.replace('_', '-')} must be {run['recipe'][name]!r}, as "
                    f"in {path}. Received: {value!r}"
                )
        return run
    pieces = _vocabulary(options)
    sizes = {
        "vocabulary_size": len(pieces),
        "num_layers": options.layers,
        "num_heads": options.heads,
        "hidden_dim": options.units,
        "intermediate_dim": 4 * options.units,
        "max_sequence_length": options.max_pieces,
    }
    run = {"recipe": recipe, "sizes": sizes, "pieces": pieces}
    write_json(path, run)
    return run


def _train(
    model: keras.Model, pieces: bert.Pieces, path: Path, options: argparse.Namespace
) -> tuple[int, float]:
    """Trains for the minutes that are left; returns the updates and the mean loss."""
    # The seconds are those of updates, and of reading the text for them.
    seconds, step, loss = _restore(model, path)
    vocabulary_size = model.get_layer("words").vocabulary_size
    batches = _batches(options, pieces, vocabulary_size, step)
    batch = next(batches)
    kept = told = 0.0
    while (share := seconds / (60 * options.minutes)) < 1:
        model.optimizer.learning_rate = _PEAK_LEARNING_RATE * min(
            10 * share + 1e-3, (1 - share) / 0.9
        )
        began = time.monotonic()
        logs = model.train_on_batch(*batch, return_dict=True)
        batch = next(batches)
        now = time.monotonic()
        seconds += now - began
        step += 1
        loss += (logs["loss"] - loss) / min(step, 100)
        if now > told + 30:
            told = now
            print(f"step {step:,}, {share:.0%}: loss {loss:.3f}", file=sys.stderr)
        if now > kept + _KEPT_EVERY:
            kept = now
            _save(model, path, seconds, step, loss)
    _save(model, path, seconds, step, loss)
    return step, loss


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    return common.options(
        __doc__,
        arguments,
        corpus=(None, "files or glob patterns", {"nargs": "+", "required": True}),
        minutes=(None, "of updates", {"type": float, "required": True}),
        tokenizer="unicode",
        dtype="mixed_bfloat16",
        vocabulary_size=15_000,
        layers=4,
        heads=4,
        units=256,
        max_pieces=128,
        batch_pieces=4096,
        seed=0,
    )


def _paragraphs(options: argparse.Namespace, number: int) -> Iterator[list[str]]:
    """Yields the tokens of the paragraphs, in an order of each pass's own."""
    random = Random(options.seed << 32 | number)
    files = expand_files(options.corpus)
    report = CorpusStats()
    lines = mixed_lines(files, random, report)
    for tokens in tokenized_lines(lines, options.tokenizer, report):
        if len(tokens) > 1:
            yield [token.decode() for token in tokens]


def _vocabulary(options: argparse.Namespace) -> list[str]:
    lines = islice(_paragraphs(options, 0), _VOCABULARY_LINES)
    counts = Counter(word for words in lines for word in words)
    # What KerasHub has calls this with 1,000 characters, too few for Hangul.
    pieces = learner.learn(
        counts.most_common(),
        options.vocabulary_size,
        reserved_tokens=list(bert.SPECIALS),
        include_joiner_token=True,
        joiner="##",
        max_unique_chars=_CHARACTERS,
    )
    return pieces[: options.vocabulary_size]


def _batches(
    options: argparse.Namespace, pieces: bert.Pieces, vocabulary_size: int, first: int
) -> Iterator[Any]:
    """Yields inputs, targets and their weights, from the batch number `first` on."""

    @functools.cache
    def mask(width: int) -> Any:
        return keras_hub.layers.MaskedLMMaskGenerator(
            vocabulary_size,
            mask_selection_rate=_MASKED,
            mask_token_id=bert.MASK,
            mask_selection_length=math.ceil(_MASKED * width),
            unselectable_token_ids=[bert.PAD, bert.CLS, bert.SEP],
        )

    for batch in islice(_grouped(options, pieces), first, None):
        ids, padding = bert.padded([pair.ids for pair in batch], options.max_pieces)
        segments = [pair.segments for pair in batch]
        follows = np.array([pair.follows for pair in batch])
        masked = keras.tree.map_structure(np.asarray, mask(ids.shape[1])(ids))
        inputs = {
            "token_ids": masked["token_ids"],
            "segment_ids": bert.padded(segments, options.max_pieces)[0],
            "padding_mask": padding,
            "mask_positions": masked["mask_positions"],
        }
        targets = {"words": masked["mask_ids"], "follows": follows}
        weights = {
            "words": masked["mask_weights"].astype("float32"),
            "follows": np.ones(len(follows), "float32"),
        }
        yield inputs, targets, weights


class _Pair(NamedTuple):
    """The pieces of two segments; `follows` is 1 if they are neighbours in the text."""

    ids: list[int]
    segments: list[int]
    follows: int


def _grouped(options: argparse.Namespace, pieces: bert.Pieces) -> Iterator[list[_Pair]]:
    """Yields batches of pairs of like length, of at most `batch_pieces` pieces."""
    random = Random(options.seed)
    pairs = _pairs(options, pieces, random)
    while True:
        drawn = sorted(islice(pairs, _POOL), key=lambda pair: len(pair.ids))
        batches: list[list[_Pair]] = [[]]
        for pair in drawn:
            if (len(batches[-1]) + 1) * len(pair.ids) > options.batch_pieces:
                batches.append([])
            batches[-1].append(pair)
        random.shuffle(batches)
        yield from batches


def _pairs(
    options: argparse.Namespace, pieces: bert.Pieces, random: Random
) -> Iterator[_Pair]:
    """Yields pairs, half of them neighbours in the text, pass after pass over it.

    They are drawn from a pool, so that neighbouring pairs are in other batches.
    """
    room = options.max_pieces - 3
    pool: list[list[list[int]]] = []
    for number in count():
        for paragraph in _paragraphs(options, number):
            parts = bert.cut_between_words(pieces(paragraph), room)
            pool += [part for part in parts if len(part) > 1]
            while len(pool) > _POOL:
                place = random.randrange(len(pool))
                pool[place], pool[-1] = pool[-1], pool[place]
                words = pool.pop()
                cut = random.randrange(1, len(words))
                other = random.choice(pool)
                seconds = words[cut:], other[random.randrange(1, len(other)) :]
                # Either is as long as the shorter of the two: lengths tell nothing.
                length = min(map(len, seconds))
                follows = random.random() < 0.5
                second = seconds[0 if follows else 1][:length]
                yield _packed(words[:cut], second, room, follows)


def _packed(
    one: list[list[int]], other: list[list[int]], room: int, follows: bool
) -> _Pair:
    """Joins two segments, cut at their outer ends where there is no room."""
    first, second = sum(one, []), sum(other, [])
    if len(first) + len(second) > room:
        first = first[-max(room // 2, room - len(second)) :]
        second = second[: room - len(first)]
    ids = [bert.CLS, *first, bert.SEP, *second, bert.SEP]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return _Pair(ids, segments, int(follows))


def _pretraining_model(backbone: Any, options: argparse.Namespace) -> keras.Model:
    positions = keras.Input((None,), dtype="int32", name="mask_positions")
    outputs = backbone.output
    words = keras_hub.layers.MaskedLMHead(
        token_embedding=backbone.token_embedding,
        intermediate_activation="gelu",
        dtype=options.dtype,
        name="words",
    )(outputs["sequence_output"], mask_positions=positions)
    follows = keras.layers.Dense(2, dtype="float32", name="follows")(
        outputs["pooled_output"]
    )
    model = keras.Model(
        {**backbone.input, "mask_positions": positions},
        # Their logarithms are summed in float32.
        {"words": keras.ops.cast(words, "float32"), "follows": follows},
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.AdamW(
        _PEAK_LEARNING_RATE, weight_decay=_WEIGHT_DECAY, global_clipnorm=1.0
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, {"words": loss, "follows": loss}, jit_compile=False)
    return model


if __name__ == "__main__":
    main()
