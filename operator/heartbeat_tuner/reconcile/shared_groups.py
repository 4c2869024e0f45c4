"""Policies of one Kafka group whose workloads shall have different values: nothing is written for any of them. Pure.

A group's members need one session timeout (S) and one poll limit (M): where each policy followed its own pods, the
group would follow the slowest of them. So each policy's wish is compared with the others': the values that it would
write, else those that are set and that its decision leaves as they are.

A policy that finds out nothing for a while, since its pods start or its metrics are away, wishes what it did before:
else the others would write in that moment. Its wish is remembered for an hour at most. One that is new is waited for,
for some minutes: two policies that are created together do not get their data in the same cycle.

Only policies that were decided on have a wish: they may be shown the group. For policies of other namespaces a wish
counts only where a member of the group was seen in its own workload's pods, so that nobody who names a group holds up
its users; and they learn that there is such a policy, not which, nor its values.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, join, say
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.limits import smallest_changes
from heartbeat_tuner.reconcile import group_rollouts
from heartbeat_tuner.reconcile.group_rollouts import GroupKey
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead, Result, UnexpectedFailure

SHARED: Final = (Setting.SESSION_TIMEOUT, Setting.MAX_POLL_INTERVAL)
"""Settings that all members of a group should have alike."""

LONGEST_MEMORY: Final = timedelta(hours=1)
"""A wish that was not found again for so long counts no more."""

LONGEST_WAIT: Final = timedelta(minutes=3)
"""For a policy that has not had a wish yet; a group that nobody measures keeps the others waiting no longer."""

MOST_NAMED: Final = 3
"""Policies that one sentence names."""

_PASSING: Final = frozenset({Reason.API_SERVER_ERROR, Reason.CLUSTER_UNREACHABLE, Reason.GROUP_UNREADABLE})
"""Reasons for which nothing could be decided, that say nothing of what a policy wishes."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupWish:
    """What one policy wants its group to have.

    Attributes:
        policy: whose.
        values: that it would write, or leave as they are; None where it has not found that out yet.
        is_proven: whether a member of the group was seen in its own workload's pods.
        at: when it was decided last; without values, since when nothing is found out.
    """

    policy: Policy
    values: LivenessSettings | None
    is_proven: bool
    at: datetime

    def counts_for(self, other: "GroupWish") -> bool:
        """Whether another policy of the group has to heed it."""
        return self.is_proven or self.policy.key.namespace == other.policy.key.namespace

    def differing(self, other: "GroupWish") -> tuple[Setting, ...]:
        """Return the shared settings that the two want differently, by more than a change is made for."""
        mine, theirs = self.by_setting, other.by_setting
        both = (setting for setting in SHARED if setting in mine and setting in theirs)
        return tuple(setting for setting in both if not _alike(mine[setting], theirs[setting]))

    @property
    def by_setting(self) -> Mapping[Setting, timedelta]:
        """The values that are known."""
        return {} if self.values is None else self.values.by_setting

    def is_remembered(self, now: datetime) -> bool:
        """Whether it still stands, where nothing is found out."""
        return self.values is None or now - self.at <= LONGEST_MEMORY

    def is_waited_for(self, now: datetime) -> bool:
        """Whether others of the group should not write before it is known."""
        return self.values is None and now - self.at < LONGEST_WAIT


Wishes = Mapping[ObjectKey, GroupWish]


class SharedGroups:
    """Remembers what policies wish, during one leadership."""

    def __init__(self) -> None:
        self._wishes: Wishes = MappingProxyType({})

    def compared(
        self, results: Mapping[ObjectKey, Result], policies: Iterable[Policy], *, now: datetime
    ) -> dict[ObjectKey, Result]:
        """Return what became of each policy, with what holds those whose group others want to have other values.

        Args:
            results: of the cycle.
            policies: those that could be looked at.
            now: the time.
        """
        self._wishes = wishes_after(self._wishes, results, policies, now=now)
        return {**results, **held(results, self._wishes, now=now)}


def wishes_after(
    known: Wishes, results: Mapping[ObjectKey, Result], policies: Iterable[Policy], *, now: datetime
) -> Wishes:
    """Return what each policy wishes after one more cycle; policies that are gone are left out.

    Args:
        known: what was known before.
        results: of the cycle; an early look has none of those that were not edited.
        policies: those that could be looked at.
        now: the time.
    """
    wishes: dict[ObjectKey, GroupWish] = {}
    for policy in policies:
        before = known.get(policy.key)
        if before is not None and not (_is_same(before.policy, policy) and before.is_remembered(now)):
            before = None
        wish = _wish(before, policy, results.get(policy.key, NotRead()), now)
        if wish is not None:
            wishes[policy.key] = wish
    return wishes


