"""What frameworks make of keys: exactly those that they read, and what to write instead of others."""

import pytest

from heartbeat_tuner.clients.names import frameworks
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.recognition import KeyStanding, Recognised

KNOWN, MISSPELT, IGNORED = KeyStanding.KNOWN, KeyStanding.MISSPELT, KeyStanding.IGNORED


def seen(recognised: Recognised | None) -> tuple[Meaning, KeyStanding, str, str] | None:
    """Return what matters of a recognised key."""
    if recognised is None:
        return None
    return recognised.meaning, recognised.standing, recognised.library, recognised.instead


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("spring.kafka.consumer.heartbeat-interval", (Meaning.HEARTBEAT_INTERVAL, KNOWN, "spring", "")),
        ("SPRING_KAFKA_CONSUMER_MAXPOLLINTERVAL", (Meaning.MAX_POLL_INTERVAL, KNOWN, "spring", "")),
        ("spring.kafka.properties.session.timeout.ms", (Meaning.SESSION_TIMEOUT, KNOWN, "spring", "")),
        ("SPRING_KAFKA_STREAMS_PROPERTIES_SESSION_TIMEOUT_MS", (Meaning.SESSION_TIMEOUT, KNOWN, "streams", "")),
        (
            "spring.kafka.consumer.session-timeout",
            (Meaning.SESSION_TIMEOUT, IGNORED, "spring", "spring.kafka.consumer.properties.session.timeout.ms"),
        ),
        (
            "SPRING_KAFKA_CONSUMER_SESSION_TIMEOUT_MS",
            (Meaning.SESSION_TIMEOUT, IGNORED, "spring", "SPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS"),
        ),
        (
            "spring.kafka.consumer.hartbeat-interval",
            (Meaning.HEARTBEAT_INTERVAL, MISSPELT, "spring", "spring.kafka.consumer.properties.heartbeat.interval.ms"),
        ),
        (
            "spring.kafka.consumer.properties.session-timeout-ms",
            (Meaning.SESSION_TIMEOUT, IGNORED, "spring", "spring.kafka.consumer.properties.session.timeout.ms"),
        ),
        (
            "spring.cloud.stream.kafka.bindings.input-in-0.consumer.configuration.session.timeout.ms",
            (Meaning.SESSION_TIMEOUT, KNOWN, "spring", ""),
        ),
        ("spring.kafka.producer.properties.request.timeout.ms", None),
        ("spring.kafka.listener.poll-timeout", None),
        ("spring.kafka.consumer.auto-offset-reset", None),
        ("spring.kafka.consumer.request-timeout", None),
        ("spring.session.timeout", None),
        ("spring.kafka.consumer.properties.instance-id", None),
        ("spring.kafka.consumer.properties.[session.timeout.ms]", (Meaning.SESSION_TIMEOUT, KNOWN, "spring", "")),
    ],
)
def test_spring(key: str, expected: tuple[Meaning, KeyStanding, str, str] | None) -> None:
    """Spring Boot has three keys of its own, and maps that take Kafka's names."""
    assert seen(frameworks.spring(key)) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("CONNECT_SESSION_TIMEOUT_MS", (Meaning.SESSION_TIMEOUT, KNOWN, "connect", "")),
        ("CONNECT_CONSUMER_SESSION_TIMEOUT_MS", (Meaning.SESSION_TIMEOUT, KNOWN, "java", "")),
        (
            "CONNECT_MAX_POLL_INTERVAL_MS",
            (Meaning.MAX_POLL_INTERVAL, IGNORED, "connect", "CONNECT_CONSUMER_MAX_POLL_INTERVAL_MS"),
        ),
        (
            "CONNECT_CONSUMER_OVERRIDE_SESSION_TIMEOUT_MS",
            (Meaning.SESSION_TIMEOUT, IGNORED, "java", "CONNECT_CONSUMER_SESSION_TIMEOUT_MS"),
        ),
        ("SESSION_TIMEOUT_MS", (Meaning.SESSION_TIMEOUT, IGNORED, "connect", "CONNECT_SESSION_TIMEOUT_MS")),
        ("CONNECT_PRODUCER_REQUEST_TIMEOUT_MS", None),
        ("CONNECT_GROUP_PROTOCOL", None),
        ("ZOOKEEPER_SESSION_TIMEOUT_MS", None),
        ("GROUP_ID", None),
        ("LOG_LEVEL", None),
    ],
)
def test_connect_image(key: str, expected: tuple[Meaning, KeyStanding, str, str] | None) -> None:
    """The image hands on what begins with CONNECT_."""
    assert seen(frameworks.connect_variable(key)) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("consumer.override.session.timeout.ms", (Meaning.SESSION_TIMEOUT, KNOWN, "java", "")),
        (
            "session.timeout.ms",
            (Meaning.SESSION_TIMEOUT, IGNORED, "java", "consumer.override.session.timeout.ms"),
        ),
        ("sesion.timeout.ms", (Meaning.SESSION_TIMEOUT, MISSPELT, "java", "session.timeout.ms")),
        ("request.timeout.ms", None),
        ("topics", None),
    ],
)
def test_connector(key: str, expected: tuple[Meaning, KeyStanding, str, str] | None) -> None:
    """A connector hands on what begins with consumer.override."""
    assert seen(frameworks.connector(key)) == expected


def test_a_misspelt_override_of_a_worker_is_no_override() -> None:
    """It is said as a misspelling: that it would do nothing anyway comes after."""
    recognised = frameworks.worker("consumer.override.sesion.timeout.ms")
    assert recognised is not None
    assert recognised.standing is MISSPELT
    assert frameworks.worker("consumer.override.tasks") is None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("sessionTimeout", (Meaning.SESSION_TIMEOUT, KNOWN, "sarama", "")),
        ("sesionTimeout", (Meaning.SESSION_TIMEOUT, MISSPELT, "sarama", "sessionTimeout")),
        ("rebalanceTimeout", (Meaning.REBALANCE_TIMEOUT, IGNORED, "sarama", "")),
        ("brokers", None),
    ],
)
def test_dapr(key: str, expected: tuple[Meaning, KeyStanding, str, str] | None) -> None:
    """Dapr's component has two fields of liveness."""
    assert seen(frameworks.dapr(key)) == expected


@pytest.mark.parametrize(
    ("key", "standing"),
    [
        ("KAFKA_SESSION_TIMEOUT_MS", IGNORED),
        ("KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS", None),
        ("KAFKA_ZOOKEEPER_SESSION_TIMEOUT_MS", None),
        ("KAFKA_NODE_ID", None),
    ],
)
def test_broker(key: str, standing: KeyStanding | None) -> None:
    """A broker reads none of a consumer's settings; those that look like them are its own bounds."""
    recognised = frameworks.broker(key)
    assert (recognised.standing if recognised else None) is standing


@pytest.mark.parametrize(
    ("key", "known"),
    [("main.consumer.session.timeout.ms", True), ("producer.request.timeout.ms", False), ("session.timeout.ms", True)],
)
def test_streams(key: str, *, known: bool) -> None:
    """Kafka Streams has its consumer's settings with and without a prefix."""
    assert (frameworks.streams(key) is not None) is known


def test_a_channel_of_quarkus_is_a_consumer_of_its_own() -> None:
    """Its name is the scope."""
    recognised = frameworks.quarkus("mp.messaging.incoming.orders.session.timeout.ms")
    assert recognised is not None
    assert recognised.scope == "orders"
    assert frameworks.quarkus("mp.messaging.outgoing.orders.session.timeout.ms") is None
