"""One pod of a group with confluent-kafka for Python: settings from the environment, readiness once it has joined.

It is a consumer as people write them: one thread that polls, automatic commits, the library's own defaults wherever a
variable is not set, an orderly close on SIGTERM, and an end with status 1 when the library says that it is over.
Where KAFKA_GROUP_PROTOCOL is `share` it is a consumer of a share group (KIP-932), which is ready once it polls. Where
METRICS_PORT is set it exports what becomes of its membership (`membership`).
"""

import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from confluent_kafka import KafkaError, KafkaException, ShareConsumer
from membership import CountedConsumer, Membership
from prometheus_client import start_http_server

POLL_S: Final = 0.1

SETTINGS: Final = {
    "session.timeout.ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat.interval.ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
    "max.poll.interval.ms": "KAFKA_MAX_POLL_INTERVAL_MS",
    "auto.commit.interval.ms": "KAFKA_AUTO_COMMIT_INTERVAL_MS",
    "group.protocol": "KAFKA_GROUP_PROTOCOL",
    "group.instance.id": "KAFKA_GROUP_INSTANCE_ID",
}


def main() -> None:
    """Consume until told to end."""
    stopping, joined = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    _serve_readiness((os.environ["POD_IP"], int(os.environ["PROBE_PORT"])), joined)
    if port := os.environ.get("METRICS_PORT"):
        start_http_server(int(port), os.environ["POD_IP"])
    properties = {
        "bootstrap.servers": os.environ["KAFKA_BROKERS"],
        "group.id": os.environ["KAFKA_GROUP_ID"],
        # librdkafka cannot bind its sockets to the pod's address, so the pod's name tells members apart.
        "client.id": os.environ["HOSTNAME"],
        **{name: os.environ[variable] for name, variable in SETTINGS.items() if os.environ.get(variable)},
    }
    if properties.get("group.protocol") == "share":
        _share(properties, stopping, joined)
        return
    consumer = CountedConsumer({**properties, "auto.offset.reset": "earliest"})
    # Once is enough: a group that rebalances for ever must not also hold up its own rollout.
    consumer.subscribe([os.environ["KAFKA_TOPIC"]], on_assign=lambda *_: joined.set())
    try:
        while not stopping.is_set():
            message = consumer.poll(POLL_S)
            error = None if message is None else message.error()
            if error is not None and (error.fatal() or error.code() == KafkaError._FATAL):  # noqa: SLF001 - its name
                sys.exit(f"The consumer ended: {error.str()}")
    except KafkaException as error:
        sys.exit(f"The consumer ended: {error}")
    finally:
        consumer.close()


def _share(properties: dict[str, str], stopping: threading.Event, joined: threading.Event) -> None:
    """Consume as a member of a share group until told to end."""
    del properties["group.protocol"]
    mine = Membership(properties, calls_back=False)
    with ShareConsumer({**properties, "statistics.interval.ms": 1000, "stats_cb": mine.count}) as consumer:
        mine.owner = lambda: consumer  # what is closed has no time between polls
        consumer.subscribe([os.environ["KAFKA_TOPIC"]])
        while not stopping.is_set():
            mine.begins_poll()
            consumer.poll(POLL_S)
            mine.ends_poll()
            joined.set()
        mine.owner = lambda: None


def _serve_readiness(address: tuple[str, int], joined: threading.Event) -> None:
    class Readiness(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if joined.is_set() else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Probes are no news."""

    server = ThreadingHTTPServer(address, Readiness)
    threading.Thread(target=server.serve_forever, daemon=True).start()


main()
