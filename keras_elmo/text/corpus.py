"""Text files to training batches of whole sentences."""

from collections.abc import Iterator
from itertools import chain, islice
from random import Random
from typing import Any

import keras
import numpy as np

from keras_elmo.text.batching import (
    Sentence,
    length_batches,
    mixed_lines,
    split_sentence,
    tokenized_lines,
)
from keras_elmo.text.character_ids import character_ids
from keras_elmo.text.lines import Files, Shard, expand_files, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary
from keras_elmo.utils.lazy import tf

_NUM_BOUNDARIES = 2
# Fixed, for the memory's sake: left to tune itself, TensorFlow may take hundreds.
_BATCHES_AHEAD = 8


class Corpus:
    """Text files as batches of whole sentences of about the same length.

    Every sentence is in one batch of an epoch. A batch of T positions has
    `batch_tokens // T` rows, so there are few shapes and little padding. The same
    seed and epoch give the same batches, in any process, and the memory does not
    depend on how much text there is. It reads text with TensorFlow, whichever
    backend Keras is on.

    Args:
        files: a path or a glob pattern, or several, of UTF-8 text with a sentence or
            a paragraph a line; plain, `.gz` or `.xz`.
        vocabulary: gives the ids to predict.
        tokenizer: the kind of `Tokenizer`.
        batch_tokens: positions of a batch, boundaries and padding included.
        max_tokens: positions of a row, its two boundaries included. A longer line
            is split, after the end of a sentence if there is one in the second half
            of the row.
        seed: of the order.
        share: which of how many shares of the text is read, `(2, 4)` for the third of
            four. They are of whole files where there are as many, else of lines.

    Attributes:
        files: the paths.
        report: counts what the latest pass has read so far; a dataset reads a few
            batches ahead of its user.
        error: what ended the latest pass, or `None`. TensorFlow turns an error
            within a dataset into one of its own and hides the plain message; `batches`
            raises the plain one.

    Raises:
        ValueError: no file matches, there is no text, or a size cannot be.
        TypeError: `vocabulary` is not a `Vocabulary`.
    """

    def __init__(
        self,
        files: Files,
        vocabulary: Vocabulary,
        tokenizer: str = "unicode",
        batch_tokens: int = 1280,
        max_tokens: int = 66,
        seed: int = 0,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(
                "`vocabulary` must be a Vocabulary. "
                f"Received: vocabulary={vocabulary!r}"
            )
        _check_at_least("max_tokens", max_tokens, _NUM_BOUNDARIES + 1)
        _check_at_least("seed", seed, 0)
        part, parts = share
        if not 0 <= part < parts:
            raise ValueError(
                "`share` must be (part, parts), the part at least 0 and below parts. "
                f"Received: share={share}"
            )
        if batch_tokens < max_tokens:
            raise ValueError(
                "`batch_tokens` must be at least `max_tokens`. Received: "
                f"batch_tokens={batch_tokens}, max_tokens={max_tokens}"
            )
        self.files = expand_files(files)
        self.vocabulary = vocabulary
        self.tokenizer = Tokenizer(tokenizer).kind
        self.batch_tokens = batch_tokens
        self.max_tokens = max_tokens
        self.seed = seed
        self.share = share
        self.report = CorpusStats()
        self.error: Exception | None = None
        # Said here, where it is a plain error, rather than within TensorFlow.
        if next(read_lines(self.files), None) is None:
            raise ValueError(f"there is no text in {', '.join(self.files)}")

    def dataset(self, epoch: int = 0, shuffle: bool = True, skip: int = 0) -> Any:
        """Returns the batches of one pass over the text.

        Args:
            epoch: the number of the pass; each has its own order.
            shuffle: whether to change the order; without, it depends on the text
                alone.
            skip: leave the first so many batches out, as when going on after an
                interruption. The others are the same as without.

        Returns:
            A `tf.data.Dataset` of dictionaries: `"char_ids"` of shape
            `(batch, tokens, 50)`, and `"token_ids"` of shape `(batch, tokens)` with
            the boundaries and -1 for padding. Both are int32.

        Raises:
            ValueError: `epoch` or `skip` is negative.
        """
        _check_at_least("epoch", epoch, 0)
        _check_at_least("skip", skip, 0)
        arrays = tf.data.Dataset.from_generator(
            lambda: self._arrays(epoch, shuffle, skip),
            output_signature=(
                tf.TensorSpec((None, None), tf.string),
                tf.TensorSpec((None, None), tf.int32),
            ),
        )
        features = arrays.map(
            # AutoGraph has nothing to do here, and warns of what it cannot read.
            tf.autograph.experimental.do_not_convert(_features),
            num_parallel_calls=2,
            deterministic=True,
        )
        fixed = tf.data.Options()
        # On a single core, `fit` would wait for the tuner's next turn before it
        # returns, for up to a minute.
        fixed.autotune.enabled = False
        return features.prefetch(_BATCHES_AHEAD).with_options(fixed)

    def batches(
        self, epoch: int = 0, shuffle: bool = True, skip: int = 0
    ) -> Iterator[dict[str, Any]]:
        """Yields the batches of `dataset`, as the arrays of Keras's backend.

        Raises:
            ValueError: a file is damaged; names the file.
        """
        batches = iter(self.dataset(epoch, shuffle, skip))
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except Exception:
                if self.error is not None:
                    raise self.error from None
                raise
            if keras.backend.backend() != "tensorflow":
                batch = {name: value.numpy() for name, value in batch.items()}
            yield batch

    def _arrays(
        self, epoch: int, shuffle: bool, skip: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self.error = None
        self.report = report = CorpusStats()
        random = Random(self.seed << 32 | epoch) if shuffle else None
        try:
            sentences = self._sentences(report, random)
            batches = length_batches(sentences, self.batch_tokens, random)
            for batch in islice(batches, skip, None):
                yield self._pad(batch, report)
        except Exception as error:
            self.error = error
            raise

    def _sentences(
        self, report: CorpusStats, random: Random | None
    ) -> Iterator[Sentence]:
        part, parts = self.share
        files, every = self.files, parts
        if len(files) >= parts:
            files, part, every = files[part::parts], 0, 1
        if random is None:
            shards = (Shard(file, report, part, every) for file in files)
            lines: Iterator[str] = chain.from_iterable(shards)
        else:
            lines = mixed_lines(files, random, report, part, every)
        for tokens in tokenized_lines(lines, self.tokenizer, report):
            rows = split_sentence(tokens, self.max_tokens - _NUM_BOUNDARIES)
            report.used_lines += 1
            report.split_lines += len(rows) > 1
            # A line can be without a token, if it holds but unusual spaces.
            yield from filter(None, rows)

    def _pad(
        self, batch: list[Sentence], report: CorpusStats
    ) -> tuple[np.ndarray, np.ndarray]:
        get = self.vocabulary.lookup.get
        longest = max(map(len, batch))
        tokens = np.full((len(batch), longest), b"", dtype=object)
        token_ids = np.full(
            (len(batch), longest + _NUM_BOUNDARIES), PADDING_ID, dtype=np.int32
        )
        for row, sentence in enumerate(batch):
            length = len(sentence)
            ids = [get(token, UNKNOWN) for token in sentence]
            tokens[row, :length] = sentence
            token_ids[row, : length + _NUM_BOUNDARIES] = [START, *ids, END]
            report.batched_words += length
            report.unknown_words += ids.count(UNKNOWN)
        report.sentences += len(batch)
        report.positions += token_ids.size
        report.padding_positions += int((token_ids == PADDING_ID).sum())
        return tokens, token_ids


def _features(tokens: Any, token_ids: Any) -> dict[str, Any]:
    return {"char_ids": character_ids(tokens), "token_ids": token_ids}


def _check_at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"`{name}` must be at least {least}. Received: {name}={value}")
