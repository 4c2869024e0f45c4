"""What the laboratory does to a consumer, and what the catalogue says will come of it.

An experiment is data: settings, what handlers do, what happens to the process. `expect` asks the library's card for the
interval that the measurement has to lie in: of the time between two heartbeats, or of the time from an event until the
group has removed the member.
"""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final, Self

from heartbeat_tuner.clients import catalogue, removal
from heartbeat_tuner.clients.client import Beater, Circumstances, Client, Period
from heartbeat_tuner.clients.removal import Event
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from sandbox.kafka_cluster import BROKERS, COORDINATOR

SLACK_S: Final = 0.03
"""A round trip on loopback and the broker's own time, on a machine with other work."""

SLACK_SHARE: Final = 0.04
"""What the turns of a fetch loop, or the timers of an event loop, take beyond their time."""

NOTICED_S: Final = 0.7
"""How much later than the coordinator the laboratory knows of a removal, at the most."""


SLOW_ANSWER: Final = timedelta(seconds=1.5)
"""How long a heartbeat's round trip takes where answers are slow."""

CUT_S: Final = 2.0
"""For how long a connection is cut, and no new one is to be had."""

RETRY_SHARE: Final = 1.4
"""How much longer than the cut a client may be without a connection: waits between tries double, and are jittered."""


class Handler(enum.StrEnum):
    """What the application does with a message."""

    NONE = "none"
    WAIT = "wait"
    BLOCK = "block"
    HANG = "hang"


