"""Answers the page's requests: JSON in, JSON out."""

import functools
import importlib.util
from collections.abc import Callable, Mapping

import orjson

from keras_elmo.embedding.parts import encoder_hash
from keras_elmo.explorer.explored_tagger import ExploredTagger
from keras_elmo.explorer.explorer import Answer, Explorer
from keras_elmo.explorer.mixes import Mixes, parse_mix_csv
from keras_elmo.serving.limits import Code, ServingError, invalid, shown
from keras_elmo.text.splitting import unspaced

# Allowed characters of a text for each allowed token.
_CHARACTERS = 40
# Characters of a name in an error.
_SHOWN = 60


class Api:
    """Checks requests and asks the explorers, which models' names stand for.

    `reading` has the name of the model that is read now, its number, and the number of
    models; it is `None` when all are there.
    """

    def __init__(
        self,
        explorers: Mapping[str, Explorer],
        mixes: Mixes,
        max_tokens: int,
        tagger: ExploredTagger | None = None,
    ) -> None:
        self.reading: tuple[str, int, int] | None = None
        self._explorers = explorers
        self._mixes = mixes
        self._max_tokens = max_tokens
        self._tagger = tagger
        self._hash = functools.cache(encoder_hash)
        self._methods: dict[str, Callable[[Answer], Answer]] = {
            "models": self._models,
            "tokens": self._tokens,
            "neighbours": self._neighbours,
            "substitutes": self._substitutes,
            "map": self._map,
            "compare": self._compare,
            "score": self._score,
            "quiz": self._quiz,
            "tags": self._tags,
            "mix": self._mix,
        }

    def answer(self, method: str, body: bytes | bytearray) -> bytes:
        """Answers a request, or raises a `ServingError` for the page to show."""
        if method not in self._methods:
            raise ServingError(Code.NOT_FOUND, f"There is no /api/{method[:_SHOWN]}")
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise invalid(f"JSON Parse error: {error}") from None
        if not isinstance(request, dict):
            raise invalid("The body must be an object")
        return orjson.dumps(self._methods[method](request))

    def _models(self, request: Answer) -> Answer:
        return {
            "models": {
                # A copy, because another model may be added meanwhile.
                name: explorer.describe()
                for name, explorer in [*self._explorers.items()]
            },
            "reading": self.reading,
            "mixes": self._mixes,
            "tagger": self._tagger and self._described(self._tagger),
            "umap": importlib.util.find_spec("umap") is not None,
        }

    def _described(self, tagger: ExploredTagger) -> Answer:
        """Describes the tagger, with the model that has its biLM, if there is one."""
        models = (
            name
            for name, explorer in [*self._explorers.items()]
            if self._hash(explorer.encoder) == self._hash(tagger.encoder)
        )
        return {**tagger.describe(), "model": next(models, None)}

    def _tokens(self, request: Answer) -> Answer:
        tokens = self._sentence(request, "text")
        return {"tokens": tokens, "warning": unspaced([request["text"]])}

    def _neighbours(self, request: Answer) -> Answer:
        tokens, position = self._place(request)
        same_word = request.get("same_word", False) is True
        pattern = self._pattern(request) if same_word else None
        return self._explorer(request).neighbours(tokens, position, pattern)

    def _substitutes(self, request: Answer) -> Answer:
        return self._explorer(request).substitutes(*self._place(request))

    def _map(self, request: Answer) -> Answer:
        method = request.get("method", "pca")
        if method not in ("pca", "umap"):
            raise invalid("'method' must be 'pca' or 'umap'", shown(method))
        pattern = self._pattern(request)
        try:
            answer = self._explorer(request).map(*self._place(request), pattern, method)
        except ImportError as error:
            raise invalid(str(error)) from None
        return {**answer, "pattern": pattern}

    def _compare(self, request: Answer) -> Answer:
        sentences = [self._sentence(request, name) for name in ("first", "second")]
        return self._explorer(request).compare(*sentences)

    def _score(self, request: Answer) -> Answer:
        names = [name for name in ("first", "second") if request.get(name)]
        sentences = [self._sentence(request, name) for name in names or ["first"]]
        return self._explorer(request).score(sentences)

    def _quiz(self, request: Answer) -> Answer:
        quiz = self._explorer(request).quiz
        number = request.get("number")
        if type(number) is not int or number < 0:
            raise invalid("'number' must be a whole number from 0", shown(number))
        if not len(quiz):
            raise invalid("The text has no sentences whose senses are known")
        return quiz.question(number)

    def _tags(self, request: Answer) -> Answer:
        if self._tagger is None:
            raise invalid("There is no tagger: start with --tagger")
        return self._tagger.tag(self._split(request, "text", self._tagger.tokens))

    def _mix(self, request: Answer) -> Answer:
        csv, name = (_string(request, key) for key in ("csv", "name"))
        try:
            return {"mixes": parse_mix_csv(csv, name[:_SHOWN])}
        except ValueError as error:
            raise invalid(str(error)) from None

    def _explorer(self, request: Answer) -> Explorer:
        name = request.get("model")
        if not isinstance(name, str) or name not in self._explorers:
            names = " or ".join(map(repr, self._explorers)) or "read first"
            raise invalid(f"'model' must be {names}", shown(name))
        return self._explorers[name]

    def _sentence(self, request: Answer, name: str) -> tuple[str, ...]:
        return self._split(request, name, lambda t: self._explorer(request).tokens(t))

    def _split(
        self, request: Answer, name: str, split: Callable[[str], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Returns the tokens of a text, or raises if it is empty or too long."""
        text = _string(request, name)
        characters = _CHARACTERS * self._max_tokens
        if len(text) > characters:
            raise invalid(
                f"A sentence may have {characters:,} characters", f"{len(text):,}"
            )
        tokens = split(text)
        if not tokens:
            raise invalid("A sentence must have at least one word")
        if len(tokens) > self._max_tokens:
            raise invalid(
                f"A sentence may have {self._max_tokens:,} tokens", f"{len(tokens):,}"
            )
        return tokens

    def _pattern(self, request: Answer) -> str:
        """Returns the requested pattern, or the usual one of the word."""
        tokens, position = self._place(request)
        if "pattern" in request:
            return _string(request, "pattern")[: self._max_tokens * _CHARACTERS]
        return self._explorer(request).text.usual_pattern(tokens[position])

    def _place(self, request: Answer) -> tuple[tuple[str, ...], int]:
        tokens = self._sentence(request, "text")
        position = request.get("position")
        # In Python, a bool is an int, too.
        if type(position) is not int or not 0 <= position < len(tokens):
            raise invalid(
                f"'position' must be one of the {len(tokens)} tokens, from 0",
                shown(position),
            )
        return tokens, position


def _string(request: Answer, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise invalid(f"'{name}' must be a string", shown(value))
    return value
