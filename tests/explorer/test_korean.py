"""The page says everything in Korean, too."""

import re
from importlib.resources import files

STATIC = files("keras_elmo.explorer") / "static"


def test_all_texts_are_there():
    """Those of the program and of the page, and no other."""
    dictionary = (STATIC / "korean.js").read_text(encoding="utf-8")
    table = dictionary.partition("};")[0]
    known = set(re.findall(r'^  "((?:[^"\\\\]|\\\\.)*)":', table, re.MULTILINE))
    said = set()
    for path in STATIC.iterdir():
        if path.name.endswith(".js"):
            text = path.read_text(encoding="utf-8")
            said |= set(re.findall(r'\bt\(\s*"((?:[^"\\\\]|\\\\.)*)"', text))
            # Tables of texts that are translated where they are shown.
            for entries in re.findall(
                r"const (?:MEANING|GIVEN) = [\[{](.*?)[\]}];", text
            ):
                said |= {t for t in re.findall(r'"([^"]*)"', entries)}
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    shown = [re.sub(r"\s+", " ", t).strip() for t in re.findall(r">([^<]+)<", page)]
    shown += re.findall(r'(?:aria-label|title)="([^"]*)"', page)
    same = {".", "UMAP", "keras_elmo", "MixWeightsLogger"}
    said |= {
        text
        for text in shown
        if text
        and text not in same
        and not text.startswith(("keras-elmo", "This page"))
    }
    # The names of two sentences in a verdict.
    said |= {"first", "second"}
    assert said - known == set() and known - said == set()
