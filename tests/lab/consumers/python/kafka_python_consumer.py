"""kafka-python: poll and handle."""

import signal
import threading

import lab
from kafka import KafkaConsumer

NAMES = {
    "session_timeout_ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat_interval_ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
    "fetch_max_wait_ms": "KAFKA_FETCH_MAX_WAIT_MS",
    "max_poll_interval_ms": "KAFKA_MAX_POLL_INTERVAL_MS",
}


def main() -> None:
    """Consume until told to end."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    consumer = KafkaConsumer(
        lab.TOPIC,
        bootstrap_servers=lab.BROKERS.split(","),
        group_id=lab.GROUP_ID,
        client_id=lab.CLIENT_ID,
        auto_offset_reset="earliest",
        max_poll_records=1,
        **lab.given(NAMES),
    )
    while not stopping.is_set():
        for messages in consumer.poll(timeout_ms=100).values():
            for _ in messages:
                lab.handle()
    consumer.close()


main()
