"""Requests that are wrong in some way, many at a time, and good ones beside them.

`KERAS_ELMO_REQUESTS` sets how many there are, and `pytest -s` prints how they were
answered, as a table:

    KERAS_ELMO_REQUESTS=10000 pytest -s tests/serving/test_malformed.py
"""

import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import re
import socket
import threading
import time
from collections import Counter

from tests.serving.test_rest import head, tokens

REQUESTS = int(os.environ.get("KERAS_ELMO_REQUESTS", 60))
# A good request must arrive in time, also beside thousands of bad ones.
RECEIVE_SECONDS = 4 if "KERAS_ELMO_REQUESTS" in os.environ else 2
GOOD = {"instances": ["a good request"], "output_filter": ["default"]}
GONE = "the client had gone"
CLOSED = "closed"


# Real requests to a process; some arrive slowly.
def test_malformed_requests(served, exported):
    """Each kind has its own 4xx and a reason; good requests among them succeed."""
    with served(exported, "--receive-seconds", RECEIVE_SECONDS) as server:
        assert posted(server, GOOD) == "200"
        answers, good = send(server)
        errors = internal_errors(server)
    print_table(answers, good)
    assert answers.keys() == KINDS.keys()
    wrong = {name: answers[name].keys() - KINDS[name][2] for name in answers}
    assert not any(wrong.values()), wrong
    assert good.keys() == {"200"}, good
    assert errors == []


def send(server):
    """Returns the answers to each kind of malformed request, and those to good ones."""
    chance = random.Random(0)
    shares = [share for share, *_ in KINDS.values()]
    number = max(0, REQUESTS - len(KINDS))
    names = [*KINDS, *chance.choices(list(KINDS), shares, k=number)]
    chance.shuffle(names)
    answers = {name: Counter() for name in KINDS}
    good, done = Counter(), threading.Event()

    def send_good():
        while not done.wait(0.02):
            try:
                good[posted(server, GOOD)] += 1
            except OSError as error:
                good[str(error)] += 1

    beside = threading.Thread(target=send_good)
    beside.start()
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        sent = [
            threads.submit(send_one, server, name, seed)
            for seed, name in enumerate(names)
        ]
        for name, answer in zip(names, sent, strict=True):
            answers[name][answer.result()] += 1
    done.set()
    beside.join()
    return answers, good


def send_one(server, name, seed):
    """Sends a request of a kind; returns the status of its answer."""
    chance, make = random.Random(seed), KINDS[name][1]
    if make in (bad_http, endless, other_site, slow, gone):
        return make(server, chance)
    made = make(chance)
    return posted(server, *made) if isinstance(made, tuple) else posted(server, made)


def posted(server, body, path="~:predict", method="POST"):
    path = path.replace("~", f"/v1/models/{server.name}")
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    with contextlib.closing(server.connect()) as connection:
        connection.request(method, path, body)
        return status(connection.getresponse())


def status(response):
    """Returns the status; it has to come with a reason if the request failed."""
    reason = response.read()
    with contextlib.suppress(ValueError, TypeError, KeyError):
        reason = json.loads(reason)["error"]
    return str(response.status) if reason else f"{response.status} without a reason"


def internal_errors(server):
    """Returns the lines of the metrics page that count them."""
    _, page = server.ask("/monitoring/prometheus/metrics")
    counts = r'^keras_elmo_requests_total\{.*status="INTERNAL".*\} [^0].*$'
    return re.findall(counts, page, re.MULTILINE)


def print_table(answers, good):
    print("\n| What was wrong | Requests | Answers |\n| --- | --- | --- |")
    for name, found in answers.items():
        counts = (f"{count:,} x {answer}" for answer, count in found.most_common())
        print(f"| {name} | {found.total():,} | {', '.join(counts)} |")
    failed = good.total() - good["200"]
    print(f"\nBeside them {good.total():,} good requests, of which {failed:,} failed.")


# ---------------------------------------------------------------- bodies


def text(chance):
    return "".join(chance.choices("ab배 .\n\0\u2028😀", k=chance.randint(0, 40)))


