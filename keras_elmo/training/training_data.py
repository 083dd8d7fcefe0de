"""What a run is trained on and validated with."""

import dataclasses
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from typing import TypeAlias, cast

import numpy as np

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.batch_shapes import BatchShapes
from keras_elmo.text.batching import MAX_BATCH_TOKENS
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.line_sources import with_kind
from keras_elmo.text.lines import Files, are_files, is_prepared
from keras_elmo.text.prepared import PreparedText
from keras_elmo.text.preparing import prepare
from keras_elmo.text.vocabulary import PADDING_ID, SPECIALS, Vocabulary
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.types import Config, Tensor

# `char_ids` and `token_ids` of some sentences.
Batch: TypeAlias = dict[str, Tensor]
Batches: TypeAlias = Corpus | Iterable[Batch]
# The arguments of a run that stay the same until it ends: values of JSON.
Manifest: TypeAlias = dict[str, object]
# The entries of a manifest that depend on the text: the shapes of batches, if they are
# few (a place in the text is a number of such batches); candidates; words of an epoch.
SHAPES, NUM_SAMPLED, NUM_WORDS = CHOSEN = (
    "shapes",
    "num_sampled",
    "words_per_epoch",
)


def with_prepared_text(
    options: TrainingOptions, tokenizer: str | None, num_workers: int
) -> tuple[TrainingOptions, str | None]:
    """Prepares an iterable of texts, or a column, as `DIRECTORY.corpus`.

    A run that is resumed reads that folder again, and not the iterable. Returns the
    options with folders in place of texts, and the tokenizer of these.
    """
    for name in ("corpus", "validation"):
        text, column = getattr(options, name), options.column
        if text is None or isinstance(text, Corpus):
            continue
        text, kind = with_kind(text, name)
        is_read = kind == "files" and (column is None or is_prepared(str(text)))
        if is_read or (kind is None and column is None):
            options = dataclasses.replace(options, **{name: text})
            continue
        if num_workers > 1:
            raise ValueError(
                f"{called(name)} must be files, or a folder that `prepare` wrote, on "
                f"several workers. Received: {name}={text!r}"
            )
        folder = f"{os.path.normpath(options.directory)}.{name}"
        if not (options.resume and is_prepared(folder)):
            tokenizer = None if kind == "tokens" else tokenizer
            prepare(text, folder, tokenizer, column, options.progress)
        tokenizer = PreparedText(folder).tokenizer
        changed: Config = {name: folder, "tokenizer": tokenizer}
        options = dataclasses.replace(options, **changed)
    return options, tokenizer


class TrainingData:
    """The training and validation data of a run: text files, `Corpus` or batches.

    Args:
        options: the options of the run; texts are prepared already.
        tokenizer: of text files.
        token_vocabulary: words and characters to look tokens up in, if the model does.
        shard: the number of this worker, and how many read text files together.
        compiles: whether a program is compiled for each shape of a batch.

    Attributes:
        corpus, validation: where the batches come from.
        is_text: whether the corpus is text files.
        vocabulary: the words of a `Corpus`; `None` for batches and uncounted text.
        shapes: those of the batches of a text or `Corpus`, after `open`.
        manifest: the part of the run's manifest that describes the data.
    """

    def __init__(
        self,
        options: TrainingOptions,
        tokenizer: str | None,
        token_vocabulary: TokenVocabulary | None,
        shard: tuple[int, int],
        compiles: bool,
    ) -> None:
        corpus, validation = options.corpus, options.validation
        self.is_text = is_text = are_files(corpus)
        if validation is not None and are_files(validation, "validation") != is_text:
            kind = "text files" if is_text else "batches or a Corpus"
            refuse("validation", f"{kind}, as `corpus` is", validation)
        if is_text:
            # Bad arguments are reported before the words are counted.
            arguments: Config = {
                "vocabulary": Vocabulary(SPECIALS),
                "tokenizer": tokenizer,
                "batch_tokens": options.batch_tokens,
                "max_tokens": options.max_tokens,
                "seed": options.seed,
                "token_vocabulary": token_vocabulary,
            }
            corpus = Corpus(cast(Files, corpus), shard=shard, **arguments)
            if validation is not None:
                validation = Corpus(cast(Files, validation), **arguments)
        self.corpus = cast(Batches, corpus)
        self.validation = cast("Batches | None", validation)
        self.vocabulary: Vocabulary | None = None
        self.shapes: BatchShapes | None = None
        self._compiles = compiles
        num_words = options.vocabulary_size
        if isinstance(corpus, Corpus) and not is_text:
            self.vocabulary = corpus.vocabulary
            if num_words not in (None, len(corpus.vocabulary)):
                rule = f"{len(corpus.vocabulary)}, the words of `corpus`, or None"
                refuse("vocabulary_size", rule, num_words)
            num_words = len(corpus.vocabulary)
            if isinstance(validation, Corpus):
                if validation.vocabulary.words != corpus.vocabulary.words:
                    raise ValueError(
                        "`validation` must have the vocabulary of `corpus`"
                    )
        elif not is_text and num_words is None:
            rule = "the number of target ids, where `corpus` is batches"
            refuse("vocabulary_size", rule, None)
        self.manifest = {"vocabulary_size": num_words, **self._describe()}

    @property
    def tokenizer(self) -> str | None:
        """The tokenizer of a text or `Corpus`, else `None`."""
        return getattr(self.corpus, "tokenizer", None)

    def _describe(self) -> Manifest:
        corpus, validation = self.corpus, self.validation
        manifest: Manifest = {
            "kind_of_corpus": "batches",
            "tokenizer": self.tokenizer,
            "validation": None,
        }
        if isinstance(corpus, Corpus):
            prefix = "" if self.is_text else "corpus."
            manifest |= {
                "kind_of_corpus": "text" if self.is_text else "a Corpus",
                f"{prefix}batch_tokens": corpus.batch_tokens,
                f"{prefix}max_tokens": corpus.max_tokens,
                f"{prefix}seed": corpus.seed,
                "corpus": corpus.names_and_sizes(),
            }
        if isinstance(validation, Corpus):
            manifest["validation"] = validation.names_and_sizes()
            if not self.is_text:
                manifest["validation.tokenizer"] = validation.tokenizer
                manifest["validation.max_tokens"] = validation.max_tokens
        return manifest

    def choose_shapes(self) -> BatchShapes | None:
        """Returns shapes that suit the device; with `lengths` if they are few."""
        if not isinstance(self.corpus, Corpus):
            return None
        return self.corpus.choose_shapes(self._compiles)

    def open(self, files: PretrainingDirectory) -> None:
        """Takes the words and the shapes of batches that the run began with."""
        if self.is_text:
            self.vocabulary = files.read_vocabulary()
            for corpus in (self.corpus, self.validation):
                if isinstance(corpus, Corpus):
                    corpus.vocabulary = self.vocabulary
        elif self.vocabulary is not None:
            if files.read_vocabulary().words != self.vocabulary.words:
                raise ValueError(
                    f"{called('corpus')} must have the words of {files.vocabulary}, "
                    "with which the run began"
                )
        if isinstance(self.corpus, Corpus):
            self.shapes = _stored_shapes(files, self.corpus.max_tokens)
        if self.shapes is None:
            shapes = self.choose_shapes()
            # A run that began without few shapes goes on without.
            self.shapes = None if shapes and shapes.lengths else shapes


