"""Files that are not text, text in other encodings, and text without sentences."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import zipfile
from random import Random

import pytest

from keras_elmo.text.file_kinds import check_start, likely_encoding
from tests.helpers.installed import import_installed

TEXTS = {
    "German": "Die Brücke über den Fluß führt zurück, die Größe zählt.\n",
    "French": "La fenêtre était ouverte à l'été, le garçon prépare un café.\n",
    "Polish": "Zażółć gęślą jaźń. Ściana była żółta, łódź płynęła wzdłuż rzeki.\n",
    "Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy. Řeka teče přes město.\n",
    "Russian": "Мы сидели на берегу реки. Банк выдал кредит.\n",
    "Greek": "Καθίσαμε στην όχθη του ποταμού.\n",
    "Korean": "우리는 강가에 앉아 배를 보았다. 은행에서 돈을 빌렸다.\n",
    "Japanese": "私たちは川の岸に座って船を見ていた。\n",
    "Chinese": "我们坐在河岸上看船。银行借钱给我们。\n",
    "quotes": "“Curly quotes” – it’s fine…\n",
}
ENCODED = {
    "German": ("ISO-8859-1",),
    "French": ("ISO-8859-1",),
    "Polish": ("ISO-8859-2", "CP1250"),
    "Czech": ("ISO-8859-2", "CP1250"),
    "Russian": ("CP1251", "KOI8-R"),
    "Greek": ("ISO-8859-7",),
    "Korean": ("CP949", "UTF-16LE", "UTF-16BE"),
    "Japanese": ("CP932", "EUC-JP", "UTF-16LE"),
    "Chinese": ("GB18030", "UTF-16LE"),
    "quotes": ("CP1252",),
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [(language, each) for language, names in ENCODED.items() for each in names],
)
def test_encodings(language, encoding):
    """The error names the encoding, and a program that converts the text."""
    text = TEXTS[language] * 9
    said = f"text.txt must be UTF-8 text; .* {encoding}: .*`iconv -f {encoding} -t"
    with pytest.raises(ValueError, match=said) as error:
        check_start(text.encode(encoding), "text.txt", True)
    if not encoding.startswith("UTF-16"):
        assert "; 9 of 9 lines are not, and look like " in str(error.value)
    assert check_start(text.encode(), "text.txt", True) is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*TEXTS.values(), "plain\n"])
def test_wide_encodings(text, encoding):
    """With a byte order mark or without, odd bytes at the end or not."""
    content = (text * 9).encode(encoding)
    for start in (content, content[:-1]):
        with pytest.raises(ValueError, match=encoding.upper().replace("-LE", "LE")[:6]):
            check_start(start, "text.txt", True)


def test_a_few_broken_lines():
    """They are counted later; lines are, not bytes."""
    valid, broken = "Größe\n".encode(), "Größe\n".encode("latin-1")
    assert check_start(valid * 50 + broken * 50, "text", True) is None
    assert check_start(b"plain\n" * 200 + broken * 2, "text", True) is None
    for content in (valid * 50 + broken * 51, b"plain\n" * 200 + broken * 3):
        with pytest.raises(ValueError, match="must be UTF-8 text"):
            check_start(content, "text", True)


def test_a_start_that_ends_within_a_character():
    for text in ("가나 다라\n" * 9, "가나 다라 " * 9):
        content = text.encode()
        for end in range(len(content) - 9, len(content)):
            assert check_start(content[:end], "text", False) is None


def test_no_sense():
    assert likely_encoding(Random(0).randbytes(5000)) is None
    assert likely_encoding(b"") is None
    for content in (
        b"\0" * 99,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"some\0 words\n" * 9,
    ):
        with pytest.raises(ValueError, match="there are NUL bytes, as in binary files"):
            check_start(content, "file", True)


def compressed():
    text = b"the bank of the river\n"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("text.txt", text)
    yield (gzip.compress(text, mtime=0), "compressed by gzip: decompress it, or let")
    yield (lzma.compress(text), "compressed by xz: decompress it, or let")
    yield bz2.compress(text), "compressed by bzip2: decompress it with `bunzip2`"
    yield archive.getvalue(), "a ZIP archive: unpack it"
    yield b"\x28\xb5\x2f\xfd" + text, "compressed by zstd: decompress it with `unzstd`"
    yield b"%PDF-1.7\n" + text, "a PDF: extract its text"


@pytest.mark.parametrize(("content", "said"), [*compressed()])
def test_other_files(content, said):
    with pytest.raises(ValueError, match=f"^name must be UTF-8 text; it is {said}"):
        check_start(content, "name", True)


def test_parquet():
    arrow, parquet = map(import_installed, ("pyarrow", "pyarrow.parquet"))
    file = io.BytesIO()
    parquet.write_table(arrow.table({"text": ["a bank"] * 9}), file)
    with pytest.raises(ValueError, match="it is a Parquet file: write its .* prepare`"):
        check_start(file.getvalue(), "name", True)
    assert check_start(b"BZh... is how the text begins\n", "name", True) is None


ROWS = [
    {"id": k, "text": f"The bank, of course, lends {k} .", "a": "b"} for k in range(9)
]
CONLL = "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\nit PRP B-NP O\n. . O O\n\n" * 9
CONLLU = (
    "# sent_id = 1\n1\tWe\twe\tPRON\n2\tsat\tsit\tVERB\n3-4\tdu\t_\t_\n"
    "3\tde\tde\tADP\n4\tle\tle\tDET\n\n"
) * 9
FORMS = {
    CONLL: "CoNLL, one word per line: .* the tokenizer whitespace",
    CONLLU: "CoNLL, one word per line",
    "EU\tB-ORG\nrejects\tO\n.\tO\n\t\n" * 9: "CoNLL, one word per line",
    "".join(f"{k}\tThe bank .\t1\n" for k in range(9)): "tabs: .* by `cut -f 2`",
    "".join(f'{k},"So, a bank",1\n' for k in range(9)): "commas: .*alone, number 2",
    "".join(f"{k};So, a bank;1\n" for k in range(9)): "semicolons: .*alone, number 2",
    "".join(map("{}\n".format, map(json.dumps, ROWS))): "JSON lines: .*`jq -r .text`",
    json.dumps(ROWS, indent=1): "JSON: write the text",
    json.dumps(ROWS): "JSON",
    json.dumps([list(row.values()) for row in ROWS], indent=1): "JSON",
    json.dumps([["The bank ."], ["A river ."]]) + "\nand more\n" * 9: "JSON",
    "3 9\n" + "".join(f"w{k}{' 0.5' * 9}\n" for k in range(9)): "word vectors",
    "".join(f"w{k}{' -1e-05' * 9}\n" for k in range(9)): "word vectors",
    "The bank\rThe river\r": r"old Macs .* with `tr '\\r' '\\n'`",
    "<?xml version='1.0'?>\n<doc>\n": "XML or HTML",
}


@pytest.mark.parametrize(("content", "said"), [*FORMS.items()])
def test_forms(content, said):
    """Text, but no sentences: what it looks like, and how to give it."""
    for ends in ("\n", "\r\n"):
        text = content.replace("\n", ends).encode()
        form = check_start(text, "name", True)
        with pytest.raises(ValueError, match=said):
            raise ValueError(form)


@pytest.mark.parametrize(
    "text",
    [
        "We sat on the bank of the river .\n",
        "We sat on the bank of the river .\r\n",
        "bank\n\nriver\n\n",
        "HELLO WORLD\n\n",
        "Well, he said\nYes, she said\n",
        "[Music]\n[Applause]\n",
        "[[Category:Rivers]]\n\nA bank of a river .\n",
        "1 2 3\n",
        "# A heading\n\nAnd a sentence; or two\n",
        "{ a brace }\n",
        "A\ttab in a sentence\nand none in the next\n",
        "\n",
    ],
)
def test_sentences(text):
    """Nothing is said of ordinary text."""
    assert check_start((text * 50).encode(), "name", True) is None


SHORT_CONLLU = 9 * (
    "# text = We sat\n1\tWe\twe\tPRON\tPRP\tCase=Nom|Number=Plur\t2\tnsubj\t_\t_\n"
    "2\tsat\tsit\tVERB\tVBD\tMood=Ind|Tense=Past\t0\troot\t_\tSpaceAfter=No\n\n"
)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (CONLL, ["EU rejects it . "] * 9),
        (CONLLU, ["We sat de le "] * 9),
        (SHORT_CONLLU, ["We sat "] * 9),
    ],
)
def test_advice_for_conll(content, lines):
    """The program that a message names makes sentences of words."""
    form = check_start(content.encode(), "name", True)
    program = form.split("`")[1]
    found = subprocess.run(
        ["sh", "-c", program],
        input=content,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    if found.returncode == 127:
        pytest.skip("there is no awk")
    assert found.stdout.splitlines() == lines
