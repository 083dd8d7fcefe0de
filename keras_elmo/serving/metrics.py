"""Metrics of the server, for Prometheus."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter, Gauge, Histogram

from keras_elmo.serving.limits import Code, ServingError

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

REQUESTS = Counter(
    "keras_elmo_requests", "Prediction requests by their status", ("api", "status")
)
REQUEST_SECONDS = Histogram(
    "keras_elmo_request_seconds",
    "Seconds from the head of a prediction request to its answer",
    ("api",),
    buckets=_SECONDS,
)
BATCH_SENTENCES = Histogram(
    "keras_elmo_batch_sentences", "Sentences of a batch", buckets=_COUNTS
)
BATCH_REQUESTS = Histogram(
    "keras_elmo_batch_requests", "Requests of a batch", buckets=_COUNTS
)
WAITING_REQUESTS = Gauge("keras_elmo_waiting_requests", "Requests that wait")
MODEL_VERSION = Gauge("keras_elmo_model_version", "Version that is served")


@contextmanager
def count_request(api: str) -> Iterator[None]:
    """Counts the request that the block answers; `api` is "REST" or "GRPC"."""
    began = time.perf_counter()
    status = Code.INTERNAL.name
    try:
        yield
        status = "OK"
    except ServingError as error:
        status = error.code.name
        raise
    except asyncio.CancelledError:
        status = Code.CANCELLED.name
        raise
    finally:
        REQUESTS.labels(api, status).inc()
        REQUEST_SECONDS.labels(api).observe(time.perf_counter() - began)
