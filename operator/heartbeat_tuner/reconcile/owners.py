"""Which policies are shown the groups that they name, from cycle to cycle of one leadership.

The rule is `decision.ownership`'s; here is what it remembers. Why a group is not shown to a policy depends on the
group, so only the operator's own log says it, once for each change.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import structlog

from heartbeat_tuner.decision import ownership
from heartbeat_tuner.decision.ownership import Described, Proven
from heartbeat_tuner.domain import grants, members_at_pods
from heartbeat_tuner.domain.evidence import UnreadableGroup, Workload
from heartbeat_tuner.domain.grants import Grants
from heartbeat_tuner.domain.policies import GroupOwnership, ObjectKey, Policy
from heartbeat_tuner.domain.verdicts import Finding

Look = tuple[Policy, Workload, Described, datetime]
"""A policy, its workload with the pods that ran when the group was looked at, the group, and that moment."""

Shown = Mapping[ObjectKey, Described | Finding]
"""What each policy is shown of its group, or why nothing; one whose workload or group was not read is left out."""

MOST_FUTILE: Final = 3
"""Cycles in which more than one look is taken for a policy's members, and none is seen: then one look has to do."""

_log = structlog.get_logger()


class Owners:
    """Remembers what was proven.

    Args:
        granted: what the operator's configuration gives to namespaces.
    """

    def __init__(self, granted: Grants) -> None:
        self._granted = granted
        self._proven: dict[ObjectKey, Proven] = {}
        self._reasons: dict[ObjectKey, str] = {}
        self._futile: dict[ObjectKey, int] = {}

    def missing(self, looks: Iterable[Look]) -> list[Policy]:
        """Return the policies whose group may be theirs, though this look showed no member in their pods."""
        return [
            policy
            for policy, workload, described, _ in looks
            if not isinstance(described, UnreadableGroup)
            and self._futile.get(policy.key, 0) < MOST_FUTILE
            and not self._is_granted(policy)
            and not all(pod.on_host_network for pod in workload.pods)
            and not members_at_pods.compare(described.members if described else (), workload.pods).inside
        ]

    async def seen(self, policies: Iterable[Policy], looks: Iterable[Look]) -> Shown:
        """Return what each policy is shown after one more look; policies that are gone are forgotten."""
        keys = {policy.key for policy in policies}
        self._proven = {key: one for key, one in self._proven.items() if key in keys}
        self._reasons = {key: one for key, one in self._reasons.items() if key in keys}
        self._futile = {key: cycles for key, cycles in self._futile.items() if key in keys}
        found: dict[ObjectKey, Described | Finding] = {}
        for policy, workload, described, at in looks:
            key = policy.key
            proven = ownership.look(self._proven.get(key), policy, workload, described, now=at)
            if proven is None:
                self._proven.pop(key, None)
                self._futile[key] = self._futile.get(key, 0) + 1
            else:
                self._proven[key] = proven
                self._futile.pop(key, None)
            granted = self._is_granted(policy)
            found[key] = ownership.shown(policy, workload, described, granted=granted, proven=proven)
            self._tell(policy, ownership.why(described, workload) if isinstance(found[key], Finding) else None)
            await asyncio.sleep(0)  # large groups take milliseconds each, and probes have to be answered meanwhile
        return found

    def noted(self, policy: Policy) -> GroupOwnership | None:
        """Return what the policy's status should say of it; None while nothing is proven in this leadership."""
        proven = self._proven.get(policy.key)
        return None if proven is None else proven.subject

    def _is_granted(self, policy: Policy) -> bool:
        return grants.covered(
            self._granted, cluster=policy.cluster, namespace=policy.key.namespace, group_id=policy.group_id
        )

    def _tell(self, policy: Policy, reason: str | None) -> None:
        if reason is None:
            self._reasons.pop(policy.key, None)
        elif self._reasons.get(policy.key) != reason:
            self._reasons[policy.key] = reason
            _log.info(
                "group not shown",
                policy=str(policy.key),
                cluster=policy.cluster,
                group=policy.group_id,
                because=reason,
            )
