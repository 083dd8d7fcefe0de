"""A Keras model from words to tags."""

from collections.abc import Sequence
from functools import partial

import keras
import numpy as np
from keras import ops

from keras_elmo.downstream.best_epoch import TagScoresByEpoch
from keras_elmo.downstream.tagger_model import TaggerModel
from keras_elmo.downstream.task_export import export
from keras_elmo.files.sources import tokenizer_of
from keras_elmo.text.answers import TagsSentences
from keras_elmo.text.batching import Tokens
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.tagged_sentences import (
    Data,
    check_known,
    in_parts,
    in_scheme_of,
    labels_of,
    tagged_sentences,
    tags_of,
    warn_of_unknown,
    words_of,
)
from keras_elmo.utils.keras_classes import keras_class


@keras_class
class Tagger(TagsSentences, TaggerModel):
    """Tags words, such as with parts of speech or named entities.

    ELMo's vectors, after static ones if there are any, go through a bidirectional LSTM
    and a CRF. The model is compiled; for another optimizer, compile it again with the
    same loss: `tagger.compile(keras.optimizers.AdamW(1e-3), tagger.loss)`. A `.keras`
    file of it needs no other file.

    Args:
        encoder: an `Encoder`, or a name or path as for `load`; or an `ElmoEmbedding`,
            which becomes a part of the tagger.
        tags: names of the tags; by default the tags in the first training data.
        static: a `StaticEmbedding`, or a file for `StaticEmbedding.from_file`.
        lstm_units: units of the LSTM in each direction, or 0 for none.
        crf: whether a CRF finds the best sequence of tags; otherwise each word gets its
            best tag.
        dropout: rate before and after the LSTM.
        trainable_encoder: whether to fine-tune the biLM. A frozen one runs once for
            each sentence, not in every epoch.
        **kwargs: arguments of `keras.Model`.

    Call arguments:
        inputs: a dictionary: `words`, what `ElmoEmbedding` takes but text, and with
            static vectors `static`, what `StaticEmbedding` takes.
        training: whether dropout is applied.

    Returns:
        `(batch, tokens, tags, tags)` log potentials, see `CRF`; without a CRF, `(batch,
        tokens, tags)` logits.

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

    export = export

    def fit(
        self,
        x: Data,
        y: Data = None,
        validation_data: Data = None,
        column: str | int | None = None,
        epochs: int = 30,
        batch_size: int = 32,
        patience: int | None = 5,
        callbacks: object = None,
        verbose: str | int = "auto",
    ) -> keras.callbacks.History:
        """Trains on sentences with a tag for each word.

        With `validation_data` the logs of each epoch have `val_loss`, `val_accuracy`
        and, if the tags mark spans, `val_precision`, `val_recall` and `val_f1`. The
        tagger keeps the weights of the epoch with the best F1 or accuracy, also if
        training is interrupted.

        Args:
            x: paths of files, in CoNLL-U or with columns as in CoNLL-2002 and -2003;
                pairs `(words, tags)`; the words of each sentence; or a
                `tf.data.Dataset` of pairs of strings.
            y: the tags of each sentence, if `x` has only words.
            validation_data: in any form of `x`, or a tuple `(x, y)`.
            column: which column of the files has the tags, such as `"xpos"`, `"ner"`,
                or a number; by default `"upos"` in CoNLL-U, otherwise the last one.
            epochs: greatest number of epochs.
            batch_size: greatest number of sentences in a batch.
            patience: epochs without a better score after which training stops, or
                `None`.
            callbacks: Keras callbacks.
            verbose: as in `keras.Model.fit`.

        Raises:
            TypeError: the data have another form.
            ValueError: the data are malformed, or have a tag that the tagger does not
                know; names the sentence, or the file and the line.
        """
        self._check_fit(epochs, batch_size, patience, callbacks, verbose)
        train = tagged_sentences(x, y, column)
        tags = self.tags or tags_of(train)
        train = in_scheme_of(tags, train)
        check_known(train, tags, "x")
        dev = []
        if validation_data is not None:
            parts = in_parts(validation_data)
            dev = tagged_sentences(*parts, column, "validation_data")
            dev = in_scheme_of(tags, dev)
            warn_of_unknown(dev, tags)
        if self.head is None:
            self._make_head(tags)
        scoring = []
        if dev:
            labels = labels_of(dev, tags)
            prepared = self._prepared(words_of(dev), batch_size, labels)
            score = partial(self._run, names=("tags", "loss"))
            scoring = [TagScoresByEpoch(dev, *prepared, score, tags)]
        labels = labels_of(train, tags)
        _, batches = self._prepared(words_of(train), batch_size, labels, shuffle=True)
        return self._fit(
            batches, patience, callbacks, scoring, epochs=epochs, verbose=verbose
        )

    def _splitter(self) -> str | PlainTokenizer:
        # Raises before anything is read.
        self._head()
        return tokenizer_of(self.elmo.encoder)

    def _computed(
        self, window: Sequence[Tokens], batch_size: int, outputs: Sequence[str]
    ) -> Sequence[Sequence[np.ndarray]]:
        empty = {
            "tags": np.empty(0, "int32"),
            "marginals": np.empty((0, len(self._head().tags)), "float32"),
        }
        rows: list[Sequence[np.ndarray]] = [[empty[name] for name in outputs]]
        rows *= len(window)
        if any(window):
            groups, batches = self._prepared(window, batch_size)
            for group, (x,) in zip(groups, batches, strict=True):
                values = map(ops.convert_to_numpy, self._run(x, names=tuple(outputs)))
                for k, *row in zip(group, *values, strict=False):
                    rows[k] = row
        return rows
