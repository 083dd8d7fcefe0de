"""Is every bad request refused with a reason, and every good one beside it answered?

Thousands of requests that are wrong in some way, several at a time: in their JSON, in
what they ask for, in their HTTP, in their size, in how they arrive. Each has to be
answered with a status of 4xx and a reason, but for clients that go away before, and for
those without an end, whose connections are closed. Good requests are sent all the
while.

    python benchmarks/serving_malformed.py --requests 10000 --out malformed.json
"""

import base64
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import common
from common import markdown_table
from served import Served, exported, served

_RECEIVE_SECONDS = 2.0
_GOOD = {"instances": ["a good request"], "output_filter": ["default"]}
_GONE = "the client had gone"
_CLOSED = "closed"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(__doc__, arguments, preset="mini", requests=10_000, seed=0)
    limits = ("--receive-seconds", str(_RECEIVE_SECONDS))
    with exported(options.preset) as model, served(model, *limits) as server:
        kinds, good = _send(server, options.requests, options.seed)
        internal = _internal_errors(server)
    common.publish(
        options,
        table,
        kinds=kinds,
        good=good[200] + good[0],
        good_failed=good[0],
        internal_errors=internal,
    )
    wrong = {
        kind: answers
        for kind, answers in kinds.items()
        if not all(answer[0] == "4" or answer in (_GONE, _CLOSED) for answer in answers)
    }
    if wrong or good[0] or internal:
        raise SystemExit(f"not as it should be: {wrong}, {good}, {internal}")


def _send(
    server: Served, requests: int, seed: int
) -> tuple[dict[str, dict[str, int]], Counter[int]]:
    """Returns the answers to each kind of bad request, and those to the good ones."""
    chance = random.Random(seed)
    names = chance.choices(
        list(_KINDS), [share for share, _ in _KINDS.values()], k=requests
    )
    # Each kind occurs.
    names[: len(_KINDS)] = list(_KINDS)[:requests]
    answers: dict[str, Counter[str]] = {name: Counter() for name in _KINDS}
    good: Counter[int] = Counter()
    done = threading.Event()
    beside = threading.Thread(target=_ask_for_good, args=(server, done, good))
    beside.start()
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        seeds = itertools.count(seed)
        futures = {
            threads.submit(_send_one, server, name, next(seeds)): name for name in names
        }
        for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
            answers[futures[future]][future.result()] += 1
            if count % 1000 == 0:
                print(f"{count:,} requests", file=sys.stderr, flush=True)
    done.set()
    beside.join()
    return {name: dict(found) for name, found in answers.items() if found}, good


def _ask_for_good(server: Served, done: threading.Event, good: Counter[int]) -> None:
    while not done.wait(0.02):
        try:
            status, _ = server.ask("~:predict", _GOOD)
        except OSError:
            status = 0
        good[200 if status == 200 else 0] += 1


def _internal_errors(server: Served) -> float:
    try:
        return server.metric('keras_elmo_requests_total{api="REST",status="INTERNAL"}')
    except KeyError:
        return 0


def table(result: common.Result) -> str:
    """Returns how requests were answered, a row a kind, and of the good ones a line."""
    header = ["What was wrong", "Requests", "Answers"]
    rows = (
        [kind, f"{sum(answers.values()):,}", _told(answers)]
        for kind, answers in result["kinds"].items()
    )
    beside = (
        f"Beside them {result['good']:,} good requests, of which "
        f"{result['good_failed']:,} failed."
    )
    return f"{markdown_table(header, rows)}\n\n{beside}"


def _told(answers: dict[str, int]) -> str:
    return ", ".join(f"{count:,} x {answer}" for answer, count in answers.items())


def _send_one(server: Served, kind: str, seed: int) -> str:
    """Sends a request of a kind; returns the status of its answer."""
    _, make = _KINDS[kind]
    chance = random.Random(seed)
    if make in (_slow, _gone, _http, _endless, _elsewhere):
        return make(server, chance)
    made = make(chance)
    return _posted(server, *made) if isinstance(made, tuple) else _posted(server, made)


def _posted(
    server: Served, body: Any, path: str = "~:predict", method: str = "POST"
) -> str:
    path = path.replace("~", f"/v1/models/{server.name}")
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    with contextlib.closing(server.connect()) as connection:
        connection.request(method, path, body)
        return _status(connection.getresponse())


def _status(response: http.client.HTTPResponse) -> str:
    """The status, if a reason comes with it."""
    reason = response.read()
    with contextlib.suppress(ValueError, TypeError, KeyError):
        reason = json.loads(reason)["error"]
    return str(response.status) if reason else f"{response.status} without a reason"


# ---------------------------------------------------------------- bodies


