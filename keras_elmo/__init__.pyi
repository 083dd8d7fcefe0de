"""The public names of keras_elmo; `__init__.py` loads each on first use."""

from . import plots as plots
from .config import ElmoConfig as ElmoConfig
from .downstream.callbacks import MixWeightsLogger as MixWeightsLogger
from .downstream.elmo_embedding import ElmoEmbedding as ElmoEmbedding
from .downstream.precompute import precompute as precompute
from .downstream.static_embedding import StaticEmbedding as StaticEmbedding
from .downstream.tagger import Tagger as Tagger
from .embedding.embedder import embed as embed
from .export.onnx import export_onnx as export_onnx
from .export.saved_model import export_saved_model as export_saved_model
from .files.loading import list_models as list_models
from .files.loading import load as load
from .files.loading import load_language_model as load_language_model
from .files.published import load_published_weights as load_published_weights
from .files.published import save_published_weights as save_published_weights
from .importing.inspection import inspect_model as inspect_model
from .importing.models import import_model as import_model
from .layers.bilm import BiLM as BiLM
from .layers.char_cnn_embedding import CharCNNEmbedding as CharCNNEmbedding
from .layers.crf import CRF as CRF
from .layers.crf import CRFDecode as CRFDecode
from .layers.crf_loss import CRFLoss as CRFLoss
from .layers.crf_paths import crf_decode as crf_decode
from .layers.crf_paths import crf_marginals as crf_marginals
from .layers.highway import Highway as Highway
from .layers.sampled_softmax import SampledSoftmax as SampledSoftmax
from .layers.scalar_mix import ScalarMix as ScalarMix
from .layers.vocabulary_embedding import VocabularyEmbedding as VocabularyEmbedding
from .models.encoder import Encoder as Encoder
from .models.encoder import build_encoder as build_encoder
from .models.pretraining import build_pretraining_model as build_pretraining_model
from .text.character_ids import CharacterIds as CharacterIds
from .text.corpus import Corpus as Corpus
from .text.tokenizer import Tokenizer as Tokenizer
from .text.vocabulary import Vocabulary as Vocabulary
from .token_vocabulary import TokenVocabulary as TokenVocabulary
from .training.averaging import average_models as average_models
from .training.perplexity import perplexity as perplexity
from .training.pretrain import pretrain as pretrain
from .words.index import Index as Index
from .words.nearest import nearest as nearest
from .words.projector import write_projector as write_projector
from .words.score import score as score
from .words.substitutes import substitutes as substitutes

__version__: str
