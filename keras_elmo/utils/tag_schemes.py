"""Tags that mark spans of words: BIO, IOB1 and BIOES."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from keras_elmo.utils.checks import called, check_choice, received, refuse

if TYPE_CHECKING:
    import numpy as np

Scheme: TypeAlias = Literal["BIO", "IOB1", "BIOES"]
SCHEMES: tuple[Scheme, ...] = ("BIO", "IOB1", "BIOES")

OUTSIDE = "O"
# B-person, or B alone where all spans are of one type.
_TAG = re.compile(r"([BIESLU])(?:-(.+))?", re.DOTALL)
# BILOU's names of the last word of a span, and of its only one.
_SPELLINGS = {"L": "E", "U": "S"}


class Span(NamedTuple):
    """A span: its type, its first word, and the word after its last."""

    type: str
    begin: int
    end: int


class Transitions(NamedTuple):
    """Which tags may follow each other, as booleans.

    Attributes:
        between: `(tags, tags)`, by the tag and by the one after it.
        start: `(tags,)`, the tags that may begin a sentence.
        end: `(tags,)`, the tags that may end it.
    """

    between: "np.ndarray"
    start: "np.ndarray"
    end: "np.ndarray"


class _Part(NamedTuple):
    """A tag as the place of a word, `"B"`, `"I"`, `"E"`, `"S"` or `"O"`, and a type."""

    place: str
    type: str


_NOTHING = _Part(OUTSIDE, "")


def are_span_tags(tags: Iterable[str]) -> bool:
    """Whether every tag is `O`, or `B-`, `I-`, `E-`, `S-`, `L-` or `U-` and a type."""
    return all(tag == OUTSIDE or _TAG.fullmatch(tag) for tag in tags)


def strange_tags(tags: Iterable[str]) -> list[str]:
    """Returns the tags that mark no spans among `O` and tags that do.

    Tags in lower case, such as `b-per`, mark none.
    """
    names = dict.fromkeys(tags)
    capitals = {name.upper() for name in names}
    if OUTSIDE not in capitals or not any(
        "-" in name and _TAG.fullmatch(name) for name in capitals
    ):
        return []
    return [name for name in names if not are_span_tags([name])]


def scheme_of(sentences: Iterable[Sequence[str]]) -> Scheme | None:
    """Returns the scheme of tags.

    A span of BIO (IOB2) begins with B, one of IOB1 with I unless it follows another of
    its type. BIOES has the names of IOBES and BILOU, too: E or L for the last word of a
    span, S or U for its only one. Where sentences of BIO and IOB1 are mixed, most spans
    decide; `spans` finds the same ones for both. It is BIO if every tag is `O`, and
    `None` for tags that mark no spans.
    """
    rows = [_checked(sentences=tags) for tags in sentences]
    scheme = scheme_of_names({tag for tags in rows for tag in tags})
    if scheme != "BIO":
        return scheme
    # Where a span begins that does not follow another one of its type.
    firsts = Counter(
        part.place
        for tags in rows
        for before, part in pairwise([_NOTHING, *map(_part, tags)])
        if before.place == OUTSIDE or before.type != part.type
    )
    return "IOB1" if firsts["I"] > firsts["B"] else "BIO"


def scheme_of_names(names: Collection[str]) -> Scheme | None:
    """Returns the scheme of names of tags, `"BIO"` or `"BIOES"`; see `scheme_of`."""
    if not names or not are_span_tags(names):
        return None
    is_bioes = any(_part(name).place in "ES" for name in names)
    return "BIOES" if is_bioes else "BIO"


def spans(tags: Sequence[str]) -> list[Span]:
    """Returns the spans that the tags of a sentence mark, as conlleval counts them.

    It reads every scheme, and sequences that are invalid in theirs: a span begins where
    the type changes, or after `O`, whatever its first tag is. A tag that marks no span,
    such as a part of speech, is a `ValueError`.
    """
    marked = []
    begin = 0
    parts = [_NOTHING, *map(_part, _checked(tags=tags)), _NOTHING]
    for k, (before, part) in enumerate(pairwise(parts)):
        differs = before.type != part.type
        if differs or before.place in "ESO" or part.place in "BSO":
            if before.place != OUTSIDE:
                marked.append(Span(before.type, begin, k))
            begin = k
    return marked


def convert(tags: Sequence[str], to: Scheme) -> list[str]:
    """Returns the tags of the same spans in another scheme."""
    check_choice(SCHEMES, to=to)
    converted = [OUTSIDE] * len(tags)
    before = Span("", 0, 0)
    for span in spans(tags):
        # At the start of a sentence there is none before it.
        follows = before.end and (before.type, before.end) == (span.type, span.begin)
        first = "I" if to == "IOB1" and not follows else "B"
        places = [first] + ["I"] * (span.end - span.begin - 1)
        if to == "BIOES":
            places[-1] = "S" if len(places) == 1 else "E"
        for k, place in enumerate(places, span.begin):
            converted[k] = f"{place}-{span.type}" if span.type else place
        before = span
    return converted


def allowed_transitions(tag_names: Sequence[str]) -> Transitions:
    """Returns which tags, by distinct names, may follow each other in a sequence.

    The scheme is BIOES if a name says so, else BIO. Tags that mark no spans may follow
    each other in any order.
    """
    # The commands read tags without it.
    import numpy as np

    names = _checked(tag_names=tag_names)
    if len(set(names)) < len(names):
        refuse("tag_names", "distinct", tag_names)
    allowed = np.ones((len(names) + 1, len(names) + 1), bool)
    if scheme := scheme_of_names(names):
        parts = [*map(_part, names), _NOTHING]
        for before, part in product(range(len(parts)), repeat=2):
            allowed[before, part] = _may_follow(parts[before], parts[part], scheme)
    return Transitions(allowed[:-1, :-1], start=allowed[-1, :-1], end=allowed[:-1, -1])


def _may_follow(before: _Part, part: _Part, scheme: Scheme) -> bool:
    is_open = before.place in "BI"
    if part.place in "IE":
        return is_open and before.type == part.type
    return scheme == "BIO" or not is_open


def _part(tag: str) -> _Part:
    if tag == OUTSIDE:
        return _NOTHING
    matched = _TAG.fullmatch(tag)
    if matched is None:
        refuse("tags", "O, or B, I, E, S, L or U with - and a type", tag)
    place, type_ = matched.groups()
    return _Part(_SPELLINGS.get(place, place), type_ or "")


def _checked(**argument: Iterable[str]) -> list[str]:
    """Returns the tags as a list; a string is not taken for its letters."""
    ((name, tags),) = argument.items()
    if isinstance(tags, Iterable) and not isinstance(tags, str | bytes):
        checked = list(tags)
        if all(isinstance(tag, str) for tag in checked):
            return checked
    rule = "lists of tags" if name == "sentences" else "a list of tags"
    raise TypeError(f"{called(name)} must be {rule}. {received(**{name: tags})}")
