"""Tells by the first bytes of a file whether it is text, and of which form."""

import codecs
import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeVar

T = TypeVar("T")

# Files that begin with these bytes, and what to do about them.
_NO_TEXT = {
    b"\x1f\x8b": "compressed by gzip: decompress it, or let its name end in .gz",
    b"\xfd7zXZ\0": "compressed by xz: decompress it, or let its name end in .xz",
    b"PK\x03\x04": "a ZIP archive: unpack it",
    b"PK\x05\x06": "a ZIP archive: unpack it",
    b"BZh": "compressed by bzip2: decompress it with `bunzip2`",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: decompress it with `unzstd`",
    b"\x04\x22\x4d\x18": "compressed by lz4: decompress it with `unlz4`",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it",
    b"PAR1": "a Parquet file: write its column of text as lines, or name the "
    "column to `keras-elmo prepare`",
    b"ARROW1": "an Arrow file: write its column of text as lines",
    b"SQLite format 3\0": "an SQLite database: write its column of text as lines",
    b"\x89HDF\r\n": "an HDF5 file",
    b"%PDF-": "a PDF: extract its text with `pdftotext`",
}
# Bytes in which a NUL is a sign of a binary file.
_NUL_BYTES = 8192
# Lines that show the form of a file.
_SHOWN = 200
# The last column of named entities, parts of speech and phrases.
_TAG = re.compile(r"[BIESLU]-\S+|[A-Z][A-Z$|:_-]*")
_CONLL = "looks like CoNLL"
# Share of the lines that have to be of one form, and the least number of lines.
_MOST, _FEW = 0.95, 5


def check_start(start: bytes, name: str, is_whole: bool) -> str | None:
    """Refuses a file that is not text in UTF-8, by its first bytes, or all of them.

    Returns what the file looks like instead of sentences, if so, and how to give it.
    """
    for magic, kind in _NO_TEXT.items():
        # Three letters are too few to tell, without the level of compression.
        if start.startswith(magic) and (magic != b"BZh" or start[3:4].isdigit()):
            raise ValueError(f"{name} must be UTF-8 text; it is {kind}")
    if encoding := _wide_encoding(start):
        _refuse_encoding(name, "it looks like", encoding)
    if b"\0" in start[:_NUL_BYTES]:
        raise ValueError(
            f"{name} must be UTF-8 text; there are NUL bytes, as in binary files "
            "(`tr -d '\\0'` removes them)"
        )
    raw = _lines(start, is_whole)
    lines = [line for line in raw if line.strip()]
    encoded = [line for line in lines if not line.isascii()]
    invalid = [line for line in encoded if _decoded(line, "UTF-8", True) is None]
    # A few broken lines are counted where they are read.
    if len(invalid) > max(len(encoded) / 2, len(lines) / 100):
        first = "" if is_whole else "first "
        how = f"{len(invalid):,} of {first}{len(lines):,} lines are not, and look like"
        _refuse_encoding(name, how, likely_encoding(b"\n".join(invalid)))
    return _form(start, raw[:_SHOWN])


def _refuse_encoding(name: str, how: str, encoding: str | None) -> None:
    advice = "another encoding, or a binary file"
    if encoding:
        advice = f"{encoding}: convert it with `iconv -f {encoding} -t UTF-8`"
    raise ValueError(f"{name} must be UTF-8 text; {how} {advice}")


