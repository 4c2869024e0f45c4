"""What keys mean to frameworks that say exactly which they read: Spring Boot, Kafka Connect, Quarkus and Dapr.

Each function takes a key with all that leads to it, and returns what the framework makes of it; None where the key has
nothing to do with a consumer's liveness. A key that looks like a setting, and that the framework does not read, is
ignored: that is said with the name that it does read.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Final

from heartbeat_tuner.clients.names import key_vocabulary, recognition
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.key_words import KeyWords
from heartbeat_tuner.clients.names.recognition import KeyStanding, Recognised

PROPERTY: Final = {meaning: name for name, meaning in reversed(list(key_vocabulary.PROPERTIES.items()))}
"""Kafka's own name, by what it means."""

_SPRING_KEYS: Final[Mapping[str, Meaning]] = {
    "heartbeatinterval": Meaning.HEARTBEAT_INTERVAL,
    "maxpollinterval": Meaning.MAX_POLL_INTERVAL,
    "maxpollrecords": Meaning.POLL_RECORDS,
    "fetchmaxwait": Meaning.FETCH_WAIT,
    "groupid": Meaning.GROUP_ID,
}
"""Those that Spring Boot has under spring.kafka.consumer, without dashes."""

_SPRING_MAPS: Final = re.compile(
    r"spring[._]kafka[._](?P<what>consumer[._]|streams[._]|)properties[._](?P<name>.+)"
    r"|spring[._]cloud[._]stream[._]kafka[._](streams[._])?binder[._](consumer-?properties|configuration)[._](?P<binder>.+)"
    r"|spring[._]cloud[._]stream[._]kafka[._](streams[._])?bindings[._](?P<binding>[^._]+)[._]consumer[._]"
    r"configuration[._](?P<bound>.+)",
    re.IGNORECASE,
)
_SPRING: Final = re.compile(r"spring[._]kafka[._](?P<rest>.+)", re.IGNORECASE)
_SPRING_OTHERS: Final = re.compile(
    r"(producer|admin|ssl|security|jaas|template|listener|retry)([._].*|)", re.IGNORECASE
)
_CHANNEL: Final = re.compile(r"mp[._]messaging[._]incoming[._](?P<channel>[^.]+?)[._](?P<name>.+)", re.IGNORECASE)
_TASKS: Final = "the consumers of sink tasks"


def spring(key: str) -> Recognised | None:
    """Return what Spring Boot makes of a key that begins with `spring`."""
    key = re.sub(r"[\[\]]", "", key)  # brackets keep the dots of a map's key
    if match := _SPRING_MAPS.fullmatch(key):
        streams = (match["what"] or "").lower().startswith("streams")
        name = match["name"] or match["binder"] or match["bound"]
        library = "streams" if streams else "spring"
        return _property(key, name, library, scope=match["binding"] or ("streams" if streams else ""))
    match = _SPRING.fullmatch(key)
    if match is None or _SPRING_OTHERS.fullmatch(match["rest"]):
        return None
    rest = match["rest"]
    if rest.lower().startswith(("consumer.", "consumer_")):
        joined = re.sub(r"[-_.]", "", rest[len("consumer.") :]).lower()
        if joined in _SPRING_KEYS:
            return Recognised(_SPRING_KEYS[joined], library="spring")
    meaning, near = _resembles(rest)
    if meaning is None or meaning in {Meaning.GROUP_ID, Meaning.REQUEST_TIMEOUT, Meaning.IDLE_LIMIT}:
        return None
    instead = _spring_name(key, meaning)
    if near:
        return Recognised(meaning, KeyStanding.MISSPELT, library="spring", instead=instead)
    return Recognised(
        meaning,
        KeyStanding.IGNORED,
        library="spring",
        instead=instead,
        why="Spring Boot has no such key of the consumer",
    )


def _spring_name(key: str, meaning: Meaning) -> str:
    """Return the key that Spring Boot reads."""
    name = f"spring.kafka.consumer.properties.{PROPERTY[meaning]}"
    return name.replace(".", "_").upper() if key.isupper() else name


def quarkus(key: str) -> Recognised | None:
    """Return what SmallRye makes of an incoming channel's key."""
    match = _CHANNEL.fullmatch(key)
    return None if match is None else _property(key, match["name"], "java", scope=match["channel"].lower())


def connect_variable(key: str) -> Recognised | None:
    """Return what the image of a Connect worker makes of a variable."""
    words = key.upper().split("_")
    if words[0] == "CONNECT":
        name = ".".join(words[1:]).lower()
        recognised = worker(name)
        if recognised is None or not recognised.instead:
            return recognised
        return dataclasses.replace(recognised, instead="CONNECT_" + recognised.instead.replace(".", "_").upper())
    meaning, _ = _resembles(key)
    if meaning is None or meaning.setting is None or key_vocabulary.FOREIGN.intersection(KeyWords.of(key).words):
        return None
    return Recognised(
        meaning,
        KeyStanding.IGNORED,
        library="connect",
        instead="CONNECT_" + PROPERTY[meaning].replace(".", "_").upper(),
        why="the image of a Connect worker reads only variables that begin with CONNECT_",
    )


