"""KafkaJS 2.2: no heartbeat thread, so a beat waits for the fetch loop.

A heartbeat is sent only when a loop turn ends and at least H has passed since the last reply (`consumerGroup.js`,
2.2.4). One loop per broker; an idle turn lasts the fetch wait W, a busy one as long as its handler. So H is a lower
limit of the period, and the period P a multiple of W. Measured on Kafka 4.4.0: 5.005 s at the defaults (H 3 s, W 5
s), 3.07 s at W 100 ms, 0.514 s at H 500 ms and W 100 ms; S 1 s with H 333 ms and W 5 s rebalances endlessly.

No max.poll.interval, no static membership, eager assignment only.
"""

from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import presets
from heartbeat_tuner.clients.cadence import steady
from heartbeat_tuner.clients.client import Beater, Circumstances, Client, Hung, Period, Property
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


def period(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return the heartbeat period; the answer is waited for, so its round trip comes on top.

    One broker, idle: P = ceil(H / W) * W, in whole milliseconds. Several brokers: their loops drift against each
    other, so P lies between H and H + W. With handlers of one message that take T it lies between the longer of H
    and T, and H + max(T, W).

    | H      | W      | brokers | T   | P            |
    |--------|--------|---------|-----|--------------|
    | 3 s    | 5 s    | 1       | -   | 5 s          |
    | 3 s    | 100 ms | 1       | -   | 3 s          |
    | 333 ms | 5 s    | 1       | -   | 5 s          |
    | 3 s    | 2.9 s  | 1       | -   | 5.8 s        |
    | 3 s    | 5 s    | 3       | -   | 3 s .. 8 s   |
    | 1 s    | 500 ms | 1       | 4 s | 4 s .. 5 s   |
    """
    interval, wait, answer = settings.heartbeat_interval, settings.fetch_wait, circumstances.round_trip
    if circumstances.handler:
        turn = max(circumstances.handler, wait)
        shortest = max(interval, circumstances.handler) + answer
        return Period(shortest=shortest, longest=interval + turn + answer, usual=shortest)
    if circumstances.brokers > 1:
        return Period(shortest=interval + answer, longest=interval + wait + answer, usual=interval + wait + answer)
    turns = -(-durations.to_ms(interval) // durations.to_ms(wait))
    return steady(turns * wait + answer)


_MAX_WAIT: Final = "KAFKA_MAX_WAIT_TIME_MS"

KAFKAJS: Final = Client(
    name="kafkajs",
    title="KafkaJS",
    versions=("2.0", "2.2"),
    measured="2.2.4",
    beater=Beater.FETCH_LOOP,
    how="only between two fetches",
    period=period,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=30),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(seconds=5),
        rebalance_timeout=timedelta(minutes=1),
    ),
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "sessionTimeout",
            Setting.HEARTBEAT_INTERVAL: "heartbeatInterval",
            Setting.FETCH_WAIT: "maxWaitTimeInMs",
            Setting.REBALANCE_TIMEOUT: "rebalanceTimeout",
        }
    ),
    presets=MappingProxyType(
        {
            presets.PLAIN: MappingProxyType(
                {
                    Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
                    Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
                    Setting.FETCH_WAIT: _MAX_WAIT,
                    Setting.REBALANCE_TIMEOUT: "KAFKA_REBALANCE_TIMEOUT_MS",
                }
            )
        }
    ),
    beat_waits_for_fetch=True,
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    rejoin_waits_for_handler=True,
    hung=Hung.PLACEMENT,
    closing_fetches=1,
    others=(
        Property("requestTimeout", "30000", "of every request of the client; as long as sessionTimeout is by default"),
    ),
    advice=(
        "A handler that takes long must call heartbeat() now and then; nothing beats while it runs.",
        (
            "After a connection was cut it fetches before it beats again: maxWaitTimeInMs comes on top of the outage, "
            "and the session must outlast both."
        ),
        (
            "A member that learns of a rebalance finishes what it has fetched first (with eachBatch whole "
            "batches): all of that must be over within rebalanceTimeout, or it is dropped."
        ),
    ),
)

CLIENTS: Final = (KAFKAJS,)
