"""What is checked: settings with what is known around them, and a finding."""

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, Self

from heartbeat_tuner.clients.client import Circumstances, Client, Protocol
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.limits import detection_time
from heartbeat_tuner.lint.rule import Rule

NAMES: Final[Mapping[Setting, str]] = {
    Setting.SESSION_TIMEOUT: "session timeout",
    Setting.HEARTBEAT_INTERVAL: "heartbeat interval",
    Setting.FETCH_WAIT: "fetch wait",
    Setting.MAX_POLL_INTERVAL: "max poll interval",
    Setting.REBALANCE_TIMEOUT: "rebalance timeout",
}
"""The settings as sentences call them."""


@dataclasses.dataclass(frozen=True, slots=True)
class LintFinding:
    """What a rule found, as a sentence.

    Attributes:
        line: of the file that it is about; 0 where it is about no line.
    """

    rule: Rule
    message: str
    line: int = 0


class Origin(enum.StrEnum):
    """Where a value comes from."""

    GIVEN = "given"
    DEFAULT = "default"
    BROKER = "broker"  # the group's protocol has it set there
    UNSEEN = "unseen"
    UNREADABLE = "unreadable"  # it is given, and says nothing


class IdSource(enum.StrEnum):
    """Where a member's static id comes from."""

    LITERAL = "literal"
    POD_NAME = "pod name"
    RANDOM = "random"
    OTHER = "other"  # nothing is known of it


@dataclasses.dataclass(frozen=True, slots=True)
class StaticId:
    """The static id that a workload gives its members.

    Attributes:
        source: where it comes from.
        shown: the id, where it is a literal one.
        kind: of the workload; empty where none is known.
        replicas: of the workload; None where nobody knows.
        surges: whether an update starts a new pod before the old one has ended.
    """

    source: IdSource
    shown: str = ""
    kind: str = ""
    replicas: int | None = None
    surges: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class OtherProperties:
    """What else is set of a consumer, beside the five settings.

    Attributes:
        request_timeout: how long the client waits for an answer: request.timeout.ms, Sarama's Net.ReadTimeout.
        idle_limit: after how long an idle connection is closed: connections.max.idle.ms.
        assignors: partition.assignment.strategy, in the order of the setting.
        remote_assignor: whether group.remote.assignor is set.
        static_id: group.instance.id.
        poll_records: how many messages one poll hands out: max.poll.records; None where it is not set.
        foreign_protocol: whether the group is to have a protocol that the library does not speak.
    """

    request_timeout: timedelta | None = None
    idle_limit: timedelta | None = None
    assignors: tuple[str, ...] = ()
    remote_assignor: bool = False
    static_id: StaticId | None = None
    poll_records: int | None = None
    foreign_protocol: bool = False


NO_OTHERS: Final = OtherProperties()


@dataclasses.dataclass(frozen=True, slots=True)
class Inspected:
    """Settings to check.

    Attributes:
        client: the library that they are for.
        values: a value for each setting; where the origin is BROKER, UNSEEN or UNREADABLE it is the library's default
            and stands for nothing.
        origins: where each value comes from.
        protocol: the group's.
        others: what else is set.
    """

    client: Client
    values: LivenessSettings
    origins: Mapping[Setting, Origin]
    protocol: Protocol
    others: OtherProperties = NO_OTHERS

    @classmethod
    def of(
        cls,
        client: Client,
        given: Mapping[Setting, timedelta],
        *,
        unseen: Iterable[Setting] = (),
        unreadable: Iterable[Setting] = (),
        protocol: Protocol | None = None,
        others: OtherProperties = NO_OTHERS,
    ) -> Self:
        """Return the settings from what is given; the rest is the library's default, or the broker's business."""
        hidden, broken = frozenset(unseen), frozenset(unreadable)
        of_group = client.protocols[0] if protocol is None else protocol

        def origin(setting: Setting) -> Origin:
            if setting in given:
                return Origin.GIVEN
            if setting in broken:
                return Origin.UNREADABLE
            if setting in hidden:
                return Origin.UNSEEN
            if of_group.is_at_broker and setting in AT_THE_BROKER:
                return Origin.BROKER
            return Origin.DEFAULT

        return cls(
            client,
            client.filled(given),
            {setting: origin(setting) for setting in client.settings},
            of_group,
            others,
        )

    def knows(self, *settings: Setting) -> bool:
        """Whether these settings exist, and their values rule what the client does."""
        return all(self.origins.get(setting) in {Origin.GIVEN, Origin.DEFAULT} for setting in settings) and not (
            self.protocol.is_at_broker and AT_THE_BROKER.intersection(settings)
        )

    @property
    def misplaced(self) -> tuple[Setting, ...]:
        """The settings that are given to the client, and are the broker's in the group's protocol."""
        if not self.protocol.is_at_broker:
            return ()
        return tuple(
            setting
            for setting in self.client.settings
            if setting in AT_THE_BROKER and self.origins[setting] is Origin.GIVEN
        )

    @property
    def beat_settings(self) -> tuple[Setting, ...]:
        """The settings that say when a beat comes, and whether that is in time."""
        fetch = (Setting.FETCH_WAIT,) if self.client.beat_waits_for_fetch else ()
        return (Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL, *fetch)


AT_THE_BROKER: Final = frozenset({Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL})
"""What groups of all protocols but the classic one have from their broker."""


@dataclasses.dataclass(frozen=True, slots=True)
class SessionBounds:
    """Between which sessions a broker lets a member join.

    Attributes:
        known_min: group.min.session.timeout.ms, if somebody said it; else Kafka's default is assumed.
        known_max: group.max.session.timeout.ms, if somebody said it.
    """

    known_min: timedelta | None = None
    known_max: timedelta | None = None

    @property
    def least(self) -> timedelta:
        """The shortest session."""
        return DEFAULT_MIN_SESSION if self.known_min is None else self.known_min

    @property
    def most(self) -> timedelta:
        """The longest session."""
        return DEFAULT_MAX_SESSION if self.known_max is None else self.known_max

    def is_known(self, side: str) -> bool:
        """Whether somebody said the bound of a side, `min` or `max`."""
        return (self.known_min if side == "min" else self.known_max) is not None


@dataclasses.dataclass(frozen=True, slots=True)
class Expectations:
    """What is known of the workload and wanted of the group.

    Attributes:
        brokers: of the Kafka cluster.
        max_detection_time: how late a crash may be noticed; None: as late as is usual of the client library.
        handler_time: the longest that the handler takes for one message, or for one poll where the client has a limit
            for that; None: not known.
        blocking_messages: how many messages are handled without giving the processor back to the client; 0: handlers
            wait rather than compute.
        longest_pause: of the whole process; None: not known.
        broker_session: which sessions the broker accepts.
        client_version: of the library; empty for a recent one.
        kafka_version: of the brokers; empty where nobody said it.
        target_protocol: that the group is to move to; None where nobody asks.
    """

    brokers: int = 1
    max_detection_time: timedelta | None = None
    handler_time: timedelta | None = None
    blocking_messages: int = 0
    longest_pause: timedelta | None = None
    broker_session: SessionBounds = SessionBounds()
    client_version: str = ""
    kafka_version: str = ""
    target_protocol: Protocol | None = None

    def detection_time(self, client: Client) -> timedelta:
        """Return how late a crash may be noticed in a group of a client library."""
        return detection_time.usual(client) if self.max_detection_time is None else self.max_detection_time

    @property
    def at_rest(self) -> Circumstances:
        """The circumstances of a member that has nothing to do."""
        return Circumstances(brokers=self.brokers)
