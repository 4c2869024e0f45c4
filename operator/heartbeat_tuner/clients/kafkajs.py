"""KafkaJS 2.2: no heartbeat thread, so a beat waits for the fetch loop.

A heartbeat is sent only when a loop turn ends and at least H has passed since the last reply (`consumerGroup.js`,
2.2.4). One loop per broker; an idle turn lasts the fetch wait W, a busy one as long as its handler. So H is a lower
limit of the period, and the period P a multiple of W. Measured on Kafka 4.4.0: 5.005 s at the defaults (H 3 s, W 5
s), 3.07 s at W 100 ms, 0.514 s at H 500 ms and W 100 ms; S 1 s with H 333 ms and W 5 s rebalances for ever.

No max.poll.interval, no static membership, eager assignment only.
"""

from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients.client import Client, Period
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


def period(settings: LivenessSettings, brokers: int) -> Period:
    """Return the idle heartbeat period.

    One broker: P = ceil(H / W) * W, in whole milliseconds. Several brokers: their loops drift against each other, so P
    lies between H and H + W.

    | H      | W      | brokers | P            |
    |--------|--------|---------|--------------|
    | 3 s    | 5 s    | 1       | 5 s          |
    | 3 s    | 100 ms | 1       | 3 s          |
    | 333 ms | 5 s    | 1       | 5 s          |
    | 3 s    | 2.9 s  | 1       | 5.8 s        |
    | 3 s    | 5 s    | 3       | 3 s .. 8 s   |
    """
    interval, wait = settings.heartbeat_interval, settings.fetch_wait
    if brokers == 1:
        interval_ms, wait_ms = durations.to_ms(interval), durations.to_ms(wait)
        turns = -(-interval_ms // wait_ms)
        return Period(shortest=turns * wait, longest=turns * wait)
    return Period(shortest=interval, longest=interval + wait)


def explain_period(settings: LivenessSettings, brokers: int) -> str:
    """Return why the period is what it is, as a sentence."""
    interval, wait = durations.show(settings.heartbeat_interval), durations.show(settings.fetch_wait)
    beats = period(settings, brokers)
    if brokers > 1:
        return (
            f"KafkaJS beats only between two fetches: with {brokers} brokers, a heartbeat interval of {interval} and a "
            f"fetch wait of {wait}, a beat leaves every {durations.show(beats.shortest)} to "
            f"{durations.show(beats.longest)}"
        )
    return (
        f"KafkaJS beats only between two fetches: with a fetch wait of {wait}, a heartbeat interval of {interval} "
        f"means a beat every {durations.show(beats.longest)}"
    )


def violations(settings: LivenessSettings) -> tuple[str, ...]:
    """Return the rules of the library that `settings` break (`consumer/index.js`, 2.2.4)."""
    if settings.heartbeat_interval >= settings.session_timeout:
        return (
            (
                f"KafkaJS refuses to start with a heartbeat interval ({durations.show(settings.heartbeat_interval)}) "
                f"that is not below the session timeout ({durations.show(settings.session_timeout)})"
            ),
        )
    return ()


CLIENT: Final = Client(
    name="kafkajs",
    title="KafkaJS",
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=30),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(seconds=5),
    ),
    env_preset=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
            Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
            Setting.FETCH_WAIT: "KAFKA_MAX_WAIT_TIME_MS",
        }
    ),
    beat_waits_for_fetch=True,
    handler_delays_beat=True,
    period=period,
    violations=violations,
    explain_period=explain_period,
)
