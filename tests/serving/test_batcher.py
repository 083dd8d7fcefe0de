import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from keras_elmo import ElmoEmbedding, export_saved_model
from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.limits import Code, Limits, ServingError
from keras_elmo.serving.model import LENGTHS, Model, Signature
from keras_elmo.serving.request import Request, compute
from tests.helpers.small import SMALLER, random_encoder

pytestmark = pytest.mark.graph

WORDS = st.text(st.sampled_from("ab배쓰 .\u3000"), max_size=40)


def of_strings(signature, texts, outputs=("default",)):
    strings = np.array([text.encode() for text in texts], object)
    longest = max(map(len, strings), default=0)
    return Request(signature, {"strings": strings}, outputs, len(texts), longest)


def of_tokens(model, rows, extra, outputs):
    width = max(map(len, rows), default=0) + extra
    tokens = np.full((len(rows), width), b"", object)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = [word.encode() for word in row]
    lengths = np.array(list(map(len, rows)), np.int32)
    inputs = {"tokens": tokens, LENGTHS: lengths}
    return Request(model.signatures["tokens"], inputs, outputs, len(rows), width)


def metric(name):
    return REGISTRY.get_sample_value(f"keras_elmo_{name}")


def alone(request):
    return request.signature(request.inputs, request.outputs)


def assert_as_if_alone(requests, answers):
    for request, answer in zip(requests, answers, strict=True):
        wanted = alone(request)
        assert list(answer) == list(request.outputs)
        for name, array in answer.items():
            assert array.flags.c_contiguous
            assert array.shape == wanted[name].shape, name
            np.testing.assert_allclose(array, wanted[name], atol=1e-5, rtol=0)


@settings(max_examples=25)
@given(data=st.data())
def test_batch_equals_single(data, model):
    """For requests with any lengths, padding and outputs."""
    names = st.sampled_from(model.signatures["default"].outputs)
    wanted = st.lists(names, min_size=1, unique=True)
    if data.draw(st.booleans()):
        texts = st.lists(WORDS, max_size=4)
        one = st.builds(
            lambda t, o: of_strings(model.signatures["default"], t, o), texts, wanted
        )
    else:
        word = st.text(st.sampled_from("ab배"), min_size=1, max_size=9)
        rows = st.lists(st.lists(word, max_size=5), max_size=4)
        extra = st.integers(0, 3)
        one = st.builds(lambda r, e, o: of_tokens(model, r, e, o), rows, extra, wanted)
    requests = data.draw(st.lists(one, min_size=1, max_size=5))
    assert_as_if_alone(requests, compute(requests))


class Held:
    """A signature that waits for `go_on`, sleeps, and notes the sizes of batches."""

    def __init__(self, signature):
        self._signature = signature
        self.go_on = threading.Event()
        self.batches = []
        self.seconds = 0.0

    def __getattr__(self, name):
        return getattr(self._signature, name)

    def __call__(self, inputs, outputs):
        self.batches.append(len(next(iter(inputs.values()))))
        self.go_on.wait(30)
        time.sleep(self.seconds)
        if b"bad" in inputs["strings"]:
            raise RuntimeError("bad")
        return self._signature(inputs, outputs)


@pytest.fixture
def held(model):
    return Held(model.signatures["default"])


@pytest.fixture
def start():
    """Returns batchers, which are closed after the test."""
    with contextlib.ExitStack() as stack:

        def start(**limits):
            batcher = Batcher(Limits(**{"tokens": 1000, "waiting": 10, **limits}))
            stack.callback(batcher.close)
            return batcher

        yield start


@pytest.fixture
def batcher(start):
    return start()


def request(signature, text="a bank", sentences=1):
    return of_strings(signature, [text] * sentences)


def submit_and_hold(batcher, held, sentences=1):
    """Submits a request; returns its future when it is being computed."""
    before = len(held.batches)
    first = batcher.submit(request(held, sentences=sentences))
    while len(held.batches) == before:
        time.sleep(0.001)
    return first


