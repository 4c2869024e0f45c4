"""The clients written in Go: Sarama, franz-go and kafka-go. They beat from goroutines, whatever handlers do.

franz-go sets its timer when the answer has come, the others tick. Measured on Kafka 4.4.0 at H 1 s: 1.002 s, with
answers of 1.5 s 2.503 s (franz-go) and 1.504 s (kafka-go).

Sarama sends fetches and heartbeats to one broker over one connection, and holds its lock until each is answered
(`broker.go`): where the coordinator leads one of the member's partitions, a beat waits for the fetch. At H 1 s and W
500 ms single beats took 1.79 s, at H 1 s and W 5 s 5 s and 10.1 s, and some came 1 ms after the one before; with the
partition on another broker, 1.00 s.
"""

from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import cadence, presets
from heartbeat_tuner.clients.client import (
    NO_TIME,
    Beater,
    Circumstances,
    Client,
    Hung,
    Period,
    Property,
    StaticIdSupport,
)
from heartbeat_tuner.clients.formats import Format
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


def behind_the_fetch(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return Sarama's period; whether it waits for fetches depends on who leads which partition.

    A beat waits for the fetch that is under way, and right after joining for the one behind it: H + 2 W at the most.
    The clock ticks on meanwhile, so that the next one is as much sooner; a tick that came due while a beat waited is
    followed at once.

    | H   | W      | P             | usually |
    |-----|--------|---------------|---------|
    | 1 s | 500 ms | 500 ms .. 2 s | 1 s     |
    | 1 s | 5 s    | 0 .. 11 s     | 5 s     |
    """
    ticks = cadence.ticker(settings, circumstances).shortest
    wait = settings.fetch_wait
    return Period(shortest=max(NO_TIME, ticks - wait), longest=ticks + 2 * wait, usual=max(ticks, wait))


_PLAIN: Final = MappingProxyType(
    {
        Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT",
        Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL",
        Setting.FETCH_WAIT: "KAFKA_FETCH_MAX_WAIT",
        Setting.REBALANCE_TIMEOUT: "KAFKA_REBALANCE_TIMEOUT",
    }
)

SARAMA: Final = Client(
    name="sarama",
    title="Sarama",
    versions=("1.30", "1.61"),
    measured="1.61.1",
    beater=Beater.THREAD,
    how="from a goroutine, behind the fetch where the coordinator leads one of the member's partitions",
    period=behind_the_fetch,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=10),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(milliseconds=500),
        rebalance_timeout=timedelta(minutes=1),
    ),
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "Consumer.Group.Session.Timeout",
            Setting.HEARTBEAT_INTERVAL: "Consumer.Group.Heartbeat.Interval",
            Setting.FETCH_WAIT: "Consumer.MaxWaitTime",
            Setting.REBALANCE_TIMEOUT: "Consumer.Group.Rebalance.Timeout",
        }
    ),
    presets=MappingProxyType({presets.PLAIN: _PLAIN}),
    format=Format.GO,
    beat_waits_for_fetch=True,
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    joins_within=("Net.ReadTimeout", timedelta(seconds=30)),
    rejoin_waits_for_handler=True,
    hung=Hung.UNNOTICED,
    closing_fetches=1,
    static_membership=StaticIdSupport.WORKS,
    others=(Property("Net.ReadTimeout", "30s", "of joining, too"),),
    advice=(
        (
            "Net.ReadTimeout (30s) is below Consumer.Group.Rebalance.Timeout (60s) unless you set it: joining "
            "a group that rebalances slowly fails and is tried again. Make it longer."
        ),
        (
            "ConsumeClaim has to return within Consumer.Group.Rebalance.Timeout when the group rebalances: end the "
            "loop when Messages() is closed."
        ),
        "Consumer.MaxProcessingTime is no limit for a handler: one that hangs is never noticed.",
    ),
)

FRANZ_GO: Final = Client(
    name="franz-go",
    title="franz-go",
    versions=("1.0", "1.22"),
    measured="1.22.2",
    beater=Beater.THREAD,
    how="from a goroutine that waits for each answer",
    period=cadence.rearmed,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=45),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(seconds=5),
        rebalance_timeout=timedelta(minutes=1),
    ),
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "kgo.SessionTimeout",
            Setting.HEARTBEAT_INTERVAL: "kgo.HeartbeatInterval",
            Setting.FETCH_WAIT: "kgo.FetchMaxWait",
            Setting.REBALANCE_TIMEOUT: "kgo.RebalanceTimeout",
        }
    ),
    presets=MappingProxyType({presets.PLAIN: _PLAIN}),
    format=Format.GO,
    interval_may_reach_session=True,
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    hung=Hung.UNNOTICED,
    static_membership=StaticIdSupport.WORKS,
    advice=("Groups are cooperative unless you say otherwise: a rebalance stops only the partitions that move.",),
)

KAFKA_GO: Final = Client(
    name="kafka-go",
    title="kafka-go",
    versions=("0.3", "0.4"),
    measured="0.4.51",
    beater=Beater.THREAD,
    how="from a goroutine that waits for each answer",
    period=cadence.ticker,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=30),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(seconds=10),
        rebalance_timeout=timedelta(seconds=30),
    ),
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "SessionTimeout",
            Setting.HEARTBEAT_INTERVAL: "HeartbeatInterval",
            Setting.FETCH_WAIT: "MaxWait",
            Setting.REBALANCE_TIMEOUT: "RebalanceTimeout",
        }
    ),
    presets=MappingProxyType({presets.PLAIN: _PLAIN}),
    format=Format.GO,
    interval_may_reach_session=None,
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    hung=Hung.UNNOTICED,
    closing_fetches=1,
    others=(
        Property("Timeout", "5s", "of a heartbeat, too: one that is not answered in time makes the member rejoin"),
    ),
    advice=("Any error of a heartbeat, a single timeout too, makes the member rejoin at once.",),
)

CLIENTS: Final = (FRANZ_GO, KAFKA_GO, SARAMA)
