"""librdkafka 2 and the libraries on it: those of Confluent for Python, JavaScript, Go and .NET, node- and rust-rdkafka.

Its main thread beats, and looks every 500 ms whether H is over; one beat is in flight at a time. So P is H rounded up
to half a second, whatever a handler does: measured on Kafka 4.4.0, H 333 ms gave 0.50 s, 700 ms 1.00 s, 1.2 s 1.50 s,
1.6 s 2.00 s, 100 ms 0.49 s, single gaps up to 170 ms to either side; answers that take 1.5 s gave 2.0 s at H 1 s. A
beat that is not answered waits for its answer up to S: a stalled one costs the whole session.

M must not be below S. M is the rebalance timeout too.

In groups of the consumer protocol (KIP-848) beats come at the broker's interval, not rounded: 0.701 s at H 700 ms. A
beat that is not answered within it makes the client drop its connection and connect again, with waits that double from
one time to the next: at H 1 s and answers of 1.5 s, six beats came 1 s apart, then 1.5, 3.7, 5.8 and 9.7 s. Whose
handler outlasts M does not leave: it stops beating, and was removed after 11.9 s at M 6 s and S 6 s.
"""

import dataclasses
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import presets
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

TURN: Final = timedelta(milliseconds=500)
"""How often the main thread looks."""

RECONNECT: Final = timedelta(seconds=10)
"""`reconnect.backoff.max.ms`: so long it waits at the most before it connects again; it begins with 100 ms."""

JITTER: Final = timedelta(milliseconds=170)
"""How far single gaps were from the mean."""


def period(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return the heartbeat period, idle or busy.

    | H      | round trip | P usually |
    |--------|------------|-----------|
    | 333 ms | 0          | 0.5 s     |
    | 1 s    | 0          | 1 s       |
    | 1.2 s  | 0          | 1.5 s     |
    | 1 s    | 1.5 s      | 2 s       |
    """
    asked = -(-settings.heartbeat_interval // TURN)
    answered = circumstances.round_trip // TURN + 1
    usual = max(asked, answered) * TURN
    return Period(shortest=max(settings.heartbeat_interval, usual - JITTER), longest=usual + JITTER, usual=usual)


def at_broker_interval(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return the period in a group of the consumer protocol: who has no answer within H connects again, and waits.

    | H      | round trip | P              |
    |--------|------------|----------------|
    | 5 s    | 0          | 5 s            |
    | 700 ms | 0          | 700 ms         |
    | 1 s    | 1.5 s      | 1 s up to 11 s |
    """
    interval = settings.heartbeat_interval
    late = timedelta(0) if circumstances.round_trip < interval else RECONNECT
    return Period(shortest=interval, longest=interval + late, usual=interval)


_NAMES: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "session.timeout.ms",
        Setting.HEARTBEAT_INTERVAL: "heartbeat.interval.ms",
        Setting.FETCH_WAIT: "fetch.wait.max.ms",
        Setting.MAX_POLL_INTERVAL: "max.poll.interval.ms",
    }
)

_REFUSED_SESSION: Final = (
    "A session timeout that the broker refuses is no error at the start: joining is tried again endlessly, and "
    "nothing is consumed."
)

_ONE_IN_FLIGHT: Final = (
    "One heartbeat is in flight at a time, and waits up to a session timeout for its answer: there are no three tries "
    "in a session when the coordinator stalls."
)

_STATIC_HANGS: Final = (
    "A static member whose handler hangs stops beating after max.poll.interval.ms and does not leave: it is removed a "
    "session timeout later."
)

CONFLUENT_PYTHON: Final = Client(
    name="confluent-kafka-python",
    title="confluent-kafka for Python",
    versions=("1.0", "2.16"),
    measured="2.16.1",
    beater=Beater.THREAD,
    how="from librdkafka's main thread, which looks each half second",
    period=period,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=45),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        max_poll_interval=timedelta(minutes=5),
    ),
    names=_NAMES,
    presets=MappingProxyType({presets.PLAIN: presets.upper(_NAMES)}),
    interval_may_reach_session=None,
    must_cover_session=(Setting.MAX_POLL_INTERVAL,),
    longest=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: timedelta(hours=1),
            Setting.HEARTBEAT_INTERVAL: timedelta(hours=1),
            Setting.FETCH_WAIT: timedelta(minutes=5),
            Setting.MAX_POLL_INTERVAL: timedelta(hours=24),
        }
    ),
    rebalance_wait=Setting.MAX_POLL_INTERVAL,
    protocols=(Protocol.CLASSIC, Protocol.CONSUMER),
    hung=Hung.LEAVES,
    static_membership=StaticIdSupport.WORKS,
    others=(Property("socket.timeout.ms", "60000", "of all requests but the group's"),),
    releases=(Release("1.7", MappingProxyType({Setting.SESSION_TIMEOUT: timedelta(seconds=10)})),),
    advice=(
        _ONE_IN_FLIGHT,
        _REFUSED_SESSION,
        _STATIC_HANGS,
        (
            "A fatal error (a static id that is taken) comes as an ordinary one, _FATAL: an application that "
            "goes on polling stays up and consumes nothing."
        ),
    ),
)

