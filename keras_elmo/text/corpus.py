"""Text files to training batches of whole sentences."""

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice, repeat
from random import Random

import keras
import numpy as np

from keras_elmo.config import TOKENIZERS
from keras_elmo.text.batch_shapes import BatchShapes, few_shapes, form_batch
from keras_elmo.text.batching import MAX_BATCH_TOKENS, length_batches
from keras_elmo.text.corpus_text import Row, open_text, read_rows
from keras_elmo.text.lines import Files
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import PADDING_ID, UNKNOWN, Vocabulary
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.checks import (
    called,
    check_at_least,
    check_boolean,
    check_choice,
    check_type,
    is_integer,
    received,
    refuse,
)
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Shape, Tensor

_NUM_BOUNDARIES = 2
# Fixed, because TensorFlow's own tuning may choose hundreds, which take memory.
_BATCHES_AHEAD = 8


class Corpus:
    """Text files as batches of whole sentences of about the same length.

    Every sentence is in one batch of an epoch. A batch of rows of T positions has
    `batch_tokens // T` rows, so there are few shapes and little padding. The same
    seed and epoch give the same batches, in any process. The text is streamed: the
    memory does not depend on its size. A folder that `prepare` wrote gives the same
    batches as the text that it was made of. Where TensorFlow is not installed, text is
    split in Python, by the extra `onnx`.

    Args:
        files: a path or a glob pattern, or several, for UTF-8 text with one sentence
            or paragraph per line; plain, `.gz` or `.xz`. Or a folder that `prepare`
            wrote. Or an iterable over texts or lists of tokens, which is prepared in a
            temporary folder.
        vocabulary: the words to predict.
        tokenizer: the kind of `Tokenizer`; `"unicode"` if `None`. A prepared folder has
            its own, and takes no other.
        batch_tokens: number of positions in a batch, boundaries and padding included.
        max_tokens: greatest number of positions in a row, its two boundaries included.
            A longer line is split, after the end of a sentence if there is one in the
            second half of the row.
        seed: decides the order.
        shard: index and number of shards, to read a part of the text: `(2, 4)` is the
            third of four. Shards hold whole files if there are enough, else lines.
        token_vocabulary: `config.token_vocabulary` of a model that looks tokens up.

    Attributes:
        files: the paths.
        tokenizer: the kind that splits the text.
        report: the `CorpusStats` of the latest pass; a dataset reads a few batches
            ahead.
        error: the exception that ended the latest pass, or `None`. An iterator of
            `dataset` raises an error of TensorFlow in place of it, `batches` raises it.

    Raises:
        ValueError: no file matches, there is no text, or a number is out of range.
        TypeError: `vocabulary` is not a `Vocabulary`.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the bank of the river\\nthe bank\\n")
    vocabulary = keras_elmo.Vocabulary.count("text.txt")
    corpus = keras_elmo.Corpus("text.txt", vocabulary, batch_tokens=20, max_tokens=10)
    (batch,) = corpus.batches(epoch=0)
    assert batch["char_ids"].shape == (2, 7, 50)
    assert batch["token_ids"].shape == (2, 7)
    assert (corpus.report.sentences, corpus.report.words) == (2, 7)
    ```
    """

    def __init__(
        self,
        files: Files | Iterable[object],
        vocabulary: Vocabulary,
        tokenizer: str | None = None,
        batch_tokens: int = 1280,
        max_tokens: int = 66,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
        token_vocabulary: TokenVocabulary | None = None,
    ) -> None:
        check_type(Vocabulary, "a Vocabulary", vocabulary=vocabulary)
        check_at_least(_NUM_BOUNDARIES + 1, max_tokens=max_tokens)
        check_at_least(1, batch_tokens=batch_tokens)
        for name, value in {"max": max_tokens, "batch": batch_tokens}.items():
            if value > MAX_BATCH_TOKENS:
                refuse(f"{name}_tokens", f"at most {MAX_BATCH_TOKENS:,}", value)
        check_at_least(0, seed=seed)
        check_choice((*TOKENIZERS, None), tokenizer=tokenizer)
        check_type(
            (TokenVocabulary, type(None)),
            "a TokenVocabulary or None",
            token_vocabulary=token_vocabulary,
        )
        if not (
            isinstance(shard, tuple | list)
            and len(shard) == 2
            and all(map(is_integer, shard))
            and 0 <= shard[0] < shard[1]
        ):
            rule = "(index, number of shards), with 0 <= index < number"
            refuse("shard", rule, shard)
        if batch_tokens < max_tokens:
            raise ValueError(
                f"{called('batch_tokens')} must be at least {called('max_tokens')}. "
                + received(batch_tokens=batch_tokens, max_tokens=max_tokens)
            )
        self._text = open_text(files, tokenizer)
        self.files = self._text.files
        self.vocabulary = vocabulary
        self.tokenizer = self._text.tokenizer
        self.batch_tokens = batch_tokens
        self.max_tokens = max_tokens
        self.seed = seed
        self.shard = shard
        self.token_vocabulary = token_vocabulary
        self.report = CorpusStats()
        self.error: Exception | None = None
        self._shapes: dict[bool, BatchShapes] = {}

    def names_and_sizes(self) -> list[list[object]]:
        """Returns the name and the bytes of each text file, without folders."""
        return self._text.names_and_sizes()

    def choose_shapes(
        self, few: bool | None = None, measured: bool = False
    ) -> BatchShapes | None:
        """Returns the `shapes` of batches that suit the Keras backend.

        Where each shape is compiled they are few, with at most 8 % padding in the first
        rows of an epoch. On PyTorch each batch has its own. On TensorFlow, whose graph
        finds distinct words and padding, it is `None`.

        Args:
            few: whether each shape is compiled; if `None`, only on JAX.
            measured: whether the text is measured, not trained on. Then a short text
                has fewer shapes, one for ten batches, and more padding.
        """
        backend = keras.backend.backend()
        if not (backend == "jax" if few is None else few):
            return None if backend == "tensorflow" else BatchShapes()
        if measured not in self._shapes:
            rows = self._rows(CorpusStats(), Random(self.seed << 32))
            self._shapes[measured] = few_shapes(
                rows, self.batch_tokens, self.max_tokens, measured
            )
        return self._shapes[measured]

    def dataset(
        self,
        epoch: int | None = 0,
        shuffle: bool = True,
        skip: int = 0,
        shapes: BatchShapes | None = None,
    ) -> Tensor:
        """Returns the batches of one pass over the text.

        Args:
            epoch: number of the pass; each has its own order. With `None`, each
                iteration over the dataset is the next pass, from 0 on.
            shuffle: whether to shuffle. Otherwise the order depends on the text alone.
            skip: number of batches to leave out at the beginning, to continue after an
                interruption; the remaining ones do not change.
            shapes: from `choose_shapes`, for batches that list each word once.

        Returns:
            A `tf.data.Dataset` of dictionaries: `"char_ids"` of shape
            `(batch, tokens, ids)`, and `"token_ids"` of shape `(batch, tokens)` with
            the boundaries and -1 for padding. With `shapes`, `"words"` of shape
            `(words, ids)`, the masked one first, and `"positions"` of words among them,
            `(batch, tokens)`, are in place of `"char_ids"`. All are int32.

        Raises:
            ValueError: `epoch` or `skip` is negative.
        """
        _check(epoch, shuffle, skip, shapes)
        passes = count() if epoch is None else repeat(epoch)
        num_ids = PlainIds(self.token_vocabulary).num_ids
        axes: dict[str, Shape] = {"char_ids": (None, None, num_ids)}
        if shapes is not None:
            axes = {"words": (None, num_ids), "positions": (None, None)}
        axes["token_ids"] = (None, None)
        batches = tf.data.Dataset.from_generator(
            lambda: self._arrays(next(passes), shuffle, skip, shapes),
            output_signature={
                name: tf.TensorSpec(shape, tf.int32) for name, shape in axes.items()
            },
        )
        options = tf.data.Options()
        # On a single core, `fit` would wait up to a minute for the tuner at its end.
        options.autotune.enabled = False
        return batches.prefetch(_BATCHES_AHEAD).with_options(options)

    def batches(
        self,
        epoch: int = 0,
        shuffle: bool = True,
        skip: int = 0,
        shapes: BatchShapes | None = None,
    ) -> Iterator[dict[str, Tensor]]:
        """Yields the batches of `dataset` as arrays of the Keras backend.

        Raises:
            ValueError: a file is damaged; names the file.
        """
        is_tensorflow = keras.backend.backend() == "tensorflow"
        if not (is_tensorflow or self._text.needs_tensorflow):
            _check(epoch, shuffle, skip, shapes)
            yield from self._arrays(epoch, shuffle, skip, shapes)
            return
        batches = iter(self.dataset(epoch, shuffle, skip, shapes))
        while True:
            with self.own_errors():
                batch = next(batches, None)
            if batch is None:
                return
            if not is_tensorflow:
                batch = {name: value.numpy() for name, value in batch.items()}
            yield batch

    @contextmanager
    def own_errors(self) -> Iterator[None]:
        """Raises `error` in place of TensorFlow's error."""
        try:
            yield
        except Exception:
            if self.error is not None:
                raise self.error from None
            raise

    def __repr__(self) -> str:
        return (
            f"Corpus({reprlib.repr(self.files)}, {self.vocabulary!r}, "
            f"tokenizer={self.tokenizer!r}, batch_tokens={self.batch_tokens}, "
            f"max_tokens={self.max_tokens}, seed={self.seed}, shard={self.shard})"
        )

    def _rows(self, stats: CorpusStats, random: Random | None) -> Iterator[Row]:
        most = self.max_tokens - _NUM_BOUNDARIES
        return read_rows(self._text, most, stats, random, self.shard)

    def _arrays(
        self, epoch: int, shuffle: bool, skip: int, shapes: BatchShapes | None
    ) -> Iterator[dict[str, np.ndarray]]:
        self.error = None
        self.report = stats = CorpusStats()
        random = Random(self.seed << 32 | epoch) if shuffle else None
        try:
            encode = self._text.encoder(self.vocabulary, self.token_vocabulary)
            padded_length = (shapes or BatchShapes()).padded_length
            rows = self._rows(stats, random)
            batches = length_batches(rows, self.batch_tokens, random, padded_length)
            for batch in islice(batches, skip, None):
                arrays = form_batch(*encode(batch), self.batch_tokens, shapes)
                _count(batch, arrays["token_ids"], stats)
                yield arrays
        except Exception as error:
            self.error = error
            raise


def _check(
    epoch: int | None, shuffle: bool, skip: int, shapes: BatchShapes | None
) -> None:
    check_at_least(0, epoch=0 if epoch is None else epoch)
    check_boolean(shuffle=shuffle)
    check_at_least(0, skip=skip)
    check_type((BatchShapes, type(None)), "from choose_shapes", shapes=shapes)


def _count(batch: Sequence[Row], token_ids: np.ndarray, stats: CorpusStats) -> None:
    stats.sentences += len(batch)
    stats.batched_words += sum(map(len, batch))
    stats.unknown_words += int((token_ids == UNKNOWN).sum())
    stats.positions += token_ids.size
    stats.padding_positions += int((token_ids == PADDING_ID).sum())
