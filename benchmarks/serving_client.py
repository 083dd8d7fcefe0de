"""One client of `serving.py`: asks again and again, and prints how long it took.

    python benchmarks/serving_client.py REQUEST.json

where REQUEST.json has the server's host, port and path, the bodies to send, and the
times at which to begin and to end, by `time.time`. Prints the seconds of each request
that began and ended between them.
"""

import http.client
import json
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any


def main(path: str, number: str) -> None:
    """Asks; `number` says with which body to begin."""
    request = json.loads(Path(path).read_text(encoding="utf-8"))
    bodies = [json.dumps(body).encode() for body in request["bodies"]]
    start = int(number) * 7 % len(bodies)
    print(json.dumps(_ask(request, bodies[start:] + bodies[:start])))


def _ask(request: dict[str, Any], bodies: list[bytes]) -> list[float]:
    connection = http.client.HTTPConnection(request["host"], request["port"])
    seconds = []
    for body in cycle(bodies):
        wait = request["begin"] - time.time()
        if wait > 0:
            time.sleep(wait)
        began = time.perf_counter()
        connection.request("POST", request["path"], body)
        answer = connection.getresponse()
        read = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {read[:200]!r}")
        if time.time() > request["end"]:
            break
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