def submit_behind(batcher, held, requests):
    """Submits while another request is computed; returns their futures."""
    first = submit_and_hold(batcher, held)
    futures = [batcher.submit(each) for each in requests]
    held.go_on.set()
    first.result(30)
    return futures


def test_requests_that_wait_share_a_batch(batcher, held):
    for future in submit_behind(batcher, held, [request(held)] * 5):
        assert future.result(30)["default"].shape == (1, 14)
    assert held.batches == [1, 5]


def test_batch_waits_for_last_clients(batcher, held, monkeypatch):
    """The first client that comes back is computed alone only if no more come."""
    # Many times the time of a batch: enough on a busy machine, too.
    monkeypatch.setattr("keras_elmo.serving.batcher._WAIT_SHARE", 5.0)
    held.seconds = 0.2
    for future in submit_behind(batcher, held, [request(held)] * 3):
        future.result(30)
    again = []
    for _ in range(3):
        again.append(batcher.submit(request(held)))
        time.sleep(0.02)
    for future in again:
        future.result(30)
    held.seconds = 0.0
    batcher.submit(request(held)).result(30)
    assert held.batches == [1, 3, 3, 1]


def test_single_client_never_waits(batcher, held, monkeypatch):
    monkeypatch.setattr("keras_elmo.serving.batcher._WAIT_SHARE", 10_000.0)
    held.go_on.set()
    held.seconds = 0.1
    batcher.submit(request(held)).result(30)
    held.seconds = 0.0
    # Waiting would take a thousand seconds.
    batcher.submit(request(held)).result(30)


def test_max_tokens_of_batch(start, held):
    """Sentences times the longest; what does not fit goes into the next one."""
    counted = metric("batch_requests_count"), metric("batch_sentences_sum")
    batcher = start(tokens=40)
    requests = [request(held, "a" * length, rows) for length, rows in [
        (10, 2), (20, 1), (10, 2), (5, 1), (60, 3), (1, 1)
    ]]  # fmt: skip
    for future in submit_behind(batcher, held, requests):
        future.result(30)
    batcher.close()
    # One request alone is larger than the limit.
    assert held.batches == [1, 4, 2, 3, 1]
    assert metric("batch_requests_count") - counted[0] == len(held.batches)
    assert metric("batch_sentences_sum") - counted[1] == sum(held.batches)


def test_one_signature_per_batch(batcher, held, model):
    other = Held(model.signatures["default"])
    other.go_on.set()
    requests = [request(held), request(other), request(held), request(other)]
    for future in submit_behind(batcher, held, requests):
        future.result(30)
    assert (held.batches, other.batches) == ([1, 2], [2])


def test_layer_norm_is_not_batchable(batcher, tmp_path, monkeypatch):
    """Layer normalisation takes one mean over the whole batch."""
    monkeypatch.setattr(Signature, "warm_up", lambda signature: None)
    layer = ElmoEmbedding(random_encoder(SMALLER), layer_norm=True)
    export_saved_model(layer, tmp_path / "normalising", "whitespace")
    signature = Model(tmp_path / "normalising", 1).signatures["default"]
    texts = ("a bank", "the river of a boat", "a")
    requests = [request(signature, text) for text in texts]
    apart = [alone(each)["default"] for each in requests]
    together = [answer["default"] for answer in compute(requests)]
    # Sharing a batch does change the outputs.
    assert np.abs(np.subtract(together, apart)).max() > 1e-3
    held = Held(signature)
    requests = [request(held, text) for text in texts]
    for future, wanted in zip(
        submit_behind(batcher, held, requests), apart, strict=True
    ):
        np.testing.assert_allclose(future.result(30)["default"], wanted, atol=1e-5)
    assert held.batches == [1, 1, 1, 1]


def test_bad_request_fails_alone(batcher, held):
    requests = [request(held), request(held, "bad"), request(held)]
    good, bad, too = submit_behind(batcher, held, requests)
    assert good.result(30) and too.result(30)
    with pytest.raises(RuntimeError, match="bad"):
        bad.result(30)


