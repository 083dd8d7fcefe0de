"""Contextual word vectors that anyone can pretrain and use in a Keras model."""

from keras_elmo.config import ElmoConfig
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.sampled_softmax import SampledSoftmax
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import build_encoder
from keras_elmo.models.pretraining import build_pretraining_model

__all__ = [
    "BiLM",
    "CharCNNEmbedding",
    "ElmoConfig",
    "ElmoEmbedding",
    "Highway",
    "SampledSoftmax",
    "ScalarMix",
    "build_encoder",
    "build_pretraining_model",
]
