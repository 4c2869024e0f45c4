"""A trickle of messages, so that consumers have something to handle.

How often a message comes decides how often a KafkaJS consumer beats, so the trickle is slow and even: one message at a
time, round the partitions, from a thread of its own that ends with its context.
"""

import itertools
import threading
from typing import Final, Self

from confluent_kafka import Producer

from sandbox.errors import SandboxError

_FLUSH_S: Final = 5.0


class Trickle:
    """Sends one message every `every_s` seconds; use as a context manager.

    Args:
        bootstrap: the broker, host and port.
        topic: where the messages go; it must exist.
        every_s: pause between two messages.
    """

    def __init__(self, bootstrap: str, topic: str, every_s: float = 2.0) -> None:
        self.sent = 0
        self._topic = topic
        self._every_s = every_s
        # Nobody waits for a message that the broker did not take in time: in an outage the trickle dries up.
        self._producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 5000, "log_level": 0})
        self._partitions: list[int] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trickle", daemon=True)

    def __enter__(self) -> Self:
        # Asked here, so that a missing broker or topic is the caller's error and not a thread's.
        topic = self._producer.list_topics(self._topic, timeout=30).topics[self._topic]
        self._partitions = sorted(topic.partitions)
        if not self._partitions:
            raise SandboxError(f"There is no topic {self._topic} to send messages to.")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        for number, partition in enumerate(itertools.cycle(self._partitions)):
            self._producer.produce(self._topic, str(number), partition=partition, on_delivery=self._count)
            self._producer.poll(0)
            if self._stopping.wait(self._every_s):
                break
        self._producer.flush(_FLUSH_S)

    def _count(self, error: object, _message: object) -> None:
        if error is None:
            self.sent += 1
