"""A whole model of words to tags, such as parts of speech or named entities."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType

import keras
import numpy as np
from keras import ops

from keras_elmo.downstream.best_epoch import (
    BestEpoch,
    TagScoresByEpoch,
)
from keras_elmo.downstream.tagger_model import TaggerModel
from keras_elmo.embedding.embedder import windows
from keras_elmo.files.encoder_tokenizer import tokenizer_of
from keras_elmo.text.batching import Tokens
from keras_elmo.text.evaluation import evaluate_tags
from keras_elmo.text.tagged_sentences import (
    Data,
    check_known,
    in_parts,
    in_scheme,
    labels_of,
    scheme_of_names,
    tagged_sentences,
    tags_of,
    words_of,
)
from keras_elmo.text.token_lists import read_sentences
from keras_elmo.utils.checks import check_at_least, check_type, refuse
from keras_elmo.utils.fixed import fixed_arguments
from keras_elmo.utils.types import Config, Tensor


@keras.saving.register_keras_serializable("keras_elmo")
@fixed_arguments
class Tagger(TaggerModel):
    """Tags words, such as with parts of speech or named entities.

    The vectors of ELMo, after static ones if there are any, go through a bidirectional
    LSTM and a CRF. The model is compiled; for another optimizer, compile it again with
    the same loss: `tagger.compile(keras.optimizers.AdamW(1e-3), tagger.loss)`. A
    `.keras` file of it needs no other file.

    Args:
        encoder: the biLM: an `Encoder`, or a name or path as of `load`; or an
            `ElmoEmbedding`, which becomes a part of the tagger as it is.
        tags: names of the tags; by default those of the first training data.
        static: a `StaticEmbedding`, or the path of a file for `from_file` of it.
        lstm_units: units of the LSTM in each direction, or 0 for none.
        crf: whether a CRF finds the best sequence of tags. Otherwise the tag of each
            word is chosen by itself.
        dropout: rate before and after the LSTM.
        trainable_encoder: whether the biLM is fine-tuned. A frozen one runs once for
            each sentence, not in every epoch.
        **kwargs: arguments of `keras.Model`.

    Call arguments:
        inputs: a dictionary of `words`, as of `ElmoEmbedding` but no text, and, with
            static vectors, of `static`, as of `StaticEmbedding`.
        training: whether dropout is applied.

    Returns:
        `(batch, tokens, tags, tags)` log potentials, as of `CRF`; without a CRF,
        `(batch, tokens, tags)` logits.

    Raises:
        TypeError: `encoder` or `static` is something else.
        ValueError: an argument is out of range, or there is no such model or file.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    tagger = keras_elmo.Tagger(encoder, lstm_units=8)
    sentences = [
        (["Ada", "Lovelace", "wrote"], ["B-PER", "I-PER", "O"]),
        (["In", "London"], ["O", "B-LOC"]),
    ]
    tagger.fit(sentences, validation_data=sentences, epochs=2, verbose=0)
    (tags,) = tagger.predict([["Ada", "wrote", "in", "London"]])
    assert len(tags) == 4
    assert 0 <= tagger.evaluate(sentences)["f1"] <= 1
    tagger.save("names.keras")
    assert keras.models.load_model("names.keras").tags == tagger.tags
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, section 4.
    """

    def fit(
        self,
        x: Data,
        y: Data = None,
        validation_data: Data = None,
        column: str | int | None = None,
        epochs: int = 30,
        batch_size: int = 32,
        patience: int | None = 5,
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
        verbose: str | int = "auto",
    ) -> keras.callbacks.History:
        """Trains on sentences with a tag for each word.

        With `validation_data` the logs of each epoch have `val_loss`, `val_accuracy`
        and, if the tags mark spans, `val_precision`, `val_recall` and `val_f1`. The
        weights of the best epoch, by F1 or accuracy, are kept, also if training is
        interrupted.

        Args:
            x: paths of files, in CoNLL-U or with columns as in CoNLL-2002 and -2003;
                pairs `(words, tags)`; the words of each sentence; or a
                `tf.data.Dataset` of pairs of strings.
            y: the tags of each sentence if `x` has words alone.
            validation_data: in any form of `x`, or a tuple `(x, y)`.
            column: which column of the files has the tags, such as `"xpos"`, `"ner"`,
                or a number; by default `"upos"` in CoNLL-U, otherwise the last one.
            epochs: greatest number of epochs.
            batch_size: greatest number of sentences in a batch.
            patience: epochs without a better score after which training stops, or
                `None`.
            callbacks: Keras callbacks.
            verbose: as of `keras.Model.fit`.

        Returns:
            The history of losses and scores.

        Raises:
            TypeError: the data have another form.
            ValueError: the data are malformed, or have a tag that the tagger does not
                know; names the sentence, or the file and the line.
        """
        check_at_least(1, epochs=epochs, batch_size=batch_size)
        if patience is not None:
            check_at_least(1, patience=patience)
        check_type((Sequence, NoneType), "a list of callbacks", callbacks=callbacks)
        if verbose not in ("auto", 0, 1, 2):
            refuse("verbose", "'auto', 0, 1 or 2", verbose)
        train = tagged_sentences(x, y, column)
        tags = self.tags or tags_of(train)
        scheme = scheme_of_names(tags)
        train = in_scheme(train, scheme, "x")
        check_known(train, tags)
        dev = []
        if validation_data is not None:
            dev = tagged_sentences(
                *in_parts(validation_data), column, "validation_data"
            )
            dev = in_scheme(dev, scheme, "validation_data")
        if self.head is None:
            self._make_head(tags)
        best = BestEpoch(patience)
        scoring = []
        if dev:
            labels = labels_of(dev, tags)
            prepared = self._batches.prepare(words_of(dev), batch_size, labels)
            scores = TagScoresByEpoch(dev, *prepared, self._scored(), tags)
            scoring = [scores, best]
        labels = labels_of(train, tags)
        words = words_of(train)
        _, batches = self._batches.prepare(words, batch_size, labels, shuffle=True)
        try:
            return super().fit(
                batches,
                epochs=epochs,
                callbacks=[*scoring, *(callbacks or ())],
                verbose=verbose,
                shuffle=False,
            )
        finally:
            best.restore()

    def predict(self, sentences: Data, batch_size: int = 64) -> list[list[str]]:
        """Returns one tag for each word of each sentence.

        Args:
            sentences: lists of words, or texts, which are split as the text of the
                encoder was, in any form that `embed` takes.
            batch_size: greatest number of sentences in a batch.

        Raises:
            TypeError: a sentence is neither a text nor a list of words.
            ValueError: the tagger has no tags yet, or an empty word precedes another.
        """
        return [tags for _, tags in self.tag(sentences, batch_size)]

    def tag(
        self, sentences: Data, batch_size: int = 64
    ) -> Iterator[tuple[list[str], list[str]]]:
        """Yields the words and the tags of each sentence, of a stream of any length.

        Args:
            sentences: as of `predict`; up to 16 batches are read ahead.
            batch_size: greatest number of sentences in a batch.
        """
        rows = self._of_words(sentences, batch_size, self.predict_on_batch)
        return ((words, [self._tags[k] for k in row.tolist()]) for words, row in rows)

    def marginals(
        self, sentences: Data, batch_size: int = 64
    ) -> Iterator[tuple[list[str], np.ndarray]]:
        """Yields the words and the probabilities of all tags of each sentence.

        Args:
            sentences: as of `predict`.
            batch_size: greatest number of sentences in a batch.

        Yields:
            The words, and a float32 array `(words, tags)`, in the order of `tags`. With
            a CRF a probability is the sum over all paths through a tag.
        """
        return self._of_words(sentences, batch_size, self.marginals_on_batch)

    def _of_words(
        self, sentences: Data, batch_size: int, compute: Callable[..., Tensor]
    ) -> Iterator[tuple[list[str], np.ndarray]]:
        """Yields the words of each sentence, and what is computed of them."""
        check_at_least(1, batch_size=batch_size)
        self._head()
        tokenizer = tokenizer_of(self.elmo.encoder)
        read = read_sentences(sentences, tokenizer, max_ahead=batch_size)
        return self._computed(read, batch_size, compute)

    def _computed(
        self,
        sentences: Iterable[Tokens],
        batch_size: int,
        compute: Callable[..., Tensor],
    ) -> Iterator[tuple[list[str], np.ndarray]]:
        for window in windows(sentences, batch_size):
            rows: dict[int, np.ndarray] = {}
            if any(window):
                groups, batches = self._batches.prepare(window, batch_size)
                for group, (x,) in zip(groups, batches, strict=True):
                    values = ops.convert_to_numpy(compute(x))
                    for k, row in zip(group, values, strict=False):
                        rows[k] = row[: len(window[k])]
            nothing = np.empty((0, len(self._tags)), "float32")
            for k, words in enumerate(window):
                row = rows.get(k, nothing)
                yield [word.decode(errors="replace") for word in words], row

    def evaluate(
        self,
        x: Data,
        y: Data = None,
        column: str | int | None = None,
        batch_size: int = 64,
    ) -> Config:
        """Compares predicted tags with the right ones.

        Spans count as in conlleval, whatever their scheme: right if both ends and the
        type are. If the tags mark none, each word is a span.

        Args:
            x: as of `fit`.
            y: as of `fit`.
            column: as of `fit`.
            batch_size: greatest number of sentences in a batch.

        Returns:
            `accuracy`, `precision`, `recall` and `f1`, from 0 to 1; the numbers of
            `tokens`, and of spans that are `correct`, `predicted` and in the
            `reference`; and `by_type` the same for each type.
        """

        def predict(sentences: list[Tokens]) -> list[list[str]]:
            return self.predict(sentences, batch_size)

        return evaluate_tags(predict, self._tags, x, y, column)
