"""A consumer group and its cluster, as the coordinator describes them."""

import dataclasses
import enum
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting, ValueSource
from heartbeat_tuner.domain.verifications import PromisedRate


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A group member as the coordinator describes it.

    Attributes:
        member_id: made by the coordinator with each membership; in groups of the other protocols by the client, once.
        host: the address it connects from.
        client_id: the client's own name, which its metrics carry, too.
        instance_id: `group.instance.id` of a static member; None for a dynamic one.
        partitions: how many it has been given.
    """

    member_id: str
    host: str
    client_id: str = ""
    instance_id: str | None = None
    partitions: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class GroupOverrides:
    """What is set at the broker for one group itself; None where the broker's own value holds."""

    session_timeout: timedelta | None = None
    heartbeat_interval: timedelta | None = None

    def __str__(self) -> str:
        shown = {"sessionTimeout": self.session_timeout, "heartbeatInterval": self.heartbeat_interval}
        given = (f"{name} {durations.show(value)}" for name, value in shown.items() if value is not None)
        return ", ".join(given) or "no value of its own"


@dataclasses.dataclass(frozen=True, slots=True)
class GroupConfig:
    """What the broker prescribes to the members of one group of the consumer protocol (KIP-848).

    Attributes:
        session_timeout: in force, as far as the broker says.
        heartbeat_interval: in force, as far as the broker says.
        overrides: what of it is set for the group itself.
        record_lock: for how long a record of a share group is locked for the member that was handed it; None in other
            groups, and where the broker does not show it.
    """

    session_timeout: timedelta
    heartbeat_interval: timedelta
    overrides: GroupOverrides = GroupOverrides()
    record_lock: timedelta | None = None

    def fences_as(self, other: "GroupConfig | None") -> bool:
        """Whether members are fenced by the same values: how long records are locked is no matter of that."""
        return other is not None and dataclasses.replace(self, record_lock=other.record_lock) == other


@dataclasses.dataclass(frozen=True, slots=True)
class GroupWrite:
    """What the tuner wrote into a group's configuration at the broker, as the policy's status remembers it.

    It is noted before it is done, so that a write whose answer was lost is known of.

    Attributes:
        cluster: by its name in the operator's configuration.
        group_id: of the group.
        values: what was to be set for the group itself.
        previous: what was set for it before.
        at: when, to the second.
        spec: the fingerprint of what the policy asked for.
        answered: whether the broker was seen to have it.
        before: the last write before it, which is the last again if this one was not done; None once it is known to be.
        replaced: what was in force before it, be it the group's own or the broker's; empty where that was not noted.
        reverts: when the write was done that this one takes back; None where it takes none back.
        harm: what the write did that this one takes back, as a reason's word; empty where a person asked.
        promise: what a model said of the values; None where none was asked.
    """

    cluster: str
    group_id: str
    values: GroupOverrides
    previous: GroupOverrides
    at: datetime
    spec: str
    answered: bool = False
    before: "GroupWrite | None" = None
    replaced: GroupOverrides = GroupOverrides()
    reverts: datetime | None = None
    harm: str = ""
    promise: PromisedRate | None = None


class GroupState(enum.Enum):
    """The state of a group, in Kafka's words."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    RECONCILING = "Reconciling"
    """Of the consumer protocol; stands for Assigning, too, since librdkafka does not tell the two apart."""
    UNKNOWN = "Unknown"
    """None of those that a classic group is known to have."""


WORKERS: Final = "connect"
"""`Group.kind` of a classic group of Connect's workers, in Kafka's word: they distribute connectors, not partitions."""

_MOVING: Final = frozenset({GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.RECONCILING})


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A consumer group as the coordinator describes it.

    Attributes:
        state: at that moment.
        consumer_protocol: whether it speaks a protocol in which S and H are the broker's: `kind` says which.
        config: what the broker prescribes; None for a classic group, or where it may not be read.
        assignor: how its leader distributes partitions, as the members call it; empty where nobody says.
        kind: what its keys at the broker begin with, where S and H are there: `consumer` (KIP-848), `streams`
            (KIP-1071) or `share` (KIP-932). A classic group is `consumer` as well, or `WORKERS`.
        coordinator: the id of the broker that described it; -1 where that is not known.
    """

    group_id: str
    state: GroupState
    members: tuple[Member, ...]
    consumer_protocol: bool = False
    config: GroupConfig | None = None
    assignor: str = ""
    kind: str = "consumer"
    coordinator: int = -1

    @property
    def rebalancing(self) -> bool:
        """Whether partitions are being moved between members."""
        return self.state in _MOVING

    @property
    def partitions(self) -> int | None:
        """How many partitions the members have in all; None while they are being moved, when none can be counted."""
        return sum(member.partitions for member in self.members) if self.state is GroupState.STABLE else None

    def prescribed(self, current: CurrentSettings) -> CurrentSettings:
        """Return what is in force: in a group of the consumer protocol S and H are the broker's, not the client's."""
        if not self.consumer_protocol:
            return current
        settings, source = current.settings, ValueSource.UNREAD
        if self.config is not None:
            session, interval, source = self.config.session_timeout, self.config.heartbeat_interval, ValueSource.GROUP
            settings = dataclasses.replace(settings, session_timeout=session, heartbeat_interval=interval)
        of_group = dict.fromkeys((Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL), source)
        return CurrentSettings(settings, {**current.sources, **of_group})


