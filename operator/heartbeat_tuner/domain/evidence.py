"""What was seen of one group: the input of a decision.

A quantity that could not be measured is `Unknown` and says which question went unanswered; it is never a number. The
*record* is the evictions that really happened, as far as metrics and broker show them (design, section 7.2).
"""

import dataclasses
from datetime import datetime, timedelta
from typing import TypeVar

from heartbeat_tuner.domain.liveness import CurrentSettings, Setting
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """A measurement that is not there.

    Attributes:
        reason: why, for the condition.
        message: a sentence that names the query that was tried and what came back.
    """

    reason: Reason
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What happened to the group since `since`, counted over all members.

    Attributes:
        since: start of the time that was watched: never before the newest pod's start or our last change.
        until: its end.
        evictions: live members that lost their membership; a lower bound.
        rebalances: rejoins per member, averaged over the members, once the group had time to settle.
        rebalancing_share: part of that time that members spent in joining, 0..1; None while it is too short to say.
        accepted_beats: heartbeats that the coordinator accepted.
        beat_period: median time between accepted heartbeats of one member; None with fewer than two.
        longest_silence: the longest time for which a member's count of accepted heartbeats stood still while it
        stayed a
            member: a lower bound of a silence it survived, as far as scrapes resolve it; None with fewer than two
            beats.
        newest_sample: time of the newest raw sample.
        scrape_interval: median time between two scrapes of one series.
        unobserved_pods: running pods without a fresh sample: nothing is known of them.
    """

    since: datetime
    until: datetime
    evictions: int
    rebalances: float
    rebalancing_share: float | None
    accepted_beats: int
    beat_period: timedelta | None
    longest_silence: timedelta | None
    newest_sample: datetime
    scrape_interval: timedelta
    unobserved_pods: tuple[str, ...]

    @property
    def span(self) -> timedelta:
        """How long was watched."""
        return self.until - self.since

    @property
    def evictions_per_month(self) -> float:
        """The mean rate over the watched time, in evictions of the group per 30 days."""
        return self.evictions * (timedelta(days=30) / self.span) if self.span > timedelta(0) else 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A group member as the coordinator describes it."""

    member_id: str
    host: str


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A consumer group as the coordinator describes it; `rebalancing` is the state at that moment."""

    group_id: str
    rebalancing: bool
    members: tuple[Member, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class UnreadableGroup:
    """A group that its coordinator would not describe, for example for lack of a right; the cluster itself answers."""

    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """What the Kafka cluster allows and how many brokers it has; assumed bounds say so."""

    brokers: int
    min_session_timeout: timedelta
    max_session_timeout: timedelta
    bounds_assumed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Pod:
    """A running pod of the workload.

    Attributes:
        started: when its container started last.
        restarts: how often its container was restarted in place.
    """

    name: str
    uid: str
    ip: str
    started: datetime
    restarts: int


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """The Deployment as gathered.

    Attributes:
        uid: with `resource_version`, carried by every write, so that a late one is refused.
        current: what is set now; None while its pods differ.
        rolling_out: a rollout is not finished.
        foreign_env: our env names that somebody else owns in the template, by setting, with the manager's name.
        kept_env: the env entries we own, by container and name: an apply that leaves one out gives it up.
        pods: running pods, newest last.
    """

    uid: str
    resource_version: str
    current: CurrentSettings | None
    rolling_out: bool
    foreign_env: dict[Setting, str]
    kept_env: dict[str, dict[str, str]]
    pods: tuple[Pod, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MissingWorkload:
    """The policy names something that does not exist or cannot be read: the workload, its container, a value."""

    reason: Reason
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Situation:
    """Everything one decision rests on."""

    now: datetime
    policy: Policy
    workload: Workload
    group: Group
    cluster: Cluster
    record: Record | Unknown
