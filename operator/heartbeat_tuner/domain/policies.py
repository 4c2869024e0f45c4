"""What a user asks for: one `ConsumerGroupPolicy`, with units as types and defaults filled in.

`api` makes these from Kubernetes objects; everything behind `api` sees only these.
"""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import datetime, timedelta

from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


class Mode(enum.StrEnum):
    """How far the tuner may go."""

    RECOMMEND = "Recommend"
    APPLY = "Apply"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """A namespaced object's address."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


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
    """

    values: LivenessSettings
    previous: LivenessSettings
    at: datetime
    workload_uid: str


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
class Policy:
    """One policy, and what the tuner did for it before."""

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
    naming: Naming = dataclasses.field(default_factory=Naming)
    application: Application | None = None

    def range_of(self, setting: Setting) -> Range:
        """The user's bounds for `setting`, open where none are set."""
        return self.bounds.get(setting, Range())