@dataclasses.dataclass(frozen=True, slots=True)
class UnreadableGroup:
    """A group that its coordinator would not describe, for example for lack of a right; the cluster itself answers.

    Attributes:
        message: why.
        tells_of_group: whether the answer would be another if there were no such group.
        unread: nobody waited for its coordinator in this cycle: the next one begins with it.
        of_another_kind: who was asked describes no group of its kind, such as one of Connect's workers.
    """

    message: str
    tells_of_group: bool = True
    unread: bool = False
    of_another_kind: bool = False


DEFAULT_MIN_SESSION: Final = timedelta(seconds=6)

DEFAULT_MAX_SESSION: Final = timedelta(minutes=30)
"""`group.min.session.timeout.ms` and `group.max.session.timeout.ms` of a broker that nobody configured."""

CONSUMER_MIN_SESSION: Final = timedelta(seconds=45)

CONSUMER_MAX_SESSION: Final = timedelta(seconds=60)
"""The same of groups of KIP-848, `group.consumer.…`; what H may be there is `tuning.CONSUMER_INTERVAL`."""

CONSUMER_SESSION_DEFAULT: Final = timedelta(seconds=45)

CONSUMER_INTERVAL_DEFAULT: Final = timedelta(seconds=5)
"""`group.consumer.session.timeout.ms` and `group.consumer.heartbeat.interval.ms` of a broker that nobody configured."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumerBounds:
    """What all brokers accept for groups of the consumer protocol: `group.consumer.{min,max}.….ms`."""

    min_session: timedelta
    max_session: timedelta
    min_interval: timedelta
    max_interval: timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """What the Kafka cluster allows and how many brokers it has; assumed bounds say so.

    Attributes:
        brokers: how many there are.
        min_session_timeout: of classic groups.
        max_session_timeout: of classic groups.
        bounds_assumed: whether these two could not be read.
        consumer: the bounds for groups of the consumer protocol; None where they cannot be read of every broker.
        streams: the same for groups of Kafka Streams' protocol; None, too, where brokers know none (before 4.1).
        share: the same for share groups; None, too, where brokers know none.
        alters_groups: whether the operator's configuration lets values be written into groups' configurations there.
        group_version: the level of the feature group.version: the consumer protocol needs 1; None where not known.
        describes_batches: whether nearly all groups were described many at a time when they were last.
        consumer_protocol: whether the two are for groups whose S and H are the broker's (`for_groups`).
    """

    brokers: int
    min_session_timeout: timedelta
    max_session_timeout: timedelta
    bounds_assumed: bool = False
    consumer: ConsumerBounds | None = None
    streams: ConsumerBounds | None = None
    share: ConsumerBounds | None = None
    alters_groups: bool = False
    group_version: int | None = None
    describes_batches: bool = False
    consumer_protocol: bool = False

    def for_groups(self, kind: str) -> "Cluster":
        """Return the same with the bounds for groups of a kind (`Group.kind`); Kafka's defaults where unknown."""
        bounds = {"consumer": self.consumer, "streams": self.streams, "share": self.share}.get(kind)
        return dataclasses.replace(
            self,
            min_session_timeout=CONSUMER_MIN_SESSION if bounds is None else bounds.min_session,
            max_session_timeout=CONSUMER_MAX_SESSION if bounds is None else bounds.max_session,
            bounds_assumed=bounds is None,
            consumer=bounds,
            consumer_protocol=True,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class GroupOwnership:
    """That a member of a group was seen in a workload's pods, as the policy's status notes it.

    Attributes:
        cluster: by its name in the operator's configuration.
        group_id: of the group.
        workload_uid: of the workload.
        since: when it was seen first.
        consumer_protocol: whether the group spoke the consumer protocol when it was seen last.
    """

    cluster: str
    group_id: str
    workload_uid: str
    since: datetime
    consumer_protocol: bool = False
