"""What comes next with a canary: another pod, the end of the watch, or the way back. Pure.

The note in the policy's status is all that is known: a new leader goes on by it. Which pod is to be evicted is noted
before that is done, by its uid, so that no second one is evicted in its place. The next pod comes only when the one
before is ready. A canary that fails or ends is taken back one pod at a time, and the webhook gives the values to nobody
any more. Where nobody may evict, its pods are left alone, and the note says so until they are gone.
"""

import dataclasses
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import DEPLOYMENT, Application, Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import DEFAULT_DEADLINE
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase, FailedValues
from heartbeat_tuner.limits import smallest_changes
from heartbeat_tuner.reconcile import budget
from heartbeat_tuner.reconcile.canaries import canary_counting, canary_ends
from heartbeat_tuner.reconcile.outcomes import Decided

LONGEST: Final = timedelta(hours=24)
"""A canary that knows nothing by then ends; so long, too, until another one begins."""

PASSED_STANDS: Final = timedelta(days=8)
"""Values that passed may wait for a window: one that opens once a week comes within this time."""


@dataclasses.dataclass(frozen=True, slots=True)
class CanaryStep:
    """What is to be noted, and done after that.

    Attributes:
        canary: what is to be noted; None where there is none any more.
        evicted: name and uid of the pod to evict; None where none is.
        failed: the values that failed; None while they have not.
    """

    canary: Canary | None
    evicted: tuple[str, str] | None = None
    failed: FailedValues | None = None


def pods_first(outcome: Decided, *, may_evict: bool) -> int:
    """Return how many pods get the values of a decision before the template does; 0 where all get them at once.

    A cure has no canary. The group is in trouble, each eviction for the canary would disturb it once more, and its
    members are evicted through each other's rebalances, so that a part of the pods cannot show what the cure does.
    Where a policy names several workloads, the first that is written shows the others what to expect.

    Args:
        outcome: with values to write.
        may_evict: whether the operator may evict pods, and the webhook runs.
    """
    inputs = outcome.inputs
    policy, workload = inputs.policy, inputs.workload
    if not may_evict or outcome.decision.reverts or budget.is_cure(outcome) or policy.mode is not Mode.APPLY:
        return 0
    if policy.workloads or (policy.canary is not None and policy.canary.is_trying):
        return 0
    protocols = () if inputs.group.consumer_protocol else catalogue.client(policy.library).protocols
    if Protocol.CLASSIC not in protocols or policy.workload.kind != DEPLOYMENT:
        return 0
    return policy.canary_rules.pods(workload.rollout.wanted)


def begun(outcome: Decided, change: Application, pods: int) -> Canary:
    """Return the note of a canary that begins.

    Args:
        outcome: with the decision.
        change: what would be written.
        pods: how many get the values first.
    """
    inputs = outcome.inputs
    return Canary(
        since=change.at,
        until=change.at + LONGEST,
        values=change.values,
        previous=change.previous,
        entries=change.entries,
        pods=pods,
        workload_uid=change.workload_uid,
        template=inputs.workload.template,
        spec=inputs.policy.spec,
        promise=change.promise,
    )


def next_step(canary: Canary, outcome: Decided, *, may_evict: bool = True) -> CanaryStep:
    """Return what comes next.

    Args:
        canary: as it is noted, or known since.
        outcome: of this cycle.
        may_evict: whether the operator may evict pods.
    """
    may_evict = may_evict and outcome.inputs.policy.mode is Mode.APPLY
    step = _next(canary, outcome, may_evict=may_evict)
    if step.canary is None:
        return step
    is_left_alone = step.canary.is_taking_back and not may_evict
    return dataclasses.replace(step, canary=dataclasses.replace(step.canary, left_alone=is_left_alone))


def _next(canary: Canary, outcome: Decided, *, may_evict: bool) -> CanaryStep:
    """Return what comes next, but for the note that nobody evicts its pods."""
    last = outcome.inputs.policy.application
    if last is not None and last.at >= canary.since:
        return CanaryStep(None)  # the template has been written since
    if canary.phase is CanaryPhase.OVER:
        stands = _is_told(canary, outcome) and canary_ends.by_people(canary, outcome) is None
        return CanaryStep(canary if stands else None)
    if canary.is_taking_back:
        return _taken_back(canary, outcome, may_evict=may_evict)
    if outcome.inputs.policy.suspended:
        return CanaryStep(canary)
    return _carried_on(canary, outcome, may_evict=may_evict)


def _carried_on(canary: Canary, outcome: Decided, *, may_evict: bool) -> CanaryStep:
    """Return what comes next with a canary whose values are tried."""
    end = canary_ends.by_people(canary, outcome)
    if end is not None:
        return CanaryStep(_ended(canary, outcome, end, None))
    canary = canary_counting.counted(canary, outcome)
    failure = canary_ends.failure(canary, outcome)
    if failure is not None:
        return _failed(canary, outcome, failure)
    end = canary_ends.by_itself(canary, outcome)
    if end is None and canary.phase is CanaryPhase.RUNNING and not may_evict:
        end = say("no pod can be evicted any more")
    if end is not None:
        return CanaryStep(_ended(canary, outcome, end, _second(outcome) + LONGEST))
    is_coming = canary.landed is None and canary.phase is CanaryPhase.RUNNING
    return _next_pod(canary, outcome) if is_coming else _watched(canary, outcome)


