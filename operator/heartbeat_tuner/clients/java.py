"""The Java consumer of Apache Kafka, and what is built on it: Connect's workers, Spring Kafka, Kafka Streams.

The heartbeat thread sends when H has passed since it last *sent*, and looks again every `retry.backoff.ms` (100 ms)
while it waits for the coordinator's lock (`AbstractCoordinator.java`), so H <= P <= H + 100 ms. Measured on Kafka
4.4.0: 3.002 s at H 3 s, 1.001 s at H 1 s, the same with handlers that sleep or burn a CPU for 4 s, and 1.011 s with
answers that take 1.5 s. Only what stops the whole process (a GC pause, CPU throttling, a frozen node) delays a beat.

The handler has a limit of its own: who does not poll for M leaves the group, though beats went on until then. M is
also the rebalance timeout: so long may the coordinator wait for a member. In groups of the consumer protocol (KIP-848)
the broker says S and H, and its network thread beats at the broker's interval; answers that take 1.5 s gave 1.604 s at
H 1 s.
"""

import dataclasses
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import cadence, presets
from heartbeat_tuner.clients.client import (
    Beater,
    Circumstances,
    Client,
    Hung,
    Period,
    Property,
    Protocol,
    Release,
    StaticIdSupport,
)
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting

RETRY_BACKOFF: Final = timedelta(milliseconds=100)
"""`retry.backoff.ms`, the heartbeat thread's longest sleep."""


def period(settings: LivenessSettings, _: Circumstances) -> Period:
    """Return the heartbeat period, idle or busy; answers are not waited for.

    | H      | P              |
    |--------|----------------|
    | 3 s    | 3 s .. 3.1 s   |
    | 333 ms | 333 .. 433 ms  |
    """
    interval = settings.heartbeat_interval
    return Period(shortest=interval, longest=interval + RETRY_BACKOFF, usual=interval)


