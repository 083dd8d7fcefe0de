"""White space, marks and numbers of every language, as regular expressions of RE2."""

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
MARK = rf"(?:[\x{{1f1e6}}-\x{{1f1ff}}]{{2}}|[\p{{P}}\p{{S}}\p{{No}}]){_TAIL}"
# One number with its inner points and commas.
NUMBER = rf"\p{{Nd}}+(?:[.,]\p{{Nd}}+)*{_TAIL}"
