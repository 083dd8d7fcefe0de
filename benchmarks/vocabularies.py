"""How do language models of different vocabularies compare? In bits a character.

Perplexities do not: the smaller a vocabulary, the more words are `<UNK>`, which is easy
to predict. So a word that a model lacks costs, beside `<UNK>`, its share of all words
that the model lacks, by the counts of the largest vocabulary. What that one lacks, too,
counts as one word.

    python benchmarks/vocabularies.py --models runs/ko-28000 runs/ko-100000 \\
        --text DATA/kowiki/dev.txt.xz
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import common
from common import markdown_table

if TYPE_CHECKING:
    from keras_elmo import Vocabulary


def main(arguments: Sequence[str] | None = None) -> None:
    options = common.options(
        __doc__,
        arguments,
        models=(["elmo-ko"], "of one tokenizer"),
        text=(None, "held-out text", {"required": True}),
    )
    import keras_elmo
    from keras_elmo.text.lines import expand_files, read_lines
    from keras_elmo.text.stats import CorpusStats

    models = [keras_elmo.load_language_model(model) for model in options.models]
    tokenizer, *others = {model.encoder.tokenizer for model in models}
    vocabularies = [model.vocabulary for model in models]
    largest = max(vocabularies, key=len)
    if others or any(each.lookup.keys() - largest.lookup for each in vocabularies):
        raise SystemExit("one has another tokenizer, or words that the largest lacks")
    if largest.counts is None:
        raise SystemExit("the largest vocabulary has no counts beside it")
    of_text = keras_elmo.Vocabulary.count(options.text, tokenizer)
    lines = read_lines(expand_files(options.text), CorpusStats())
    characters = sum(map(len, lines))
    runs = []
    for model in models:
        measured = keras_elmo.perplexity(model, options.text)
        bits = measured["tokens"] * math.log2(measured["mean"])
        bits += bits_of_unknown_words(of_text, model.vocabulary, largest)
        runs.append(
            {
                "words": len(model.vocabulary),
                "unknown_rate": measured["unknown_rate"],
                "perplexity": measured["mean"],
                "bits_per_character": bits / characters,
            }
        )
    common.publish(options, table, runs=runs)


def bits_of_unknown_words(
    text: "Vocabulary", vocabulary: "Vocabulary", largest: "Vocabulary"
) -> float:
    """Returns the bits that tell the words of a text that are `<UNK>` from each other.

    Args:
        text: its words, with their counts.
        vocabulary: the words that are not `<UNK>`.
        largest: these and more words, with their counts in the training text.
    """
    known = set(vocabulary.words[3:])
    counts = dict(zip(largest.words, largest.counts, strict=True))
    # The training text may have had no other words.
    counts["<UNK>"] = max(1, counts["<UNK>"])
    all_unknown = sum(count for word, count in counts.items() if word not in known)
    bits = 0.0
    for word, times in zip(text.words, text.counts, strict=True):
        if word not in known:
            count = counts.get(word, counts["<UNK>"])
            bits += times * math.log2(all_unknown / count) if times else 0.0
    return bits


def table(result: common.Result) -> str:
    """Returns the figures, a row for each model."""
    header = ["Words", "Unknown, %", "Perplexity", "Bits a character"]
    rows = [
        [
            f"{run['words']:,}",
            f"{100 * run['unknown_rate']:.1f}",
            f"{run['perplexity']:.1f}",
            f"{run['bits_per_character']:.4f}",
        ]
        for run in result["runs"]
    ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
