"""Text as ids, in one small file for a machine without TensorFlow.

    python benchmarks/gpu_ids.py 'train-*' --out ids.npz

Every line is a sentence. The file holds one after the other, with their boundaries; a
word's characters are in it once, however often the word occurs.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from keras_elmo import Vocabulary
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import END, START

Sentence = list[bytes]

_TOKENIZER = "unicode"


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the file and says what is in it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="or glob patterns")
    text = "the most frequent words of all the files (default: all of them)"
    parser.add_argument("--vocabulary-size", type=int, help=text)
    text = "end after the sentence that holds this word (default: 1,000,000)"
    parser.add_argument("--words", type=int, default=1_000_000, help=text)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help=".npz")
    options = parser.parse_args(arguments)
    files = expand_files(options.files)
    vocabulary = Vocabulary.count(files, _TOKENIZER, options.vocabulary_size)
    lines = tokenized_lines(read_lines(files), _TOKENIZER, CorpusStats())
    sentences = first_sentences(lines, options.words)
    arrays = compact_ids(sentences, vocabulary)
    np.savez_compressed(options.out, **arrays)
    print(
        f"{len(arrays['token_ids']):,} positions, {len(arrays['spellings']):,} "
        f"spellings, a vocabulary of {len(vocabulary):,}"
    )


def first_sentences(sentences: Iterable[Sentence], words: int) -> Iterator[Sentence]:
    """Yields sentences until they hold `words` words."""
    for sentence in sentences:
        yield sentence
        words -= len(sentence)
        if words <= 0:
            return


def compact_ids(
    sentences: Iterable[Sentence], vocabulary: Vocabulary
) -> dict[str, np.ndarray]:
    """Returns the arrays of the file.

    `spellings`, `(distinct, 50)`, are the character ids of each distinct word and of
    the boundaries; `places`, `(positions,)`, the row of each position among them.
    """
    sentences = list(sentences)
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    # Spelt as one sentence, the distinct words have both boundaries around them.
    begin, end = 0, len(words) + 1
    place = {word: k for k, word in enumerate(words, 1)}
    places: list[int] = []
    token_ids: list[int] = []
    for sentence in sentences:
        places += [begin, *(place[word] for word in sentence), end]
        token_ids += [START, *vocabulary.ids(sentence), END]
    return {
        "spellings": PlainIds()([words])[0].astype(np.uint16),
        "places": np.array(places, np.int32),
        "token_ids": np.array(token_ids, np.int32),
    }


def expanded_ids(path: Path) -> dict[str, np.ndarray]:
    """Returns `char_ids`, `(positions, 50)`, and `token_ids`, `(positions,)`, int32."""
    with np.load(path) as arrays:
        return {
            "char_ids": arrays["spellings"].astype(np.int32)[arrays["places"]],
            "token_ids": arrays["token_ids"],
        }


if __name__ == "__main__":
    main()