def _text(chance: random.Random) -> str:
    return "".join(chance.choices("ab배 .\n\0\u2028😀", k=chance.randint(0, 40)))


def _tokens(tokens: Any, lengths: Any) -> Any:
    columns = {"tokens": tokens, "sequence_len": lengths}
    return {"signature_name": "tokens", "inputs": columns}


def _wrong_type(chance: random.Random) -> Any:
    rows: list[Any] = [_text(chance) for _ in range(chance.randint(1, 5))]
    wrong = [1, 1.5, None, True, [], {}, ["a"], {"b64": 1}, -(2**70)]
    rows[chance.randrange(len(rows))] = chance.choice(wrong)
    return {chance.choice(("instances", "inputs")): rows}


def _wrong_integer(chance: random.Random) -> Any:
    wrong = ["1", None, True, 1.0, 2**31, -(2**40), [1], {"b64": "AA=="}]
    return _tokens([["a"]], [chance.choice(wrong)])


def _ragged(chance: random.Random) -> Any:
    return _tokens([["a"] * width for width in chance.sample(range(6), 2)], [1, 1])


def _unequal(chance: random.Random) -> Any:
    rows, lengths = chance.sample(range(1, 9), 2)
    return _tokens([["a"]] * rows, [1] * lengths)


def _wrong_keys(chance: random.Random) -> Any:
    key = "".join(chance.choices("abc", k=5))
    return chance.choice(
        [
            *([], "a", 1, None, {}, {key: ["a"]}),
            {"instances": ["a"], "inputs": ["a"]},
            {"inputs": {key: ["a"]}},
            {"inputs": {"strings": ["a"], key: ["a"]}},
            {"instances": [{key: "a"}]},
            {"instances": [{"strings": "a"}, {key: "a"}]},
            {"signature_name": "tokens", "instances": [{"tokens": ["a"]}]},
            {"signature_name": "tokens", "inputs": ["a"]},
        ]
    )


def _unknown(chance: random.Random) -> Any:
    name = "".join(chance.choices("abc/:%", k=5))
    signatures = [name, 1, "__saved_model_init_op"]
    filters = [[name], ["elmo", "elmo"], "elmo"]
    wrong = [{"signature_name": each} for each in signatures]
    wrong += [{"output_filter": each} for each in filters]
    return _GOOD | chance.choice(wrong)


def _base64(chance: random.Random) -> Any:
    code = base64.b64encode(chance.randbytes(chance.randint(3, 30))).decode()
    place = chance.randrange(len(code))
    code = code[:place] + chance.choice("*-_é \n\0=") + "A" + code[place:]
    return {"inputs": [{"b64": code}]}


def _utf8(chance: random.Random) -> bytes:
    wrong = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80"]
    return b'{"inputs": ["a%sb"]}' % chance.choice(wrong)


def _cut(chance: random.Random) -> bytes:
    body = json.dumps({"inputs": [_text(chance)], "signature_name": "default"}).encode()
    return body[: chance.randrange(len(body))]


def _noise(chance: random.Random) -> bytes:
    return b"\0" + chance.randbytes(chance.randint(0, 2000))


def _deep(chance: random.Random) -> bytes:
    depth = chance.choice([3, 100, 500, 1000, 100_000])
    begin, end = chance.choice([(b"[", b"]"), (b'{"b64":', b"}")])
    deep = begin * depth + b"1" + end * depth
    key = chance.choice([b"inputs", b"instances", b"signature_name", b"output_filter"])
    return b'{"inputs": 1, "%s": %s}' % (key, deep)


def _many_sentences(chance: random.Random) -> Any:
    return {"inputs": ["a"] * chance.randint(1025, 200_000)}


def _many_tokens(chance: random.Random) -> Any:
    if chance.random() < 0.5:
        return {"inputs": ["a " * 1_000_000]}
    return _tokens([["a"] * 1_000_000], [1])


def _long_word(chance: random.Random) -> Any:
    mark = chance.choice(["%", "_", ".", "-", "@", "\u0301\u0316", "배", "http://"])
    return {"inputs": [mark * chance.randint(5_000, 200_000)]}


def _path(chance: random.Random) -> tuple[Any, str]:
    path = chance.choice(
        ["~", "~/", "~:classify", "~/versions/2:predict", "~/versions/x:predict"]
        + ["/v1/models/other:predict", "/v1", "/", "/%00", "/../../etc/passwd", "/?~"]
        + [f"~/versions/{'9' * 40}:predict", "~/labels/stable:predict"]
    )
    return _GOOD, path


def _method(chance: random.Random) -> tuple[Any, str, str]:
    methods = ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]
    return _GOOD, "~:predict", chance.choice(methods)


