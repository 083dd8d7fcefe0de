"""The rules by which text is split into tokens, as regular expressions of RE2.

TensorFlow's RE2 looks neither ahead nor behind. White space, marks and numbers include
every language. English has the tokens of the published models' corpus or of treebanks;
its rules are applied to words without white space.
"""

from collections.abc import Iterator

# NUL, and the characters with Unicode's White_Space property that `tf.strings.split`
# does not split at. RE2 is eight times slower on `\p{Z}`.
OTHER_SPACES = (
    r"[\x{0}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)
# And U+200B, the zero width space of Khmer and Thai.
SPACES = rf"{OTHER_SPACES[:-1]}\x{{200b}}]"
# The byte order mark and the marks of direction, which are no part of a word.
INVISIBLE = r"[\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{feff}]"

# What belongs to the character before it: marks, joiners, skin tones, tags of flags;
# and what a joiner adds to it.
_TAIL = r"(?:[\p{M}\x{200c}\x{1f3fb}-\x{1f3ff}\x{e0020}-\x{e007f}]|\x{200d}[\p{S}]?)*"
# One mark or symbol that is seen as one: a joined emoji, too, and a flag.
_MARK = rf"(?:[\x{{1f1e6}}-\x{{1f1ff}}]{{2}}|[\p{{P}}\p{{S}}\p{{No}}]){_TAIL}"
# One number with its inner points and commas.
_NUMBER = rf"\p{{Nd}}+(?:[.,]\p{{Nd}}+)*{_TAIL}"
NUMBER_OR_MARK = f"{_NUMBER}|{_MARK}"

# === English ===

# As the published corpus was normalized.
_NORMALIZED = (
    (r"[‘’‚`´]", "'"),
    (r"[“”„″«»]|''", '"'),
    (r"[–—]", "--"),
    (r"…", "..."),
)

# Letters, numbers and marks, in few and wide ranges: of `[\p{L}\p{N}\p{M}]` RE2 makes a
# program that is too large for it.
_LETTERS = r"A-Za-z\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1fff}"
_ALNUM = (
    rf"[0-9{_LETTERS}\x{{ad}}\x{{200c}}\x{{200d}}\x{{20d0}}-\x{{20ff}}\x{{2c00}}-\x{{2dff}}"
    r"\x{3040}-\x{d7ff}\x{f900}-\x{fdff}\x{fe00}-\x{fe0f}\x{ff10}-\x{ff19}"
    r"\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{ff66}-\x{ffdc}"
    r"\x{10000}-\x{1cfff}\x{1e000}-\x{1efff}\x{20000}-\x{3ffff}]"
)
_LETTER = f"[{_LETTERS}]"
_URL_PART = r"\([^\s()<>\"']*\)"
_URL = (
    r"(?:(?:https?|ftp)://|www\.)"
    rf"(?:{_URL_PART}|[^\s()<>\"'])*(?:{_URL_PART}|[^\s()<>\"'.,;:!?\[\]{{}}])"
)
# 64 characters before the @ (RFC 5321): without a bound, a backtracking engine would
# read a run of them again from each of its characters.
_E_MAIL = r"[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+"
# Those that the published corpus kept, and more that treebanks keep.
_TITLES = (
    r"Adm|Asst|Bldg|Brig|Bros|Capt|Cmdr|Col|Corp|Cpl|Drs?|Gen|Gov|Hon|Hosp|Lt|Maj|"
    r"Messrs|Mlle|Mme|Mrs?|Ms|Msgr|Pfc|Ph|Prof|Pvt|Reps?|Rev|Sens?|Sgt|Sr|St|Supt|vs?"
)
_MORE_TITLES = r"Co|Esq|Ft|Inc|Jr|Ltd|Mt|etc|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec"
_CLITIC = r"'(?i:s|t|re|ve|ll|m|d|em)\b"


def _tokens(titles: str, joiners: str, endings: str) -> str:
    """One token of any kind.

    `titles` are abbreviations that keep their point, `joiners` characters between two
    parts of a word, `endings` further patterns that a word may continue with.
    """
    # U.S.A. and Ph.D.; an initial; a title; 5,300; letters.
    part = (
        rf"(?:(?:{_LETTER}{{1,3}}\.){{2,}}{_ALNUM}*|[A-Z]\.{_ALNUM}*|(?:{titles})\.|"
        rf"\d+(?:,\d+)+{_ALNUM}*|{_ALNUM}+)"
    )
    inner = rf"(?:'{_LETTER}{_ALNUM}*|[{joiners}]{part}{endings})"
    word = rf"-?(?:\.\d+|{part}){inner}*-?"
    return rf"{_URL}|{_E_MAIL}|{_CLITIC}|{word}|\.{{2,}}|-{{2,}}{endings}|{_MARK}"


# Rules with their replacements. A space precedes and follows every token.
_CONTRACTIONS = {
    # The first rule twice, for a word of two contractions.
    "published": ((rf"({_ALNUM})('{_LETTER})", r"\1 \2"),) * 2,
    "treebank": (
        *((r"(?i)([^ '])('(?:s|m|d|ll|re|ve)) ", r"\1 \2 "),) * 2,
        (rf"(?i)({_LETTER})(n't) ", r"\1 \2 "),
        (r"(?i) (can)(not) ", r" \1 \2 "),
        (r"(?i) (gon|wan)(na) ", r" \1 \2 "),
        (r"(?i) (got)(ta) ", r" \1 \2 "),
        (r"(?i) (gim|lem)(me) ", r" \1 \2 "),
    ),
}
_TOKENS = {
    "published": _tokens(_TITLES, ".-", ""),
    "treebank": _tokens(
        f"{_TITLES}|{_MORE_TITLES}",
        r"-./\\_+=*~^|",
        rf"|:\d+{_ALNUM}*|_{{2,}}|={{2,}}|\*{{2,}}|~{{2,}}",
    ),
}


def english_rules(kind: str) -> Iterator[tuple[str, str]]:
    """Yields each regular expression, and what replaces it, in order."""
    yield from _NORMALIZED
    # Dashes first, except in an address.
    yield rf"{_URL}|-{{2,}}", r" \0 "
    yield _TOKENS[kind], r" \0 "
    yield from _CONTRACTIONS[kind]
