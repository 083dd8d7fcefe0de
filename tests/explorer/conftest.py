"""A page of small models of random weights, served by a thread of this process."""

import asyncio
import contextlib
import functools
import http.client
import json
import threading

import numpy as np
import pytest

from keras_elmo.explorer.api import Api
from keras_elmo.explorer.explored_tagger import ExploredTagger
from keras_elmo.explorer.explorer import Explorer
from keras_elmo.explorer.page_server import explore_app
from keras_elmo.serving.http import bound_socket, http_server, start_listening
from keras_elmo.serving.limits import ExploreOptions
from tests.helpers.pretrained import model_of
from tests.helpers.runs import CONFIG
from tests.helpers.small import randomise
from tests.helpers.tasks import random_tagger

WORDS = ["the", "bank", "river", "of", "boat", "on", "we", "sat", "a", "lends", "money"]
KOREAN = ["배를", "타고", "섬으로", "갔다", "눈이", "내려서"]
# Equal vectors would hide what is mixed up.
TEXT = [
    *(["the", "bank", "of", "the", word] for word in ("river", "boat", "sea", "lake")),
    *(["a", "bank", "lends", word] for word in ("money", "gold", "time", "hope")),
    *(["we", "sat", "on", "the", "Bank", "of", word] for word in "abcdef"),
    ["배를", "타고", "섬으로", "갔다"],
    ["שלום", "עולם", "bank"],
]
MIXES = [{"task": "mix.csv: elmo", "weights": [0.2, 0.5, 0.3]}]


def small_model(words):
    model = model_of(CONFIG, ["<S>", "</S>", "<UNK>", *words])
    randomise(model, np.random.default_rng(0), scale=0.5)
    model.encoder.tokenizer = "whitespace"
    return model


@pytest.fixture(scope="session")
def explorer():
    return Explorer(small_model(WORDS), TEXT)


@pytest.fixture(scope="session")
def of_sample():
    """The same model, with the sample text."""
    return Explorer(small_model(WORDS))


@pytest.fixture(scope="session")
def shipped():
    """Returns the explorer of a shipped model; its vectors are computed once."""
    return functools.cache(lambda code: Explorer.load(f"elmo-{code}"))


@pytest.fixture(scope="session")
def explorers(explorer):
    """By name: a model, a Korean one, and one without a softmax."""
    korean = small_model(KOREAN)
    return {
        "small": explorer,
        "korean": Explorer(korean, TEXT),
        "encoder": Explorer(korean.encoder, TEXT),
    }


def request(address, method, path, body=None, headers=None):
    """Returns the status, the headers and the body of an answer."""
    connection = http.client.HTTPConnection(address, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def ask(address, method, body, **headers):
    """Asks the API; returns the status, the headers and the JSON of an answer."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    headers = {"content-type": "application/json"} | names
    status, headers, text = request(address, "POST", f"/api/{method}", body, headers)
    return status, headers, json.loads(text)


class Page:
    """A server in a thread."""

    def __init__(self, api, options):
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(api, options))
        self._thread.start()
        assert self._ready.wait(30)

    def _run(self, api, options):
        async def run():
            with bound_socket("127.0.0.1", 0) as bound:
                self._server = http_server(explore_app(api, options), options)
                self.host, self.port = start_listening(bound)
                self._ready.set()
                await self._server.serve([bound])

        asyncio.run(run())

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    @property
    def url(self):
        return f"http://{self.address}/"

    def stop(self):
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(30)

    def ask(self, method, body=None, **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body or {}).encode()
        return ask(self.address, method, body, **headers)


@pytest.fixture(scope="session")
def tagger():
    return ExploredTagger(random_tagger(), "ner.keras", "whitespace")


@pytest.fixture(scope="session")
def start_page(explorers, tagger):
    """Starts pages; they end with the tests."""
    with contextlib.ExitStack() as stack:

        def start(api=None, **options):
            options = ExploreOptions(**options)
            api = api or Api(explorers, MIXES, options.tokens, tagger)
            page = Page(api, options)
            stack.callback(page.stop)
            return page

        yield start


@pytest.fixture(scope="session")
def page(start_page):
    return start_page()
