"""How a workload replaces its pods, how far it has come, and which of its pods fail.

`adapters.workloads.rollout_state` reads these from Kubernetes objects; `reconcile.status.landing` says what they mean
for a change of ours.
"""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

DEFAULT_DEADLINE: Final = timedelta(seconds=600)
"""`progressDeadlineSeconds` of a Deployment that sets none; a StatefulSet has no such field and gets the same."""

LONGEST_DEADLINE: Final = timedelta(hours=1)
"""Who writes the Deployment may write any deadline; none keeps others waiting for longer than this."""

MANY_CRASHES: Final = 2
"""Restarts of a container from which on its pod counts as crashing until it has stayed ready."""

_STAYS_AFTER: Final = timedelta(minutes=1)
_STAYS_AFTER_CRASHES: Final = timedelta(minutes=5)


class Strategy(enum.StrEnum):
    """How pods are replaced when their template changes, as Kubernetes calls it."""

    ROLLING = "RollingUpdate"
    RECREATE = "Recreate"
    ON_DELETE = "OnDelete"


@dataclasses.dataclass(frozen=True, slots=True)
class Failing:
    """A pod of the newest template that does not become ready, or does not stay so.

    Attributes:
        pod: its name.
        why: what its container's state says.
        restarts: how often that container was restarted.
        ready_since: when the pod became ready last; None while it is not.
        container: that fails.
    """

    pod: str
    why: str
    restarts: int
    ready_since: datetime | None = None
    container: str = ""

    def is_crashing(self, now: datetime) -> bool:
        """Whether it was restarted so often that waiting does not help, and has not stayed ready since."""
        return self.restarts >= MANY_CRASHES and not has_settled(self.ready_since, self.restarts, now)


@dataclasses.dataclass(frozen=True, slots=True)
class UpdatedPod:
    """A pod of the newest template that is ready.

    Attributes:
        pod: its name.
        ready_since: when it became ready last.
        restarts: how often its containers were restarted, of the one that was so most often.
    """

    pod: str
    ready_since: datetime
    restarts: int


@dataclasses.dataclass(frozen=True, slots=True)
class Rollout:
    """How far a workload's pods are with its template.

    Attributes:
        wanted: how many pods there shall be.
        updated: how many there are of the newest template, as its controller says.
        deadline: how long it may take without progress.
        exceeded: whether its controller says that this time is over.
        aborted: whether it was aborted, as one of Argo Rollouts may be: the pods before have come back, and stay.
        progressed: when the last progress was seen; None where nothing says so.
        failing: pods of the newest template that fail, by name.
        ready: pods of the newest template that are ready.
        unready: pods of the newest template that run without a failure, and are not ready.
        pods: the names of all pods of the newest template: some are not ready, and give no reason.
    """

    wanted: int = 0
    updated: int = 0
    deadline: timedelta = DEFAULT_DEADLINE
    exceeded: bool = False
    aborted: bool = False
    progressed: datetime | None = None
    failing: tuple[Failing, ...] = ()
    ready: tuple[UpdatedPod, ...] = ()
    unready: tuple[str, ...] = ()
    pods: frozenset[str] = frozenset()

    def crashing(self, now: datetime) -> Failing | None:
        """Return the first pod that crashes again and again; None if none does."""
        return next((failing for failing in self.failing if failing.is_crashing(now)), None)

    def worst(self, now: datetime) -> Failing | None:
        """Return the first pod that fails and has not stayed ready since; None if none does."""
        failing = (pod for pod in self.failing if not has_settled(pod.ready_since, pod.restarts, now))
        return self.crashing(now) or next(failing, None)

    def is_overdue(self, since: datetime, now: datetime) -> bool:
        """Whether a rollout that began at `since` has made no progress for longer than its deadline."""
        last = since if self.progressed is None else max(since, self.progressed)
        return self.exceeded or self.aborted or now - last >= min(self.deadline, LONGEST_DEADLINE)


@dataclasses.dataclass(frozen=True, slots=True)
class CanaryPods:
    """The pods of a workload that have a canary's values, whether they run or not.

    Attributes:
        uids: by name; pods that are being deleted are left out.
        rollout: how far they are.
        total: how many pods the workload has in all.
    """

    uids: Mapping[str, str] = dataclasses.field(default_factory=dict)
    rollout: Rollout = dataclasses.field(default=Rollout())
    total: int = 0


def has_settled(ready_since: datetime | None, restarts: int, now: datetime) -> bool:
    """Whether a pod has stayed ready: for a minute, or for five if it crashed again and again before."""
    if ready_since is None:
        return False
    stays = _STAYS_AFTER_CRASHES if restarts >= MANY_CRASHES else _STAYS_AFTER
    return now - ready_since >= stays
