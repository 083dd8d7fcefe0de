"""What the language models know: perplexity of held-out texts, and BLiMP's pairs.

Which of two sentences is grammatical? A pair of BLiMP is right if the model finds the
grammatical one more likely: forward, backward, or by the sum of both. Pairs whose words
the vocabulary has are also counted alone.

Reference: Warstadt et al. 2020, "BLiMP: The Benchmark of Linguistic Minimal Pairs for
English".
"""

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
from measured_model import MeasuredModel
from scores import Scores

import keras_elmo

Say = Callable[[str], None]

# The name of a paradigm's score begins with it.
PARADIGM = "blimp, "
# Development texts by language, and the positions of a row with its boundaries.
TEXTS = {"en": ("enwiki", "enwiki2", "enbooks"), "ko": ("kowiki",)}
ROWS = {"rows": 66, "paragraphs": 258}


def perplexity_key(text: str, rows: str) -> str:
    """Returns the name of the perplexity of a development text."""
    return f"perplexity, {text}, {rows}"


def measure_perplexity(model: MeasuredModel, scores: Scores, say: Say) -> None:
    """Adds the perplexities of a language that are missing."""

    def measure(model_with_softmax: Any, text: str, max_tokens: int) -> dict[str, Any]:
        files = common.data_folder() / text / "dev.txt.xz"
        corpus = keras_elmo.Corpus(
            files,
            model_with_softmax.vocabulary,
            tokenizer=model.tokenizer,
            max_tokens=max_tokens,
        )
        perplexities = keras_elmo.perplexity(model_with_softmax, corpus)
        return {**perplexities, "score": perplexities["mean"]}

    wanted = {
        perplexity_key(text, rows): (text, max_tokens)
        for text in TEXTS[model.language]
        for rows, max_tokens in ROWS.items()
    }
    _measure_missing(wanted, measure, model, scores, say)


def measure_blimp(model: MeasuredModel, scores: Scores, say: Say) -> None:
    """Adds the paradigms that are missing; they are English."""
    if model.language == "en":
        folder = common.data_folder() / "blimp"
        paths = sorted(folder.glob("*.jsonl*"))
        wanted = {PARADIGM + path.name.partition(".")[0]: (path,) for path in paths}
        _measure_missing(wanted, measure_pairs, model, scores, say)


def _measure_missing(
    wanted: dict[str, tuple[Any, ...]],
    measure: Callable[..., dict[str, Any]],
    model: MeasuredModel,
    scores: Scores,
    say: Say,
) -> None:
    vectors = model.digest("elmo")
    for key, arguments in wanted.items():
        if not scores.has(key, vectors=vectors):
            result = measure(model.language_model, *arguments)
            scores[key] = {"vectors": vectors, **result}
            say(f"{key}: {result['score']:.2f}")


def measure_pairs(model: object, path: Path) -> dict[str, Any]:
    """Returns the number of a paradigm's pairs and the percentages that are right."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        pairs = [json.loads(line) for line in file]
    # The sentences of a pair have about the same length.
    sentences = (
        pair[name] for pair in pairs for name in ("sentence_good", "sentence_bad")
    )
    rows = np.array(
        [
            [s.forward, s.backward, s.forward + s.backward, bool(s.unknown)]
            for s in keras_elmo.score(model, sentences, 128)
        ]
    ).reshape(len(pairs), 2, 4)
    right = rows[:, 0, :3] > rows[:, 1, :3]
    known = ~rows[..., 3].astype(bool).any(axis=1)
    percentages = {
        name: [len(chosen), *(100 * chosen.mean(axis=0)).tolist()]
        for name, chosen in (("all", right), ("known", right[known]))
        if len(chosen)
    }
    return {
        "phenomenon": pairs[0].get("linguistics_term", ""),
        "score": percentages["all"][-1],
        **percentages,
    }
