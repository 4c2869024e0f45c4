"""What a user asks for: one `ConsumerGroupPolicy`, with units as types and defaults filled in.

`api` makes these from Kubernetes objects; everything behind `api` sees only these.
"""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import GroupOwnership, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verifications import (
    Canary,
    CanaryRules,
    EvictionHistory,
    FailedValues,
    FollowedChange,
    PromisedRate,
)


class StaticMembership(enum.StrEnum):
    """Whether the group's members keep an identity of their own through restarts."""

    AUTO = "Auto"
    ENABLED = "Enabled"
    DISABLED = "Disabled"


class Mode(enum.StrEnum):
    """How far the tuner may go."""

    RECOMMEND = "Recommend"
    INITIAL = "Initial"
    APPLY = "Apply"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """A namespaced object's address."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


ASKING_AGAIN: Final = "spec.objective, spec.bounds, spec.client or spec.workloadRef"
"""What a person edits to have values tried again: what `Policy.spec` is made of, but for the group itself."""

DEPLOYMENT: Final = "Deployment"
STATEFUL_SET: Final = "StatefulSet"
ROLLOUT: Final = "Rollout"
"""Kinds of workloads: a StatefulSet's pods have names that stay, and it has no surge; a Rollout is Argo Rollouts'."""


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadRef:
    """The container whose environment carries the settings."""

    kind: str
    key: ObjectKey
    container: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """Bounds that a user sets for one value; None leaves that side open."""

    min: timedelta | None = None
    max: timedelta | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Objective:
    """What the group must hold.

    Attributes:
        max_detection_time: from a member's death to the start of reassignment.
        max_false_evictions_per_month: live members removed, for the whole group in 30 days.
    """

    max_detection_time: timedelta
    max_false_evictions_per_month: float


@dataclasses.dataclass(frozen=True, slots=True)
class Application:
    """Values that the tuner wrote into a workload, as the workload itself and the policy's status remember it.

    Attributes:
        values: all values after the write.
        previous: all values before it.
        at: when, to the second.
        workload_uid: of the object that was written to; one that took its name since then has not been written to.
        container: that was written to, likewise; empty if not noted.
        entries: the policy's variables that were ours in the container after it, with their texts; empty if not noted.
        entries_before: those before it, which to write again leaves the template as it was; None where not noted.
        promise: what a model said of the values; None where none was asked.
        reverts: when the change was written that this one takes back; None where it takes none back.
        failed: values that were taken back by the tuner until then, the newest last.
        reason: why it was made, perhaps in a word of another version; None where that was not noted.
        begun: when the same change was written to its first workload, of several; None where it is the first.
        baseline: what stood before the first change that led to the values without another's; None where not noted.
    """

    values: LivenessSettings
    previous: LivenessSettings
    at: datetime
    workload_uid: str
    container: str = ""
    entries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    entries_before: Mapping[str, str] | None = None
    promise: PromisedRate | None = None
    reverts: datetime | None = None
    failed: tuple[FailedValues, ...] = ()
    reason: str | None = None
    begun: datetime | None = None
    baseline: LivenessSettings | None = None

    @property
    def change(self) -> datetime:
        """Which change it is of, also where it takes that back: when its first workload was written."""
        return self.begun or self.reverts or self.at


@dataclasses.dataclass(frozen=True, slots=True)
class Intent:
    """A write that was about to be done: noted before it, so that it is known of even if nothing else is left of it.

    Attributes:
        application: what was to be written.
        revision: of the workload before it: the number of its rollouts.
    """

    application: Application
    revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class TakenBack:
    """Values of ours that somebody took out of the workload again, or replaced.

    Attributes:
        application: the write that they are of.
        seen: when that was noticed.
        generation: of the policy at that time, for which nothing is written where `spec` is empty.
        by: the manager that has the values now; empty where nobody has.
        spec: the fingerprint of what the policy asked for then, for which nothing is written; empty if not noted.
    """

    application: Application
    seen: datetime
    generation: int
    by: str = ""
    spec: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Contradicted:
    """The members were seen to behave as nobody does with the values that are set: remembered in the policy's status.

    It stands while neither the policy nor the pods' template changes, however calm the group is by then.

    Attributes:
        reason: what was found.
        message: the sentence with its numbers.
        generation: of the policy.
        template: the fingerprint of the pods' template, as `Workload.template`.
    """

    reason: Reason
    message: str
    generation: int
    template: str


@dataclasses.dataclass(frozen=True, slots=True)
class Naming:
    """How a group's metrics are named, as far as no exporter's own way says it.

    Attributes:
        convention: the only one to look for; None for any of the library's.
        names: what a metric is called, by the quantity that it is, as `metrics.vocabulary` writes it.
        labels: what a label is called, by what it carries: `namespace`, `pod`, `group`, `clientId`.
    """

    convention: str | None = None
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def maps(self) -> bool:
        """Whether it has names of its own, so that its series are read for it alone."""
        return bool(self.names or self.labels)


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A time in which a rollout may begin.

    Attributes:
        schedule: when it opens, as a cron line of five fields.
        duration: how long it stays open.
        zone: whose clock the schedule means.
    """

    schedule: str
    duration: timedelta
    zone: ZoneInfo


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """One policy, and what the tuner did for it before.

    A rollout begins only while one of its `windows` is open, if it has any. `instance_id_env` is the variable by which
    pods are given static ids, if they are. `observed_generation` is that of its status, None before the first look.
    `taken_back` is what of ours somebody took back last, `intent` the last write that may not have been done. `reverts`
    says whether what did harm is taken back. `followed` is how far the last change is, `history` when members were
    evicted, `failed` what must not be tried again under the spec whose fingerprint is `spec`: of what values depend on.
    Where it names several workloads, `workloads` has all, `workload` the one that is written next, `application` the
    newest change of all, `applications` the last of each. `group_write` is the last write into the group's
    configuration, `revert_asked` the time of that which a person wants taken back. `canary` is new values in a part of
    the pods, by `canary_rules`, if there is one. With `go_durations`, variables hold durations as Go writes them.
    """

    key: ObjectKey
    uid: str
    generation: int
    created: datetime
    group_id: str
    cluster: str
    workload: WorkloadRef
    library: str
    env_names: Mapping[Setting, str]
    declared: Mapping[Setting, timedelta]
    mode: Mode
    objective: Objective
    bounds: Mapping[Setting, Range]
    cooldown: timedelta
    horizon: timedelta
    suspended: bool
    windows: tuple[Window, ...] = ()
    naming: Naming = dataclasses.field(default_factory=Naming)
    application: Application | None = None
    ownership: GroupOwnership | None = None
    contradicted: Contradicted | None = None
    instance_id_env: str | None = None
    static_membership: StaticMembership = StaticMembership.DISABLED
    observed_generation: int | None = None
    taken_back: TakenBack | None = None
    intent: Intent | None = None
    reverts: bool = True
    spec: str = ""
    followed: FollowedChange | None = None
    history: EvictionHistory | None = None
    failed: tuple[FailedValues, ...] = ()
    workloads: tuple[WorkloadRef, ...] = ()
    applications: Mapping[WorkloadRef, Application] = dataclasses.field(default_factory=dict)
    canary_rules: CanaryRules = dataclasses.field(default=CanaryRules())
    canary: Canary | None = None
    group_write: GroupWrite | None = None
    revert_asked: datetime | None = None
    go_durations: bool = False

    @property
    def forbidden(self) -> TakenBack | None:
        """What somebody took back while the same was asked for: nothing is written until that is edited."""
        noted = self.taken_back
        if noted is None:
            return None
        is_same = noted.spec == self.spec if noted.spec else noted.generation == self.generation
        return noted if is_same else None

    @property
    def changed_at(self) -> datetime | None:
        """When the tuner wrote last, into the workload or the group's configuration; None if it never did."""
        return max((write.at for write in (self.application, self.group_write) if write), default=None)

    def entries(self, values: Mapping[Setting, timedelta]) -> dict[str, str]:
        """Return values as the entries of a container's environment that carry them, by their names."""
        return {name: self.env_text(values[setting]) for setting, name in self.env_names.items() if setting in values}

    def env_text(self, value: timedelta) -> str:
        """Return a value as an entry of the container's environment says it."""
        return durations.show(value) if self.go_durations else str(durations.to_ms(value))

    def range_of(self, setting: Setting) -> Range:
        """The user's bounds for `setting`, open where none are set."""
        return self.bounds.get(setting, Range())