def _stored_shapes(files: PretrainingDirectory, longest: int) -> BatchShapes | None:
    """Returns the few shapes of a run; `None` for one that began without them."""
    stored = files.read_manifest().get(SHAPES)
    if stored is None:
        return None
    try:
        lengths, num_words = sorted(map(int, stored["lengths"])), stored["num_words"]
        is_possible = 0 < lengths[0] <= lengths[-1] <= longest
        if is_possible and 0 < num_words <= MAX_BATCH_TOKENS:
            return BatchShapes(tuple(lengths), int(num_words))
    except (IndexError, KeyError, TypeError, ValueError):
        pass
    raise ValueError(
        f"{files.training}: {SHAPES} must be null, or have `lengths` of at most "
        f"{longest} and `num_words`. Received: {reprlib.repr(stored)}"
    )


def check_batch(batch: object) -> None:
    """Raises a `ValueError` unless a language model can read a batch."""
    keys = list(batch) if isinstance(batch, Mapping) else type(batch)
    kinds = ({"char_ids", "token_ids"}, {"words", "positions", "token_ids"})
    if not isinstance(keys, list) or not any(kind <= set(keys) for kind in kinds):
        raise ValueError(
            "a batch must be a dictionary of `char_ids` and `token_ids`. "
            f"Received: a batch of {keys}"
        )


def count_words(batch: Batch) -> tuple[int, int]:
    """Returns the words of a batch, and how many tokens each direction predicts."""
    token_ids = np.asarray(batch["token_ids"])
    # Every row has two boundaries, of which a direction predicts one, unless all of it
    # is masked.
    predictions = int(np.sum(token_ids[:, 1:] != PADDING_ID))
    return predictions - int(np.sum(token_ids[:, 0] != PADDING_ID)), predictions


def batches_from(
    corpus: Batches,
    position: tuple[int, int] = (0, 0),
    epochs: int | None = None,
    shapes: BatchShapes | None = None,
) -> Iterator[tuple[Batch, tuple[int, int]]]:
    """Yields batches after a position, until some epochs are over; `None` never ends.

    Each batch comes with the position behind it: an epoch, and how many batches of it
    were read. A `Corpus` makes batches of these `shapes`.
    """
    first, skip = position
    for epoch in count(first) if epochs is None else range(first, epochs):
        if isinstance(corpus, Corpus):
            batches = corpus.batches(epoch, skip=skip, shapes=shapes)
        else:
            batches = islice(corpus, skip, None)
        number = skip
        for number, batch in enumerate(batches, skip + 1):
            yield batch, (epoch, number)
        if not number:
            raise ValueError(
                f"{called('corpus')} must hold a sentence. Received: no batch"
            )
        skip = 0
