"""What are the vectors of `distill` worth, beside fastText's of the same text?

Both read the first words of a text. Their vectors are scored below the linear heads of
`run.py`, and by similarities of words (WordSim-353, SimLex-999, which come with
gensim), beside ELMo itself, which reads a single word as a sentence.

    python benchmarks/quality/distilled.py --corpus 'DATA/enwiki/train-*.txt.xz'
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import common
import train_static
import trained_heads
from encoders import Encoders
from experiments import EXPERIMENTS, TITLES
from gensim.models.keyedvectors import KeyedVectors
from gensim.test.utils import datapath
from scores import Scores

import keras_elmo
from keras_elmo.text.lines import expand_files, read_lines

_TASKS = ("ewt", "sst2")
_PAIRS = {"WordSim-353": "wordsim353.tsv", "SimLex-999": "simlex999.txt"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the vectors, scores them, and prints a table."""
    options = common.options(
        __doc__,
        arguments,
        corpus=(None, "files or glob patterns", {"nargs": "+", "required": True}),
        elmo="elmo-en",
        words=1_000_000,
        epochs=([5], "of fastText"),
        seeds=3,
        scores=(
            Path(__file__).with_name("scores.json"),
            "those of ELMo that are known",
            {"metavar": "FILE"},
        ),
    )
    elmo = keras_elmo.load(options.elmo)
    lines = list(_first(options.corpus, options.words))
    num_words = sum(len(line.split()) for line in lines)
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for system, path, seconds in _made(lines, elmo, options.epochs, folder):
            static = Encoders(elmo, path), Scores(path.with_suffix(".json"))
            rows[system] = _scored("static", *static, options.seeds) | _related(path)
            rows[system]["seconds"] = 1e6 * seconds / num_words if seconds else None
        # Of words that the others know, too.
        alone = _alone(elmo, folder / "distilled.txt", folder / "alone.txt")
        itself = Encoders(elmo), Scores(options.scores)
        rows["ELMo"] = _scored("elmo", *itself, options.seeds) | _related(alone)
    common.publish(options, table, num_words=num_words, rows=rows)


def _first(corpus: Sequence[str], num_words: int) -> Iterator[str]:
    """Yields the first lines of a text, which have so many words."""
    for line in read_lines(expand_files(corpus)):
        if num_words <= 0:
            return
        yield line
        num_words -= len(line.split())


def _made(
    lines: Sequence[str], elmo: keras_elmo.Encoder, epochs: Sequence[int], folder: Path
) -> Iterator[tuple[str, Path, float | None]]:
    """Yields names of vectors, their files, and the seconds that they took."""
    text, out = folder / "text.txt", folder / "distilled.txt"
    text.write_text("\n".join(lines), encoding="utf-8")
    began = time.monotonic()
    keras_elmo.distill(elmo, str(text), out)
    yield "distill", out, time.monotonic() - began
    tokenizer = elmo.tokenizer or "whitespace"
    words = train_static.words_of_tasks("en", tokenizer)
    units = 2 * elmo.config.projection_units
    for number in epochs:
        began = time.monotonic()
        model = train_static.trained(lines, tokenizer, units, number)
        seconds = time.monotonic() - began
        known = model.wv.index_to_key
        name, out = f"fastText, {number} epochs", folder / f"{number}.txt"
        train_static.save(model, known, out)
        yield name, out, seconds
        out = folder / f"{number}-parts.txt"
        train_static.save(model, [*known, *sorted(words - set(known))], out)
        yield f"{name}, and unknown words by their parts", out, None


def _alone(elmo: keras_elmo.Encoder, known: Path, out: Path) -> Path:
    """Writes ELMo's vectors of the words of a file, each read as a sentence."""
    words = KeyedVectors.load_word2vec_format(known).index_to_key
    layers = keras_elmo.embed(elmo, [[word] for word in words], 128)
    vectors = KeyedVectors(2 * elmo.config.projection_units)
    vectors.add_vectors(words, [each.mean(axis=0)[0] for each in layers])
    vectors.save_word2vec_format(out)
    return out


def _scored(
    name: str, encoders: Encoders, scores: Scores, seeds: int
) -> dict[str, float]:
    """Returns the scores of tasks, of which those that are known are kept."""
    rows = EXPERIMENTS["linear"]((name,)).rows
    runs = {task: rows[TITLES[task]][0] for task in _TASKS}
    trained_heads.measure("en", [*runs.values()], seeds, encoders, scores, _say)
    return {
        task: statistics.mean(scores[run.key(seed)]["score"] for seed in range(seeds))
        for task, run in runs.items()
    }


def _related(path: Path) -> dict[str, float]:
    """Returns Spearman's correlation of cosines and human judgements, in percent."""
    vectors = KeyedVectors.load_word2vec_format(path)
    found = {}
    for name, file in _PAIRS.items():
        _, (correlation, _), unknown = vectors.evaluate_word_pairs(datapath(file))
        found |= {name: 100 * correlation, f"{name}, unknown": unknown}
    return found


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def table(result: common.Result) -> str:
    """Returns a row for each kind of vectors."""
    header = ["Vectors", "s per million words", "EWT, parts of speech", "SST-2"]
    rows = [
        [
            name,
            f"{row['seconds']:,.0f}" if row.get("seconds") else "",
            *(f"{row[task]:.1f}" for task in _TASKS),
            *(f"{row[pairs]:.1f}" for pairs in _PAIRS),
        ]
        for name, row in result["rows"].items()
    ]
    return common.markdown_table([*header, *_PAIRS], rows)


if __name__ == "__main__":
    main()
