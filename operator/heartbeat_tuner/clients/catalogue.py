"""The client libraries this version knows, by the name a policy and the command line use."""

import dataclasses
import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import golang, java, java_groups, kafkajs, librdkafka, node, python
from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.domain.liveness import LivenessSettings

_VERSION: Final = re.compile(r"v?[0-9]{1,5}(\.[0-9]{1,5}){0,3}")
_FAMILIES: Final = (golang, java, java_groups, kafkajs, librdkafka, node, python)

CLIENTS: Final[Mapping[str, Client]] = MappingProxyType(
    {
        client.name: client
        for client in sorted(
            (client for family in _FAMILIES for client in family.CLIENTS), key=lambda client: client.name
        )
    }
)

_JAVA_AT_BROKER: Final[Mapping[str, Client]] = {Protocol.CONSUMER: java.JAVA_KIP848, Protocol.SHARE: java_groups.SHARE}
_LIBRDKAFKA_AT_BROKER: Final[Mapping[str, Client]] = dict.fromkeys(
    (Protocol.CONSUMER, Protocol.SHARE), librdkafka.CONFLUENT_PYTHON_KIP848
)
_AT_BROKER: Final[Mapping[str, Mapping[str, Client]]] = {
    "java": _JAVA_AT_BROKER,
    "spring": _JAVA_AT_BROKER,
    "streams": {Protocol.STREAMS: java_groups.STREAMS_KIP1071},
    **{
        client.name: _LIBRDKAFKA_AT_BROKER
        for client in librdkafka.CLIENTS
        if client.poll_limit_factor == librdkafka.CONFLUENT_PYTHON_KIP848.poll_limit_factor
    },
}
"""Cards of libraries where S and H are the group's, by the group's kind. librdkafka has one for all languages whose
poll limit is librdkafka's own."""

_NODE: Final = ("kafkajs", "node-rdkafka", "confluent-kafka-javascript", "platformatic", "kafka-node")
_PYTHON: Final = ("confluent-kafka-python", "kafka-python", "aiokafka")
_GO: Final = ("sarama", "franz-go", "kafka-go", "confluent-kafka-go")
_JVM: Final = ("java", "spring", "streams", "connect")
_LIBRDKAFKA: Final = tuple(client.name for client in librdkafka.CLIENTS)

OF_LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(("node", "nodejs", "node.js", "js", "javascript", "typescript"), _NODE),
        **dict.fromkeys(("python", "python3"), _PYTHON),
        **dict.fromkeys(("go", "golang"), _GO),
        **dict.fromkeys(("jvm", "kotlin", "scala", "kafka-clients"), _JVM),
        **dict.fromkeys(("librdkafka", "rdkafka", "c", "c++"), _LIBRDKAFKA),
        **dict.fromkeys(("dotnet", ".net", "csharp", "c#"), ("confluent-kafka-dotnet",)),
        "rust": ("rust-rdkafka",),
    }
)
"""What people call a client library by, to those that they may mean."""


def client(name: str) -> Client:
    """Return the client library called `name`.

    Raises:
        ValueError: the name is unknown; the message names those that may be meant, or the nearest, and lists all.
    """
    if name in CLIENTS:
        return CLIENTS[name]
    meant = OF_LANGUAGES.get(name.lower())
    if meant is not None:
        raise ValueError(f"{name!r} is no client library; did you mean {' or '.join(meant)}?")
    near = difflib.get_close_matches(name.lower(), CLIENTS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ";"
    raise ValueError(f"client library {name!r} is unknown{hint} known are {', '.join(CLIENTS)}")


def in_group(name: str, kind: str) -> Client:
    """Return the card of a library whose consumers are in a group that has its S and H at the broker.

    Args:
        name: of the library.
        kind: of the group, as its keys at the broker begin: `consumer`, `streams` or `share`.

    Returns:
        The library's own card where no other is known for such a group.
    """
    return _AT_BROKER.get(name, {}).get(kind) or client(name)


def at_version(client: Client, version: str) -> Client:
    """Return a client's card as it was in `version`: `2.8`, `v2.8.1`; `3` is `3.0`.

    Raises:
        ValueError: this is no version, or none that is known; the message names the nearest that is known.
    """
    asked = _numbers(version)
    if not asked:
        raise ValueError(f"{version!r} is not a version; write it like {client.measured or client.versions[1]}")
    oldest, newest = client.versions
    if not _numbers(oldest) <= asked[:2] <= _numbers(newest):
        nearest = oldest if asked < _numbers(oldest) else newest
        raise ValueError(
            f"{client.title} {version} is unknown; the nearest known version is {nearest} (known are {oldest} to "
            f"{newest})"
        )
    since = [release for release in client.releases if asked < _numbers(release.before)]
    card = dataclasses.replace(client, releases=tuple(release for release in client.releases if release not in since))
    for release in reversed(since):
        values = LivenessSettings.of({**card.defaults.by_setting, **release.defaults})
        advice = (*card.advice, f"Before {release.before}: {release.note}.") if release.note else card.advice
        card = dataclasses.replace(card, defaults=values, advice=advice)
    return card


def _numbers(version: str) -> tuple[int, ...]:
    """Return what a version is made of, two parts or more, so that 3 is 3.0; empty if it is none."""
    if not _VERSION.fullmatch(version):
        return ()
    parts = [int(part) for part in version.removeprefix("v").split(".")]
    return tuple(parts) if len(parts) > 1 else (*parts, 0)
