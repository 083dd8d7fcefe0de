"""keras-elmo serve: answer requests over the network."""

import argparse
import signal
import sys

_NEEDED = (
    *("grpc", "httptools", "orjson", "prometheus_client", "starlette"),
    *("tensorflow", "tensorflow_serving", "uvicorn"),
)


def add(commands: "argparse._SubParsersAction") -> None:
    command = commands.add_parser(
        "serve",
        help="answer requests over the network",
        description="Serves an exported model as TensorFlow Serving does: REST and "
        "gRPC. SIGTERM finishes what is in flight. Needs: pip install "
        "'keras-elmo[serve]'",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    command.set_defaults(
        run=run,
        arguments={
            "name": "--name",
            "body_bytes": "--max-body-bytes",
            "sentences": "--max-sentences",
            "tokens": "--max-tokens",
            "waiting": "--max-waiting",
        },
    )
    command.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="an exported model, or a folder of such named 1, 2, ..., of which the "
        "newest is served as soon as it is there",
    )
    command.add_argument(
        "--name",
        default=argparse.SUPPRESS,
        help="of the model in requests; that of its folder if not given",
    )
    command.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at; 0.0.0.0 for all"
    )
    command.add_argument(
        "--port",
        type=int,
        default=8501,
        metavar="N",
        help="REST port; 0 picks a free one",
    )
    command.add_argument(
        "--grpc-port",
        type=int,
        default=8500,
        metavar="N",
        help="gRPC port; 0 picks a free one",
    )
    _add_limits(command)


def _add_limits(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("limits")
    limits.add_argument(
        "--max-body-bytes",
        type=int,
        default=4 * 2**20,
        metavar="N",
        help="of a request",
    )
    limits.add_argument(
        "--max-sentences", type=int, default=1024, metavar="N", help="of a request"
    )
    limits.add_argument(
        "--max-tokens",
        type=int,
        default=16_384,
        metavar="N",
        help="of a request, and of what is computed at once, padding included",
    )
    limits.add_argument(
        "--max-waiting",
        type=int,
        default=256,
        metavar="N",
        help="requests that wait; one more is answered 503",
    )
    limits.add_argument(
        "--receive-seconds",
        type=float,
        default=30.0,
        metavar="N",
        help="for the head of a request, for its body, and for taking its answer",
    )


def run(options: argparse.Namespace) -> None:
    from keras_elmo.utils.lazy import import_extra

    for module in _NEEDED:
        import_extra(module, "keras-elmo serve", "serve")
    from keras_elmo.serving.limits import Limits
    from keras_elmo.serving.server import serve

    ended = serve(
        options.model,
        lambda sentence: print(f"keras-elmo: {sentence}", flush=True),
        name=getattr(options, "name", None),
        host=options.host,
        port=options.port,
        grpc_port=options.grpc_port,
        limits=Limits(
            body_bytes=options.max_body_bytes,
            sentences=options.max_sentences,
            tokens=options.max_tokens,
            waiting=options.max_waiting,
            receive_seconds=options.receive_seconds,
        ),
    )
    if ended == signal.SIGINT:
        raise KeyboardInterrupt("stopped")
    print("keras-elmo: stopped", file=sys.stderr)
