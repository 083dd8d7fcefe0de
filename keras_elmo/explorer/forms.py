"""The forms of a word that count as one: `배*` is 배 with any particle."""

from collections.abc import Set

from keras_elmo.explorer.examples import is_hangul

# Particles, and forms of the copula, that Korean writes at the end of a noun.
_PARTICLES = (
    *("", "이", "가", "은", "는", "을", "를", "의", "도", "만", "에", "에는", "에도"),
    *("에서", "에서는", "에게", "께", "로", "으로", "로는", "으로는", "와", "과"),
    *("나", "이나", "보다", "까지", "부터", "마다", "처럼", "밖에", "대로", "들"),
    *("들이", "들은", "들을", "들의", "라고", "이라고", "다", "이다", "인"),
)


def forms_of(pattern: str, words: Set[str]) -> set[str]:
    """Returns the words of a text that a pattern stands for, in lower case.

    A pattern is a word, or the beginning of words before `*`. After Hangul, `*` stands
    for particles.
    """
    pattern = pattern.casefold()
    stem = pattern.removesuffix("*")
    if stem in ("", pattern):
        return {pattern}
    if is_hangul(stem[-1]):
        return {stem + ending for ending in _PARTICLES if stem + ending in words}
    return {word for word in words if word.startswith(stem)}


def usual_pattern(token: str, words: Set[str]) -> str:
    """Returns the token; of Korean, its stem and `*` if the text has several forms.

    The stem is the beginning that the text has with the most particles.
    """
    if not is_hangul(token[-1]):
        return token
    stems = [
        token[:end] for end in range(1, len(token) + 1) if token[end:] in _PARTICLES
    ]
    counts = [len(forms_of(f"{stem}*", words)) for stem in stems]
    # Of equals the longer.
    count, stem = max(zip(counts, stems, strict=True))
    return f"{stem}*" if count > 1 else token
