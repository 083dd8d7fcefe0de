"""What the language models know: perplexity of held-out texts, and BLiMP's pairs.

Which of two sentences is grammatical? A pair of BLiMP is right if the model finds the
grammatical one more likely: forward, backward, or by the sum of both. Pairs whose words
the vocabulary has are also counted alone.

Reference: Warstadt et al. 2020, "BLiMP: The Benchmark of Linguistic Minimal Pairs for
English".
"""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import common
import numpy as np
from measured_model import MeasuredModel
from scores import Job, Result

import keras_elmo

# The name of a paradigm's score begins with it.
PARADIGM = "blimp, "
# Development texts by language, and the positions of a row with its boundaries.
TEXTS = {"en": ("enwiki", "enwiki2", "enbooks"), "ko": ("kowiki",)}
ROWS = {"rows": 66, "paragraphs": 258}


def perplexity_key(text: str, rows: str) -> str:
    """Returns the name of the perplexity of a development text."""
    return f"perplexity, {text}, {rows}"


def perplexity_jobs(model: MeasuredModel) -> Iterator[Job]:
    """Yields the perplexity of each development text."""
    conditions = {"vectors": model.digest("elmo")}
    for text in TEXTS[model.language]:
        for rows in ROWS:
            keys = (perplexity_key(text, rows),)
            yield Job(keys, conditions, measure_perplexity, (text, rows))


def measure_perplexity(model: MeasuredModel, text: str, rows: str) -> list[Result]:
    """Returns the perplexities of a development text."""
    corpus = keras_elmo.Corpus(
        common.data_folder() / text / "dev.txt.xz",
        model.language_model.vocabulary,
        tokenizer=model.tokenizer,
        max_tokens=ROWS[rows],
    )
    result = keras_elmo.perplexity(model.language_model, corpus)
    return [{**result, "score": result["mean"]}]


def blimp_jobs(model: MeasuredModel) -> Iterator[Job]:
    """Yields the paradigms, which are English."""
    conditions = {"vectors": model.digest("elmo")}
    if model.language == "en":
        for path in sorted((common.data_folder() / "blimp").glob("*.jsonl*")):
            keys = (PARADIGM + path.name.partition(".")[0],)
            yield Job(keys, conditions, measure_pairs, (path,))


def measure_pairs(model: MeasuredModel, path: Path) -> list[Result]:
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
            for s in keras_elmo.score(model.language_model, sentences, 128)
        ]
    ).reshape(len(pairs), 2, 4)
    right = rows[:, 0, :3] > rows[:, 1, :3]
    known = ~rows[..., 3].astype(bool).any(axis=1)
    percentages = {
        name: [len(chosen), *(100 * chosen.mean(axis=0)).tolist()]
        for name, chosen in (("all", right), ("known", right[known]))
        if len(chosen)
    }
    result = {
        "phenomenon": pairs[0].get("linguistics_term", ""),
        "score": percentages["all"][-1],
        **percentages,
    }
    return [result]