@pytest.mark.parametrize("sentences", [1, 7], ids=["short", "long"])
def test_max_waiting(sentences, start, held, small_parts):
    """A request is refused, or dropped by its client, while others wait."""
    batcher = start(waiting=2)
    first = submit_and_hold(batcher, held, sentences)
    waiting = [batcher.submit(request(held, sentences=sentences)) for _ in range(2)]
    with pytest.raises(ServingError, match="2 requests wait already") as error:
        batcher.submit(request(held))
    assert error.value.code is Code.UNAVAILABLE
    assert len(batcher) == 2 and waiting[0].cancel()
    # It takes nobody's place any more.
    assert len(batcher) == 1
    last = batcher.submit(request(held, sentences=sentences))
    held.go_on.set()
    for future in (first, waiting[1], last):
        assert future.result(30)["default"].shape == (sentences, 14)
    assert held.batches == ([1, 2] if sentences == 1 else [6, 1] * 3)
    # Also if it is the only one that waits.
    held.go_on.clear()
    first = submit_and_hold(batcher, held)
    assert batcher.submit(request(held)).cancel()
    held.go_on.set()
    first.result(30)
    batcher.submit(request(held)).result(30)
    assert held.batches[-2:] == [1, 1]


def test_max_waiting_counts_those_in_the_tokenizer(start, held, model):
    batcher = start(waiting=1)
    # So many bytes that the tokens have to be counted.
    inputs = {"strings": np.array([b"a " * 600], object)}

    async def ask():
        first = asyncio.create_task(batcher.predict(model, held, inputs, [LENGTHS]))
        while not held.batches:
            await asyncio.sleep(0.001)
        assert len(batcher) == 1
        with pytest.raises(ServingError, match="1 requests wait already"):
            await batcher.predict(model, held, inputs)
        held.go_on.set()
        return await first

    assert asyncio.run(ask())[LENGTHS].tolist() == [600]
    assert len(batcher) == 0


class Kept:
    """A model that is never replaced."""

    in_use = contextlib.nullcontext


@pytest.fixture
def small_parts(monkeypatch):
    """Requests of more than 40 tokens are long."""
    monkeypatch.setattr("keras_elmo.serving.request.PART_TOKENS", 40)
    monkeypatch.setattr("keras_elmo.serving.batcher.PART_TOKENS", 40)


def test_parts_equal_whole(batcher, held, model, small_parts):
    """Sentences keep their order; each output is padded as if computed at once."""
    texts = ["a bank", "", "the river of a boat", "a", "a b c d e f g h", "of", "the"]
    outputs = model.signatures["default"].outputs
    whole = of_strings(model.signatures["default"], texts, outputs)
    held.go_on.set()
    answer = batcher.submit(of_strings(held, texts, outputs)).result(30)
    rows = [text.split() for text in texts]
    tokens = of_tokens(model, rows, 3, model.signatures["tokens"].outputs)
    of_those = batcher.submit(tokens).result(30)
    # The longest has 19 bytes.
    assert held.batches == [2, 2, 2, 1]
    assert_as_if_alone([whole, tokens], [answer, of_those])


def test_short_request_behind_long_one(batcher, held, model, small_parts):
    """It is answered while the first part of the long one is computed."""
    other = Held(model.signatures["default"])
    other.go_on.set()
    longs = [submit_and_hold(batcher, held, 20)]
    longs.append(batcher.submit(request(held, sentences=20)))
    assert batcher.submit(request(other)).result(30)["default"].shape == (1, 14)
    assert held.batches == [6]
    assert not any(future.done() for future in longs)
    held.go_on.set()
    for future in longs:
        assert future.result(30)["default"].shape == (20, 14)
    # One after the other.
    assert held.batches == [6, 6, 6, 2] * 2


