"""What there is to say of a canary, and whether it holds back a change of the template. Pure."""

from datetime import datetime
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase

_MAY_NOT_EVICT: Final = (
    "the operator may not evict pods (operator.evictions of the chart, rollout.canaries of its configuration)"
)

MOST_PODS: Final = 5
"""Pods that a sentence names."""


def hold(policy: Policy, workload: Workload, now: datetime) -> Finding | None:
    """Return why the template is not written while there is a canary; None where it may be."""
    canary = policy.canary
    if canary is None or canary.phase is CanaryPhase.PASSED:
        return None
    if canary.phase is CanaryPhase.OVER:
        return finding(policy, canary, workload, now) if canary.again is not None and now < canary.again else None
    return finding(policy, canary, workload, now)


def finding(policy: Policy, canary: Canary, workload: Workload, now: datetime) -> Finding:
    """Return how far a canary is.

    Args:
        policy: whose it is.
        canary: as it is noted.
        workload: as it was looked up.
        now: the time.
    """
    if canary.phase in {CanaryPhase.ENDED, CanaryPhase.OVER}:
        return Finding(Reason.CANARY_ENDED, _ended(policy, canary, workload))
    if canary.phase is CanaryPhase.FAILED and canary.left_alone:
        left = "{why}. {pods}; no other pod was changed"
        return Finding(Reason.CANARY_ENDED, say(left, why=canary.message, pods=_left_alone(policy, workload)))
    if canary.phase is CanaryPhase.FAILED:
        phrase = "{why}. Its pods get the values of the template again, one at a time; no other pod was changed"
        return Finding(Reason.CANARY_RUNNING, say(phrase, why=canary.message))
    return Finding(Reason.CANARY_RUNNING, _trying(policy, canary, workload, now))


def shown(canary: Canary) -> str:
    """Return what a canary tries, as sentences have it."""
    pairs = (
        f"{setting} {durations.show(canary.previous[setting])} → {durations.show(value)}"
        for setting, value in canary.values.by_setting.items()
        if canary.previous[setting] != value
    )
    return ", ".join(pairs)


def _trying(policy: Policy, canary: Canary, workload: Workload, now: datetime) -> Sentence:
    duration = policy.canary_rules.duration
    wanted, has = Reading(workload.rollout.wanted), Reading(len(workload.canary.uids))
    if canary.phase is CanaryPhase.PASSED:
        return say(
            "{has} of {wanted} pods ran with {values} for {duration}, and nothing spoke against it; the rest follows",
            has=has,
            wanted=wanted,
            values=shown(canary),
            duration=duration,
        )
    if canary.landed is None:
        return say(
            "{pods} of {wanted} pods are to run with {values} first, for {duration}; they are replaced one at a time, "
            "and {number} may have it by now",
            pods=canary.pods,
            wanted=wanted,
            values=shown(canary),
            duration=duration,
            number=canary.ticket,
        )
    return say(
        "{has} of {wanted} pods run with {values}; the rest follows at {at:%H:%M} UTC, unless these pods fail or are "
        "evicted more often than the others, or cannot be watched meanwhile",
        has=has,
        wanted=wanted,
        values=shown(canary),
        at=Reading(now + max(duration - canary.exposed, duration * 0)),
    )


def without_policy(policy: Policy, canary: Canary, workload: Workload) -> Sentence:
    """Say which pods keep the values of a canary whose policy was deleted, and what is to be done.

    Args:
        policy: as it was.
        canary: as it was noted last.
        workload: as it was looked up last.
    """
    return say(
        "policy {policy} was deleted in the middle of a canary of {values} in {workload}. Its pods keep the values "
        "until somebody replaces them: {command}",
        policy=policy.key,
        values=shown(canary),
        workload=policy.workload,
        command=_command(policy, workload),
    )


def _left_alone(policy: Policy, workload: Workload) -> Sentence:
    """Say which pods keep the values of a canary that is over, why, and what is to be done."""
    why = _MAY_NOT_EVICT if policy.mode is Mode.APPLY else f"mode {policy.mode.value} evicts nobody"
    phrase = "Its pods keep the values until somebody replaces them, since {why}: {command}"
    return say(phrase, why=why, command=_command(policy, workload))


def _command(policy: Policy, workload: Workload) -> Sentence:
    """Return what replaces the pods of a canary, with their names."""
    names = sorted(workload.canary.uids)
    more = say(" and {more} more", more=len(names) - MOST_PODS) if len(names) > MOST_PODS else ""
    pods = " ".join(names[:MOST_PODS])
    return say("kubectl -n {namespace} delete pod {pods}{more}", namespace=policy.key.namespace, pods=pods, more=more)


def _ended(policy: Policy, canary: Canary, workload: Workload) -> Sentence:
    if canary.phase is CanaryPhase.ENDED and canary.left_alone:
        left = "the canary of {values} ended: {why}. {pods}"
        return say(left, values=shown(canary), why=canary.message, pods=_left_alone(policy, workload))
    if canary.phase is CanaryPhase.ENDED:
        phrase = "the canary of {values} ended: {why}. Its pods get the values of the template again, one at a time"
        return say(phrase, values=shown(canary), why=canary.message)
    return say(
        "the canary of {values} ended: {why}. Nothing more is tried before {again:%Y-%m-%dT%H:%M:%SZ}; with "
        'rollout.canary.share "0%" the values are written to all pods at once',
        values=shown(canary),
        why=canary.message,
        again=canary.again or canary.since,
    )
