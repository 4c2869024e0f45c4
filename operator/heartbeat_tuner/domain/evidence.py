"""What was seen of one group: the input of a decision.

A quantity that could not be measured is `Unknown` and says which question went unanswered; it is never a number. The
*record* is the evictions that really happened, as far as metrics and broker show them (design, section 7.2).
"""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Application, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import CanaryPods, Rollout, Strategy
from heartbeat_tuner.domain.verifications import FailedValues

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


class Unwatched(Unknown):
    """A record that nobody asked for: a fitted model alone has to do."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenFencings:
    """Why more members of a group of the consumer protocol may have been fenced than were counted.

    `lasts` says whether it stays so while the same pods run; else it passes with the record.
    """

    message: str
    lasts: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What happened to the group since `since`, counted over all members.

    Attributes:
        since: start of the time that was watched: never before the newest pod's start or our last change.
        until: its end.
        evictions: live members that were removed for a silence longer than their session; a lower bound.
        poll_gap_evictions: live members that left without a poll for their limit, beating all the while: at least.
        longest_poll_gap: the longest time between two polls; None where the client has no limit or exports none.
        rebalances: rejoins per member, averaged over the members, once the group had time to settle.
        rebalancing_share: part of that time that members spent in joining, 0..1; None while it is too short to say.
        accepted_beats: heartbeats that the coordinator accepted.
        beat_period: median time between accepted heartbeats of one member; None where scrapes counted too few.
        longest_silence: the longest time without a heartbeat that a member survived: a lower bound, as far as scrapes
            resolve it; None with fewer than two beats.
        unobserved_pods: running pods without a fresh sample: nothing is known of them.
        counted_evictions: those of `evictions` that clients' counters show; others may be consumers made again.
        consumers_per_pod: the most consumers that one pod exports.
        evicted_at_s: when each of `evictions` happened, in order, in Unix seconds; by when, where the broker showed it.
        beats_timed_for: for how long more than half of the members' beats were counted for `beat_period`; zero without.
        evicted_pods: the names of the pods behind `evictions`, sorted.
        poll_gap_pods: the names of the pods behind `poll_gap_evictions`, sorted.
        as_described: whether `evictions` are the broker's word, since nothing of the library's exporter is there.
        client_versions: those of the Kafka clients in all pods; none where a pod does not show its own.
        hidden: why members of a group of the consumer protocol may have been fenced unseen; None where `evictions` is
            all of them, but for those of one pod within 90 s, which count as one.
    """

    since: datetime
    until: datetime
    evictions: int
    poll_gap_evictions: int
    rebalances: float
    rebalancing_share: float | None
    accepted_beats: int
    beat_period: timedelta | None
    longest_silence: timedelta | None
    longest_poll_gap: timedelta | None
    unobserved_pods: tuple[str, ...]
    counted_evictions: int = 0
    consumers_per_pod: int = 1
    evicted_at_s: tuple[float, ...] = ()
    beats_timed_for: timedelta = timedelta(0)
    evicted_pods: tuple[str, ...] = ()
    poll_gap_pods: tuple[str, ...] = ()
    hidden: HiddenFencings | None = None
    as_described: bool = False
    client_versions: tuple[str, ...] = ()

    @property
    def span(self) -> timedelta:
        """How long was watched."""
        return self.until - self.since

    def per_month(self, count: int) -> float:
        """Return the mean rate of something that happened `count` times in the watched time, per 30 days."""
        return count * (timedelta(days=30) / self.span) if self.span > timedelta(0) else 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class MemberChange:
    """A living pod was seen with another member id than before: removed, or a consumer made again.

    Attributes:
        at: when the new id was seen.
        pod: the pod's name.
    """

    at: datetime
    pod: str


class AbsenceSignal(enum.Enum):
    """What showed an absence."""

    GC_PAUSE = "a pause of garbage collection"
    THROTTLING = "CPU throttling"
    CPU_STALL = "waiting for a CPU"
    EVENT_LOOP = "a delay of the event loop"
    MISSING_BEATS = "missing heartbeats"
    FAILED_SCRAPES = "failed scrapes"
    POLL_GAP = "a gap between polls"


