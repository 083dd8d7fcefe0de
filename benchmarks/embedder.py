"""The child of `inference.py`: embeds when it is told to, and says how long it took.

Standard library and NumPy alone, because a peer lives in an environment of its own. A
system's script makes the function that embeds a list of sentences and calls `serve`.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence

import common
import numpy as np

Embed = Callable[[Sequence[Sequence[str]]], list[np.ndarray]]


def serve(make: Callable[[argparse.Namespace], Embed]) -> None:
    """Answers each line of JSON on stdin by one on stdout.

    A request names a file of sentences, how many of them to embed, and, if the
    vectors are to be compared, an .npz to write the mean of the layers to.

    Args:
        make: loads the model and returns what embeds sentences, in the order given.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--dtype", default="float32")
    # Whatever a library prints to stdout is not to reach the parent.
    answers, sys.stdout = sys.stdout, sys.stderr
    embed = make(parser.parse_args())
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        with open(request["sentences"], encoding="utf-8") as file:
            sentences = json.load(file)[: request["count"]]
        began = time.perf_counter()
        vectors = embed(sentences)
        seconds = time.perf_counter() - began
        if request["out"]:
            np.savez(request["out"], *vectors)
        answer = {
            "seconds": seconds,
            "words": sum(map(len, sentences)),
            "peak_bytes": common.peak_bytes(),
        }
        print(json.dumps(answer), file=answers, flush=True)
