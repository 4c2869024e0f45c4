"""confluent-kafka for Python with librdkafka's statistics, exported under the names that STATISTICS_NAMES says."""

import json
import os
import re
import signal
import threading
import time
from typing import Final

from confluent_kafka import Consumer

from tests.exporters.python.exposition import Exposition, serve
from tests.exporters.python.statistics_names import NAMES

STATISTICS_EVERY_MS: Final = 5000
SETTINGS: Final = {
    "session.timeout.ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat.interval.ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
    "max.poll.interval.ms": "KAFKA_MAX_POLL_INTERVAL_MS",
    "group.protocol": "KAFKA_GROUP_PROTOCOL",
}


def handle(value: bytes | None) -> None:
    """Do what a story's message asks: "for MS" takes so long, "until MS" until that time since 1970."""
    found = re.fullmatch(rb"(for|until) (\d{1,15})", value or b"")
    if found is not None:
        word, ms = found[1], int(found[2])
        time.sleep(max(0.0, ms / 1000 - (time.time() if word == b"until" else 0.0)))


def main() -> None:
    """Consume until told to end."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    exposition, export = Exposition(), NAMES[os.environ["STATISTICS_NAMES"]]
    serve(exposition, os.environ["POD_IP"], int(os.environ["METRICS_PORT"]))
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BROKERS"],
            "group.id": os.environ["KAFKA_GROUP_ID"],
            "client.id": os.environ["KAFKA_CLIENT_ID"],
            "auto.offset.reset": "earliest",
            "statistics.interval.ms": STATISTICS_EVERY_MS,
            "stats_cb": lambda text: export(exposition, json.loads(text)),
            **{name: os.environ[variable] for name, variable in SETTINGS.items() if variable in os.environ},
        }
    )
    consumer.subscribe([os.environ["KAFKA_TOPIC"]])
    while not stopping.is_set():
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            handle(message.value())
    consumer.close()


main()