CONFLUENT_PYTHON_KIP848: Final = dataclasses.replace(
    CONFLUENT_PYTHON,
    name="confluent-kafka-python-kip848",
    title="confluent-kafka for Python in a group of the consumer protocol",
    versions=("2.12", "2.16"),
    how="from librdkafka's main thread, at the broker's interval",
    period=at_broker_interval,
    defaults=dataclasses.replace(CONFLUENT_PYTHON.defaults, heartbeat_interval=timedelta(seconds=5)),
    names=MappingProxyType(
        {
            **_NAMES,
            Setting.SESSION_TIMEOUT: "consumer.session.timeout.ms of the group",
            Setting.HEARTBEAT_INTERVAL: "consumer.heartbeat.interval.ms of the group",
        }
    ),
    must_cover_session=(),
    protocols=(Protocol.CONSUMER,),
    hung=Hung.STOPS,
    static_membership=StaticIdSupport.GUARDED,
    releases=(),
    advice=(
        (
            "Session timeout and heartbeat interval are set for the group, at the broker; running consumers follow "
            "without a restart, after one beat."
        ),
        (
            "A heartbeat that is not answered within the interval ends the connection, and the waits before the next "
            "one grow up to 10 s: keep the interval above the slowest answer of the coordinator."
        ),
        (
            "A member whose handler takes longer than max.poll.interval.ms stops beating and does not leave: its "
            "partitions move a session timeout later."
        ),
        (
            "A static member that dies must stay away until its session has ended: its id is refused until then "
            "(UNRELEASED_INSTANCE_ID, fatal)."
        ),
    ),
)

NODE_RDKAFKA: Final = dataclasses.replace(
    CONFLUENT_PYTHON,
    name="node-rdkafka",
    title="node-rdkafka",
    versions=("3.0", "3.6"),
    measured="3.6.1",
    releases=(),
    advice=(_ONE_IN_FLIGHT, _REFUSED_SESSION, _STATIC_HANGS),
)

_KAFKAJS_ENV: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
        Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
        Setting.FETCH_WAIT: "KAFKA_MAX_WAIT_TIME_MS",
        Setting.MAX_POLL_INTERVAL: "KAFKA_REBALANCE_TIMEOUT_MS",
    }
)

_KAFKAJS_NAMES: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "sessionTimeout",
        Setting.HEARTBEAT_INTERVAL: "heartbeatInterval",
        Setting.FETCH_WAIT: "maxWaitTimeInMs",
        Setting.MAX_POLL_INTERVAL: "rebalanceTimeout",
    }
)

CONFLUENT_JAVASCRIPT: Final = dataclasses.replace(
    CONFLUENT_PYTHON,
    name="confluent-kafka-javascript",
    title="confluent-kafka for JavaScript",
    versions=("1.0", "1.10"),
    measured="1.10.1",
    defaults=dataclasses.replace(CONFLUENT_PYTHON.defaults, session_timeout=timedelta(seconds=30)),
    names=_KAFKAJS_NAMES,
    presets=MappingProxyType({presets.PLAIN: _KAFKAJS_ENV}),
    poll_limit_factor=2,
    releases=(),
    advice=(
        (
            "What its KafkaJS-like API calls rebalanceTimeout is max.poll.interval.ms of librdkafka, and doubled, by "
            "whichever of the two names it is set: a rebalance may wait 10 minutes for one member by default."
        ),
        (
            "Its callback API (KafkaConsumer) takes librdkafka's own names, defaults and values as they are: the card "
            "of node-rdkafka is that of an application that uses it."
        ),
        "heartbeat() does nothing; beats do not depend on handlers.",
        _ONE_IN_FLIGHT,
        _REFUSED_SESSION,
    ),
)

CONFLUENT_GO: Final = dataclasses.replace(
    CONFLUENT_PYTHON,
    name="confluent-kafka-go",
    title="confluent-kafka-go",
    versions=("1.0", "2.15"),
    measured="2.15.0",
    advice=(
        (
            "With go.events.channel.enable a goroutine polls for the application: a handler that hangs is noticed only "
            "after the channel (go.events.channel.size, 1000 events) is full. Use Poll or ReadMessage."
        ),
        "A value may be a number or a text, in milliseconds: a duration of Go, such as 30s, is refused.",
        *(_ONE_IN_FLIGHT, _REFUSED_SESSION, _STATIC_HANGS),
    ),
)

CONFLUENT_DOTNET: Final = dataclasses.replace(
    CONFLUENT_PYTHON,
    name="confluent-kafka-dotnet",
    title="confluent-kafka for .NET",
    versions=("1.0", "2.15"),
    measured=None,
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "SessionTimeoutMs",
            Setting.HEARTBEAT_INTERVAL: "HeartbeatIntervalMs",
            Setting.FETCH_WAIT: "FetchWaitMaxMs",
            Setting.MAX_POLL_INTERVAL: "MaxPollIntervalMs",
        }
    ),
    advice=(
        (
            "Call Close() before Dispose(): a consumer that is only disposed of does not leave the group, and its "
            "partitions move a session timeout later."
        ),
        *(_ONE_IN_FLIGHT, _REFUSED_SESSION, _STATIC_HANGS),
    ),
)

RUST_RDKAFKA: Final = dataclasses.replace(
    CONFLUENT_PYTHON,
    name="rust-rdkafka",
    title="rust-rdkafka",
    versions=("0.28", "0.39"),
    measured="0.39.0",
    releases=(),
    advice=(
        (
            "A StreamConsumer counts as polled when recv() is awaited: tasks that are spawned for messages delay no "
            "poll, and one that hangs is not noticed."
        ),
        *(_ONE_IN_FLIGHT, _REFUSED_SESSION, _STATIC_HANGS),
    ),
)

CLIENTS: Final = (
    *(CONFLUENT_PYTHON, CONFLUENT_PYTHON_KIP848, CONFLUENT_JAVASCRIPT, NODE_RDKAFKA),
    *(CONFLUENT_GO, CONFLUENT_DOTNET, RUST_RDKAFKA),
)
