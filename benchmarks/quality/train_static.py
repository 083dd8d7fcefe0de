"""Static vectors of the text that a biLM was trained on: what ELMo is compared with.

fastText's skip-grams by gensim, which knows a vector for any word from its parts, also
for the tasks' words that the text does not have. Writes word2vec's text format.

    python benchmarks/quality/train_static.py --corpus 'DATA/enwiki/train-*.txt.xz' \\
        --language en --out runs/static-en.txt
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import common
from data_sets import DATA_SETS
from gensim.models import FastText
from gensim.models.keyedvectors import KeyedVectors

from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.files import replacing


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains the vectors and writes them."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens.txt")
        _write_tokens(options.corpus, options.tokenizer, tokens)
        model = FastText(
            corpus_file=tokens,
            vector_size=options.units,
            window=5,
            min_count=5,
            sg=1,
            epochs=options.epochs,
            # More than one, and the vectors come out differently each time.
            workers=1,
            seed=1,
        )
    words = list(model.wv.index_to_key)
    known = set(words)
    words += sorted(_task_words(options.language, options.tokenizer) - known)
    vectors = KeyedVectors(options.units)
    vectors.add_vectors(words, [model.wv[word] for word in words])
    with replacing(options.out) as temporary:
        vectors.save_word2vec_format(temporary)
    print(
        f"{len(known):,} words of the text, {len(words) - len(known):,} more of tasks"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", nargs="+", required=True, metavar="GLOB")
    parser.add_argument("--language", required=True, choices=("en", "ko"))
    parser.add_argument("--out", required=True, metavar="FILE")
    parser.add_argument("--tokenizer", default="unicode", help="(unicode)")
    parser.add_argument("--units", type=int, default=512, metavar="N", help="(512)")
    parser.add_argument("--epochs", type=int, default=5, metavar="N", help="(5)")
    return parser


def _write_tokens(corpus: list[str], tokenizer: str, path: str) -> None:
    lines = read_lines(expand_files(corpus))
    with open(path, "wb") as file:
        for tokens in tokenized_lines(lines, tokenizer, CorpusStats()):
            file.write(b" ".join(tokens) + b"\n")


def _task_words(language: str, tokenizer: str) -> set[str]:
    return {
        word
        for data_set in DATA_SETS.values()
        if data_set.language == language
        for sentence in data_set.read(common.data_folder(), tokenizer).sentences
        for word in sentence
    }


if __name__ == "__main__":
    main()