# ---------------------------------------------------------------- bare connections


@contextlib.contextmanager
def _socket(server: Served) -> Iterator[socket.socket]:
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        yield connection


def _head(server: Served, *fields: str) -> bytes:
    line = f"POST /v1/models/{server.name}:predict HTTP/1.1"
    return "\r\n".join([line, "Host: localhost", *fields, "", ""]).encode()


def _answered(connection: socket.socket) -> str:
    response = http.client.HTTPResponse(connection)
    response.begin()
    return _status(response)


def _http(server: Served, chance: random.Random) -> str:
    request = chance.choice(
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET\r\n\r\n",
            b"NONSENSE / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
            _head(server, "Content-Length: -1"),
            _head(server, "Content-Length: x"),
            _head(server, "Content-Length: 1", "Content-Length: 2"),
            _head(server, f"Content-Length: {'9' * 30}"),
            _head(server, "Content-Length: 1", "Transfer-Encoding: chunked"),
            _head(server, "Transfer-Encoding: chunked") + b"nonsense\r\n",
            _head(server, "No colon"),
            _head(server, "X: " + "x" * 1_000_000),
        ]
    )
    with _socket(server) as connection:
        # The server may have seen enough before it has seen all.
        with contextlib.suppress(OSError):
            connection.sendall(request)
        return _answered(connection)


def _endless(server: Served, chance: random.Random) -> str:
    """Trailers, extensions of a chunk, or blank lines, until the server has enough."""
    chunked = _head(server, "Transfer-Encoding: chunked")
    start, again = chance.choice(
        [(chunked + b"0\r\n", b"a: b\r\n"), (chunked + b"1", b";a=b"), (b"", b"\r\n")]
    )
    with _socket(server) as connection, contextlib.suppress(OSError):
        connection.sendall(start)
        for _ in range(1000):
            connection.sendall(again * 10_000)
        return "is not closed"
    return _CLOSED


def _elsewhere(server: Served, chance: random.Random) -> str:
    """What a browser sends for a page of another site."""
    body = json.dumps(_GOOD).encode()
    head = _head(server, f"Content-Length: {len(body)}", "Origin: http://x.example")
    if chance.random() < 0.5:
        head = _head(server, f"Content-Length: {len(body)}")
        head = head.replace(b"Host: localhost", b"Host: x.example")
    with _socket(server) as connection:
        connection.sendall(head + body)
        return _answered(connection)


def _slow(server: Served, chance: random.Random) -> str:
    """A byte a second, of the head or of the body."""
    head = _head(server, "Content-Length: 20")
    start = chance.choice([1, 20, len(head), len(head) + 2])
    with _socket(server) as connection:
        connection.sendall((head + b"{ ")[:start])
        for _ in range(round(_RECEIVE_SECONDS) + 1):
            time.sleep(1)
            with contextlib.suppress(OSError):
                connection.send(b" " if start >= len(head) else b"x")
        return _answered(connection)


def _gone(server: Served, chance: random.Random) -> str:
    body = json.dumps({"inputs": ["a word " * 200]}).encode()
    request = _head(server, f"Content-Length: {len(body)}") + body
    with _socket(server) as connection:
        connection.sendall(request[: chance.randint(0, len(request))])
        time.sleep(chance.uniform(0, 0.02))
    return _GONE


# How often, and what is sent: a body, with a path and a method where these are wrong,
# or a function that sends it and returns the status.
_KINDS: dict[str, tuple[float, Callable[..., Any]]] = {
    "no string where one has to be": (10, _wrong_type),
    "no integer where one has to be": (5, _wrong_integer),
    "tokens that are no rectangle": (5, _ragged),
    "more lengths than sentences, or less": (5, _unequal),
    "keys missing, or others": (10, _wrong_keys),
    "a signature or an output there is not": (5, _unknown),
    "invalid base64": (10, _base64),
    "invalid UTF-8": (10, _utf8),
    "JSON cut short": (10, _cut),
    "random bytes": (10, _noise),
    "lists or objects 3 to 100,000 deep": (10, _deep),
    "too many sentences": (1, _many_sentences),
    "a million tokens": (0.3, _many_tokens),
    "a word of 5 kB to 1 MB": (1, _long_word),
    "a body of 100 MB": (0.1, lambda chance: b" " * 100_000_000),
    "a path there is not": (5, _path),
    "another method": (5, _method),
    "invalid HTTP": (5, _http),
    "endless trailers, extensions, blank lines": (1, _endless),
    "a page of another site": (5, _elsewhere),
    "a byte a second": (1, _slow),
    "a client that goes away": (5, _gone),
}


if __name__ == "__main__":
    main()
