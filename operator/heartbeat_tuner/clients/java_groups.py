"""Java's members of groups of their own protocols: Kafka Streams (KIP-1071) and share groups (KIP-932).

As in groups of the consumer protocol, S and H belong to the group, at the broker, and the network thread beats at the
broker's interval. Broker and group have keys of their own for each kind: `streams.session.timeout.ms`,
`share.session.timeout.ms`. A share group has no partitions of one member alone: who is fenced loses the records that it
has locked, which others get, and so does a handler that holds a record for longer than its lock.
"""

import dataclasses
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients.client import Property, Protocol, StaticIdSupport
from heartbeat_tuner.clients.java import JAVA_KIP848, STREAMS
from heartbeat_tuner.domain.liveness import Setting

RECORD_LOCK: Final = "share.record.lock.duration.ms"
"""Key of a share group's configuration: how long a member may handle one record."""

_BOUNDS: Final = (
    "By a broker's default bounds the session timeout may be 45s to 60s, the heartbeat interval 5s to 15s; the bounds "
    "change only with a restart of the broker."
)

STREAMS_KIP1071: Final = dataclasses.replace(
    STREAMS,
    name="streams-kip1071",
    title="Kafka Streams in a group of the streams protocol",
    versions=("4.2", "4.4"),
    how="from its network thread, at the broker's interval",
    period=JAVA_KIP848.period,
    defaults=JAVA_KIP848.defaults,
    names=MappingProxyType(
        {
            **STREAMS.names,
            Setting.SESSION_TIMEOUT: "streams.session.timeout.ms of the group",
            Setting.HEARTBEAT_INTERVAL: "streams.heartbeat.interval.ms of the group",
        }
    ),
    interval_may_reach_session=None,
    protocols=(Protocol.STREAMS,),
    ignores_broker_settings=True,
    leaves_on_close=True,
    static_membership=StaticIdSupport.NONE,
    releases=(),
    advice=(
        (
            "Session timeout and heartbeat interval are set for the group, at the broker; running instances follow "
            "without a restart, after one beat."
        ),
        _BOUNDS,
        "Each stream thread is a member.",
        "Migrations from and to classic groups are safe from Kafka 4.2.1 on (KAFKA-20254).",
    ),
)

SHARE: Final = dataclasses.replace(
    JAVA_KIP848,
    name="share",
    title="the Java consumer of a share group",
    versions=("4.2", "4.4"),
    names=MappingProxyType(
        {
            **JAVA_KIP848.names,
            Setting.SESSION_TIMEOUT: "share.session.timeout.ms of the group",
            Setting.HEARTBEAT_INTERVAL: "share.heartbeat.interval.ms of the group",
        }
    ),
    protocols=(Protocol.SHARE,),
    static_membership=StaticIdSupport.NONE,
    others=(
        Property("max.poll.records", "500", "how many records one poll hands out: each is locked from then on"),
        Property(
            f"{RECORD_LOCK} of the group",
            "30000",
            "how long a record is locked: a handler that takes longer has it delivered to another member, too",
        ),
        Property("share.delivery.count.limit of the group", "5", "how often a record is delivered at the most"),
    ),
    advice=(
        (
            "Session timeout and heartbeat interval are set for the group, at the broker; running consumers follow "
            "without a restart, after one beat."
        ),
        _BOUNDS,
        (
            "Records are locked when a poll hands them out: the lock has to cover all of them, one after the other "
            "(share.record.lock.duration.ms of the group), or fewer are taken with each poll: max.poll.records, which "
            "is kept strictly with share.acquire.mode=record_limit alone, and else up to whole batches."
        ),
    ),
)

CLIENTS: Final = (STREAMS_KIP1071, SHARE)
