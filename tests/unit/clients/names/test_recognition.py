"""What keys of files are taken for, where no framework says it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients.names import key_vocabulary, recognition
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.key_words import KeyWords
from heartbeat_tuner.clients.names.recognition import KeyStanding


@pytest.mark.parametrize(
    ("key", "words", "unit_ms"),
    [
        ("KAFKA_SESSION_TIMEOUT_MS", ("kafka", "session", "timeout"), 1),
        ("maxWaitTimeInMs", ("max", "wait", "time"), 1),
        ("session.timeout.seconds", ("session", "timeout"), 1_000),
        ("SPRING_KAFKA_SESSIONTIMEOUTMS", ("spring", "kafka", "sessiontimeout"), 1),
        ("sessiontimeoutinms", ("sessiontimeout",), 1),
        ("kafka.heartbeat-interval", ("kafka", "heartbeat", "interval"), None),
        ("ms", ("ms",), None),
        ("", (), None),
    ],
)
def test_a_key_is_taken_apart(key: str, words: tuple[str, ...], unit_ms: int | None) -> None:
    """Words are separated by signs or by capitals, and a unit at the end is no part of the name."""
    taken = KeyWords.of(key)
    assert (taken.words, taken.unit_ms) == (words, unit_ms)


@pytest.mark.parametrize(
    ("key", "in_kafka", "meaning", "standing"),
    [
        ("KAFKA_SESSION_TIMEOUT_MS", False, Meaning.SESSION_TIMEOUT, KeyStanding.KNOWN),
        ("ORDERS_CONSUMER_HEARTBEAT_INTERVAL", False, Meaning.HEARTBEAT_INTERVAL, KeyStanding.KNOWN),
        ("session.timeout.ms", False, Meaning.SESSION_TIMEOUT, KeyStanding.KNOWN),
        ("cfg.session.timeout.ms", True, Meaning.SESSION_TIMEOUT, KeyStanding.KNOWN),
        ("MAX_POLL_INTERVAL_MS", True, Meaning.MAX_POLL_INTERVAL, KeyStanding.KNOWN),
        ("HEARTBEAT_INTERVAL", False, Meaning.HEARTBEAT_INTERVAL, KeyStanding.DOUBTFUL),
        ("SESSION_TIMEOUT_MS", True, Meaning.SESSION_TIMEOUT, KeyStanding.DOUBTFUL),
        ("KAFKA_SESION_TIMEOUT_MS", False, Meaning.SESSION_TIMEOUT, KeyStanding.MISSPELT),
        ("KAFKA_HEARTBAET_INTERVAL_MS", False, Meaning.HEARTBEAT_INTERVAL, KeyStanding.MISSPELT),
        ("KAFKA_TIMEOUT_SESSION_MS", False, Meaning.SESSION_TIMEOUT, KeyStanding.MISSPELT),
        ("KAFKA_HEARTBEAT_MS", False, Meaning.HEARTBEAT_INTERVAL, KeyStanding.DOUBTFUL),
        ("KAFKA_SESSION", False, Meaning.SESSION_TIMEOUT, KeyStanding.DOUBTFUL),
    ],
)
def test_a_key_means_what_its_words_say(key: str, meaning: Meaning, standing: KeyStanding, *, in_kafka: bool) -> None:
    """With Kafka's name before it, or among Kafka's settings; else it is doubtful."""
    recognised = recognition.plain(key, in_kafka=in_kafka)
    assert recognised is not None
    assert (recognised.meaning, recognised.standing) == (meaning, standing)


@pytest.mark.parametrize(
    ("key", "in_kafka"),
    [
        ("SESSION_TIMEOUT", False),
        ("SERVER_SERVLET_SESSION_TIMEOUT", True),
        ("ZOOKEEPER_SESSION_TIMEOUT_MS", True),
        ("KAFKA_PRODUCER_REQUEST_TIMEOUT_MS", True),
        ("REDIS_HEARTBEAT_INTERVL", True),
        ("KAFKA_POLL_INTERVAL_MS", True),
        ("KAFKA_MIN_POLL_INTERVAL", True),
        ("REQUEST_TIMEOUT", True),
        ("DATABASE_URL", True),
        ("LOG_LEVEL", False),
    ],
)
def test_a_key_of_something_else_is_none(key: str, *, in_kafka: bool) -> None:
    """Web sessions, ZooKeeper, producers and poll timeouts are nobody's liveness."""
    assert recognition.plain(key, in_kafka=in_kafka) is None


def test_the_scope_is_what_is_left_of_the_prefix() -> None:
    """Two consumers in one file are told apart by the words that name them."""
    for key, scope in (("KAFKA_SESSION_TIMEOUT_MS", ""), ("ORDERS_KAFKA_SESSION_TIMEOUT_MS", "orders")):
        recognised = recognition.plain(key, in_kafka=False)
        assert recognised is not None
        assert recognised.scope == scope


@pytest.mark.parametrize(
    ("key", "says_so"),
    [
        ("KAFKA_BOOTSTRAP_SERVERS", True),
        ("group.id", True),
        ("kafka.consumer.auto-offset-reset", True),
        ("SCHEMA_REGISTRY_BOOTSTRAP_SERVERS", False),
        ("DATABASE_URL", False),
    ],
)
def test_some_keys_say_that_kafka_is_configured(key: str, *, says_so: bool) -> None:
    """They are what makes a name without Kafka's name a consumer's."""
    assert recognition.names_kafka(key) is says_so


@given(key=st.text(max_size=60), in_kafka=st.booleans())
def test_whatever_a_key_is_it_means_something_or_nothing(*, key: str, in_kafka: bool) -> None:
    """Files are anybody's."""
    recognised = recognition.plain(key, in_kafka=in_kafka)
    assert recognised is None or isinstance(recognised.meaning, Meaning)
    recognition.names_kafka(key)


@given(st.sampled_from(sorted(key_vocabulary.STRONG)), st.integers(min_value=0, max_value=30), st.sampled_from("qzx"))
def test_one_wrong_letter_is_noticed(known: str, at: int, letter: str) -> None:
    """A name that is one letter off is a misspelling, or the name of something else that is known."""
    if len(known) < recognition.LEAST_LETTERS:
        return
    place = at % len(known)
    wrong = known[:place] + letter + known[place + 1 :]
    if wrong == known:
        return
    recognised = recognition.plain(f"kafka.{wrong}", in_kafka=True)
    assert recognised is not None
    assert recognised.standing is KeyStanding.MISSPELT


def test_a_key_that_is_shorter_than_an_ending_does_not_end_in_it() -> None:
    """Its words are used up, and some of the ending is left."""
    assert KeyWords.of("timeout").prefix("sessiontimeout") is None
    assert KeyWords.of("group.session.timeout").prefix("sessiontimeout") == ("group",)