def at_broker_interval(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return the period in a group of the consumer protocol: the answer is waited for, and `retry.backoff.ms` more.

    | H   | round trip | P     |
    |-----|------------|-------|
    | 5 s | 0          | 5 s   |
    | 1 s | 1.5 s      | 1.6 s |
    """
    return cadence.steady(max(settings.heartbeat_interval, circumstances.round_trip + RETRY_BACKOFF))


_NAMES: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "session.timeout.ms",
        Setting.HEARTBEAT_INTERVAL: "heartbeat.interval.ms",
        Setting.FETCH_WAIT: "fetch.max.wait.ms",
        Setting.MAX_POLL_INTERVAL: "max.poll.interval.ms",
    }
)

_POLL_RECORDS: Final = Property(
    "max.poll.records", "500", "how many messages one poll hands out: all of them have to be handled within the limit"
)

_RELEASES: Final = (
    Release("2.7", MappingProxyType({}), "a member does not beat while its group prepares to rebalance"),
    Release("3.0", MappingProxyType({Setting.SESSION_TIMEOUT: timedelta(seconds=10)})),
)
"""KAFKA-10134 and KIP-735."""

JAVA: Final = Client(
    name="java",
    title="the Java consumer",
    versions=("1.1", "4.4"),
    measured="4.4.0",
    beater=Beater.THREAD,
    how="from a thread of its own",
    period=period,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=45),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        max_poll_interval=timedelta(minutes=5),
    ),
    names=_NAMES,
    presets=MappingProxyType({presets.PLAIN: presets.upper(_NAMES)}),
    rebalance_wait=Setting.MAX_POLL_INTERVAL,
    protocols=(Protocol.CLASSIC, Protocol.CONSUMER),
    hung=Hung.LEAVES,
    static_membership=StaticIdSupport.WORKS,
    others=(
        _POLL_RECORDS,
        Property("retry.backoff.ms", "100", "the heartbeat thread's longest sleep: so much later a beat may be"),
    ),
    releases=_RELEASES,
    advice=(
        (
            "A member whose handler takes longer than max.poll.interval.ms leaves the group though it beats: take "
            "fewer messages with each poll (max.poll.records) before you raise the limit, which every rebalance may "
            "have to wait for."
        ),
        (
            "A static member whose handler hangs stops beating then and does not leave: it is removed a session "
            "timeout later."
        ),
    ),
)

_GROUP_NAMES: Final = MappingProxyType(
    {
        **_NAMES,
        Setting.SESSION_TIMEOUT: "consumer.session.timeout.ms of the group",
        Setting.HEARTBEAT_INTERVAL: "consumer.heartbeat.interval.ms of the group",
    }
)

JAVA_KIP848: Final = dataclasses.replace(
    JAVA,
    name="java-kip848",
    title="the Java consumer in a group of the consumer protocol",
    versions=("4.0", "4.4"),
    how="from its network thread, at the broker's interval",
    period=at_broker_interval,
    defaults=dataclasses.replace(JAVA.defaults, heartbeat_interval=timedelta(seconds=5)),
    names=_GROUP_NAMES,
    interval_may_reach_session=None,
    protocols=(Protocol.CONSUMER,),
    static_membership=StaticIdSupport.GUARDED,
    others=(_POLL_RECORDS,),
    releases=(),
    advice=(
        (
            "Session timeout and heartbeat interval are set for the group, at the broker; running consumers follow "
            "without a restart, after one beat."
        ),
        (
            "By a broker's default bounds the session timeout may be 45s to 60s, the heartbeat interval 5s to 15s; "
            "the bounds change only with a restart of the broker."
        ),
        (
            "A static member that dies must stay away until its session has ended: its id is refused until then "
            "(UNRELEASED_INSTANCE_ID, fatal)."
        ),
    ),
)

_CONNECT_NAMES: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "session.timeout.ms",
        Setting.HEARTBEAT_INTERVAL: "heartbeat.interval.ms",
        Setting.REBALANCE_TIMEOUT: "rebalance.timeout.ms",
    }
)

CONNECT: Final = Client(
    name="connect",
    title="a Connect worker",
    versions=("2.3", "4.4"),
    measured="4.3.1",
    beater=Beater.THREAD,
    how="from a thread of its own",
    period=period,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=10),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        rebalance_timeout=timedelta(minutes=1),
    ),
    names=_CONNECT_NAMES,
    presets=MappingProxyType({presets.CONNECT: presets.upper(_CONNECT_NAMES, "CONNECT_")}),
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    hung=Hung.LEAVES,
    closing_fetches=3,  # of its logs: status, configuration, offsets
    handles_messages=False,
    others=(
        Property(
            "scheduled.rebalance.max.delay.ms",
            "300000",
            "how long the tasks of a worker that left wait for it to return",
        ),
        Property("worker.sync.timeout.ms", "3000", "how long a worker that lags behind may read the configuration"),
    ),
    advice=(
        (
            "The consumers of sink tasks are a group of their own, connect-NAME: their settings are consumer.* "
            "of the worker or consumer.override.* of the connector, and a bare session.timeout.ms does not "
            "reach them."
        ),
        (
            "The tasks of a worker that died wait for scheduled.rebalance.max.delay.ms (5 minutes) on top of the "
            "session timeout."
        ),
    ),
)

_SPRING_BOOT: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "SPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS",
        Setting.HEARTBEAT_INTERVAL: "SPRING_KAFKA_CONSUMER_HEARTBEATINTERVAL",
        Setting.FETCH_WAIT: "SPRING_KAFKA_CONSUMER_FETCHMAXWAIT",
        Setting.MAX_POLL_INTERVAL: "SPRING_KAFKA_CONSUMER_MAXPOLLINTERVAL",
    }
)
"""Spring Boot's own keys by relaxed binding (dashes go), which read a bare number as milliseconds; S has none, and
goes through `properties`."""

_SPRING_UNDERSCORES: Final = MappingProxyType(
    {
        **_SPRING_BOOT,
        Setting.HEARTBEAT_INTERVAL: "SPRING_KAFKA_CONSUMER_HEARTBEAT_INTERVAL",
        Setting.FETCH_WAIT: "SPRING_KAFKA_CONSUMER_FETCH_MAX_WAIT",
        Setting.MAX_POLL_INTERVAL: "SPRING_KAFKA_CONSUMER_MAX_POLL_INTERVAL",
    }
)
"""With underscores for dashes, as Spring Boot 1 had them: later ones look for these, too."""

SPRING: Final = dataclasses.replace(
    JAVA,
    name="spring",
    title="Spring Kafka",
    versions=("2.8", "4.1"),
    measured="4.1.1",
    how="from the Java consumer's own thread",
    presets=MappingProxyType(
        {
            presets.SPRING: _SPRING_BOOT,
            presets.SPRING_UNDERSCORES: _SPRING_UNDERSCORES,
            presets.SPRING_CLOUD_STREAM: presets.upper(_NAMES, presets.STREAM_BINDER),
            presets.PLAIN: presets.upper(_NAMES),
        }
    ),
    releases=(),
    others=(
        _POLL_RECORDS,
        Property(
            "noPollThreshold", "3.0", "how many poll timeouts without a poll make an event, which tells and no more"
        ),
        Property("idleBetweenPolls", "0", "shortened by itself so that it ends 5 s before max.poll.interval.ms does"),
    ),
    advice=(
        "A container with concurrency has as many members; each gets group.instance.id with a number behind it.",
        (
            "A container whose static id was taken by another (FencedInstanceIdException) stops and does not start "
            "again."
        ),
    ),
)

STREAMS: Final = dataclasses.replace(
    JAVA,
    name="streams",
    title="Kafka Streams",
    versions=("2.8", "4.4"),
    measured="4.3.1",
    how="from a thread of its own for each stream thread",
    protocols=(Protocol.CLASSIC, Protocol.STREAMS),
    ignores_broker_settings=True,
    leaves_on_close=False,
    others=(dataclasses.replace(_POLL_RECORDS, default="1000"),),
    advice=(
        (
            "A closed instance does not leave the group: its tasks stand still until the session is over, with each "
            "rollout too. close() with CloseOptions makes it leave; in older Kafkas (before KIP-1092) only one that "
            "has a static id."
        ),
        "Each stream thread is a member; a static id gets the thread's number behind it.",
        (
            "In groups of its own protocol (group.protocol=streams, Kafka 4.2) the broker says session timeout and "
            "heartbeat interval: what this card says of them is of classic groups."
        ),
    ),
)

CLIENTS: Final = (JAVA, JAVA_KIP848, CONNECT, SPRING, STREAMS)
