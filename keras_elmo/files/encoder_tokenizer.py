"""How a model splits texts."""

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, TOKENIZERS
from keras_elmo.files.onnx_session import OnnxEncoder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.utils.checks import check_choice


def tokenizer_of(
    encoder: AnyEncoder, tokenizer: str | None = None
) -> str | PlainTokenizer:
    """Returns the kind of `Tokenizer` for texts, or one without TensorFlow."""
    check_choice((None, *TOKENIZERS), tokenizer=tokenizer)
    kind = tokenizer or encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    return PlainTokenizer(kind) if isinstance(encoder, OnnxEncoder) else kind