def wrong_type(chance):
    rows = [text(chance) for _ in range(chance.randint(1, 5))]
    wrong = [1, 1.5, None, True, [], {}, ["a"], {"b64": 1}, -(2**70)]
    rows[chance.randrange(len(rows))] = chance.choice(wrong)
    return {chance.choice(("instances", "inputs")): rows}


def unequal_rows(chance):
    return tokens([["a"] * k for k in chance.sample(range(6), 2)], [1, 1])


def long_word(chance):
    return {"inputs": [chance.choice(LONG_WORDS) * chance.randint(5_000, 200_000)]}


def unequal(chance):
    rows, lengths = chance.sample(range(1, 9), 2)
    return tokens([["a"]] * rows, [1] * lengths)


NO_INTEGERS = ["1", None, True, 1.0, 2**31, -(2**40), [1], {"b64": "AA=="}]
WRONG_KEYS = [
    *([], "a", 1, None, {}, {"c": ["a"]}),
    {"instances": ["a"], "inputs": ["a"]},
    {"inputs": {"c": ["a"]}},
    {"inputs": {"strings": ["a"], "c": ["a"]}},
    {"instances": [{"c": "a"}]},
    {"instances": [{"strings": "a"}, {"c": "a"}]},
    {"signature_name": "tokens", "instances": [{"tokens": ["a"]}]},
    {"signature_name": "tokens", "inputs": ["a"]},
]
UNKNOWN = [
    *({"signature_name": name} for name in ("/:%", 1, "__saved_model_init_op")),
    *({"output_filter": names} for names in (["c"], ["elmo", "elmo"], "elmo")),
]
NO_UTF8 = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80"]
LONG_WORDS = ["%", "_", ".", "-", "@", "\u0301\u0316", "배", "http://"]
UNKNOWN_PATHS = [
    *("~", "~/", "~:classify", "~/versions/2:predict", "~/versions/x:predict"),
    *("/v1/models/other:predict", "/v1", "/", "/%00", "/../../etc/passwd", "/?~"),
    *(f"~/versions/{'9' * 40}:predict", "~/labels/stable:predict"),
]
METHODS = ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]


def bad_base64(chance):
    code = base64.b64encode(chance.randbytes(chance.randint(3, 30))).decode()
    place = chance.randrange(len(code))
    code = code[:place] + chance.choice("*-_é \n\0=") + "A" + code[place:]
    return {"inputs": [{"b64": code}]}


def cut(chance):
    body = json.dumps({"inputs": [text(chance)], "signature_name": "default"}).encode()
    return body[: chance.randrange(len(body))]


def deep(chance):
    depth = chance.choice([3, 100, 500, 1000, 100_000])
    begin, end = chance.choice([(b"[", b"]"), (b'{"b64":', b"}")])
    key = chance.choice([b"inputs", b"instances", b"signature_name", b"output_filter"])
    return b'{"inputs": 1, "%s": %s}' % (key, begin * depth + b"1" + end * depth)


def many_tokens(chance):
    if chance.random() < 0.5:
        return {"inputs": ["a " * 1_000_000]}
    return tokens([["a"] * 1_000_000], [1])


# ---------------------------------------------------------------- bare connections


def connected(server):
    return socket.create_connection((server.host, server.port), timeout=60)


def answered(connection):
    response = http.client.HTTPResponse(connection)
    response.begin()
    return status(response)


def bad_http(server, chance):
    request = chance.choice(
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET\r\n\r\n",
            b"NONSENSE / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
            head(server, "Content-Length: -1"),
            head(server, "Content-Length: x"),
            head(server, "Content-Length: 1", "Content-Length: 2"),
            head(server, f"Content-Length: {'9' * 30}"),
            head(server, "Content-Length: 1", "Transfer-Encoding: chunked"),
            head(server, "Transfer-Encoding: chunked") + b"nonsense\r\n",
            head(server, "No colon"),
            head(server, "X: " + "x" * 1_000_000),
        ]
    )
    with connected(server) as connection:
        # The server may have seen enough before it has seen all.
        with contextlib.suppress(OSError):
            connection.sendall(request)
        return answered(connection)


