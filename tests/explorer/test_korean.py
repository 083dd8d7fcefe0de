"""The page says everything in Korean, too."""

import json
import re
from importlib.resources import files

import pytest

from keras_elmo.explorer.api import Api
from keras_elmo.serving.limits import Limits, ServingError
from keras_elmo.text.splitting import unspaced

STATIC = files("keras_elmo.explorer") / "static"


def table(name):
    """The texts of a dictionary."""
    text = (STATIC / "korean.js").read_text(encoding="utf-8")
    entries = text.partition(f"const {name} = {{")[2].partition("};")[0]
    return set(re.findall(r'^  "((?:[^"\\]|\\.)*)":', entries, re.MULTILINE))


def test_all_texts_are_there():
    """The dictionary has the texts of the program and the page, and nothing else."""
    known = table("KOREAN")
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


@pytest.mark.graph
def test_messages_of_the_server(explorer):
    """What it says of what a reader can type or choose, and where it has no time."""
    api = Api({"small": explorer}, [], 9)
    said = [unspaced(["我们坐在河岸上看着船只慢慢驶过这座古老的城市"])]
    for method, request in (
        ("tokens", {"text": " "}),
        ("tokens", {"text": 10 * "a "}),
        ("tokens", {"text": 1000 * "a"}),
        ("map", {"model": "gone", "text": "a"}),
        ("mix", {"csv": "a,b", "name": "mix.csv"}),
        ("mix", {"csv": "epoch,b\n1,x", "name": "mix.csv"}),
        ("mix", {"csv": "epoch,b\n1,2", "name": "mix.csv"}),
    ):
        request = {"model": "small", **request}
        with pytest.raises(ServingError) as refused:
            api.answer(method, json.dumps(request).encode())
        said.append(str(refused.value))
    with pytest.raises(ServingError) as refused:
        Limits(waiting=1).check_waiting(1)
    said.append(str(refused.value))
    patterns = [
        re.sub(r"\\{\d\\}", "(.*)", re.escape(text)) for text in table("MESSAGES")
    ]
    for message in said:
        assert any(re.fullmatch(each, message) for each in patterns), message