class Wire(enum.StrEnum):
    """How the consumer and the broker reach each other."""

    GOOD = "good"
    SLOW = "answers to heartbeats take a while"
    CUT = "all connections end, and new ones are refused for a while"


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One thing to try.

    Attributes:
        name: as the report calls it.
        settings: what is set; the rest is the library's default.
        watched_s: for how long beats are counted, or an event's outcome is waited for.
        handler: what the application does with each message.
        handler_time: how long that takes.
        messages: how many messages are there at once; they come again and again while beats are counted.
        event: what happens to the member; None: its beats are counted.
        leaders: of three brokers, the one that leads each partition; empty: one broker, and one partition.
        wire: how the broker is reached; of one that is cut, the time until the member is removed is measured.
        api: which of the library's interfaces the consumer uses, where it has several; empty: what its card is about.
        like: the library whose card such an interface follows; empty: the library's own.
    """

    name: str
    settings: Mapping[Setting, timedelta] = dataclasses.field(default_factory=dict)
    watched_s: float = 20.0
    handler: Handler = Handler.NONE
    handler_time: timedelta = timedelta(0)
    messages: int = 0
    event: Event | None = None
    leaders: tuple[int, ...] = ()
    wire: Wire = Wire.GOOD
    api: str = ""
    like: str = ""

    def card(self, library: str) -> Client:
        """Return the card that says what will come of it with a library."""
        return catalogue.client(self.like or library)

    @property
    def burns(self) -> bool:
        """Whether it needs the processor for itself."""
        return self.handler is Handler.BLOCK

    @property
    def crowds(self) -> bool:
        """Whether messages that are handed out at once keep the member from beating until it is removed."""
        return self.burns and self.messages > 1

    @property
    def measures_removal(self) -> bool:
        """Whether the time to the removal is measured, rather than the time between beats."""
        return self.crowds or self.event is not None or self.wire is Wire.CUT

    @property
    def circumstances(self) -> Circumstances:
        """What the period depends on beside the settings."""
        handled = self.handler in {Handler.WAIT, Handler.BLOCK}
        # Where each broker leads a partition, each fetch loop has to wait for the handler, as with one broker.
        apart = bool(self.leaders) and not (self.event is Event.HUNG and set(self.leaders) == set(BROKERS))
        return Circumstances(
            brokers=len(BROKERS) if apart else 1,
            round_trip=SLOW_ANSWER if self.wire is Wire.SLOW else timedelta(0),
            handler=self.handler_time if handled else timedelta(0),
            blocking=self.messages if self.burns else 0,
        )

    def of(self, client: Client) -> LivenessSettings:
        """Return all settings of a consumer in this experiment."""
        return client.filled({setting: value for setting, value in self.settings.items() if setting in client.settings})


@dataclasses.dataclass(frozen=True)
class Expected:
    """Between which times the median has to lie; None for an event that nobody notices."""

    low_s: float
    high_s: float | None

    @classmethod
    def of_period(cls, period: Period) -> Self:
        """Return what a period may be measured as."""
        low_s, high_s = period.shortest.total_seconds(), period.longest.total_seconds()
        return cls(low_s - SLACK_S, high_s * (1 + SLACK_SHARE) + SLACK_S)

    def holds(self, measured_s: float | None) -> bool:
        """Whether a measurement is as expected; None: it never happened."""
        if self.high_s is None:
            return measured_s is None
        return measured_s is not None and self.low_s <= measured_s <= self.high_s


def expect(experiment: Experiment, client: Client) -> Expected:
    """Return what the card says will be measured."""
    settings = experiment.of(client)
    if experiment.crowds:
        session_s = settings.session_timeout.total_seconds()
        at_rest_s = client.period(settings, Circumstances()).longest.total_seconds()
        return Expected(session_s - at_rest_s - SLACK_S, session_s + NOTICED_S)
    if experiment.wire is Wire.CUT:
        return _expect_of_cut(experiment, client)
    if experiment.event is None:
        return Expected.of_period(client.period(settings, experiment.circumstances))
    delay = removal.delay(client, experiment.event, settings, experiment.circumstances)
    if delay is None:
        return Expected(experiment.watched_s, None)
    return Expected(max(0.0, delay.shortest.total_seconds() - SLACK_S), delay.longest.total_seconds() + NOTICED_S)


def _expect_of_cut(experiment: Experiment, client: Client) -> Expected:
    """Return when a member whose session a cut outlasts is told so, with its next beat; `never` for any other.

    A fetch loop beats only after the first fetch on its new connection. Between what surely costs the membership and
    what surely does not, it depends on when the last beat was: no experiment may lie there.

    Raises:
        ValueError: it does.
    """
    settings = experiment.of(client)
    session_s, wait_s = settings.session_timeout.total_seconds(), settings.fetch_wait.total_seconds()
    period_s = client.period(settings, experiment.circumstances).longest.total_seconds()
    soonest_s = CUT_S + (wait_s if client.handler_delays_beat else 0.0)
    latest_s = CUT_S * (1 + RETRY_SHARE) + period_s
    if period_s + latest_s < session_s:
        return Expected(experiment.watched_s, None)
    if soonest_s < session_s:
        raise ValueError(f"{experiment.name}: whether {client.title} outlives it depends on when its last beat was")
    return Expected(soonest_s - SLACK_S, latest_s + NOTICED_S)


def _set(**values: float) -> Mapping[Setting, timedelta]:
    """Return settings from seconds, by their letters."""
    letters = {
        "s": Setting.SESSION_TIMEOUT,
        "h": Setting.HEARTBEAT_INTERVAL,
        "w": Setting.FETCH_WAIT,
        "m": Setting.MAX_POLL_INTERVAL,
        "r": Setting.REBALANCE_TIMEOUT,
    }
    return MappingProxyType({letters[letter]: timedelta(seconds=value) for letter, value in values.items()})


_S10: Final = _set(s=10, h=1)
_S6: Final = _set(s=6, h=1, w=0.5, m=6, r=10)

COMMON: Final = (
    Experiment("idle, defaults", watched_s=42),
    Experiment("idle, H 1 s", _S10),
    Experiment("handlers wait 2 s", _S10, 24, Handler.WAIT, timedelta(seconds=2), messages=30),
    Experiment(
        "handlers keep the processor 2 s, one at a time", _S10, 24, Handler.BLOCK, timedelta(seconds=2), messages=1
    ),
    Experiment("a handler hangs", _S6, 20, Handler.HANG, messages=1, event=Event.HUNG),
    Experiment("SIGKILL", _S6, 12, event=Event.KILLED),
    Experiment("SIGSTOP", _S6, 12, event=Event.PAUSED),
    Experiment("closed", _S6, 12, event=Event.CLOSED),
    Experiment("the connection is cut for 2 s", _set(s=10, h=1, w=0.5), 14, wire=Wire.CUT),
)
"""For every library."""

_ARTICLE: Final = (
    Experiment("H 3 s, W 100 ms", _set(h=3, w=0.1), 30),
    Experiment("H 500 ms, W 100 ms", _set(h=0.5, w=0.1), 15),
    Experiment("S 1 s, H 333 ms, W 100 ms", _set(s=1, h=0.333, w=0.1), 15),
    Experiment("S 30 s, H 1 s, W 2.9 s", _set(s=30, h=1, w=2.9), 30),
)

_SLOW: Final = Experiment("answers take 1.5 s, H 1 s", _S10, 24, wire=Wire.SLOW)
"""For all but kafka-node, which rejoins when an answer takes longer than H, and so has no period then."""

_APART: Final = tuple(node for node in BROKERS if node != COORDINATOR)[:1]

_KAFKAJS_CUT: Final = (
    Experiment("the connection is cut for 2 s, S 6 s, W 5 s", _set(s=6, h=1, w=5), 14, wire=Wire.CUT),
    Experiment("the connection is cut for 2 s, S 20 s, W 5 s", _set(s=20, h=1, w=5), 24, wire=Wire.CUT),
)
"""It fetches again before it beats again."""

_KAFKAJS_ON_THREE: Final = (
    Experiment("three brokers, a partition on each", _set(s=30, h=3, w=5), 42, leaders=BROKERS),
    Experiment(
        "three brokers, a handler hangs, partitions on one of them",
        _set(s=10, h=1, w=5),
        25,
        Handler.HANG,
        messages=1,
        event=Event.HUNG,
        leaders=_APART,
    ),
    Experiment(
        "three brokers, a handler hangs, a partition on each",
        _set(s=10, h=1, w=5),
        20,
        Handler.HANG,
        messages=1,
        event=Event.HUNG,
        leaders=BROKERS,
    ),
)

_BY_NAME: Final = {item.name: item for item in COMMON}

_STYLES: Final = (
    dataclasses.replace(
        _BY_NAME["idle, H 1 s"], name="idle, H 1 s, by the callback API", api="callbacks", like="node-rdkafka"
    ),
    dataclasses.replace(
        _BY_NAME["a handler hangs"], name="a handler hangs, by the callback API", api="callbacks", like="node-rdkafka"
    ),
    dataclasses.replace(_BY_NAME["a handler hangs"], name="a handler hangs, by librdkafka's names", api="properties"),
)

_TURNS: Final = (
    Experiment("S 1 s, H 333 ms", _set(s=1, h=0.333), 15),
    Experiment("H 700 ms", _set(s=10, h=0.7), 15),
    Experiment("H 1.2 s", _set(s=10, h=1.2), 20),
)
"""librdkafka looks each half second."""

_OWN: Final[Mapping[str, tuple[Experiment, ...]]] = MappingProxyType(
    {
        "kafkajs": (*_ARTICLE, *_KAFKAJS_CUT, *_KAFKAJS_ON_THREE),
        "connect": (
            Experiment("the herder hangs", _set(s=6, h=1, r=6), 20, Handler.HANG, messages=1, event=Event.HUNG),
        ),
        "kafka-node": (Experiment("S 1 s, H 333 ms", _set(s=1, h=0.333), 15),),
        "sarama": (
            Experiment("H 1 s, W 100 ms", _set(s=10, h=1, w=0.1)),
            Experiment("H 1 s, W 5 s", _set(s=20, h=1, w=5), 42),
            Experiment(
                "three brokers, H 1 s, W 5 s, the coordinator leads the partition",
                _set(s=20, h=1, w=5),
                42,
                leaders=(COORDINATOR,),
            ),
            Experiment(
                "three brokers, H 1 s, W 5 s, another broker leads the partition",
                _set(s=20, h=1, w=5),
                30,
                leaders=_APART,
            ),
        ),
        "node-rdkafka": _TURNS,
        "confluent-kafka-go": _TURNS,
        "rust-rdkafka": _TURNS,
        "confluent-kafka-python": _TURNS,
        "confluent-kafka-python-kip848": _TURNS,
        "confluent-kafka-javascript": (*_TURNS, *_STYLES),
    }
)


def of(client: Client) -> tuple[Experiment, ...]:
    """Return what is tried with a library."""
    buffered = Experiment(
        "handlers keep the processor 2 s, eight messages at once",
        _set(s=10, h=1),
        30,
        Handler.BLOCK,
        timedelta(seconds=2),
        messages=8,
    )
    crowded = (buffered,) if client.beater is Beater.EVENT_LOOP else ()
    common = tuple(item for item in COMMON if client.handles_messages or item.handler is Handler.NONE)
    slow = () if client.name == "kafka-node" else (_SLOW,)
    return (*common, *slow, *_OWN.get(client.name, ()), *crowded)
