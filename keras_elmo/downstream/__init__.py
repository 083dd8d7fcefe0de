"""ELMo in the Keras model of a task.

Keras finds a class of a `.keras` file by its name, once its module has been imported.
Importing any name of this folder imports every layer that such a model has.
"""

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.tagger import Tagger
from keras_elmo.downstream.text_classifier import TextClassifier
from keras_elmo.layers.crf import CRF, CRFDecode, CRFLoss

__all__ = [
    "CRF",
    "CRFDecode",
    "CRFLoss",
    "ElmoEmbedding",
    "StaticEmbedding",
    "Tagger",
    "TextClassifier",
]
