"""The fleet's budget: how many rollouts of ours may be under way at once, and whose turn comes first. Pure.

What is under way is counted again in each cycle, by what the workloads themselves show: a new leader counts as its
predecessor did. A workload that could not be read counts by what its policy's status said last, since what is unknown
must not make room.

Who may write a workload may write our name and our record into it. So a rollout counts only where the policy's status,
or the operator's own memory, knows of the same write, and only in mode Apply. It counts no longer than its progress
deadline: what is stuck does not spread, but keeps nobody waiting either.

The last place is for cures, and where several namespaces have policies none has more than half of the places.

Of a Kafka group that several policies name one rollout is under way at a time (`group_rollouts`).
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, ConditionType
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Application, Mode, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import DEFAULT_DEADLINE, Strategy
from heartbeat_tuner.domain.sentences import Reading, Sentence, join, say
from heartbeat_tuner.domain.shards import WHOLE, Shard
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile import group_rollouts
from heartbeat_tuner.reconcile.group_rollouts import GroupKey, GroupRollout
from heartbeat_tuner.reconcile.outcomes import Decided, UnexpectedFailure

CURES: Final = frozenset(
    {Reason.CADENCE_EXCEEDS_SESSION, Reason.POLL_GAP_EXCEEDS_LIMIT, Reason.UNSTABLE, Reason.DANGER}
)
"""Reasons of changes that a group in trouble needs; all others only save."""

MOST_NAMED: Final = 5
"""Holders of places that one sentence names."""

_CLOCKS_DIFFER: Final = timedelta(minutes=1)

Holder = tuple[str, ObjectKey]
"""Kind and address of a workload that is being rolled out by us."""


@dataclasses.dataclass(frozen=True, slots=True)
class FleetLimits:
    """What the whole fleet may cost at once.

    Attributes:
        max_rollouts: how many workloads may be rolled out by us.
        may_evict: whether pods may be evicted for canaries, since the right is there and the webhook runs.
        heartbeat_budgets: requests a second that the heartbeats of a Kafka cluster's groups may take, by its name.
    """

    max_rollouts: int
    heartbeat_budgets: Mapping[str, float] = dataclasses.field(default_factory=dict)
    may_evict: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutPlaces:
    """The places for rollouts, and who has them.

    Attributes:
        limit: how many there are.
        shared: whether several namespaces have policies.
        holders: who has one.
        shard: of which they are the places, where the fleet is divided.
        of_groups: rollouts that others of the same group wait for, by group.
    """

    limit: int
    shared: bool = False
    holders: frozenset[Holder] = frozenset()
    shard: Shard = WHOLE
    of_groups: Mapping[GroupKey, Sequence[GroupRollout]] = dataclasses.field(default_factory=dict)

    @property
    def share(self) -> int:
        """How many one namespace may have."""
        return max(1, (self.limit + 1) // 2) if self.shared and self.limit else self.limit

    @property
    def for_savings(self) -> int:
        """How many may be taken before a change that only saves has to wait: the last one is kept, if there are two."""
        return self.limit - 1 if self.limit > 1 else self.limit

    def held_in(self, namespace: str) -> int:
        """Return how many a namespace has."""
        return sum(1 for _, key in self.holders if key.namespace == namespace)

    @property
    def busy(self) -> int:
        """How many are taken: of each namespace no more than its share, whatever its workloads say of themselves."""
        held = Counter(key.namespace for _, key in self.holders)
        return sum(min(count, self.share) for count in held.values())

    def have_room(self, outcome: Decided) -> bool:
        """Whether a change may begin now."""
        if outcome.decision.reverts and _holder(outcome.inputs.policy) in self.holders:
            return True  # it takes the place of the rollout that it ends
        limit = self.limit if is_cure(outcome) else self.for_savings
        return self.busy < limit and self.held_in(_namespace(outcome)) < self.share

    def rollout_before(self, outcome: Decided) -> GroupRollout | None:
        """Return the rollout of the same group that a change has to wait for, of its own namespace if there is one.

        What takes harm back waits for none.
        """
        if outcome.decision.reverts:
            return None
        policy = outcome.inputs.policy
        return group_rollouts.first_before(policy, self.of_groups.get(group_rollouts.group_of(policy), ()))

    def also_held(self, policies: Iterable[Policy]) -> "RolloutPlaces":
        """Return the places where the workloads of these policies hold one, too."""
        return dataclasses.replace(self, holders=self.holders | {_holder(policy) for policy in policies})

    def taken(self, outcomes: Iterable[Decided]) -> "RolloutPlaces":
        """Return the places after changes have begun; what rolls nothing out takes none."""
        written = [
            (done.inputs, workload_parts.written_next(done.inputs.policy, done.inputs.workload)) for done in outcomes
        ]
        rolled = [inputs for inputs, workload in written if workload.strategy is not Strategy.ON_DELETE]
        holders = self.holders | {_holder(inputs.policy) for inputs in rolled}
        begun = (GroupRollout(inputs.policy, inputs.ownership is not None) for inputs in rolled)
        return dataclasses.replace(self, holders=holders).also_in_groups(begun)

    def also_in_groups(self, rollouts: Iterable[GroupRollout]) -> "RolloutPlaces":
        """Return the places where others of the same groups wait for these rollouts, too."""
        of_groups = dict(self.of_groups)
        for rollout in rollouts:
            of_groups[rollout.group] = (*of_groups.get(rollout.group, ()), rollout)
        return dataclasses.replace(self, of_groups=of_groups)


def under_way(
    policies: Iterable[Policy],
    workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
    bodies: Mapping[ObjectKey, Mapping[str, Any]],
    *,
    known: Mapping[ObjectKey, Application],
    now: datetime,
) -> frozenset[Holder]:
    """Return the workloads that are being rolled out by us.

    Args:
        policies: that were looked at, each with the last change that its status knows.
        workloads: of each policy, or why it could not be read.
        bodies: the policies' objects, with their statuses.
        known: the last change of each policy that the operator made itself, as far as it remembers.
        now: the time.
    """
    rolling = set[Holder]()
    for policy, read in workload_parts.looks(policies, workloads):
        match read:
            case Workload() as workload:
                is_ours = _is_rolled_out_by_us(policy, workload, known.get(policy.key), now)
            case Finding(reason=Reason.API_SERVER_ERROR) | UnexpectedFailure():
                is_ours = policy.mode is Mode.APPLY and _was_rolling_out(bodies[policy.key], policy, now)
            case Finding():
                is_ours = False
        if is_ours or (policy.canary is not None and policy.canary.moves_pods(now, DEFAULT_DEADLINE)):
            rolling.add(_holder(policy))
    return frozenset(rolling)


def in_turn(outcomes: Iterable[Decided]) -> list[Decided]:
    """Return those that have something to write: reverts, then cures, then by what a change saves, then by name."""
    return sorted((outcome for outcome in outcomes if outcome.decision.to_apply is not None), key=_rank)


def next_in_turn(waiting: Sequence[Decided], places: RolloutPlaces) -> list[Decided]:
    """Return those that may begin now, of all that wait, in the order of `in_turn`.

    Where several may, the namespace with the fewest rollouts goes first; reverts go before cures, and cures before
    savings, everywhere. Who waits for a rollout of the same group keeps nobody else waiting.
    """
    queues: dict[str, list[Decided]] = {}
    for decided in reversed(waiting):
        queues.setdefault(_namespace(decided), []).append(decided)
    begun = list[Decided]()
    while heads := _heads(queues.values(), places):
        first = min(heads, key=lambda head: (_urgency(head), places.held_in(_namespace(head)), _rank(head)))
        queues[_namespace(first)].pop()
        begun.append(first)
        places = places.taken([first])
    return begun


def _heads(queues: Iterable[list[Decided]], places: RolloutPlaces) -> list[Decided]:
    """Return the first of each queue, if there is room for it; who waits for another of its group leaves the queue."""
    heads = []
    for queue in queues:
        while queue and places.rollout_before(queue[-1]) is not None:
            queue.pop()
        if queue and places.have_room(queue[-1]):
            heads.append(queue[-1])
    return heads


def held(outcome: Decided, places: RolloutPlaces) -> Decided:
    """Return an outcome whose turn has not come, with what it waits for: another rollout of its group, or a place."""
    before = places.rollout_before(outcome)
    hold = _budget_spent(outcome, places) if before is None else group_rollouts.hold(outcome.inputs.policy, before)
    return dataclasses.replace(outcome, decision=dataclasses.replace(outcome.decision, hold=hold))


def _budget_spent(outcome: Decided, places: RolloutPlaces) -> Finding:
    """Say who holds the places; of other namespaces only how many, since their names are nobody's business."""
    namespace, count = _namespace(outcome), len(places.holders)
    where, whose = ("the fleet", "") if places.shard == WHOLE else (str(places.shard), " in this shard")
    more = ""
    if places.busy < places.limit:
        more = (
            f". Namespace {namespace} has its share of {places.share}"
            if places.held_in(namespace) >= places.share
            else ". The last place is kept for cures"
        )
    sentence = say(
        "{rollouts} rollouts of the tuner's are under way in {where}{named}, and rollout.maxConcurrent of the "
        "operator's configuration allows {limit}{whose}; this change waits for its turn: reverts first, then cures, "
        "then what saves most{more}",
        rollouts=Reading(count),
        where=where,
        named=_named(places, namespace),
        limit=places.limit,
        whose=whose,
        more=more,
    )
    return Finding(Reason.FLEET_BUDGET_SPENT, sentence)


