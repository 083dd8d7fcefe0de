"""Counting, splitting and embedding text on a distributed engine, with Apache Beam.

The same functions as on one machine, for a piece of a text at a time: `count_words`
writes the vocabulary of `Vocabulary.count`, `prepare_text` the folder of `prepare`,
`embed_text` the vectors of `embed_file`.
"""

from keras_elmo.utils.lazy import import_extra

import_extra("apache_beam", "keras_elmo.scale", "beam")

from keras_elmo.scale.count_words import CountWords, count_words
from keras_elmo.scale.embed_text import EmbedText, embed_text
from keras_elmo.scale.prepare_text import prepare_text

__all__ = ["CountWords", "EmbedText", "count_words", "embed_text", "prepare_text"]