def _lines(start: bytes, is_whole: bool) -> list[bytes]:
    *lines, last = start.split(b"\n")
    if is_whole:
        return [*lines, last] if last else lines
    # A single line without its last character, which may be cut.
    return lines or [re.sub(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z", b"", last)]


def _form(start: bytes, raw: Sequence[bytes]) -> str | None:
    """Returns what lines look like that are no sentences, and how to give them."""
    lines = [line.decode(errors="replace").rstrip("\r") for line in raw]
    lines = [line for line in lines if line.strip()]
    ends = start.count(b"\r") - start.count(b"\r\n")
    if ends > start.count(b"\n"):
        return (
            "has lines that end as on old Macs and is read as one line: convert it "
            r"with `tr '\r' '\n'`"
        )
    if not lines:
        return None
    if _share(lines, lambda line: re.match(r"[{\[].*[}\]],?\s*\Z", line)):
        return _json_lines(lines[0])
    if re.match(r'\s*([{\[]\s*\Z|(\[\s*)+["{]|\{\s*")', lines[0]):
        return "looks like JSON: write the text of it as lines"
    if re.match(r"\s*<(\?xml|!doctype|html|doc|page|mediawiki)\b", lines[0], re.I):
        return "looks like XML or HTML: extract the text of it"
    if len(lines) < _FEW:
        return None
    if _share(lines[1:], re.compile(r"\S+( -?\d+(\.\d*)?(e-?\d+)?){5,}\s*\Z").match):
        return "looks like word vectors: `StaticEmbedding` reads them, and not as text"
    return _columns(lines, blank=len(raw) - len(lines))


def _share(
    values: Sequence[T], test: Callable[[T], object], most: float = _MOST
) -> bool:
    """Whether most values pass a test."""
    return sum(bool(test(value)) for value in values) >= most * len(values)


def _json_lines(line: str) -> str | None:
    try:
        value = json.loads(line.strip().removesuffix(","))
    except (ValueError, RecursionError):
        return None
    members = value.items() if isinstance(value, dict) else ()
    texts = ((key, text) for key, text in members if isinstance(text, str))
    sizes = {key: len(text) for key, text in texts if " " in text}
    how = f", such as by `jq -r .{max(sizes, key=sizes.__getitem__)}`" if sizes else ""
    return (
        f"looks like JSON lines: give the text alone{how}, or name its key to "
        "`keras-elmo prepare --column`"
    )


def _columns(lines: Sequence[str], blank: int) -> str | None:
    lines = [line for line in lines if not line.startswith("#")]
    # A word on each line, and a blank line between sentences.
    has_sentences = 2 < len(lines) / max(blank, 1) < 200 and blank > 0
    for delimiter, name in {"\t": "tabs", ",": "commas", ";": "semicolons"}.items():
        quoting: Literal[0, 3]
        quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        rows = _rows(csv.reader(lines, delimiter=delimiter, quoting=quoting))
        # In a sentence, a space follows.
        if not rows or any(cell[:1] == " " for row in rows for cell in row[1:]):
            continue
        # A sentence of CoNLL-U may be one word; each begins with 1.
        starts = [row[0] for row in rows].count("1") if len(rows[0]) == 10 else 0
        is_conllu = blank and starts > 1 and _are_numbered(rows)
        if delimiter == "\t" and (has_sentences or is_conllu):
            return _conll(rows)
        sizes = [sum(map(len, column)) for column in zip(*rows, strict=True)]
        best = 1 + sizes.index(max(sizes))
        how = f"such as by `cut -f {best}`" if delimiter == "\t" else f"number {best}"
        return (
            f"looks like a table whose columns are separated by {name}: give the "
            f"column of text alone, {how}"
        )
    rows = _rows(line.split() for line in lines)
    # Points and commas may be their own tags.
    has_tags = _share([row[-1] for row in rows], _TAG.fullmatch, 0.7)
    return _conll(rows) if rows and has_sentences and has_tags else None


def _rows(rows: Iterable[list[str]]) -> list[list[str]]:
    """Returns the rows of a table; nothing unless most are of one width."""
    try:
        read = list(rows)
    except csv.Error:
        return []
    widths = Counter(map(len, read))
    width, count = widths.most_common(1)[0] if read else (0, 0)
    if width < 2 or count < max(_FEW, _MOST * len(read)):
        return []
    return [row for row in read if len(row) == width]


def _are_numbered(rows: Sequence[Sequence[str]]) -> bool:
    return _share([row[0] for row in rows], re.compile(r"\d+([-.]\d+)?").fullmatch)


def is_conll(form: str) -> bool:
    """Whether what `check_start` returns tells of columns of words and tags."""
    return form.startswith(_CONLL)


def _conll(rows: Sequence[Sequence[str]]) -> str:
    awk = 'NF {printf "%s ", $1} !NF {print ""}'
    if _are_numbered(rows):
        # Numbered words, and not the ranges of them.
        awk = '/^[0-9]+[ \\t]/ {printf "%s ", $2} !NF {print ""}'
    return (
        f"{_CONLL}, one word per line: give one sentence per line, and the "
        f"tokenizer whitespace, such as by `awk '{awk}'`"
    )


# === Encodings ===
#
# charset-normalizer 3.5, which TensorFlow brings, reads 5 of 20 samples wrongly, among
# them French in ISO-8859-1, the most common case.

_BYTE_ORDER_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Names in Python and iconv; the first of equally likely ones is taken.
_CHINESE, _JAPANESE = ("GB18030", "BIG5"), ("CP932", "EUC-JP")
_ENCODINGS = (
    *("ISO-8859-1", "CP1252", "ISO-8859-2", "CP1250", "CP1251", "KOI8-R"),
    *("ISO-8859-7", "CP949", *_CHINESE, *_JAPANESE, "UTF-16LE", "UTF-16BE"),
)
# Characters that are looked at.
_CHARACTERS = 4000


def _wide_encoding(start: bytes) -> str | None:
    """Returns UTF-16 or UTF-32 if bytes look so, with a byte order mark or without."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return encoding
    if not (nuls := start.count(0)):
        return None
    without = _decoded(start.replace(b"\0", b""), "UTF-8")
    if nuls < len(start) / 4 and without is not None and _is_readable(without):
        # Text with NULs in it.
        return None
    # The first bytes of spaces, line ends and letters of ASCII are NUL, or the second.
    is_big = start[::2].count(0) > start[1::2].count(0)
    encoding = "UTF-16BE" if is_big else "UTF-16LE"
    text = start.decode(encoding, "replace")
    is_text = _is_readable(text) and 49 * sum(map(str.isascii, text)) > len(text)
    return encoding if is_text else None


def _is_readable(text: str) -> bool:
    readable = sum(letter.isprintable() or letter.isspace() for letter in text)
    return readable > 0.98 * len(text)


def _decoded(text: bytes, encoding: str, is_whole: bool = False) -> str | None:
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
    letters = _decoded(text, encoding)
    if letters is None:
        return -1.0
    letters = letters[:_CHARACTERS]
    # Japanese is written in three scripts, Chinese in one.
    kana = "KANA" if encoding in _CHINESE else "CJK"
    fits = [
        _fit(*pair, kana)
        for pair in pairwise(f" {letters} ")
        if not (pair[0].isascii() and pair[1].isascii())
    ]
    known = [fit for fit in fits if fit is not None]
    # Bytes of Japanese are valid Chinese, but not the reverse.
    hiragana = sum("\u3041" <= letter <= "\u3096" for letter in letters)
    bonus = hiragana / max(len(letters), 1) if encoding in _JAPANESE else 0.0
    return sum(known) / max(len(known), 1) + bonus


def _fit(first: str, second: str, kana: str) -> int | None:
    """Returns 1 for characters that may follow each other in a word, else -1."""
    if first.isalpha() and second.isalpha():
        scripts = {_script(letter, kana) for letter in (first, second)}
        if len(scripts) > 1 or (first.islower() and second.isupper()):
            return -1
        # Few words have two letters with accents side by side.
        accents = not (first.isascii() or second.isascii())
        return 0 if scripts == {"LATIN"} and accents else 1
    if any("\u2010" <= letter <= "\u2027" for letter in (first, second)):
        # Dashes and quotes, which no other encoding puts where it has letters.
        return 1
    if any(unicodedata.category(letter)[0] in "CSN" for letter in (first, second)):
        symbol, letter = sorted((first, second), key=str.isalpha)
        # Such as a sign for a currency beside a number, but not within a word.
        return -1 if letter.isalpha() and not symbol.isascii() else None
    return None


def _script(letter: str, kana: str) -> str:
    name = unicodedata.name(letter, "").split(" ")[0]
    return kana if name in ("HIRAGANA", "KATAKANA") else name
