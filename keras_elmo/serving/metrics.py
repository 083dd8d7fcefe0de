"""What the server counts, for Prometheus."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from keras_elmo.serving.batching import Request
from keras_elmo.serving.errors import Code, ServingError

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """Counts requests and batches.

    A registry of its own, so that two servers in one process count apart.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "keras_elmo_requests",
            "Predictions that were asked for",
            ("api", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "keras_elmo_request_seconds",
            "From the head of a request to its answer",
            ("api",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._sentences = Histogram(
            "keras_elmo_batch_sentences",
            "Sentences that were computed together",
            buckets=_SENTENCES,
            registry=self._registry,
        )
        self._clients = Histogram(
            "keras_elmo_batch_requests",
            "Requests that were computed together",
            buckets=_SENTENCES,
            registry=self._registry,
        )

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        """Adds a number that is looked up whenever it is asked for."""
        gauge = Gauge(f"keras_elmo_{name}", what, registry=self._registry)
        gauge.set_function(value)

    @contextmanager
    def request(self, api: str) -> Iterator[None]:
        """Counts a prediction, by what becomes of it in the block, and its time.

        Args:
            api: "REST" or "GRPC".
        """
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
            self._requests.labels(api, status).inc()
            self._seconds.labels(api).observe(time.perf_counter() - began)

    def batch(self, requests: Sequence[Request]) -> None:
        """Counts a batch."""
        self._sentences.observe(sum(request.sentences for request in requests))
        self._clients.observe(len(requests))

    def page(self) -> bytes:
        """Returns all of it in Prometheus's text format."""
        return generate_latest(self._registry)