def worker(key: str) -> Recognised | None:
    """Return what a Connect worker makes of a property."""
    if key.startswith(("producer.", "admin.")):
        return None
    if key.startswith("consumer."):
        return _task_consumer(key)
    recognised = _property(key, key, "connect")
    if recognised is not None and recognised.meaning in {Meaning.MAX_POLL_INTERVAL, Meaning.FETCH_WAIT}:
        return Recognised(
            recognised.meaning,
            KeyStanding.IGNORED,
            library="connect",
            instead=f"consumer.{PROPERTY[recognised.meaning]}",
            why=f"a worker does not poll, and hands only what begins with consumer. to {_TASKS}",
        )
    if recognised is not None and recognised.meaning in {
        Meaning.INSTANCE_ID,
        Meaning.GROUP_PROTOCOL,
        Meaning.ASSIGNORS,
        Meaning.POLL_RECORDS,
    }:
        return None
    return recognised


def _task_consumer(key: str) -> Recognised | None:
    if key.startswith("consumer.override."):
        recognised = _property(key, key.removeprefix("consumer.override."), "java", scope="sink tasks")
        if recognised is None or recognised.standing is not KeyStanding.KNOWN:
            return recognised
        return Recognised(
            recognised.meaning,
            KeyStanding.IGNORED,
            library="java",
            instead=f"consumer.{PROPERTY[recognised.meaning]}",
            why="consumer.override. is for the configuration of a connector, not of a worker",
        )
    return _property(key, key.removeprefix("consumer."), "java", scope="sink tasks")


def connector(key: str) -> Recognised | None:
    """Return what a connector makes of a property."""
    if key.startswith("consumer.override."):
        return _property(key, key.removeprefix("consumer.override."), "java", scope="sink tasks")
    recognised = _property(key, key.removeprefix("consumer."), "java", scope="sink tasks")
    if recognised is None or recognised.meaning.setting is None or recognised.standing is KeyStanding.MISSPELT:
        return recognised if recognised is not None and recognised.standing is KeyStanding.MISSPELT else None
    name = PROPERTY[recognised.meaning]
    why = f"a connector hands only what begins with consumer.override. to {_TASKS}"
    return Recognised(
        recognised.meaning, KeyStanding.IGNORED, library="java", instead=f"consumer.override.{name}", why=why
    )


def dapr(key: str) -> Recognised | None:
    """Return what Dapr's Kafka components make of an entry of their metadata."""
    known = {
        "sessiontimeout": Meaning.SESSION_TIMEOUT,
        "heartbeatinterval": Meaning.HEARTBEAT_INTERVAL,
        "consumergroup": Meaning.GROUP_ID,
    }
    if key.lower() in known:
        return Recognised(known[key.lower()], library="sarama")
    meaning, near = _resembles(key)
    if meaning is None or meaning.setting is None:
        return None
    if near:
        return Recognised(meaning, KeyStanding.MISSPELT, library="sarama", instead=str(meaning.setting))
    return Recognised(meaning, KeyStanding.IGNORED, library="sarama", why="Dapr's Kafka components have no such field")


def broker(key: str) -> Recognised | None:
    """Return which consumer's setting stands among those of a broker."""
    words = KeyWords.of(key)
    if key_vocabulary.FOREIGN.intersection(words.words):
        return None
    meaning, near = _resembles(key)
    bare = {word for word in words.words if word not in {"kafka", "cfg"}}
    if meaning is None or meaning.setting is None or near or "group" in bare:
        return None
    return Recognised(meaning, KeyStanding.IGNORED, why="a broker does not read a consumer's setting")


def streams(key: str) -> Recognised | None:
    """Return what Kafka Streams makes of a property."""
    name = key
    for prefix in ("main.consumer.", "consumer."):
        name = name.removeprefix(prefix)
    if name.startswith(("producer.", "admin.", "restore.", "global.")):
        return None
    return _property(key, name, "streams")


def _property(key: str, name: str, library: str, scope: str = "") -> Recognised | None:
    """Return what a name means to something that hands it to Kafka's consumer as it is."""
    upper = key.isupper()
    exact = key_vocabulary.PROPERTIES.get(name.lower().replace("_", ".") if upper else name)
    if exact is not None:
        return Recognised(exact, library=library, scope=scope, unit_ms=1)
    meaning, near = _resembles(name)
    if meaning is None or meaning is Meaning.GROUP_ID:
        return None
    written = PROPERTY[meaning]
    instead = key[: len(key) - len(name)] + (written.replace(".", "_").upper() if upper else written)
    if near:
        return Recognised(meaning, KeyStanding.MISSPELT, library=library, scope=scope, instead=instead)
    if meaning.setting is None:
        return None
    why = f"Kafka's consumer calls it {written}, and reads no other name"
    return Recognised(meaning, KeyStanding.IGNORED, library=library, scope=scope, instead=instead, why=why)


def _resembles(name: str) -> tuple[Meaning | None, bool]:
    """Return the setting that a name means or nearly is, and whether it only nearly is."""
    recognised = recognition.plain(f"kafka.{name}", in_kafka=True)
    if recognised is None or recognised.standing is KeyStanding.DOUBTFUL:
        return None, False
    return recognised.meaning, recognised.standing is KeyStanding.MISSPELT
