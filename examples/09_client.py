"""Ask a server for vectors, over REST and over gRPC.

    keras-elmo serve --model saved_models/my-elmo
    python examples/09_client.py --name my-elmo

TensorFlow Serving answers the same requests (docs/serving.md). Without `--name` the
example starts its own server.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import grpc
import numpy as np
import quiet_tensorflow  # noqa: F401
import tensorflow as tf
from shipped_models import ENGLISH
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

TEXTS = [
    "The heron slept on the bank among the reeds .",
    "We walked along the bank of the river .",
    "Anna asked the bank to pay for the house .",
]


def over_rest(address: str, name: str) -> np.ndarray:
    """Returns a vector for each text, the mean over its words."""
    body = json.dumps(
        # TensorFlow Serving ignores output_filter in REST and returns every output.
        {"instances": TEXTS, "output_filter": ["default"]}
    ).encode()
    url = f"http://{address}/v1/models/{name}:predict"
    # Errors are statuses like 400, with {"error": "..."} in the body.
    with urllib.request.urlopen(url, body, timeout=30) as answer:
        rows = json.load(answer)["predictions"]
    return np.array([row["default"] for row in rows], np.float32)


def over_grpc(address: str, name: str) -> np.ndarray:
    """Returns the same; gRPC sends a quarter of the bytes, and needs no parsing."""
    request = PredictRequest(output_filter=["default"])
    request.model_spec.name = name
    request.inputs["strings"].CopyFrom(tf.make_tensor_proto(TEXTS))
    with grpc.insecure_channel(address) as channel:
        response = PredictionServiceStub(channel).Predict(request, timeout=30)
    return tf.make_ndarray(response.outputs["default"])


@contextlib.contextmanager
def own_server() -> Iterator[tuple[str, str, str]]:
    """Serves a model at free ports; yields both addresses and its name."""
    command = [sys.executable, "-m", "keras_elmo", "serve", "--model", ENGLISH]
    command += ["--port", "0", "--grpc-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            print(line := process.stdout.readline(), end="")
            found = re.search(r"http://(.+)/v1/models/(\S+) and gRPC (\S+)", line)
            yield found[1], found[3], found[2]
        finally:
            # The server finishes the requests in flight.
            process.terminate()


def main(rest: str, rpc: str, name: str | None) -> None:
    with contextlib.ExitStack() as stack:
        if name is None:
            rest, rpc, name = stack.enter_context(own_server())
        vectors = over_rest(rest, name)
        print(f"Over REST: {vectors.shape[0]} vectors of {vectors.shape[1]} numbers")
        difference = np.abs(vectors - over_grpc(rpc, name)).max()
        print(f"Over gRPC: the same, {difference:.0e} apart at most")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for text, likeness in zip(TEXTS, unit @ unit[0], strict=True):
        print(f"{likeness:5.2f}  {text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rest", default="127.0.0.1:8501", help="address of REST")
    parser.add_argument(
        "--grpc", dest="rpc", default="127.0.0.1:8500", help="address of gRPC"
    )
    parser.add_argument("--name", help="the model's name")
    main(**vars(parser.parse_args()))