def endless(server, chance):
    """Trailers, extensions of a chunk, or blank lines, until the server has enough."""
    chunked = head(server, "Transfer-Encoding: chunked")
    start, again = chance.choice(
        [(chunked + b"0\r\n", b"a: b\r\n"), (chunked + b"1", b";a=b"), (b"", b"\r\n")]
    )
    with connected(server) as connection, contextlib.suppress(OSError):
        connection.sendall(start)
        for _ in range(1000):
            connection.sendall(again * 10_000)
        return "is not closed"
    return CLOSED


def other_site(server, chance):
    """What a browser sends for a page of another site."""
    body = json.dumps(GOOD).encode()
    request = head(server, f"Content-Length: {len(body)}", "Origin: http://x.example")
    if chance.random() < 0.5:
        request = head(server, f"Content-Length: {len(body)}")
        request = request.replace(b"Host: localhost", b"Host: x.example")
    with connected(server) as connection:
        connection.sendall(request + body)
        return answered(connection)


def slow(server, chance):
    """A byte per second, of the head or of the body."""
    request = head(server, "Content-Length: 20")
    start = chance.choice([1, 20, len(request), len(request) + 2])
    with connected(server) as connection:
        connection.sendall((request + b"{ ")[:start])
        for _ in range(RECEIVE_SECONDS + 1):
            time.sleep(1)
            with contextlib.suppress(OSError):
                connection.send(b" " if start >= len(request) else b"x")
        return answered(connection)


def gone(server, chance):
    body = json.dumps({"inputs": ["a word " * 200]}).encode()
    request = head(server, f"Content-Length: {len(body)}") + body
    with connected(server) as connection:
        connection.sendall(request[: chance.randint(0, len(request))])
        time.sleep(chance.uniform(0, 0.02))
    return GONE


def kind(share, make, *statuses):
    """How often a kind is sent, what makes it, and its answers: 400 unless told.

    What makes it returns a body, perhaps with a path and a method, or sends the request
    and returns the answer.
    """
    return share, make, {*statuses} or {"400"}


def pick(values, request=lambda value: value):
    """Makes a request of one of some values."""
    return lambda chance: request(chance.choice(values))


KINDS = {
    "no string where one is required": kind(10, wrong_type),
    "no integer where one is required": kind(
        5, pick(NO_INTEGERS, lambda value: tokens([["a"]], [value]))
    ),
    "rows of tokens with different lengths": kind(5, unequal_rows),
    "more or fewer lengths than sentences": kind(5, unequal),
    "missing or unknown keys": kind(10, pick(WRONG_KEYS)),
    "unknown signature or output": kind(5, pick(UNKNOWN, GOOD.__or__)),
    "invalid base64": kind(10, bad_base64),
    "invalid UTF-8": kind(10, pick(NO_UTF8, b'{"inputs": ["a%sb"]}'.__mod__)),
    "JSON cut short": kind(10, cut),
    "random bytes": kind(10, lambda c: b"\0" + c.randbytes(c.randint(0, 2000))),
    "lists or objects 3 to 100,000 deep": kind(10, deep),
    "too many sentences": kind(
        1, lambda c: {"inputs": ["a"] * c.randint(1025, 200_000)}, "400", "413"
    ),
    "a million tokens": kind(0.3, many_tokens, "400", "413"),
    "a word of 5 kB to 1 MB": kind(1, long_word, "400", "413"),
    "a body of 100 MB": kind(0.1, lambda c: b" " * 100_000_000, "413"),
    "unknown path": kind(5, pick(UNKNOWN_PATHS, lambda x: (GOOD, x)), "400", "404"),
    "another method": kind(5, pick(METHODS, lambda x: (GOOD, "~:predict", x))),
    "invalid HTTP": kind(5, bad_http, "400", "413", "431"),
    "endless trailers, extensions, blank lines": kind(1, endless, CLOSED),
    "a page of another site": kind(5, other_site, "403", "421"),
    "a byte a second": kind(1, slow, "400", "408"),
    "a client that goes away": kind(5, gone, GONE),
}
