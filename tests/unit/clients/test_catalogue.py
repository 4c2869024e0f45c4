"""Libraries by name and version."""

import re
from datetime import timedelta

import pytest

from heartbeat_tuner.clients import catalogue, kafkajs
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.domain.liveness import Setting
from tests.support import worlds


def test_known_library_is_found() -> None:
    """A policy's name leads to the card."""
    assert catalogue.client("kafkajs") is kafkajs.KAFKAJS


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("kafkaj", "kafkajs"), ("Sarama", "sarama"), ("frans-go", "franz-go"), ("kstreams", "streams")],
)
def test_unknown_library_is_refused_with_the_nearest(asked: str, nearest: str) -> None:
    """Who mistyped sees what may be written."""
    with pytest.raises(ValueError, match=f"'{asked}' is unknown; did you mean {nearest}\\? known are aiokafka, "):
        catalogue.client(asked)


def test_a_library_like_no_other_is_refused_with_all() -> None:
    """There is not always a nearest one."""
    with pytest.raises(ValueError, match=r"'x' is unknown; known are aiokafka, .*, streams-kip1071$"):
        catalogue.client("x")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("nodejs", "kafkajs or node-rdkafka or confluent-kafka-javascript or platformatic or kafka-node"),
        ("Python", "confluent-kafka-python or kafka-python or aiokafka"),
        ("rust", "rust-rdkafka"),
    ],
)
def test_a_language_is_answered_with_its_libraries(asked: str, meant: str) -> None:
    """The nearest name would be another language's: librdkafka is not aiokafka."""
    with pytest.raises(ValueError, match=re.escape(f"{asked!r} is no client library; did you mean {meant}?")):
        catalogue.client(asked)


def test_each_language_names_libraries_that_are_known() -> None:
    """A name that is answered is one that can be written."""
    assert {name for names in catalogue.OF_LANGUAGES.values() for name in names} <= set(catalogue.CLIENTS)


@pytest.mark.parametrize(
    ("name", "version", "session_s"),
    [
        ("java", "2.8.1", 10),
        ("java", "v3.0", 45),
        ("java", "4", 45),
        ("java", "3", 45),
        ("java", "v3", 45),
        ("java", "2.99.99", 10),
        ("kafka-python", "2", 10),
        ("kafka-python", "3", 45),
        ("confluent-kafka-python", "1", 10),
        ("kafkajs", "2", 30),
        ("kafka-python", "2.0.2", 10),
        ("kafka-python", "3.0.12", 45),
        ("confluent-kafka-python", "1.6", 10),
        ("confluent-kafka-python", "1.7.0", 45),
        ("kafkajs", "2.2.4", 30),
    ],
)
def test_an_older_version_has_the_defaults_of_its_time(name: str, version: str, session_s: int) -> None:
    """Who sets nothing runs with what the version brought."""
    card = catalogue.at_version(catalogue.client(name), version)
    assert card.defaults[Setting.SESSION_TIMEOUT] == worlds.seconds(session_s)
    assert card.defaults[Setting.HEARTBEAT_INTERVAL] == timedelta(seconds=3)


def test_what_else_an_older_version_does_is_advice() -> None:
    """kafka-python 2 beats late when it is busy."""
    card = catalogue.at_version(catalogue.client("kafka-python"), "2.0.2")
    assert any("Before 3.0: its heartbeat thread shares a lock" in advice for advice in card.advice)


@pytest.mark.parametrize(
    ("version", "nearest"),
    [("1.16", "2.0"), ("3.0", "2.2"), ("0.1", "2.0"), ("99999", "2.2"), ("2.3.0", "2.2"), ("1", "2.0"), ("3", "2.2")],
)
def test_unknown_version_is_refused_with_the_nearest(version: str, nearest: str) -> None:
    """Nobody has looked at how it beats."""
    message = re.escape(f"KafkaJS {version} is unknown; the nearest known version is {nearest} (known are 2.0 to 2.2)")
    with pytest.raises(ValueError, match=message):
        catalogue.at_version(kafkajs.KAFKAJS, version)


@pytest.mark.parametrize("version", ["", "latest", "2.x", "-1", "1..2", "123456", "2.0-rc1", "²"])
def test_what_is_no_version_is_refused(version: str) -> None:
    """With an example of one."""
    with pytest.raises(ValueError, match=r"is not a version; write it like 2\.2\.4"):
        catalogue.at_version(kafkajs.KAFKAJS, version)


@pytest.mark.parametrize(
    ("library", "kind", "card"),
    [
        ("java", Protocol.CONSUMER, "java-kip848"),
        ("spring", Protocol.SHARE, "share"),
        ("streams", Protocol.STREAMS, "streams-kip1071"),
        ("confluent-kafka-go", Protocol.CONSUMER, "confluent-kafka-python-kip848"),
        ("confluent-kafka-python", Protocol.SHARE, "confluent-kafka-python-kip848"),
        ("streams", Protocol.SHARE, "streams"),
        ("franz-go", Protocol.CONSUMER, "franz-go"),
    ],
)
def test_where_the_values_are_the_groups_another_card_holds(library: str, kind: Protocol, card: str) -> None:
    """A Streams application leaves such a group when it closes, which makes its restarts cheap."""
    assert catalogue.in_group(library, kind).name == card


@pytest.mark.parametrize("library", catalogue.CLIENTS)
@pytest.mark.parametrize("kind", [Protocol.CONSUMER, Protocol.STREAMS, Protocol.SHARE])
def test_whatever_the_group_is_a_library_s_poll_limit_is_what_it_was(library: str, kind: Protocol) -> None:
    """confluent-kafka-javascript doubles it, and a card that does not would have handlers take twice as long."""
    assert catalogue.in_group(library, kind).poll_limit_factor == catalogue.client(library).poll_limit_factor
