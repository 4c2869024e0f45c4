"""Policies of one Kafka group whose workloads shall have different values: nothing is written for any of them. Pure.

A group's members need one session timeout (S) and one poll limit (M): where each policy followed its own pods, the
group would follow the slowest of them. So each policy's wish is compared with the others': the values that it would
write, else those that are set and that its decision leaves as they are.

A policy that finds out nothing for a while, since its pods start or its metrics are away, wishes what it did before:
else the others would write in that moment. Its wish is remembered for an hour at most.

Only policies that were decided on have a wish: they may be shown the group. For policies of other namespaces a wish
counts only where a member of the group was seen in its own workload's pods, so that nobody who names a group holds up
its users; and they learn that there is such a policy, not which, nor its values.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, join, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.reconcile import group_rollouts
from heartbeat_tuner.reconcile.group_rollouts import GroupKey
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, Result

SHARED: Final = (Setting.SESSION_TIMEOUT, Setting.MAX_POLL_INTERVAL)
"""Settings that all members of a group should have alike."""

LONGEST_MEMORY: Final = timedelta(hours=1)
"""A wish that was not found again for so long counts no more."""

MOST_NAMED: Final = 3
"""Policies that one sentence names."""

_PASSING: Final = frozenset({Reason.API_SERVER_ERROR, Reason.CLUSTER_UNREACHABLE, Reason.GROUP_UNREADABLE})
"""Reasons for which nothing could be decided, that say nothing of what a policy wishes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """What one policy wants its group to have.

    Attributes:
        policy: whose.
        values: that it would write, or leave as they are.
        is_proven: whether a member of the group was seen in its own workload's pods.
        at: when it was decided last.
    """

    policy: Policy
    values: LivenessSettings
    is_proven: bool
    at: datetime

    def counts_for(self, other: "Wish") -> bool:
        """Whether another policy of the group has to heed it."""
        return self.is_proven or self.policy.key.namespace == other.policy.key.namespace

    def differing(self, other: "Wish") -> tuple[Setting, ...]:
        """Return the shared settings that the two want differently, by more than a change is made for."""
        mine, theirs = self.values.by_setting, other.values.by_setting
        both = (setting for setting in SHARED if setting in mine and setting in theirs)
        return tuple(setting for setting in both if not _alike(mine[setting], theirs[setting]))


Wishes = Mapping[ObjectKey, Wish]


class SharedGroups:
    """Remembers what policies wish, during one leadership."""

    def __init__(self) -> None:
        self._wishes: Wishes = MappingProxyType({})

    def compared(self, results: Mapping[ObjectKey, Result], *, now: datetime) -> dict[ObjectKey, Result]:
        """Return what became of each policy, with what holds those that want different values for one group."""
        self._wishes = wishes_after(self._wishes, results, now=now)
        return {**results, **held(results, self._wishes)}


def wishes_after(known: Wishes, results: Mapping[ObjectKey, Result], *, now: datetime) -> Wishes:
    """Return what each policy wishes after one more cycle; policies that are gone are left out.

    Args:
        known: what was known before.
        results: of the cycle.
        now: the time of it.
    """
    lasting = {key: wish for key, wish in known.items() if now - wish.at <= LONGEST_MEMORY}
    wishes = ((key, _wish(lasting.get(key), result, now)) for key, result in results.items())
    return {key: wish for key, wish in wishes if wish is not None}


def held(results: Mapping[ObjectKey, Result], wishes: Wishes) -> dict[ObjectKey, Decided]:
    """Return the outcomes of the policies that nothing may be written for, since another wants other values.

    One whose workload is rolled out at this moment goes on saying how that goes; its own gate holds it.
    """
    outcomes: dict[ObjectKey, Decided] = {}
    for group in _groups(wishes):
        for wish in group:
            outcome = results[wish.policy.key]
            if not isinstance(outcome, Decided) or outcome.inputs.workload.rolling_out:
                continue
            rivals = [other for other in group if other.counts_for(wish) and wish.differing(other)]
            if rivals:
                hold = Finding(Reason.CONFLICT, _sentence(wish, rivals))
                decision = dataclasses.replace(outcome.decision, hold=hold)
                outcomes[outcome.key] = dataclasses.replace(outcome, decision=decision)
    return outcomes


def _wish(known: Wish | None, result: Result, now: datetime) -> Wish | None:
    """Return what a policy wishes, as it was found in this cycle, else as it was known before."""
    if isinstance(result, Blocked):
        return known if result.finding.reason in _PASSING else None
    if not isinstance(result, Decided):
        return known
    inputs = result.inputs
    values = result.current if result.is_well else result.decision.target
    if values is not None:
        return Wish(inputs.policy, values, is_proven=inputs.ownership is not None, at=now)
    # A workload that shall have no pods has no members that could need anything.
    stands = known is not None and inputs.workload.rollout.wanted and _is_same(known.policy, inputs.policy)
    return known if stands else None


def _is_same(known: Policy, policy: Policy) -> bool:
    """Whether a policy was not edited, nor made again."""
    return (known.uid, known.generation) == (policy.uid, policy.generation)


def _alike(value: timedelta, other: timedelta) -> bool:
    return allowed_values.too_small(value, other) or allowed_values.too_small(other, value)


def _groups(wishes: Wishes) -> Iterator[Sequence[Wish]]:
    """Yield the wishes for each group that several policies name, in the order of the policies' names."""
    groups = defaultdict[GroupKey, list[Wish]](list)
    for wish in wishes.values():
        groups[group_rollouts.group_of(wish.policy)].append(wish)
    for group in groups.values():
        if len(group) > 1:
            yield sorted(group, key=lambda wish: wish.policy.key)


def _sentence(wish: Wish, rivals: Sequence[Wish]) -> Sentence:
    """Return who wants what; of other namespaces only that there is somebody."""
    namespace = wish.policy.key.namespace
    own = [rival for rival in rivals if rival.policy.key.namespace == namespace]
    differing = {setting for rival in own for setting in wish.differing(rival)}
    wants: list[str] = [
        say("policy {policy} wants {theirs}", policy=rival.policy.key, theirs=_shown(rival, wish.differing(rival)))
        for rival in own[:MOST_NAMED]
    ]
    if len(own) > MOST_NAMED:
        wants.append(say("{more} more policies want other values", more=len(own) - MOST_NAMED))
    if len(own) < len(rivals):
        wants.append("a policy of another namespace wants other values")
    return say(
        "the members of group {group} should have the same session and poll limit, but this policy wants {mine}, "
        "{others}; nothing is written until they agree. Set the same values in the workloads, or the same spec.bounds "
        "in the policies",
        group=wish.policy.group_id,
        mine=_shown(wish, differing or SHARED),
        others=join(", ", wants),
    )


def _shown(wish: Wish, settings: Collection[Setting]) -> str:
    values = wish.values.by_setting
    named = [setting for setting in SHARED if setting in settings and setting in values]
    return " and ".join(f"{setting} {durations.show(values[setting])}" for setting in named)