def is_cure(outcome: Decided) -> bool:
    """Whether a group in trouble needs the change, or a change of ours brought the trouble or is half done."""
    return outcome.decision.has_begun or outcome.decision.finding.reason in CURES


def _named(places: RolloutPlaces, namespace: str) -> Sentence | str:
    if not places.holders:
        return ""
    own = sorted(f"{kind} {key}" for kind, key in places.holders if key.namespace == namespace)
    others = len(places.holders) - len(own)
    parts: list[str] = own[:MOST_NAMED]
    if len(own) > MOST_NAMED:
        parts.append(say("{more} more of this namespace", more=Reading(len(own) - MOST_NAMED)))
    if others:
        parts.append(say("{others} of other namespaces", others=Reading(others)))
    return say(" ({holders})", holders=join(", ", parts))


def _is_rolled_out_by_us(policy: Policy, workload: Workload, known: Application | None, now: datetime) -> bool:
    """Whether an unfinished rollout is of a write of ours, as record and memory agree, and is not overdue."""
    if not workload.our_rollout or policy.mode is not Mode.APPLY or workload.strategy is Strategy.ON_DELETE:
        return False
    record = workload.applications.get(policy.workload.container)
    if record is None or record.at > now + _CLOCKS_DIFFER:
        return False
    same = (record.at, record.values, record.workload_uid)
    others = [application for application in (known, policy.application) if application is not None]
    if same not in [(other.at, other.values, other.workload_uid) for other in others]:
        return False
    return not workload.rollout.is_overdue(record.at, now)


def _holder(policy: Policy) -> Holder:
    return policy.workload.kind, policy.workload.key


def _namespace(outcome: Decided) -> str:
    return outcome.key.namespace


def _urgency(outcome: Decided) -> int:
    """Return 0 for a revert, 1 for another cure, 2 for a saving: harm that we did ourselves ends first."""
    return 0 if outcome.decision.reverts else 1 if is_cure(outcome) else 2


def _rank(outcome: Decided) -> tuple[int, float, ObjectKey]:
    forecast = outcome.decision.forecast
    saving = 0.0 if forecast is None or forecast.new is None else forecast.now.net_per_day - forecast.new.net_per_day
    return _urgency(outcome), -saving, outcome.key


def _was_rolling_out(body: Mapping[str, Any], policy: Policy, now: datetime) -> bool:
    """Whether a status leaves a rollout possible: it said that one is under way, or nobody could look since."""
    last = policy.application
    if last is None or now - last.at >= DEFAULT_DEADLINE:
        return False
    conditions = parsing.status_of(body).conditions
    return any(
        condition.type is ConditionType.APPLIED
        and (condition.reason is Reason.ROLLING_OUT or condition.status is ConditionStatus.UNKNOWN)
        for condition in conditions
    )