def is_wanted(canary: Canary, outcome: Decided) -> bool | None:
    """Whether the values of a canary are still what a decision asks for; None where nothing is decided."""
    target, decision = outcome.decision.target, outcome.decision
    if target is not None:
        return smallest_changes.within_band(canary.values, target)
    return False if decision.verdict in canary_ends.SURE else None


def _watched(canary: Canary, outcome: Decided) -> CanaryStep:
    """Return a canary that has landed: it passes once its pods were seen for long enough."""
    wanted, now = is_wanted(canary, outcome), _second(outcome)
    is_due = canary.exposed >= outcome.inputs.policy.canary_rules.duration
    if canary.phase is CanaryPhase.RUNNING and is_due:
        canary = dataclasses.replace(canary, phase=CanaryPhase.PASSED, until=now + PASSED_STANDS)
    if canary.phase is CanaryPhase.PASSED and wanted is False:
        return CanaryStep(_ended(canary, outcome, canary_ends.not_wanted(outcome), None))
    return CanaryStep(canary)


def _next_pod(canary: Canary, outcome: Decided) -> CanaryStep:
    """Return a canary some of whose pods are still to come: the next one, when the one before is ready."""
    workload, now, hold = outcome.inputs.workload, _second(outcome), outcome.decision.hold
    pods = workload.canary
    if len(pods.rollout.ready) >= canary.pods == canary.ticket or canary_ends.has_lost_pods(canary, workload):
        return CanaryStep(dataclasses.replace(canary, landed=now, seen_until=now))
    if outcome.decision.target is None or hold is None or hold.reason is not Reason.CANARY_RUNNING:
        return CanaryStep(canary)  # something else holds: nothing more begins
    if len(pods.rollout.ready) < canary.ticket:
        waiting = next((pod for pod in workload.pods if pod.uid == canary.replaced), None)
        return CanaryStep(canary, None if waiting is None else (waiting.name, waiting.uid))
    if canary.ticket >= canary.pods:
        return CanaryStep(canary)
    ready = [pod for pod in workload.pods if pod.ready_since is not None and pod.name not in pods.uids]
    if not ready or pods.total < workload.rollout.wanted:
        return CanaryStep(canary)
    oldest = min(ready, key=lambda pod: (pod.started, pod.name))
    # Evicted at the next look: by then the webhook's watches know of the ticket, too.
    return CanaryStep(dataclasses.replace(canary, ticket=canary.ticket + 1, replaced=oldest.uid, replaced_at=now))


def _taken_back(canary: Canary, outcome: Decided, *, may_evict: bool) -> CanaryStep:
    """Return a canary that is over: its next pod is evicted when the one before has come back."""
    policy, whole, now = outcome.inputs.policy, outcome.inputs.workload, _second(outcome)
    parts = workload_parts.each(policy, whole).values()  # several where the policy was edited meanwhile
    workload = next((part for part in parts if part.uid == canary.workload_uid), whole)
    uids = workload.canary.uids
    if not uids:
        return CanaryStep(dataclasses.replace(canary, phase=CanaryPhase.OVER) if _is_told(canary, outcome) else None)
    if policy.suspended or not may_evict:
        return CanaryStep(canary)
    again = next((name for name, uid in uids.items() if uid == canary.replaced), None)
    if again is not None:
        return CanaryStep(canary, (again, uids[again]))
    if not _is_whole(canary, workload, now):
        return CanaryStep(canary)
    ready = {pod.pod for pod in workload.canary.rollout.ready}
    name = min(uids, key=lambda pod: (pod in ready, pod))
    return CanaryStep(dataclasses.replace(canary, replaced=uids[name], replaced_at=now), (name, uids[name]))


def _is_told(canary: Canary, outcome: Decided) -> bool:
    """Whether a canary that is over is still spoken of: it failed, or another must not begin yet."""
    return canary.outcome is not None or (canary.again is not None and outcome.inputs.now < canary.again)


def _is_whole(canary: Canary, workload: Workload, now: datetime) -> bool:
    """Whether all other pods are there and ready; what else keeps them from it does not keep values for ever.

    A deploy ends a canary, hours after its last pod was replaced: no pod is evicted at once beyond those it replaces.
    """
    ended = min(canary.until, now)
    since = ended if canary.replaced_at is None else max(ended, canary.replaced_at)
    return now - since >= DEFAULT_DEADLINE or canary_ends.is_complete(workload)


def _second(outcome: Decided) -> datetime:
    """Return the moment of a look as a status holds it."""
    return outcome.inputs.now.replace(microsecond=0)


def _ended(canary: Canary, outcome: Decided, why: str, again: datetime | None) -> Canary:
    return dataclasses.replace(canary, phase=CanaryPhase.ENDED, until=_second(outcome), message=why, again=again)


def _failed(canary: Canary, outcome: Decided, failure: canary_ends.CanaryFailure) -> CanaryStep:
    failed = FailedValues(
        values=canary.values,
        previous=canary.previous,
        at=canary.since,
        outcome=failure.outcome,
        message=failure.message,
        spec=outcome.inputs.policy.spec,
        promised_per_day=None if canary.promise is None else canary.promise.upper_per_day,
    )
    noted = dataclasses.replace(
        canary,
        phase=CanaryPhase.FAILED,
        until=_second(outcome),
        outcome=failure.outcome,
        message=failure.message,
    )
    return CanaryStep(noted, failed=failed)
