"""Which libraries speak the consumer protocol (KIP-848), since when, and what each asks for on the way there.

A library that is not in `SUPPORT` has only classic groups: `INSTEAD` says what its users can do.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class ProtocolSupport:
    """How a library speaks the consumer protocol.

    Attributes:
        since: its first version that is meant for production; empty where that is not known.
        switch: what turns it on.
        flaw: what goes wrong in versions with known faults of the protocol, as part of a sentence; empty where none are
            known.
        fixed_in: the first version without them; empty where none is known.
        patterns: what a subscription by pattern needs; empty where it stays as it is.
        listener: what changes for a rebalance listener; empty where nothing does.
        later_limit: whether the poll limit is noticed only at the next heartbeat.
    """

    since: str
    switch: str
    flaw: str = ""
    fixed_in: str = ""
    patterns: str = ""
    listener: str = ""
    later_limit: bool = False


_JAVA_PATTERNS: Final = (
    "subscribe(Pattern) stays with the client; SubscriptionPattern has the brokers match it, in RE2/J's syntax"
)
_RDKAFKA_PATTERNS: Final = (
    "a topic that begins with ^ is matched by the brokers then, in RE2/J's syntax, and an invalid pattern is an error "
    "of the subscription"
)
_RDKAFKA_LISTENER: Final = (
    "rebalance callbacks get only the partitions that come or go (incremental_assign and incremental_unassign), with "
    "each assignor"
)
_RDKAFKA_FLAW: Final = (
    "fetching may stand still for minutes, commits fail with a stale member epoch, and a member that leaves may end in "
    "a fatal error"
)
_PROPERTY: Final = "group.protocol=consumer"

_JAVA: Final = ProtocolSupport("4.0", _PROPERTY, patterns=_JAVA_PATTERNS, later_limit=True)
_RDKAFKA: Final = ProtocolSupport(
    "2.12",
    _PROPERTY,
    flaw=_RDKAFKA_FLAW,
    fixed_in="2.15",
    patterns=_RDKAFKA_PATTERNS,
    listener=_RDKAFKA_LISTENER,
)

SUPPORT: Final[Mapping[str, ProtocolSupport]] = MappingProxyType(
    {
        "java": _JAVA,
        "spring": dataclasses.replace(_JAVA, switch="spring.kafka.consumer.properties.group.protocol=consumer"),
        "confluent-kafka-python": _RDKAFKA,
        "confluent-kafka-javascript": dataclasses.replace(_RDKAFKA, since="1.6", flaw=""),
        "confluent-kafka-go": _RDKAFKA,
        "confluent-kafka-dotnet": dataclasses.replace(_RDKAFKA, switch="GroupProtocol.Consumer"),
        "node-rdkafka": dataclasses.replace(_RDKAFKA, since="3.6", fixed_in=""),
        "rust-rdkafka": dataclasses.replace(_RDKAFKA, since="0.39", fixed_in=""),
        "platformatic": ProtocolSupport("", "groupProtocol: 'consumer'"),
    }
)
"""By the names of cards. node-rdkafka 3.6 has librdkafka 2.12 (Blizzard/node-rdkafka#1146), and no release with 2.15
is known, in which the faults are gone; which one confluent-kafka-javascript has depends on its version. The versions of
Spring Kafka are those with the Java consumer 4."""

INSTEAD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aiokafka": "move to confluent-kafka-python to have it",
        "connect": "its workers have a protocol of their own; the consumers of its sink tasks are Java consumers",
        "franz-go": "it is a hidden option there, and not meant for production",
        "kafka-go": "move to confluent-kafka-go or, once it has the protocol, franz-go",
        "kafka-node": "move to another library: Kafka 4 does not answer it at all",
        "kafka-python": "move to confluent-kafka-python to have it",
        "kafkajs": "move to confluent-kafka-javascript or @platformatic/kafka to have it",
        "sarama": "move to confluent-kafka-go or, once it has the protocol, franz-go",
        "streams": "its own is group.protocol=streams (KIP-1071, Kafka 4.2), and migrations are safe from 4.2.1 on",
    }
)
"""What users of other libraries can do. Brokers go on to serve classic groups."""

ASSIGNORS: Final[Mapping[str, str]] = MappingProxyType(
    {"range": "range", "roundrobin": "uniform", "sticky": "uniform", "cooperative-sticky": "uniform"}
)
"""Which of the brokers' assignors comes next to each of a client's; others have none."""


def counterpart(assignor: str) -> str:
    """Return which of the brokers' assignors takes the place of a client's; empty where none does.

    Args:
        assignor: by its name in librdkafka, or by its Java class without the package.
    """
    spelt = assignor.removesuffix("Assignor").lower().replace("-", "")
    return next((ours for name, ours in ASSIGNORS.items() if name.replace("-", "") == spelt), "")
