"""Static vectors of the text that a biLM was trained on: what ELMo is compared with.

fastText's skip-grams by gensim, which makes a vector for any word from its parts, also
for words that the text lacks. Writes the vectors of the tasks' words in word2vec's text
format.

    python benchmarks/quality/train_static.py --corpus 'DATA/enwiki/train-*.txt.xz' \\
        --language en --out runs/static-en.txt
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import common
from gensim.models import FastText
from gensim.models.keyedvectors import KeyedVectors
from task_data import DATA_SETS

import keras_elmo
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.files import replacing


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains the vectors and writes them."""
    options = common.options(
        __doc__,
        arguments,
        corpus=(None, "files or glob patterns", {"nargs": "+", "required": True}),
        language=(None, "of the tasks", {"choices": ("en", "ko"), "required": True}),
        tokenizer="unicode",
        units=512,
        epochs=5,
    )
    if options.out is None:
        raise SystemExit("--out FILE is needed")
    language, tokenizer = options.language, options.tokenizer
    # Everything that can be missing is read before the training.
    lines = read_lines(expand_files(options.corpus))
    words = sorted(words_of_tasks(language, tokenizer))
    with replacing(options.out) as written:
        model = trained(lines, tokenizer, options.units, options.epochs)
        save(model, words, written)
    known = sum(word in model.wv.key_to_index for word in words)
    print(f"{len(words):,} words of the tasks, {known:,} of them in the text")


def trained(lines: Iterable[str], tokenizer: str, units: int, epochs: int) -> FastText:
    """Trains fastText's skip-grams on the words of lines."""
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "tokens.txt")
        with open(text, "wb") as file:
            for tokens in tokenized_lines(lines, tokenizer, CorpusStats()):
                file.write(b" ".join(tokens) + b"\n")
        return FastText(
            corpus_file=text,
            vector_size=units,
            window=5,
            min_count=5,
            sg=1,
            epochs=epochs,
            # With more workers, the vectors come out differently each time.
            workers=1,
            seed=1,
        )


def words_of_tasks(language: str, tokenizer: str) -> set[str]:
    """Returns the words of all tasks."""
    words: set[str] = set()
    split = keras_elmo.Tokenizer(tokenizer).ragged
    for data_set in DATA_SETS.values():
        if data_set.language == language:
            for path in data_set.paths():
                sentences, _ = data_set.rows(path)
                if isinstance(sentences[0], str):
                    rows = split(sentences).to_list()
                    sentences = [[word.decode() for word in row] for row in rows]
                words.update(*sentences)
    return words


def save(model: FastText, words: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Writes the vectors of words in word2vec's text format."""
    vectors = KeyedVectors(model.vector_size)
    vectors.add_vectors(words, [model.wv[word] for word in words])
    vectors.save_word2vec_format(path)


if __name__ == "__main__":
    main()
