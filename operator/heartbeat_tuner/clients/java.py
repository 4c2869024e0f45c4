"""The Java consumer of Apache Kafka 4.x in classic groups: beats from a background thread, whatever the handler does.

The heartbeat thread sends when H has passed since it last *sent*, and looks again every `retry.backoff.ms` (100 ms)
while it waits for the coordinator's lock (`AbstractCoordinator.java`), so H <= P <= H + 100 ms. Measured on Kafka
4.4.0: 3.002 s at H 3 s, 1.001 s at H 1 s, the same with handlers that sleep or burn a CPU for 4 s, and 1.011 s with
answers that take 1.5 s. Only what stops the whole process (a GC pause, CPU throttling, a frozen node) delays a beat.

The handler has a limit of its own: who does not poll for M leaves the group, though beats went on until then. M is
also the rebalance timeout: so long may the coordinator wait for a member.
"""

from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients.client import Client, Period
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting

RETRY_BACKOFF: Final = timedelta(milliseconds=100)
"""`retry.backoff.ms`, the heartbeat thread's longest sleep."""


def period(settings: LivenessSettings, _brokers: int) -> Period:
    """Return the heartbeat period, idle or busy.

    | H      | P              |
    |--------|----------------|
    | 3 s    | 3 s .. 3.1 s   |
    | 333 ms | 333 .. 433 ms  |
    """
    interval = settings.heartbeat_interval
    return Period(shortest=interval, longest=interval + RETRY_BACKOFF)


def explain_period(settings: LivenessSettings, brokers: int) -> str:
    """Return why the period is what it is, as a sentence."""
    return (
        f"the Java consumer beats from a thread of its own: with a heartbeat interval of "
        f"{durations.show(settings.heartbeat_interval)}, a beat leaves at least every "
        f"{durations.show(period(settings, brokers).longest)}, however long a handler takes"
    )


def violations(settings: LivenessSettings) -> tuple[str, ...]:
    """Return the rules of the library that `settings` break (`Heartbeat.java`, 4.x)."""
    if settings.heartbeat_interval >= settings.session_timeout:
        return (
            (
                f"the Java consumer refuses to start with a heartbeat interval "
                f"({durations.show(settings.heartbeat_interval)}) that is not below the session timeout "
                f"({durations.show(settings.session_timeout)})"
            ),
        )
    return ()


CLIENT: Final = Client(
    name="java",
    title="the Java consumer",
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=45),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        max_poll_interval=timedelta(minutes=5),
    ),
    env_preset=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
            Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
            Setting.FETCH_WAIT: "KAFKA_FETCH_MAX_WAIT_MS",
            Setting.MAX_POLL_INTERVAL: "KAFKA_MAX_POLL_INTERVAL_MS",
        }
    ),
    beat_waits_for_fetch=False,
    handler_delays_beat=False,
    period=period,
    violations=violations,
    explain_period=explain_period,
)
