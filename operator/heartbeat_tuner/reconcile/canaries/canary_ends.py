"""Why a canary ends: somebody acted, its values did harm, or nothing can be found out. Pure.

Only what the values may have done is held against them. Pods that cannot be scheduled, a group that nobody can see and
pods that come without the values end a canary in time, and say nothing of the values.
"""

import dataclasses
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.decision.gates import canary_words
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Mode, Policy
from heartbeat_tuner.domain.rollouts import LONGEST_DEADLINE
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Verdict
from heartbeat_tuner.domain.verifications import LEAST_CANARY_PODS, Canary, CanaryPhase, Outcome
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.verification import canary as in_group_test
from heartbeat_tuner.verification import fast_paths, rollout_blame, scatter

COMES_WITHIN: Final = timedelta(minutes=2)
"""When all pods are ready so long after an eviction, and one with the values is missing, it came without them."""

LARGEST_PART: Final = 0.5
"""Of the pods: the others are what a canary is compared with, and what is left of the group where it fails."""

SURE: Final = LEAVES_THE_VALUES | {Verdict.INFEASIBLE}
"""Verdicts that ask for no change, though all that is needed is known."""

_HOURS: Final = 24.0


@dataclasses.dataclass(frozen=True, slots=True)
class CanaryFailure:
    """What was found against values.

    Attributes:
        outcome: at a glance.
        message: the sentence with its numbers.
    """

    outcome: Outcome
    message: Sentence


def by_people(canary: Canary, outcome: Decided) -> Sentence | None:
    """Return what somebody did that ends a canary; None where nobody did anything."""
    inputs = outcome.inputs
    policy, workload = inputs.policy, inputs.workload
    if policy.mode is not Mode.APPLY:
        return say("spec.mode is {mode}", mode=policy.mode.value)
    if policy.spec != canary.spec:
        return say("{asking} was edited", asking=ASKING_AGAIN)
    if policy.canary_rules.share <= 0.0:
        return say('rollout.canary.share is "0%"')
    if inputs.group.consumer_protocol:
        return say("group {group} speaks the consumer protocol by now (KIP-848)", group=policy.group_id)
    return _changed(canary, policy, workload)


def _changed(canary: Canary, policy: Policy, workload: Workload) -> Sentence | None:
    """Return how the workload is not the one any more that the canary began with."""
    if workload.uid != canary.workload_uid or workload.template != canary.template:
        return say("somebody changed the template of {workload}", workload=policy.workload)
    if workload.rollout.wanted < LEAST_CANARY_PODS:
        return say(
            "{workload} has {wanted} pods by now, and a canary needs {least}",
            workload=policy.workload,
            wanted=workload.rollout.wanted,
            least=LEAST_CANARY_PODS,
        )
    return None


def by_itself(canary: Canary, outcome: Decided) -> Sentence | None:
    """Return why nothing can be found out any more; None while something can."""
    inputs = outcome.inputs
    workload, now = inputs.workload, inputs.now
    unlike = _unlike(canary, workload)
    if unlike is not None:
        return unlike
    if canary.landed is None and _came_without(canary, outcome):
        return say(
            "a pod that was created for it runs without the values: the webhook did not answer, or something else "
            "sets other values in new pods"
        )
    if now < canary.until:
        return None
    if canary.phase is CanaryPhase.PASSED:
        phrase = "its values passed, and nothing could be written until {until:%Y-%m-%dT%H:%M:%SZ}"
        return say(phrase, until=canary.until)
    return say(
        "its pods could be watched for {exposed} of {duration} in {hours:g} hours",
        exposed=durations.show(timedelta(seconds=int(canary.exposed.total_seconds()))),
        duration=inputs.policy.canary_rules.duration,
        hours=(canary.until - canary.since) / timedelta(hours=1),
    )


def _unlike(canary: Canary, workload: Workload) -> Sentence | None:
    """Return how its pods are too many, too large a part or none any more."""
    pods = workload.canary
    if len(pods.uids) > canary.pods:
        phrase = "{has} pods run with the values, more than the {pods} that were to have them"
        return say(phrase, has=len(pods.uids), pods=canary.pods)
    part, wanted = canary.pods if canary.landed is None else len(pods.uids), workload.rollout.wanted
    if part > wanted * LARGEST_PART:
        phrase = "the values were for {part} pods, more than half of the {wanted} that there are to be by now"
        return say(phrase, part=part, wanted=wanted)
    if canary.landed is not None and not pods.uids:
        return say("no pod runs with the values any more, whatever replaced the ones that did")
    return None


def not_wanted(outcome: Decided) -> Sentence:
    """Say that a decision no longer asks for the values."""
    if outcome.decision.target is None:
        return say("no change is recommended any more")
    return say("other values are recommended by now")


def is_complete(workload: Workload) -> bool:
    """Whether there are as many pods as wanted, and all without the values of a canary are ready."""
    pods = workload.canary
    ready = sum(1 for pod in workload.pods if pod.ready_since is not None and pod.name not in pods.uids)
    return pods.total >= workload.rollout.wanted and ready == pods.total - len(pods.uids)


