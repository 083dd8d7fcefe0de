"""The words and characters that tokens are looked up in."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence

# Begin, end and padding of a word, and a letter between them.
_LEAST_CHARACTERS = 4
_MOST_CHARACTERS = 1000
_SPECIALS = ("begin", "end", "unknown", "padding", "begin_of_word", "end_of_word")


class TokenVocabulary:
    """The words and the Unicode characters that a model looks tokens up in.

    A token has the id of its word, of a model with words, and those of its characters,
    of a model with characters: `begin_of_word`, the characters, `end_of_word`, then
    `padding`. `begin` and `end` are the boundaries of a sentence: words, and characters
    of their own.

    Args:
        words: row by row of the words' embedding; empty if there is none.
        characters: row by row of the characters' embedding, each one character or a
            special entry; empty if there is none.
        max_characters: number of character ids of a token. A token is cut to two fewer
            characters, also as a word. `None`, of words alone, cuts nothing.
        begin: entry of a sentence's beginning.
        end: entry of its end.
        unknown: entry of what is not found.
        padding: character behind the end of a word.
        begin_of_word: character before the first one. By default that is `"<eow>"`,
            because ELMoForManyLangs takes its two marks the wrong way round.
        end_of_word: character behind the last one.

    Raises:
        ValueError: an entry is missing or comes twice, or a value is not possible.

    Example:

    ```python
    specials = ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>"]
    vocabulary = keras_elmo.TokenVocabulary(
        ["<oov>", "bank"], [*specials, *"abnk"], max_characters=8
    )
    ids = keras_elmo.CharacterIds(vocabulary)([["bank", "Bank"]])
    # The begin, two words and the end; the id of the word, and of 8 characters.
    assert ids.shape == (1, 4, 9)
    assert ids[0, 1, 0] == 2 and ids[0, 2, 0] == 1
    ```

    Reference: Che et al. 2018, Towards Better UD Parsing, section 2.1.
    """

    def __init__(
        self,
        words: Sequence[str] = (),
        characters: Sequence[str] = (),
        max_characters: int | None = None,
        begin: str = "<bos>",
        end: str = "<eos>",
        unknown: str = "<oov>",
        padding: str = "<pad>",
        begin_of_word: str = "<eow>",
        end_of_word: str = "<bow>",
    ) -> None:
        self.words = _entries("words", words)
        self.characters = _entries("characters", characters)
        self.max_characters = max_characters
        self.begin = begin
        self.end = end
        self.unknown = unknown
        self.padding = padding
        self.begin_of_word = begin_of_word
        self.end_of_word = end_of_word
        if not self.words and not self.characters:
            raise ValueError("`words` and `characters` must not both be empty")
        if not (max_characters is None and not self.characters) and not (
            type(max_characters) is int
            and _LEAST_CHARACTERS <= max_characters <= _MOST_CHARACTERS
        ):
            raise ValueError(
                f"`max_characters` must be an integer of {_LEAST_CHARACTERS} to "
                f"{_MOST_CHARACTERS:,}. Received: max_characters={max_characters!r}"
            )
        specials = {name: getattr(self, name) for name in _SPECIALS}
        for name, entry in specials.items():
            if not isinstance(entry, str) or not entry:
                raise ValueError(f"`{name}` must be an entry. Received: {entry!r}")
        if self.words:
            _check_entry("words", self.words, "unknown", unknown)
        if self.characters:
            for name, entry in specials.items():
                _check_entry("characters", self.characters, name, entry)

    @property
    def ids_per_token(self) -> int:
        """The number of ids of a token, of its word and its characters."""
        return bool(self.words) + (self.max_characters or 0) * bool(self.characters)

    def to_dict(self) -> dict[str, object]:
        """Returns values of JSON, that `from_dict` takes."""
        return {
            "words": "\n".join(self.words),
            "characters": "\n".join(self.characters),
            "max_characters": self.max_characters,
            **{name: getattr(self, name) for name in _SPECIALS},
        }

    @classmethod
    def from_dict(cls, values: object) -> "TokenVocabulary":
        """Returns the vocabulary that a file or the config of a layer describes.

        Raises:
            ValueError: a value is missing, superfluous or not possible.
        """
        keys = {"words", "characters", "max_characters", *_SPECIALS}
        if not isinstance(values, Mapping) or values.keys() != keys:
            raise ValueError(
                "a token vocabulary must be an object of the keys "
                f"{', '.join(sorted(keys))}. Received: {reprlib.repr(values)}"
            )
        entries = {}
        for name in ("words", "characters"):
            text = values[name]
            if not isinstance(text, str):
                raise ValueError(
                    f"`{name}` must be a string, one entry a line. "
                    f"Received: {name}={reprlib.repr(text)}"
                )
            entries[name] = text.split("\n") if text else []
        return cls(**{**values, **entries})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, TokenVocabulary) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((len(self.words), len(self.characters), self.max_characters))

    def __repr__(self) -> str:
        return (
            f"TokenVocabulary({len(self.words):,} words, "
            f"{len(self.characters):,} characters)"
        )


def _entries(name: str, entries: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"`{name}` must be a list of strings. Received: {name}={entries!r}"
        )
    entries = tuple(entries)
    seen = set()
    for entry in entries:
        if not isinstance(entry, str) or not entry or "\n" in entry or entry in seen:
            raise ValueError(
                f"`{name}` must hold unequal strings of one line, none empty. "
                f"Received: {reprlib.repr(entry)}{' twice' * (entry in seen)}"
            )
        seen.add(entry)
    return entries


def _check_entry(name: str, entries: tuple[str, ...], special: str, entry: str) -> None:
    if entry not in entries:
        raise ValueError(f"`{name}` must have the entry {entry}, which is `{special}`")
