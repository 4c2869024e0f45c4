"""Which policies are shown the groups that they name, from cycle to cycle of one leadership.

The rule is `decision.gates.group_ownership`'s; here is what it remembers. Why a group is not shown to a policy depends
on the group, so only the operator's own log says it, once for each change.

Looks beyond the first are few, and namespaces share them: each gets one before any gets a second, so that nobody who
makes policies on other people's groups takes them all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import structlog

from heartbeat_tuner.decision.gates import group_ownership
from heartbeat_tuner.decision.gates.group_ownership import Described, Proven
from heartbeat_tuner.domain import grants, members_at_pods, sentences
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.grants import Grants
from heartbeat_tuner.domain.kafka_groups import GroupOwnership, UnreadableGroup
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.liveness.turns import Turns

Look = tuple[Policy, Workload, Described, datetime]
"""A policy, its workload with the pods that ran when the group was looked at, the group, and that moment."""

Shown = Mapping[ObjectKey, Described | Finding]
"""What each policy is shown of its group, or why nothing; one whose workload or group was not read is left out."""

MOST_FUTILE: Final = 3
"""Cycles in which more than one look is taken for a policy's members, and none is seen: then one look has to do."""

MOST_LOGGED: Final = 20
"""Policies that have a line of the log each, or that one line names."""

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
        self._cycle = 0
        self._last_looks: dict[ObjectKey | str, int] = {}
        self._looks_now: set[ObjectKey] = set()
        self._news: list[tuple[Policy, str]] = []

    async def missing(self, looks: Iterable[Look], turns: Turns, *, most: int) -> list[Policy]:
        """Return the policies that get another look: their group may be theirs, and no member was seen in their pods.

        Each namespace has a policy among them before any has a second; who had no such look for longest goes first.

        Args:
            looks: the last one at each policy's group.
            turns: of the cycle.
            most: that may be returned.
        """
        wanting: list[Policy] = []
        for policy, workload, described, _ in looks:
            if self._wants_another(policy, workload, described):
                wanting.append(policy)
            await turns.give()
        chosen = in_turn([policy.key for policy in wanting], self._last_looks)[:most]
        self._looks_now.update(chosen)
        by_key = {policy.key: policy for policy in wanting}
        return [by_key[key] for key in chosen]

    async def seen(self, policies: Iterable[Policy], looks: Iterable[Look], turns: Turns) -> Shown:
        """Return what each policy is shown after one more look; policies that are gone are forgotten."""
        keys = {policy.key for policy in policies}
        self._proven = {key: proof for key, proof in self._proven.items() if key in keys}
        self._reasons = {key: reason for key, reason in self._reasons.items() if key in keys}
        self._futile = {key: cycles for key, cycles in self._futile.items() if key in keys}
        self._cycle += 1
        namespaces = {key.namespace for key in keys}
        looked = {*self._looks_now, *(key.namespace for key in self._looks_now)}
        latest = self._last_looks | dict.fromkeys(looked, self._cycle)
        self._last_looks = {place: cycle for place, cycle in latest.items() if place in keys or place in namespaces}
        shown: dict[ObjectKey, Described | Finding] = {}
        for policy, workload, described, at in looks:
            key = policy.key
            proven = group_ownership.look(self._proven.get(key), policy, workload, described, now=at)
            if proven is None:
                self._proven.pop(key, None)
                if key in self._looks_now:  # who waits for a turn has not looked in vain
                    self._futile[key] = self._futile.get(key, 0) + 1
            else:
                self._proven[key] = proven
                self._futile.pop(key, None)
            granted = self._is_granted(policy)
            shown[key] = group_ownership.shown(policy, workload, described, granted=granted, proven=proven)
            self._note(policy, group_ownership.why(described, workload) if isinstance(shown[key], Finding) else None)
            await turns.give()  # large groups take milliseconds each, and probes have to be answered meanwhile
        self._looks_now.clear()
        self._log_news()
        return shown

    def noted(self, policy: Policy) -> GroupOwnership | None:
        """Return what the policy's status should say of it; None while nothing is proven in this leadership."""
        proven = self._proven.get(policy.key)
        return None if proven is None else proven.subject

    def _wants_another(self, policy: Policy, workload: Workload, described: Described) -> bool:
        return (
            not isinstance(described, UnreadableGroup)
            and self._futile.get(policy.key, 0) < MOST_FUTILE
            and not self._is_granted(policy)
            and not all(pod.on_host_network for pod in workload.pods)
            and not members_at_pods.compare(described.members if described else (), workload.pods).inside
        )

    def _is_granted(self, policy: Policy) -> bool:
        return grants.covered(
            self._granted, cluster=policy.cluster, namespace=policy.key.namespace, group_id=policy.group_id
        )

    def _note(self, policy: Policy, reason: str | None) -> None:
        """Take note why a policy is not shown its group, and whether the log has to say so."""
        if reason is None:
            self._reasons.pop(policy.key, None)
        elif sentences.identity(self._reasons.get(policy.key, "")) != sentences.identity(reason):
            self._reasons[policy.key] = reason
            self._news.append((policy, reason))

    def _log_news(self) -> None:
        """Log why groups are not shown; where it is new of very many, as at a start, a line for each reason."""
        if len(self._news) > MOST_LOGGED:
            by_reason: dict[str, list[str]] = {}
            for policy, reason in self._news:
                by_reason.setdefault(reason, []).append(str(policy.key))
            for reason, keys in by_reason.items():
                _log.info("groups not shown", count=len(keys), policies=keys[:MOST_LOGGED], because=reason)
        else:
            for policy, reason in self._news:
                _log.info(
                    "group not shown",
                    policy=str(policy.key),
                    cluster=policy.cluster,
                    group=policy.group_id,
                    because=reason,
                )
        self._news.clear()


def in_turn(keys: Iterable[ObjectKey], last_looks: Mapping[ObjectKey | str, int]) -> list[ObjectKey]:
    """Return policies in the order in which they get a look: one of each namespace, then a second one of each.

    Args:
        keys: of the policies that want one.
        last_looks: in which cycle each policy, and each namespace, had its last; the higher, the later its turn. Of a
            namespace it is known by itself: policies that are made again do not make it first.
    """
    places, counts = dict[ObjectKey, int](), Counter[str]()
    for key in sorted(keys, key=lambda key: (last_looks.get(key, 0), key)):
        places[key] = counts[key.namespace]
        counts[key.namespace] += 1
    return sorted(places, key=lambda key: (places[key], last_looks.get(key.namespace, 0), key))
