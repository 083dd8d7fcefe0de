"""Finds the tokens of a text that mean the same as a word in its sentence."""

from collections.abc import Callable

from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source, tokenizer_of
from keras_elmo.utils.checks import check_at_least, check_choice
from keras_elmo.words.index import Index
from keras_elmo.words.sentences import Sentence, Text, find_word, read_sentence
from keras_elmo.words.token_vectors import Occurrence, checked_layer


def nearest(
    model: Source,
    word: str,
    sentence: Sentence,
    corpus: Text,
    num: int = 10,
    layer: int = -1,
    among: Callable[[str], bool] | None = None,
    words: str = "any",
    *,
    tokenizer: str | None = None,
) -> list[Occurrence]:
    """Finds the tokens of a text whose contextual vectors are closest to a word's.

    Vectors are compared by their cosine. The text is read once; its vectors are kept in
    a temporary file, 2 kB each with the shipped models. To ask more than once, build an
    `Index`.

    Args:
        model: an `Encoder`, or a name or path or another model as of `load`.
        word: a token of `sentence`; the first one if it occurs more than once.
        sentence: text, or a list of tokens.
        corpus: text files, as paths or glob patterns, one sentence per line; or
            sentences, as lists of tokens.
        num: number of tokens to return.
        layer: layer of the vectors: 0 is the token without its context, -1 the top
            layer.
        among: which tokens of the text are compared, such as `str.isalpha`; all if
            `None`.
        words: `"any"`, or `"same"`, which compares those spelt as `word` alone, in
            upper or lower case.
        tokenizer: how texts are split, a kind of `Tokenizer`; the model's if
            `None`.

    Returns:
        A list of `Occurrence(cosine, sentence, position)`, as `Index.query`.

    Raises:
        TypeError: a sentence of `corpus` is not a list of tokens, or `model` is no
            model.
        ValueError: `word` is no token of `sentence`, a token is empty, there is no such
            model, layer or file, `words` has another value, or `num` is not positive.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    corpus = [["the", "bank", "lends", "money"], ["the", "bank", "of", "a", "river"]]
    for occurrence in keras_elmo.nearest(
        encoder, "bank", ["on", "the", "bank"], corpus, num=2
    ):
        print(occurrence.cosine, occurrence.word, occurrence.sentence)
    ```

    Reference: Peters et al. 2018, table 4.
    """
    encoder = open_model(model).encoder()
    check_at_least(1, num=num)
    check_choice(("any", "same"), words=words)
    checked_layer(layer, encoder)
    tokens = read_sentence(sentence, tokenizer_of(encoder, tokenizer))
    spelt = tokens[find_word(word, tokens)].casefold()

    def is_same(token: str) -> bool:
        return token.casefold() == spelt and (among is None or among(token))

    compared = is_same if words == "same" else among
    index = Index.build(encoder, corpus, layer, compared, tokenizer=tokenizer)
    return index.query(word, tokens, num, words)