def test_bad_sentence_of_long_request(batcher, held, small_parts):
    held.go_on.set()
    texts = ["a bank"] * 20
    bad = batcher.submit(of_strings(held, [*texts[:8], "bad", *texts[9:]]))
    good = batcher.submit(of_strings(held, texts))
    with pytest.raises(RuntimeError, match="bad"):
        bad.result(30)
    assert good.result(30)["default"].shape == (20, 14)
    # No part after the bad one is computed.
    assert held.batches == [6, 6, 6, 6, 6, 2]


def test_client_of_long_request_leaves(batcher, held, small_parts):
    """The part under way is the last."""
    assert submit_and_hold(batcher, held, 20).cancel()
    held.go_on.set()
    batcher.submit(request(held, sentences=7)).result(30)
    assert held.batches == [6, 6, 1]


def test_empty_sentences_fill_a_batch(start, held):
    """Each has two boundaries, so it counts as a token."""
    batcher = start(tokens=10)
    inputs = {"strings": np.array([b""] * 6, object)}

    async def ask():
        asked = [batcher.predict(Kept(), held, inputs, ["default"]) for _ in range(3)]
        answers = asyncio.gather(*asked)
        while not held.batches:
            await asyncio.sleep(0.001)
        held.go_on.set()
        return await answers

    asyncio.run(ask())
    assert held.batches == [6, 6, 6]


@pytest.mark.parametrize(
    ("texts", "size"),
    [
        ([b"x" * 48_001], "1 sentences, the longest of 1,001 tokens"),
        ([b"a " * 5_000, *[b"a"] * 9], "10 sentences, the longest of 209 tokens"),
    ],
    ids=["a long word", "one long text beside short ones"],
)
def test_bytes_of_text(batcher, texts, size, held):
    """What the tokenizer would read is bounded before it reads anything."""
    inputs = {"strings": np.array(texts, object)}
    with pytest.raises(ServingError, match="of 48 bytes for each, .* " + size):
        asyncio.run(batcher.predict(Kept(), held, inputs))
    assert held.batches == []


def test_bytes_of_word(start, held):
    """Accents of one letter are put in order, in quadratic time."""
    batcher = start(tokens=Limits().tokens)
    held.go_on.set()

    def ask(size):
        inputs = {"strings": np.array([b"a", b"b " * 4_000 + b"x" * size], object)}
        asyncio.run(batcher.predict(Kept(), held, inputs, ["default"]))

    with pytest.raises(ServingError, match="may have 4,096 bytes.* of 5,000 bytes"):
        ask(5_000)
    assert not held.batches
    ask(4_096)


def test_bytes_of_text_cut_parts(batcher, held, small_parts):
    """Few tokens of many bytes are a long request, too."""
    held.go_on.set()
    inputs = {"strings": np.array([b"x" * 48 * 20] * 6, object)}
    asyncio.run(batcher.predict(Kept(), held, inputs, ["default"]))
    # All are counted; then there are parts of two.
    assert held.batches == [6, 2, 2, 2]


def test_long_request_of_layer_norm_is_whole(batcher, held, small_parts):
    held.batchable = False
    held.go_on.set()
    batcher.submit(request(held, sentences=20)).result(30)
    assert held.batches == [20]


def test_close_computes_waiting(batcher, held):
    futures = submit_behind(batcher, held, [request(held)] * 3)
    batcher.close()
    assert all(future.done() for future in futures)
    with pytest.raises(ServingError, match="shutting down"):
        batcher.submit(request(held))


def test_many_threads(model, start):
    """Answers go to those who asked."""
    batcher = start(tokens=2000, waiting=1000)
    texts = [f"word{k} " * (1 + k % 7) for k in range(200)]
    requests = [
        of_strings(model.signatures["default"], [text], ["elmo", "word_emb"])
        for text in texts
    ]
    with ThreadPoolExecutor(16) as threads:
        answers = list(
            threads.map(lambda each: batcher.submit(each).result(60), requests)
        )
    assert_as_if_alone(requests[::10], answers[::10])
    lengths = [len(answer["elmo"][0]) for answer in answers]
    assert lengths == [len(text.split()) for text in texts]
