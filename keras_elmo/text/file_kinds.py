"""Tells by the first bytes of a file whether it is text, and of which form."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

from keras_elmo.text.encodings import decoded, likely_encoding, wide_encoding

T = TypeVar("T")

# What begins with these bytes, and what to do about it.
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
    if encoding := wide_encoding(start):
        _refuse_encoding(name, "it looks like", encoding)
    if b"\0" in start[:_NUL_BYTES]:
        raise ValueError(
            f"{name} must be UTF-8 text; there are NUL bytes, as in binary files "
            "(`tr -d '\\0'` removes them)"
        )
    lines = [line for line in _lines(start, is_whole) if line.strip()]
    others = [line for line in lines if not line.isascii()]
    invalid = [line for line in others if decoded(line, "UTF-8", True) is None]
    # A few broken lines are counted where they are read.
    if len(invalid) > max(len(others) / 2, len(lines) / 100):
        first = "" if is_whole else "first "
        how = f"{len(invalid):,} of {first}{len(lines):,} lines are not, and look like"
        _refuse_encoding(name, how, likely_encoding(b"\n".join(invalid)))
    return _form(start, _lines(start, is_whole)[:_SHOWN])


def _refuse_encoding(name: str, how: str, encoding: str | None) -> None:
    advice = "another encoding, or a binary file"
    if encoding:
        advice = f"{encoding}: convert it with `iconv -f {encoding} -t UTF-8`"
    raise ValueError(f"{name} must be UTF-8 text; {how} {advice}")


def _lines(start: bytes, is_whole: bool) -> list[bytes]:
    *lines, last = start.split(b"\n")
    if is_whole:
        return [*lines, last] if last else lines
    # Of a single line, all but its last character.
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
    # Of words, each on its line, with a blank line between them.
    has_sentences = 2 < len(lines) / max(blank, 1) < 200 and blank > 0
    for delimiter, name in {"\t": "tabs", ",": "commas", ";": "semicolons"}.items():
        quoting: Literal[0, 3]
        quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        rows = _rows(csv.reader(lines, delimiter=delimiter, quoting=quoting))
        # In a sentence, a space follows.
        if not rows or any(cell[:1] == " " for row in rows for cell in row[1:]):
            continue
        # Of CoNLL-U, sentences may be of a word: each begins with 1.
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


def _conll(rows: Sequence[Sequence[str]]) -> str:
    awk = 'NF {printf "%s ", $1} !NF {print ""}'
    if _are_numbered(rows):
        # Numbered words, and not the ranges of them.
        awk = '/^[0-9]+[ \\t]/ {printf "%s ", $2} !NF {print ""}'
    return (
        "looks like CoNLL, one word per line: give one sentence per line, and the "
        f"tokenizer whitespace, such as by `awk '{awk}'`"
    )
