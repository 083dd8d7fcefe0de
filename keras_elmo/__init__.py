"""Contextual word vectors that anyone can pretrain and use in a Keras model."""

from keras_elmo.startup import import_backend

import_backend()

from keras_elmo.config import ElmoConfig
from keras_elmo.embedding.embedder import embed
from keras_elmo.explore.nearest import nearest
from keras_elmo.explore.projector import write_projector
from keras_elmo.explore.substitutes import substitutes
from keras_elmo.files.export import export_saved_model
from keras_elmo.files.loading import load, load_language_model
from keras_elmo.files.onnx import export_onnx
from keras_elmo.files.published import load_published_weights, save_published_weights
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.sampled_softmax import SampledSoftmax
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.models.callbacks import MixWeightsLogger
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder, build_encoder
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.models.static_embedding import StaticEmbedding
from keras_elmo.text.character_ids import CharacterIds
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.perplexity import perplexity
from keras_elmo.training.pretrain import pretrain

__all__ = [
    "BiLM",
    "CharCNNEmbedding",
    "CharacterIds",
    "Corpus",
    "ElmoConfig",
    "ElmoEmbedding",
    "Encoder",
    "Highway",
    "MixWeightsLogger",
    "SampledSoftmax",
    "ScalarMix",
    "StaticEmbedding",
    "Tokenizer",
    "Vocabulary",
    "build_encoder",
    "build_pretraining_model",
    "embed",
    "export_onnx",
    "export_saved_model",
    "load",
    "load_language_model",
    "load_published_weights",
    "nearest",
    "perplexity",
    "pretrain",
    "save_published_weights",
    "substitutes",
    "write_projector",
]
