"""confluent-kafka for Python: poll and handle."""

import os
import signal
import threading

import lab
from confluent_kafka import Consumer

NAMES = {
    "session.timeout.ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat.interval.ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
    "fetch.wait.max.ms": "KAFKA_FETCH_WAIT_MAX_MS",
    "max.poll.interval.ms": "KAFKA_MAX_POLL_INTERVAL_MS",
}


def main() -> None:
    """Consume until told to end."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    protocol = os.environ.get("KAFKA_GROUP_PROTOCOL", "classic")
    base = {"bootstrap.servers": lab.BROKERS, "group.id": lab.GROUP_ID, "client.id": lab.CLIENT_ID}
    consumer = Consumer({**base, "auto.offset.reset": "earliest", "group.protocol": protocol, **lab.given(NAMES)})
    consumer.subscribe([lab.TOPIC])
    while not stopping.is_set():
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            lab.handle()
    consumer.close()


main()
