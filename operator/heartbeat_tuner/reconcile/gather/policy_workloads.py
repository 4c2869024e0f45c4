"""The workloads of all policies as one cycle looks them up, and what of ours stands in them.

What cannot be read becomes a value: a failure costs only the policy that it concerns.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from heartbeat_tuner.decision import next_workload, workload_parts
from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadViews
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import UnexpectedFailure

ReadWorkload = Workload | Finding | UnexpectedFailure
"""A policy's workload, or why there is none."""

_Read = ReadWorkload | MissingWorkload

Held = dict[ObjectKey, dict[WorkloadRef, Holdings]]
"""What of ours stands in the workloads of policies, as far as they could be read."""


class PolicyWorkloads:
    """Looks workloads up.

    Args:
        views: where they are kept up to date.
        turns: given to others between two policies.
        moved: called whenever one was looked up.
    """

    def __init__(self, views: WorkloadViews, turns: Turns, moved: Moved) -> None:
        self._views = views
        self._turns = turns
        self._moved = moved
        self._together: dict[ObjectKey, Workload] = {}

    async def read(
        self, policies: Sequence[Policy], looked: Sequence[Policy], holdings: Held
    ) -> dict[ObjectKey, ReadWorkload]:
        """Return the workloads of policies, or why they could not be read.

        Args:
            policies: all of them.
            looked: those whose workloads are returned.
            holdings: where it is noted what of ours stands in a workload, in one too whose settings cannot be read.
        """
        await self._views.cover([alone for policy in policies for alone in workload_parts.by_themselves(policy)])
        several = {policy.key for policy in policies if policy.workloads}
        self._together = {key: workload for key, workload in self._together.items() if key in several}
        workloads: dict[ObjectKey, ReadWorkload] = {}
        for policy in looked:
            alone = workload_parts.by_themselves(policy)
            parts = {part.workload: await self._read_one(part, holdings) for part in alone}
            whole = self._whole(policy, parts) if policy.workloads else parts[policy.workload]
            if isinstance(whole, MissingWorkload):
                whole = Finding(whole.reason, whole.message)
            workloads[policy.key] = whole
            await self._turns.give()
        return workloads

    def _whole(self, policy: Policy, parts: Mapping[WorkloadRef, _Read]) -> _Read:
        """Return all workloads of a policy as one, the same object while none has changed; or why nothing is known.

        One that is missing does not hide the others: what did harm has to be taken back from them.
        """
        known = {ref: part for ref, part in parts.items() if isinstance(part, Workload)}
        absent = {ref: part for ref, part in parts.items() if isinstance(part, MissingWorkload)}
        if not known or len(known) + len(absent) < len(parts):
            unread = (part for part in parts.values() if not isinstance(part, Workload | MissingWorkload))
            return next(unread, next(iter(parts.values())))
        before = self._together.get(policy.key)
        if before is None or not workload_parts.is_made_of(before, known, absent):
            before = self._together[policy.key] = workload_parts.together(known, absent)
        return before

    async def _read_one(self, policy: Policy, holdings: Held) -> _Read:
        try:
            workload = await self._views.read(policy)
        except ApiServerError as error:
            return Finding(Reason.API_SERVER_ERROR, str(error))
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return UnexpectedFailure(error)
        finally:
            self._moved()
        held = workload.holdings
        if held is not None:
            holdings.setdefault(policy.key, {})[policy.workload] = held
        return workload


async def seen(policies: Sequence[Policy], holdings: Held, turns: Turns, *, now: datetime) -> dict[ObjectKey, Policy]:
    """Return the policies whose workload was seen, each with what was last applied to it, and what was taken back."""
    policies_seen: dict[ObjectKey, Policy] = {}
    for policy in policies:
        held = holdings.get(policy.key)
        if held is not None:
            policies_seen[policy.key] = (
                next_workload.seen(policy, held, now=now)
                if policy.workloads
                else taken_back.seen(policy, held[policy.workload], now=now)
            )
            await turns.give()
    return policies_seen


def with_other_pods(
    workloads: Mapping[ObjectKey, ReadWorkload], before: Mapping[ObjectKey, ReadWorkload]
) -> Iterator[ObjectKey]:
    """Yield the policies whose pods are not those of the cycle before: their groups have other members, too."""
    for key, workload in workloads.items():
        known = before.get(key)
        if isinstance(workload, Workload) and isinstance(known, Workload) and workload.pods != known.pods:
            yield key


def as_of(workload: Workload, at: datetime) -> Workload:
    """Return a workload without the pods that began after its group was looked at.

    A member that was seen at a pod's address before the pod began is another's: of the pod's life before, or of
    the pod that had the address.
    """
    if all(pod.started <= at for pod in workload.pods):
        return workload
    return dataclasses.replace(workload, pods=tuple(pod for pod in workload.pods if pod.started <= at))
