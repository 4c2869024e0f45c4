"""The workloads whose pods consume: read in a view or as they are now, and written by server-side apply."""

from collections.abc import Sequence
from typing import Protocol

from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Workload
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.verifications import FailedValues


class WorkloadViews(Protocol):
    """A view of workloads and their pods that is kept up to date, so that looking costs the API server nothing."""

    async def cover(self, policies: Sequence[Policy]) -> None:
        """Have the workloads of these policies in the view, as they are now, and no others."""
        ...

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return a covered policy's workload with what is set in it, or what is missing.

        Raises:
            ApiServerError: the view is out of touch.
        """
        ...


class Workloads(Protocol):
    """Workloads and their pods."""

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the policy's workload with what is set in it now, or what is missing.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def apply(self, policy: Policy, workload: Workload, application: Application) -> None:
        """Write the application's values, and itself, into the workload by server-side apply, never forced.

        Raises:
            WriteConflictError: the workload changed since it was gathered.
            FieldOwnedError: another manager owns an entry.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...

    async def release(self, policy: Policy, *, empty: bool) -> Holdings | None:
        """Let go of entries of ours that somebody else has the value of, and of those without a value if `empty`.

        Returns:
            What was held before; None if there was nothing to let go of.

        Raises:
            WriteConflictError: the workload changed meanwhile.
            FieldOwnedError: another manager owns an entry that is ours.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...

    async def note_failed(self, policy: Policy, workload: Workload, failed: Sequence[FailedValues]) -> None:
        """Note at the workload itself which values failed in it; its template stays as it is.

        Raises:
            WriteConflictError: the workload changed since it was gathered.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...

    async def evict(self, namespace: str, pod: str, uid: str) -> None:
        """Have a pod replaced by its controller, as far as its PodDisruptionBudgets allow; nothing if it is gone.

        Raises:
            WriteConflictError: another pod has the name by now.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else, a budget's refusal too (429).
        """
        ...


class WorkloadSizes(Protocol):
    """How many pods a workload may have at a time."""

    async def size(self, kind: str, workload: ObjectKey) -> int:
        """Return the replicas and the surge of a Deployment or Rollout, up to a bound; 0 where it does not exist.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...
