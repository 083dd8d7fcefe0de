"""The words and characters that tokens are looked up in."""

import dataclasses
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

# Begin, end and padding of a word, and a letter between them.
_LEAST_CHARACTERS = 4
_MOST_CHARACTERS = 1000
_SPECIALS = ("begin", "end", "unknown", "padding", "begin_of_word", "end_of_word")


@dataclasses.dataclass(frozen=True, repr=False)
class TokenVocabulary:
    """The words and the Unicode characters that a model looks tokens up in.

    A token has the id of its word if the model has words, and the ids of its characters
    if the model has characters: `begin_of_word`, the characters, `end_of_word`, then
    `padding`. `begin` and `end` are the boundaries of a sentence: words, and characters
    of their own.

    Args:
        words: the words, in the order of the rows of their embedding; empty if there is
            none.
        characters: the characters, in the order of the rows of their embedding, each
            one character or a special entry; empty if there is none.
        max_characters: number of character ids per token. A token is cut to two fewer
            characters, also as a word. `None`, for words alone, cuts nothing.
        begin: entry for the beginning of a sentence.
        end: entry for its end.
        unknown: entry for what is not found.
        padding: character after the end of a word.
        begin_of_word: character before the first one. By default that is `"<eow>"`,
            because ELMoForManyLangs takes its two marks the wrong way round.
        end_of_word: character after the last one.

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

    words: Sequence[str] = ()
    characters: Sequence[str] = ()
    max_characters: int | None = None
    begin: str = "<bos>"
    end: str = "<eos>"
    unknown: str = "<oov>"
    padding: str = "<pad>"
    begin_of_word: str = "<eow>"
    end_of_word: str = "<bow>"
    # What layers look tokens up with: made on first use, and gone with the vocabulary.
    lookups: dict[str, object] = dataclasses.field(
        default_factory=dict, init=False, compare=False
    )

    def __post_init__(self) -> None:
        for name in ("words", "characters"):
            object.__setattr__(self, name, _entries(name, getattr(self, name)))
        if not self.words and not self.characters:
            raise ValueError("`words` and `characters` must not both be empty")
        most = self.max_characters
        if not (most is None and not self.characters) and not (
            type(most) is int and _LEAST_CHARACTERS <= most <= _MOST_CHARACTERS
        ):
            raise ValueError(
                f"`max_characters` must be an integer of {_LEAST_CHARACTERS} to "
                f"{_MOST_CHARACTERS:,}. Received: max_characters={most!r}"
            )
        for name in _SPECIALS:
            entry = getattr(self, name)
            if not isinstance(entry, str) or not entry:
                raise ValueError(f"`{name}` must be an entry. Received: {entry!r}")
            for kind in ("words", "characters"):
                entries = getattr(self, kind)
                is_needed = kind == "characters" or name == "unknown"
                if entries and is_needed and entry not in entries:
                    raise ValueError(
                        f"`{kind}` must have the entry {entry}, which is `{name}`"
                    )

    @property
    def ids_per_token(self) -> int:
        """The number of ids that a token has, for its word and its characters."""
        return bool(self.words) + (self.max_characters or 0) * bool(self.characters)

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """The id of each word, from 1 on."""
        return {word: number for number, word in enumerate(self.words, 1)}

    @cached_property
    def character_ids(self) -> dict[str, int]:
        """The id of each entry of `characters`, from 1 on."""
        return {entry: number for number, entry in enumerate(self.characters, 1)}

    def ids(self, token: str) -> list[int]:
        """Returns the ids of a token: of its word, then of its characters."""
        is_boundary = token in (self.begin, self.end)
        most = self.max_characters or 0
        cut = token[: most - 2] if most and not is_boundary else token
        ids = []
        if self.words:
            ids.append(self.word_ids.get(cut, self.word_ids[self.unknown]))
        if self.characters:
            # A boundary is one entry; no other token has entries of several letters.
            entries = [token] if is_boundary else cut
            entries = [self.begin_of_word, *entries, self.end_of_word]
            entries += [self.padding] * (most - len(entries))
            unknown = self.character_ids[self.unknown]
            ids += [self.character_ids.get(entry, unknown) for entry in entries]
        return ids

    def to_dict(self) -> dict[str, object]:
        """Returns JSON values, which `from_dict` takes."""
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
                    f"`{name}` must be a string, one entry per line. "
                    f"Received: {name}={reprlib.repr(text)}"
                )
            entries[name] = text.split("\n") if text else []
        return cls(**{**values, **entries})

    def __reduce__(self) -> tuple[object, ...]:
        # Tables of TensorFlow cannot be copied.
        return TokenVocabulary.from_dict, (self.to_dict(),)

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
    seen: dict[str, None] = {}
    for entry in entries:
        if not isinstance(entry, str) or not entry or "\n" in entry or entry in seen:
            raise ValueError(
                f"`{name}` must hold unequal strings of one line, none empty. "
                f"Received: {reprlib.repr(entry)}{' twice' * (entry in seen)}"
            )
        seen[entry] = None
    return tuple(seen)
