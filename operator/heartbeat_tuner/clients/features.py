"""Which versions have what: libraries since when, brokers since when, and whom Kafka 4 refuses."""

import enum
import re
from collections.abc import Mapping
from typing import Final

from heartbeat_tuner.clients.client import Client, Property


class Feature(enum.StrEnum):
    """What a setting asks for, as part of a sentence."""

    STATIC_ID = "static membership"
    CONSUMER_PROTOCOL = "the consumer protocol"
    COOPERATIVE = "cooperative assignors"


_JAVA: Final = {Feature.STATIC_ID: "2.3", Feature.CONSUMER_PROTOCOL: "4.0", Feature.COOPERATIVE: "2.4"}
_LIBRDKAFKA: Final = {Feature.STATIC_ID: "1.4", Feature.CONSUMER_PROTOCOL: "2.12", Feature.COOPERATIVE: "1.6"}

SINCE: Final[Mapping[str, Mapping[Feature, str]]] = {
    "java": _JAVA,
    **dict.fromkeys(("confluent-kafka-python", "confluent-kafka-go", "confluent-kafka-dotnet"), _LIBRDKAFKA),
    "rust-rdkafka": {Feature.CONSUMER_PROTOCOL: "0.39"},
    "kafka-python": {Feature.STATIC_ID: "2.3", Feature.COOPERATIVE: "3.0"},
    "aiokafka": {Feature.STATIC_ID: "0.10"},
    "sarama": {Feature.COOPERATIVE: "1.60"},
}
"""The first version of each library, by its card's name; where nothing stands, every known version has it, or none."""

BROKERS_SINCE: Final[Mapping[Feature, str]] = {Feature.STATIC_ID: "2.3", Feature.CONSUMER_PROTOCOL: "4.0"}
"""The first version of Kafka's brokers."""

KAFKA_4: Final = "4.0"
_OLDEST_JAVA: Final = "2.1"
"""Of Java consumers that Kafka 4 answers (KIP-896)."""

VERSION: Final = re.compile(r"v?[0-9]{1,5}(\.[0-9]{1,5}){0,3}")


def older(version: str, than: str) -> bool:
    """Whether a version comes before another; both are as `VERSION` has them."""
    return _numbers(version) < _numbers(than)


def is_librdkafka(client: Client) -> bool:
    """Whether the library is built on librdkafka."""
    return "librdkafka" in client.how


def poll_records(client: Client) -> Property | None:
    """Return the setting that says how many messages one poll hands out; None where the library has none."""
    return next((other for other in client.others if other.name.replace("_", ".") == "max.poll.records"), None)


def refused_by_kafka_4(client: Client, version: str) -> str:
    """Return why Kafka 4 does not answer the library, as a sentence; empty if it does.

    Args:
        client: the library.
        version: of it; empty for a recent one.
    """
    if client.name == "kafka-node":
        return (
            "kafka-node cannot consume from Kafka 4: requests that it needs are refused there; move to another library"
        )
    if client.name == "java" and version and older(version, _OLDEST_JAVA):
        return f"Kafka 4 refuses Java consumers before {_OLDEST_JAVA}, and {version} is older (KIP-896)"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("."))
