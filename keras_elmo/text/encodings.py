"""Tells the encoding of text that is not UTF-8.

charset-normalizer 3.5, which TensorFlow brings, reads 5 of 20 samples wrongly, among
them French in ISO-8859-1, the most common case.
"""

import codecs
import itertools
import unicodedata

_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# By the names of Python and of iconv; of equally likely ones the first is taken.
_WIDE = ("UTF-16LE", "UTF-16BE")
_CHINESE, _JAPANESE = ("GB18030", "BIG5"), ("CP932", "EUC-JP")
_ENCODINGS = (
    *("ISO-8859-1", "CP1252", "ISO-8859-2", "CP1250", "CP1251", "KOI8-R"),
    *("ISO-8859-7", "CP949", *_CHINESE, *_JAPANESE, *_WIDE),
)
# Characters that are looked at.
_CHARACTERS = 4000


def wide_encoding(start: bytes) -> str | None:
    """Returns UTF-16 or UTF-32 if the bytes are of it, with a mark or without."""
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    nuls = start.count(0)
    if not nuls:
        return None
    without = decoded(start.replace(b"\0", b""), "UTF-8")
    if nuls < len(start) / 4 and without is not None and _is_readable(without):
        # Text with NULs in it.
        return None
    texts = {
        encoding: start[: len(start) // 2 * 2].decode(encoding, "replace")
        for encoding in _WIDE
    }
    # Spaces, line ends and letters of ASCII tell which byte comes first.
    encoding, text = max(texts.items(), key=lambda item: sum(map(str.isascii, item[1])))
    is_text = _is_readable(text) and 49 * sum(map(str.isascii, text)) > len(text)
    return encoding if is_text else None


def _is_readable(text: str) -> bool:
    readable = sum(each.isprintable() or each.isspace() for each in text)
    return readable > 0.98 * len(text)


def decoded(text: bytes, encoding: str, is_whole: bool = False) -> str | None:
    """Decodes a text, whose last character may be cut; `None` if that is not valid."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(text, is_whole)
    except UnicodeDecodeError:
        return None


def likely_encoding(text: bytes) -> str | None:
    """Returns the encoding in which bytes make the most sense; `None` if in none."""
    scores = {encoding: _sense(text, encoding) for encoding in _ENCODINGS}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] > 0.5 else None


def _sense(text: bytes, encoding: str) -> float:
    """Returns how well letters fit their neighbours in an encoding, up to 1."""
    letters = decoded(text, encoding)
    if letters is None:
        return -1.0
    letters = letters[:_CHARACTERS]
    # Japanese is written in three scripts, Chinese in one.
    kana = "KANA" if encoding in _CHINESE else "CJK"
    fits = [
        _fit(*pair, kana)
        for pair in itertools.pairwise(f" {letters} ")
        if not (pair[0].isascii() and pair[1].isascii())
    ]
    known = [fit for fit in fits if fit is not None]
    # Bytes of Japanese are Chinese, too, but not the other way round.
    hiragana = sum("\u3041" <= each <= "\u3096" for each in letters)
    bonus = hiragana / max(len(letters), 1) if encoding in _JAPANESE else 0.0
    return sum(known) / max(len(known), 1) + bonus


def _fit(first: str, second: str, kana: str) -> int | None:
    """Returns 1 for characters that may follow each other in a word, else -1."""
    if first.isalpha() and second.isalpha():
        scripts = {_script(each, kana) for each in (first, second)}
        if len(scripts) > 1 or (first.islower() and second.isupper()):
            return -1
        # Few words have two letters with accents one after the other.
        accents = not (first.isascii() or second.isascii())
        return 0 if scripts == {"LATIN"} and accents else 1
    if any("\u2010" <= each <= "\u2027" for each in (first, second)):
        # Dashes and quotes, which no other encoding puts where it has letters.
        return 1
    if any(unicodedata.category(each)[0] in "CSN" for each in (first, second)):
        symbol, letter = sorted((first, second), key=str.isalpha)
        # Such as a sign for a currency beside a number, but not within a word.
        return -1 if letter.isalpha() and not symbol.isascii() else None
    return None


def _script(letter: str, kana: str) -> str:
    name = unicodedata.name(letter, "").split(" ")[0]
    return kana if name in ("HIRAGANA", "KATAKANA") else name
