"""The clients written in JavaScript that beat from a timer: kafka-node 5 and @platformatic/kafka.

Handlers that wait do not delay a timer; handlers that keep the processor do, and so do all messages that are handed
out at once: nothing else runs between them. KafkaJS, which has no timer, is in `kafkajs`; what is built on librdkafka
in `librdkafka`.

Measured: kafka-node on Kafka 3.9.2, 10.001 s at its default H of a third of S, 0.333 s at H 333 ms; an answer that
takes longer than H makes it rejoin, every 2 s at H 1 s and answers of 1.5 s. platformatic on Kafka 4.4.0, 3.004 s at
H 3 s and 2.5 s at H 1 s with answers of 1.5 s; with handlers that burn 4 s each, not one beat in a session of 10 s. Its
message says that H must be "less than or equal to" S, but the check is `<` (1.35.0, `utils.js`): it refuses H = S.
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
    Protocol,
    StaticIdSupport,
)
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


def interval_timer(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return kafka-node's period, H; an answer that takes longer ends the membership, so none is waited for."""
    return cadence.on_event_loop(cadence.steady(settings.heartbeat_interval), circumstances)


def rearmed_timer(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return platformatic's period: H after each answer."""
    return cadence.on_event_loop(cadence.rearmed(settings, circumstances), circumstances)


KAFKA_NODE: Final = Client(
    name="kafka-node",
    title="kafka-node",
    versions=("4.0", "5.0"),
    measured="5.0.0",
    beater=Beater.EVENT_LOOP,
    how="from a timer of the event loop",
    period=interval_timer,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=30),
        heartbeat_interval=timedelta(seconds=10),
        fetch_wait=timedelta(milliseconds=100),
    ),
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "sessionTimeout",
            Setting.HEARTBEAT_INTERVAL: "heartbeatInterval",
            Setting.FETCH_WAIT: "fetchMaxWaitMs",
        }
    ),
    presets=MappingProxyType(
        {
            presets.PLAIN: MappingProxyType(
                {
                    Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
                    Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
                    Setting.FETCH_WAIT: "KAFKA_FETCH_MAX_WAIT_MS",
                }
            )
        }
    ),
    interval_may_reach_session=None,
    rebalance_wait=Setting.SESSION_TIMEOUT,
    joins_within=("requestTimeout", timedelta(seconds=30)),
    shares=MappingProxyType({Setting.HEARTBEAT_INTERVAL: 3}),
    hung=Hung.UNNOTICED,
    others=(Property("retryMinTimeout", "1000", "the wait before it rejoins; 1.8 times as long with each try"),),
    advice=(
        (
            "It cannot consume from Kafka 4 (a request that it needs is refused there), and nobody has "
            "maintained it since 2019: move to another library."
        ),
        (
            "A heartbeat that is not answered within heartbeatInterval makes the member rejoin, so a short one makes "
            "rebalances of its own."
        ),
        "heartbeatInterval is a third of sessionTimeout where it is not set.",
    ),
)

PLATFORMATIC: Final = Client(
    name="platformatic",
    title="@platformatic/kafka",
    versions=("1.0", "2.12"),
    measured="1.35.0",
    beater=Beater.EVENT_LOOP,
    how="from a timer of the event loop that is set when the last answer has come",
    period=rearmed_timer,
    defaults=LivenessSettings(
        session_timeout=timedelta(seconds=60),
        heartbeat_interval=timedelta(seconds=3),
        fetch_wait=timedelta(seconds=5),
        rebalance_timeout=timedelta(seconds=102),
    ),
    names=MappingProxyType(
        {
            Setting.SESSION_TIMEOUT: "sessionTimeout",
            Setting.HEARTBEAT_INTERVAL: "heartbeatInterval",
            Setting.FETCH_WAIT: "maxWaitTime",
            Setting.REBALANCE_TIMEOUT: "rebalanceTimeout",
        }
    ),
    presets=MappingProxyType(
        {
            presets.PLAIN: MappingProxyType(
                {
                    Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
                    Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
                    Setting.FETCH_WAIT: "KAFKA_MAX_WAIT_TIME_MS",
                    Setting.REBALANCE_TIMEOUT: "KAFKA_REBALANCE_TIMEOUT_MS",
                }
            )
        }
    ),
    must_cover_session=(Setting.REBALANCE_TIMEOUT,),
    joins_within=("requestTimeout", timedelta(seconds=30)),
    rebalance_wait=Setting.REBALANCE_TIMEOUT,
    protocols=(Protocol.CLASSIC, Protocol.CONSUMER),
    ignores_broker_settings=True,
    hung=Hung.UNNOTICED,
    static_membership=StaticIdSupport.LEAVES,
    others=(
        Property(
            "requestTimeout", "30000", "of joining, too: a rebalance that takes longer fails here and is tried again"
        ),
        Property("highWaterMark", "1024", "how many messages may be handed out before the event loop runs again"),
    ),
    advice=(
        (
            "`for await` hands out all messages that are there without a look at timers: a handler that "
            "computes for long must give the event loop a turn (setImmediate) after each message."
        ),
        (
            "Up to 2.9.0 the heartbeats of a classic group stop permanently, and nothing is logged, after an error "
            "that outlasts three tries: take a later version."
        ),
        "Two members with one static id take it from each other about once a second, endlessly.",
    ),
)

CLIENTS: Final = (KAFKA_NODE, PLATFORMATIC)