@dataclasses.dataclass(frozen=True, slots=True)
class Absence:
    """A stretch during which a member could do nothing for its group, as one witness shows it.

    Attributes:
        pod: whose.
        witness: what shows it.
        seen_s: the scrape that showed it, in Unix seconds.
        at_least_s: what it surely had; 0 if the witness can only say what it cannot have had more.
        at_most_s: what it cannot have had more, as far as this witness knows.
        likely_s: what it had on average of all that it can have had; None where that is what it surely had.
    """

    pod: str
    signal: AbsenceSignal
    seen_s: float
    at_least_s: float
    at_most_s: float
    likely_s: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Pod:
    """A running pod of the workload.

    Attributes:
        started: when its container started last.
        restarts: how often its container was restarted in place.
        more_ips: its addresses of other families.
        on_host_network: its addresses are its node's, which others connect from, too.
        ready_since: when it became ready last, with this container; None while it is not. It makes no other pod of it.
    """

    name: str
    uid: str
    ip: str
    started: datetime
    restarts: int
    more_ips: tuple[str, ...] = ()
    on_host_network: bool = False
    ready_since: datetime | None = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Holdings:
    """What the tuner holds in a workload: known even where its settings cannot be read.

    Attributes:
        kept: the env entries that are ours, by container and name; an apply that leaves one out takes it out. An empty
            text stands for one of which somebody else has the value, and we alone the entry.
        overruled: those that somebody else has too, with the value, by container and name, with the manager.
            To let go of them changes nothing.
        empty: those that have no value any more, by container. They hide what `envFrom` brings; to let go of them
            takes them out, and new pods start.
        standing: the literal values of all entries of the policy's container, None for one from elsewhere; None as a
            whole where there is no such container.
        values_of: who else has the value of an entry of that container, by name.
        applications: our last write to each container, as the object itself carries it.
        uid: of the object.
        revision: a number that rises by one with each of its rollouts; None until its controller has seen the newest
            spec.
        containers: of its template, in order.
        failed: values that failed in canaries, by container, as the object itself carries them.
        template_at: when the pods' template was changed last, by us too, by the API server's clock; None if not known.
    """

    kept: Mapping[str, Mapping[str, str]]
    overruled: Mapping[str, Mapping[str, str]]
    empty: Mapping[str, tuple[str, ...]]
    standing: Mapping[str, str | None] | None
    values_of: Mapping[str, str]
    applications: Mapping[str, Application]
    uid: str
    revision: int | None
    containers: tuple[str, ...] = ()
    failed: Mapping[str, tuple[FailedValues, ...]] = dataclasses.field(default_factory=dict)
    template_at: datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """The policy's workload as gathered.

    Attributes:
        uid: with `resource_version`, carried by every write, so that a late one is refused.
        current: what is set now; None while its pods differ. A canary's pods are left out.
        rolling_out: a rollout is not finished.
        foreign_env: our env names that somebody else owns in the template, by setting, with the manager's name.
        kept_env: the env entries we own, by container and name: an apply that leaves one out gives it up.
        applications: our last write to each container, as the object itself carries it.
        pods: running pods, newest last.
        our_rollout: a rollout is not finished, and nobody changed the template since we did.
        is_our_template: nobody changed the template since we did.
        most_pods: how many pods there may be at a time: its replicas and its surge, up to a bound.
        unlike_template: the settings that pods have another value of than their template, which the next pods get.
        holdings: what of ours stands in it; None for a workload that nobody read.
        template: a fingerprint of the pods' template; empty where nobody read it.
        strategy: how its pods are replaced.
        at_once: whether a rollout may stop all of them before a new one is ready.
        paused: whether no change of its template reaches a pod, or no further one.
        pause: the field that says so; empty where it is `spec.paused`.
        merged_by: who owns all its containers as one value, of which no apply can name a part.
        partition: the pods of a StatefulSet that no change of its template reaches, by their ordinals below it.
        lines: how entries that somebody else owns stand in the template, as lines of a manifest, by setting.
        rollout: how far its pods are; it moves by itself, and makes no other workload.
        parts: the workloads of a policy that names several, in its order; this is all of them together then.
        absent: those of them that do not exist or cannot be read; nothing of them is in what is said of all.
        canary: the pods with a canary's values.
    """

    uid: str
    resource_version: str
    current: CurrentSettings | None
    rolling_out: bool
    foreign_env: dict[Setting, str]
    kept_env: dict[str, dict[str, str]]
    applications: Mapping[str, Application]
    pods: tuple[Pod, ...]
    our_rollout: bool = False
    is_our_template: bool = False
    most_pods: int = 0
    unlike_template: frozenset[Setting] = frozenset()
    holdings: Holdings | None = None
    template: str = ""
    strategy: Strategy = Strategy.ROLLING
    at_once: bool = False
    paused: bool = False
    pause: str = ""
    merged_by: tuple[str, ...] = ()
    partition: int = 0
    lines: Mapping[Setting, str] = dataclasses.field(default_factory=dict)
    rollout: Rollout = dataclasses.field(default=Rollout(), compare=False)
    parts: Mapping[WorkloadRef, "Workload"] = dataclasses.field(default_factory=dict)
    absent: Mapping[WorkloadRef, "MissingWorkload"] = dataclasses.field(default_factory=dict)
    canary: CanaryPods = dataclasses.field(default=CanaryPods(), compare=False)

    def entries_after(self, policy: Policy, target: LivenessSettings) -> dict[str, str]:
        """Return the entries of the policy's container that are ours once `target` is written, by name."""
        ours, names = self.kept_env.get(policy.workload.container, {}), policy.env_names
        needed, left = self.to_write(target), frozenset() if self.current is None else self.current.of_group
        wanted = {key for key, name in names.items() if key not in left and (key in needed or ours.get(name))}
        return {**ours, **policy.entries({setting: target[setting] for setting in wanted})}

    def to_write(self, target: LivenessSettings) -> tuple[Setting, ...]:
        """Return the settings that a write has to name so that the pods of its rollout have `target`.

        Those that change; and those that stay as they are in the pods' own env, where the template has another value
        and the rollout would bring that back. None while the pods differ.
        """
        if self.current is None:
            return ()
        of_pods = {each for each in self.unlike_template if self.current.sources.get(each) is ValueSource.POD}
        moved = {*of_pods, *liveness.changed(self.current.settings, target)} - self.current.of_group
        return tuple(setting for setting in target.by_setting if setting in moved)


@dataclasses.dataclass(frozen=True, slots=True)
class MissingWorkload:
    """The policy names something that does not exist or cannot be read: the workload, its container, a value."""

    reason: Reason
    message: str
    holdings: Holdings | None = None