def failure(canary: Canary, outcome: Decided) -> CanaryFailure | None:
    """Return what speaks against the values of a canary; None while nothing does."""
    failures = (check(canary, outcome) for check in (_pods_fail, _no_effect, _storm, _worse))
    return next((failure for failure in failures if failure is not None), None)


def _came_without(canary: Canary, outcome: Decided) -> bool:
    """Whether the newest ticket's pod is there, and has not the values."""
    workload, at = outcome.inputs.workload, canary.replaced_at
    if at is None or outcome.inputs.now - at < COMES_WITHIN:
        return False
    return _lacks_pods(canary, workload) and not _newest_came(canary, workload)


def has_lost_pods(canary: Canary, workload: Workload) -> bool:
    """Whether some of its pods were scaled away or drained before all were there, and all that are left are ready."""
    pods = workload.canary
    are_ready = len(pods.rollout.ready) == len(pods.uids)
    return are_ready and _lacks_pods(canary, workload) and _newest_came(canary, workload)


def _lacks_pods(canary: Canary, workload: Workload) -> bool:
    """Whether all pods are there, the evicted ones are not, and fewer have the values than got them."""
    is_evicted = all(pod.uid != canary.replaced for pod in workload.pods)
    return is_evicted and is_complete(workload) and len(workload.canary.uids) < canary.ticket


def _newest_came(canary: Canary, workload: Workload) -> bool:
    """Whether a pod with the values began after the last one was chosen to be evicted: it came with them."""
    at, uids = canary.replaced_at, workload.canary.uids
    return at is not None and any(pod.name in uids and pod.started >= at for pod in workload.pods)


def _pods_fail(canary: Canary, outcome: Decided) -> CanaryFailure | None:
    """Find pods that crash, or do not become ready in time, where the values may be to blame."""
    inputs = outcome.inputs
    workload, now = inputs.workload, inputs.now
    pods, at = workload.canary, canary.replaced_at
    deadline = min(pods.rollout.deadline, LONGEST_DEADLINE)
    is_late = canary.landed is None and at is not None and now - at >= deadline
    rollout = dataclasses.replace(pods.rollout, exceeded=is_late)
    part = dataclasses.replace(workload, rollout=rollout)
    blamed = rollout_blame.blamed(part, inputs.policy.workload.container, canary.template, canary.since, now)
    worst = blamed.crashing(now)
    if worst is None and not blamed.exceeded:
        return None
    worst = worst or blamed.worst(now)
    why = (
        say("pod {pod}: {why}", pod=worst.pod, why=worst.why)
        if worst is not None
        else say("not ready after {deadline}: {pods}", deadline=deadline, pods=", ".join(rollout.unready))
    )
    return _found(Outcome.ROLLOUT_FAILED, canary, say("its pods fail: {why}", why=why))


def _no_effect(canary: Canary, outcome: Decided) -> CanaryFailure | None:
    """Find that the application does not use the values."""
    seen = outcome.inputs.canary
    if canary.landed is None or seen is None or not seen.contradiction:
        return None
    return _found(Outcome.NO_EFFECT, canary, say("{shown}", shown=seen.contradiction))


def _storm(canary: Canary, outcome: Decided) -> CanaryFailure | None:
    """Find too many episodes at its pods in the first hour, however much the promise allows."""
    if canary.landed is None:
        return None
    per_day = 0.0 if canary.promise is None else canary.promise.upper_per_day * _share(canary, outcome)
    allowed = fast_paths.allowed_by_chance(per_day / _HOURS, scatter.usual(per_day))
    times_s = np.asarray(canary.hits_s, dtype=np.float64)
    if fast_paths.storm(times_s, canary.landed.timestamp(), allowed) is None:
        return None
    phrase = "{hits} episodes of evictions began at its pods in the first hour, where {allowed:.2g} may come by chance"
    return _found(Outcome.WORSE, canary, say(phrase, hits=len(canary.hits_s), allowed=allowed))


def _worse(canary: Canary, outcome: Decided) -> CanaryFailure | None:
    """Find that episodes hit its pods more often than others, as it would not come by chance."""
    share, hits, others = _share(canary, outcome), len(canary.hits_s), len(canary.others_s)
    if not 0.0 < share < 1.0 or not in_group_test.shows_harm(hits, others, share):
        return None
    phrase = "{hits} of {all} episodes of evictions began at its pods, which are {share:.0%} of all"
    return _found(Outcome.WORSE, canary, say(phrase, hits=hits, all=hits + others, share=share))


def _share(canary: Canary, outcome: Decided) -> float:
    """Return the part of the pods that have the values."""
    pods = outcome.inputs.workload.canary
    return len(pods.uids) / pods.total if pods.total else canary.pods / (canary.pods + 1)


def _found(outcome: Outcome, canary: Canary, what: Sentence) -> CanaryFailure:
    phrase = "in a canary of {pods} pods, begun at {since:%Y-%m-%dT%H:%M:%SZ} with {values}, {what}"
    message = say(phrase, pods=canary.pods, since=canary.since, values=canary_words.shown(canary), what=what)
    return CanaryFailure(outcome, message)
