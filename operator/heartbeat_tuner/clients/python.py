"""The clients written in Python: kafka-python 3 and aiokafka. confluent-kafka for Python is in `librdkafka`.

kafka-python beats from a thread of its own and waits for the answer, so P is the longer of H and the round trip;
aiokafka does the same in a task of the application's event loop, which handlers that keep the processor hold up.
Measured on Kafka 4.4.0 at H 1 s: 1.001 s both, 1.515 and 1.505 s with answers of 1.5 s; with handlers that burn 4 s
each, kafka-python 1.014 s, aiokafka one beat in a session of 10 s.
"""

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
    Release,
    StaticIdSupport,
)
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


def task(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return aiokafka's period: a ticker on the application's event loop."""
    return cadence.on_event_loop(cadence.ticker(settings, circumstances), circumstances)


_NAMES: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "session_timeout_ms",
        Setting.HEARTBEAT_INTERVAL: "heartbeat_interval_ms",
        Setting.FETCH_WAIT: "fetch_max_wait_ms",
        Setting.MAX_POLL_INTERVAL: "max_poll_interval_ms",
    }
)

_SESSION_BEFORE: Final = MappingProxyType({Setting.SESSION_TIMEOUT: timedelta(seconds=10)})

KAFKA_PYTHON: Final = Client(
    name="kafka-python",
    title="kafka-python",
    versions=("2.0", "3.0"),
    measured="3.0.12",
    beater=Beater.THREAD,
    how="from a thread of its own that waits for each answer",
    period=cadence.ticker,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=45),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        max_poll_interval=timedelta(minutes=5),
    ),
    names=_NAMES,
    presets=MappingProxyType({presets.PLAIN: presets.upper(_NAMES)}),
    rebalance_wait=Setting.MAX_POLL_INTERVAL,
    hung=Hung.LEAVES,
    static_membership=StaticIdSupport.WORKS,
    others=(
        Property(
            "max_poll_records", "500", "how many messages one poll hands out: all have to be handled within the limit"
        ),
        Property("request_timeout_ms", "30000", "must be above fetch_max_wait_ms and below connections_max_idle_ms"),
    ),
    releases=(
        Release("2.3", MappingProxyType({}), "there is no static membership"),
        Release(
            "3.0", _SESSION_BEFORE, "its heartbeat thread shares a lock with poll(), so that a busy member beats late"
        ),
    ),
    advice=(
        "With a broker before Kafka 3.0 the session timeout is 30s where it is not set.",
        (
            "One of 45 starts in the laboratory (3.0.12) got its partition, never beat, and never noticed that it was "
            "removed: watch for members that consume nothing."
        ),
    ),
)

_REBALANCE: Final = MappingProxyType({**_NAMES, Setting.REBALANCE_TIMEOUT: "rebalance_timeout_ms"})

AIOKAFKA: Final = Client(
    name="aiokafka",
    title="aiokafka",
    versions=("0.8", "0.14"),
    measured="0.14.0",
    beater=Beater.EVENT_LOOP,
    how="from a task of the application's event loop",
    period=task,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=10),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        max_poll_interval=timedelta(minutes=5),
        rebalance_timeout=timedelta(seconds=10),
    ),
    names=_REBALANCE,
    presets=MappingProxyType({presets.PLAIN: presets.upper(_REBALANCE)}),
    interval_may_reach_session=None,
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    joins_within=("request_timeout_ms", timedelta(seconds=40)),
    hung=Hung.LEAVES,
    shares=MappingProxyType({Setting.REBALANCE_TIMEOUT: 1}),
    static_membership=StaticIdSupport.STEALS,
    others=(Property("request_timeout_ms", "40000", "of joining, too: it must be above rebalance_timeout_ms"),),
    releases=(Release("0.10", MappingProxyType({}), "there is no static membership"),),
    advice=(
        "rebalance_timeout_ms is session_timeout_ms where it is not set, and has nothing to do with the poll limit.",
        (
            "A loop over getmany() without an await for each message beats only between two batches: a handler "
            "that computes for long must await asyncio.sleep(0) after each message."
        ),
        (
            "A member that has left because nothing was fetched for max_poll_interval_ms comes back only when the "
            "application fetches again."
        ),
    ),
)

CLIENTS: Final = (AIOKAFKA, KAFKA_PYTHON)