def held(results: Mapping[ObjectKey, Result], wishes: Wishes, *, now: datetime) -> dict[ObjectKey, Decided]:
    """Return the outcomes of the policies that nothing may be written for, since another wants other values.

    One whose workload is rolled out at this moment goes on saying how that goes; its own gate holds it.
    """
    outcomes: dict[ObjectKey, Decided] = {}
    for group in _groups(wishes):
        for wish in group:
            outcome = results.get(wish.policy.key)
            if not isinstance(outcome, Decided) or outcome.inputs.workload.rolling_out:
                continue
            hold = _hold(outcome, wish, [other for other in group if other is not wish and other.counts_for(wish)], now)
            if hold is not None:
                decision = dataclasses.replace(outcome.decision, hold=hold)
                outcomes[outcome.key] = dataclasses.replace(outcome, decision=decision)
    return outcomes


def _hold(outcome: Decided, wish: GroupWish, others: Sequence[GroupWish], now: datetime) -> Finding | None:
    """Return why a policy must not be written for the others' sake; None if it may, as what takes harm back."""
    if outcome.decision.reverts:
        return None
    rivals = [other for other in others if wish.differing(other)]
    if rivals:
        return Finding(Reason.CONFLICT, _conflict(wish, rivals))
    if outcome.decision.to_apply is None:
        return None
    awaited = [other for other in others if other.is_waited_for(now)]
    return Finding(Reason.TOO_LITTLE_DATA, _waits(wish, awaited)) if awaited else None


def _wish(known: GroupWish | None, policy: Policy, result: Result, now: datetime) -> GroupWish | None:
    """Return what a policy wishes, as it was found in this cycle, else as it was known before; None if nothing."""
    if isinstance(result, Decided):
        return _wish_of(known, result, now)
    if isinstance(result, UnexpectedFailure):
        return known  # nobody else has to wait for that
    if isinstance(result, Blocked) and result.finding.reason is not Reason.GROUP_NOT_OWNED:
        return known if result.finding.reason in _PASSING else None
    unseen = known or GroupWish(policy, None, is_proven=False, at=now)
    return unseen if isinstance(result, NotRead) else dataclasses.replace(unseen, is_proven=False)


def _wish_of(known: GroupWish | None, outcome: Decided, now: datetime) -> GroupWish | None:
    """Return what a policy wishes that was decided on."""
    inputs, is_proven = outcome.inputs, outcome.inputs.ownership is not None
    values = outcome.current if outcome.is_well else outcome.decision.target
    if values is not None:
        return GroupWish(inputs.policy, values, is_proven, now)
    # A workload that shall have no pods has no members that could need anything.
    if not inputs.workload.rollout.wanted:
        return None
    if known is not None:
        return dataclasses.replace(known, is_proven=is_proven)
    return GroupWish(inputs.policy, None, is_proven, now) if outcome.decision.verdict is Verdict.UNKNOWN else None


def _is_same(known: Policy, policy: Policy) -> bool:
    """Whether a policy was not edited, nor made again."""
    return (known.uid, known.generation) == (policy.uid, policy.generation)


def _alike(value: timedelta, other: timedelta) -> bool:
    return smallest_changes.too_small(value, other) or smallest_changes.too_small(other, value)


def _groups(wishes: Wishes) -> Iterator[Sequence[GroupWish]]:
    """Yield the wishes for each group that several policies name, in the order of the policies' names."""
    groups = defaultdict[GroupKey, list[GroupWish]](list)
    for wish in wishes.values():
        groups[group_rollouts.group_of(wish.policy)].append(wish)
    for group in groups.values():
        if len(group) > 1:
            yield sorted(group, key=lambda wish: wish.policy.key)


def _waits(wish: GroupWish, awaited: Sequence[GroupWish]) -> Sentence:
    """Return whom a change waits for; of other namespaces only that there is somebody."""
    own = [other.policy.key for other in awaited if other.policy.key.namespace == wish.policy.key.namespace]
    return say(
        "what {whose} needs for the same group {group} is not known yet; this change waits for it, for {longest} at "
        "most",
        whose=say("policy {policy}", policy=own[0]) if own else "a policy of another namespace",
        group=wish.policy.group_id,
        longest=LONGEST_WAIT,
    )


def _conflict(wish: GroupWish, rivals: Sequence[GroupWish]) -> Sentence:
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


def _shown(wish: GroupWish, settings: Collection[Setting]) -> str:
    values = wish.by_setting
    named = [setting for setting in SHARED if setting in settings and setting in values]
    return " and ".join(f"{setting} {durations.show(values[setting])}" for setting in named)
