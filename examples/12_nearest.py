"""Find nearest neighbours and substitutes of words with several meanings.

    python examples/12_nearest.py                          # by the shipped models
    python examples/12_nearest.py --model runs/my-elmo --words bank play

For one sentence of each meaning, prints the sentence with the same word whose vector is
closest, and the words that the language model expects in its place. The sentences, a
few for each meaning, were written for this example. A file of your own (`--data`) has a
word, a meaning and a sentence on each line, separated by tabs; the sentence is of
tokens separated by spaces, with the word in brackets: `on the [bank] .`
"""

import argparse
import functools
from pathlib import Path

from sense_examples import DATA, Example, examples_of, read_examples
from shipped_models import shipped_model

import keras_elmo


def closest(encoder, example: Example, others: list[Example]) -> tuple[Example, float]:
    """Returns the other sentence whose word has the closest vector, and its cosine."""
    by_place = {(*other.tokens, other.position): other for other in others}
    found = keras_elmo.nearest(
        encoder,
        example.target,
        example.tokens,
        corpus=[other.tokens for other in others],
        among={other.target for other in others}.__contains__,
        num=sum(len(other.tokens) for other in others),
    )
    # A form of the word may also stand outside of the brackets.
    for each in found:
        if other := by_place.get((*each.sentence, each.position)):
            return other, each.cosine
    raise AssertionError("each of the sentences has its word")


def main(model: Path | None, data: Path, words: list[str] | None) -> None:
    load = functools.cache(keras_elmo.load_language_model)
    for word, chosen in examples_of(words, read_examples(data)).items():
        language_model = load(model or shipped_model(word))
        if len(chosen) < 2:
            print(f"\n{word}: nothing to compare its one sentence with")
            continue
        right, shown = 0, set()
        for example in chosen:
            others = [other for other in chosen if other is not example]
            other, cosine = closest(language_model.encoder, example, others)
            right += other.sense == example.sense
            if example.sense in shown:
                continue
            shown.add(example.sense)
            print(f"\n{word}, {example.sense}: {' '.join(example.tokens)}")
            print(f"   closest, {cosine:.2f}, {other.sense}: {' '.join(other.tokens)}")
            instead = keras_elmo.substitutes(
                language_model, example.tokens, example.position, num=5
            )
            print("   instead:", ", ".join(each.word for each in instead))
        print(f"\n{word}: the closest means the same in {right} of {len(chosen)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a language model's folder")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--words", nargs="*", help="(all)")
    main(**vars(parser.parse_args()))
