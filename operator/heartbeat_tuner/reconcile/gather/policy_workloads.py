"""The workloads of all policies as one cycle looks them up, and what of ours stands in them.

What cannot be read becomes a value: a failure costs only the policy that it concerns.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadViews
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import UnexpectedFailure

ReadWorkload = Workload | Finding | UnexpectedFailure
"""A policy's workload, or why there is none."""


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

    async def read(
        self, policies: Sequence[Policy], looked: Sequence[Policy], holdings: dict[ObjectKey, Holdings]
    ) -> dict[ObjectKey, ReadWorkload]:
        """Return the workloads of policies, or why they could not be read.

        Args:
            policies: all of them.
            looked: those whose workloads are returned.
            holdings: where it is noted what of ours stands in a workload, in one too whose settings cannot be read.
        """
        await self._views.cover(policies)
        workloads: dict[ObjectKey, ReadWorkload] = {}
        for policy in looked:
            workloads[policy.key] = await self._read_one(policy, holdings)
            await self._turns.give()
        return workloads

    async def _read_one(self, policy: Policy, holdings: dict[ObjectKey, Holdings]) -> ReadWorkload:
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
            holdings[policy.key] = held
        if isinstance(workload, MissingWorkload):
            return Finding(workload.reason, workload.message)
        return workload


async def seen(
    policies: Sequence[Policy], holdings: Mapping[ObjectKey, Holdings], turns: Turns, *, now: datetime
) -> dict[ObjectKey, Policy]:
    """Return the policies whose workload was seen, each with what was last applied to it, and what was taken back."""
    policies_seen: dict[ObjectKey, Policy] = {}
    for policy in policies:
        held = holdings.get(policy.key)
        if held is not None:
            policies_seen[policy.key] = taken_back.seen(policy, held, now=now)
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
