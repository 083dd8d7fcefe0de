"""Contextual word vectors that anyone can pretrain and use in a Keras model."""

import lazy_loader

from keras_elmo.utils.lazy import provide, register_lazily

__version__ = "0.1.0"

# The names in __init__.pyi; the module of each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_lazily(
    {
        "BiLM": "keras_elmo.layers.bilm",
        "CharCNNEmbedding": "keras_elmo.layers.char_cnn_embedding",
        "CharacterIds": "keras_elmo.text.character_ids",
        "CharacterMask": "keras_elmo.models.token_mask",
        "ElmoEmbedding": "keras_elmo.models.elmo_embedding",
        "Encoder": "keras_elmo.models.encoder",
        "Highway": "keras_elmo.layers.highway",
        "LanguageModelHead": "keras_elmo.models.language_model_head",
        "LazyAdam": "keras_elmo.training.optimizers",
        "LazyMuon": "keras_elmo.training.optimizers",
        "PretrainingModel": "keras_elmo.models.pretraining",
        "ProjectedLSTM": "keras_elmo.layers.projected_lstm",
        "PublishedAdagrad": "keras_elmo.training.optimizers",
        "SampledSoftmax": "keras_elmo.layers.sampled_softmax",
        "ScalarMix": "keras_elmo.layers.scalar_mix",
        "StaticEmbedding": "keras_elmo.models.static_embedding",
        "TokenMask": "keras_elmo.models.token_mask",
        "Tokenizer": "keras_elmo.text.tokenizer",
        "VocabularyEmbedding": "keras_elmo.layers.vocabulary_embedding",
    }
)

provide("open_model", "keras_elmo.files.loading")
