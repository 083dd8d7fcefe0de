"""What `Tokenizer` does, without TensorFlow: for a machine that only predicts."""

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence

from keras_elmo.text import rules
from keras_elmo.utils.lazy import import_extra

# The scripts of Unicode 13, by their ISO codes; the frequent ones are looked for first.
# All other characters form one more, as in TensorFlow.
_SCRIPTS = """
Latn Hang Hani Hira Kana Cyrl Arab Grek Adlm Aghb Ahom Armi Armn Avst Bali Bamu Bass
Batk Beng Bhks Bopo Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher Chrs Copt Cprt Deva
Diak Dogr Dsrt Dupl Egyp Elba Elym Ethi Geor Glag Gong Gonm Goth Gran Gujr Guru Hano
Hatr Hebr Hluw Hmng Hmnp Hung Ital Java Kali Khar Khmr Khoj Kits Knda Kthi Lana Laoo
Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Mlym
Modi Mong Mroo Mtei Mult Mymr Nand Narb Nbat Newa Nkoo Nshu Ogam Olck Orkh Orya Osge
Osma Palm Pauc Perm Phag Phli Phlp Phnx Plrd Prti Rjng Rohg Runr Samr Sarb Saur Sgnw
Shaw Shrd Sidd Sind Sinh Sogd Sogo Sora Soyo Sund Sylo Syrc Tagb Takr Tale Talu Taml
Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Ugar Vaii Wara Wcho Xpeo Xsux Yezi Yiii
Zanb
""".split()
# The classes of RE2, which are ASCII alone.
_CLASSES = {
    r"\w": "0-9A-Za-z_",
    r"\s": r"\t\n\f\r ",
    r"\d": "[0-9]",
    r"\b": r"(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))",
}


class PlainTokenizer:
    """Splits texts in Python, as a `Tokenizer` of the same kind does."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._split: Callable[[str], list[str]]
        if kind == "unicode":
            self._split = _split_unicode
        else:
            self._split = functools.partial(_split_english, kind)
        if kind != "whitespace":
            # Now, and not in a thread that reads a file.
            _compiled("")

    def __call__(self, texts: Sequence[str | bytes]) -> list[list[bytes]]:
        """Returns the tokens of each text, in UTF-8."""
        known: dict[bytes, list[bytes]] = {}
        encoded = (
            text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
            for text in texts
        )
        return [self._tokens(text.decode(errors="replace"), known) for text in encoded]

    def _tokens(self, text: str, known: dict[bytes, list[bytes]]) -> list[bytes]:
        if self.kind == "whitespace":
            return _words(re.sub(_python(rules.OTHER_SPACES), " ", text))
        text = re.sub(_python(rules.INVISIBLE), "", text)
        tokens: list[bytes] = []
        for word in _words(re.sub(_python(rules.SPACES), " ", text)):
            if word not in known:
                parts = self._split(word.decode())
                known[word] = [part.encode() for part in parts]
            tokens += known[word]
        return tokens


def _words(text: str) -> list[bytes]:
    # Bytes are split at ASCII's white space alone.
    return text.encode().split()


@functools.cache
def _python(pattern: str) -> str:
    """Translates a pattern of RE2 for Python."""
    pattern = re.sub(r"\\x\{(\w+)\}", lambda x: chr(int(x[1], 16)), pattern)
    return re.sub(r"\\[wsdb]", lambda x: _CLASSES[x[0]], pattern)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Python's own module does not know the categories of Unicode.
    regex = import_extra("regex", "Splitting text without TensorFlow", "onnx")
    compiled: re.Pattern[str] = regex.compile(_python(pattern))
    return compiled


def _replace(pattern: str, replacement: str, text: str) -> str:
    return _compiled(pattern).sub(replacement.replace(r"\0", r"\g<0>"), text)


@functools.cache
def _scripts() -> re.Pattern[str]:
    """Matches a part of a word of one script, as `split_at_scripts` has it."""
    none = r"\p{Zyyy}\p{Zinh}"
    known = "".join(rf"\p{{{code}}}" for code in _SCRIPTS)
    parts = [rf"\p{{{code}}}[\p{{{code}}}{none}]*" for code in _SCRIPTS]
    parts.append(rf"[^{none}{known}](?:[^{known}])*")
    return _compiled(rf"[{none}]*(?:{'|'.join(parts)})|[{none}]+")


def _split_unicode(word: str) -> list[str]:
    """Splits a word as `Tokenizer("unicode")` does."""
    word = unicodedata.normalize("NFC", word)
    tokens: list[str] = []
    for part in filter(None, _replace(rules.NUMBER_OR_MARK, r" \0 ", word).split(" ")):
        # ASCII has letters of one script.
        tokens += [part] if part.isascii() else _scripts().findall(part)
    return tokens


def _split_english(kind: str, word: str) -> list[str]:
    for pattern, replacement in rules.english_rules(kind):
        word = _replace(pattern, replacement, word)
    return [part.decode() for part in _words(word)]
