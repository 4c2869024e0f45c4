"""What a status notes of our last change, and says of it: is it in force, how far is it, did it help? Pure.

The proof that values are not in force passes with the storm that gave it, and with a leader; what follows from it must
not. It stands until the policy is edited or the pods' template changes: a person has done something then, and the next
record says what. How far a change is, and when members were evicted, is noted for the next leader.
"""

from typing import Any, Final

from heartbeat_tuner.api.applied import applied_of, failed_statuses, workload_statuses
from heartbeat_tuner.api.followed import history_status, verification_of
from heartbeat_tuner.api.standing_words import fitting
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import WorkloadStatus
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, ContradictedStatus
from heartbeat_tuner.decision.at_broker import group_reverts
from heartbeat_tuner.decision.evictions import contradictions
from heartbeat_tuner.domain.kafka_groups import GroupWrite
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.domain.verifications import FollowedChange, Outcome
from heartbeat_tuner.reconcile.outcomes import Decided

_STATUS: Final = {
    Outcome.VERIFYING: ConditionStatus.UNKNOWN,
    Outcome.INCONCLUSIVE: ConditionStatus.UNKNOWN,
    Outcome.VERIFIED: ConditionStatus.TRUE,
}
"""Of the condition Verified; False for every other outcome."""


def next_contradicted(standing: ContradictedStatus | None, outcome: Decided) -> ContradictedStatus | None:
    """Return what is to be remembered; None where nothing speaks against the values."""
    policy, workload = outcome.inputs.policy, outcome.inputs.workload
    here, finding = (policy.generation, workload.template), outcome.decision.finding
    stands = standing is not None and (standing.generation, standing.template) == here
    if outcome.decision.verdict is not Verdict.UNKNOWN or finding.reason not in contradictions.REASONS:
        return standing if stands else None
    if stands and standing is not None and standing.reason is finding.reason:
        return standing  # in its first words: a status must not move while nothing happens
    return ContradictedStatus(
        reason=finding.reason,
        message=fitting(finding.message),
        generation=policy.generation,
        template=workload.template,
    )


def followed_fields(outcome: Decided) -> dict[str, Any]:
    """Return what a status notes of a change that is followed, by field.

    A change that was written in this cycle is not followed yet: the next look needs what is noted of the one before.
    """
    inputs, last = outcome.inputs, outcome.last_application
    failed = inputs.policy.failed if outcome.application is None else outcome.application.failed
    fields: dict[str, Any] = {"reverted": failed_statuses(failed), "workloads": _of_workloads(outcome)}
    if last is None and outcome.last_group_write is None:
        fields["verification"] = None
    elif outcome.application is None and not outcome.altered and inputs.followed is not None:
        fields["verification"] = verification_of(inputs.followed)
    if inputs.history is not None:
        fields["history"] = history_status(inputs.history)
    return fields


def _of_workloads(outcome: Decided) -> list[WorkloadStatus] | None:
    """Return what a status notes of several workloads; None where there is one."""
    policy, parts = outcome.inputs.policy, outcome.inputs.workload.parts
    if not parts:
        return None
    new = {} if outcome.application is None else {policy.workload: outcome.application}
    running = {ref: part.current.settings for ref, part in parts.items() if part.current is not None}
    current = {ref: running.get(ref) for ref in policy.workloads}
    return workload_statuses({**policy.applications, **new}, current)


def of_unseen(policy: Policy) -> dict[str, Any]:
    """Return what a status notes of our changes where a workload cannot be seen, by field."""
    fields: dict[str, Any] = {}
    if policy.application is not None:
        fields["applied"] = applied_of(policy.application)
    if policy.workloads:
        fields["workloads"] = workload_statuses(policy.applications, dict.fromkeys(policy.workloads))
    return fields


def verified(outcome: Decided) -> tuple[ConditionStatus, Finding] | None:
    """Return what the condition Verified says; None where there is no change to speak of."""
    last, write = outcome.last_application, outcome.last_group_write
    followed = outcome.inputs.followed or outcome.inputs.policy.followed  # what is known stays where nothing is seen
    if write is not None and outcome.inputs.group.consumer_protocol and (last is None or write.at > last.at):
        return _verified_at_broker(write, followed)
    if last is None:
        return None
    if last.reverts is not None:
        return ConditionStatus.FALSE, _reverted(last)
    if followed is None or followed.at != last.at:
        waits = say(
            "the values written at {at:%Y-%m-%dT%H:%M:%SZ} are not in all pods yet; counting begins when they are",
            at=last.at,
        )
        return ConditionStatus.UNKNOWN, Finding(Reason.VERIFYING, waits)
    return _known(followed)


def _known(followed: FollowedChange) -> tuple[ConditionStatus, Finding]:
    """Return what is known of a change."""
    status = _STATUS.get(followed.outcome, ConditionStatus.FALSE)
    return status, Finding(Reason(followed.outcome.value), followed.message)


def _verified_at_broker(write: GroupWrite, followed: FollowedChange | None) -> tuple[ConditionStatus, Finding]:
    """Return what the condition Verified says of a write into the group's configuration."""
    if write.reverts is not None:
        return ConditionStatus.FALSE, group_reverts.taken_back(write)
    if followed is None or followed.at != write.at:
        waits = say(
            "members follow the values written at {at:%Y-%m-%dT%H:%M:%SZ} with their next heartbeat; counting begins "
            "then",
            at=write.at,
        )
        return ConditionStatus.UNKNOWN, Finding(Reason.VERIFYING, waits)
    return _known(followed)


def _reverted(last: Application) -> Finding:
    """Say what was taken back, and why."""
    # Of several workloads the one that was written last goes back first, and notes why.
    since = last.reverts
    failed = next((values for values in reversed(last.failed) if since is not None and values.at >= since), None)
    why = "" if failed is None else say(": {outcome}: {why}", outcome=failed.outcome.value, why=failed.message)
    return Finding(
        Reason.REVERTED,
        say(
            "the change written at {at:%Y-%m-%dT%H:%M:%SZ} was taken back at {back:%Y-%m-%dT%H:%M:%SZ}{why}",
            at=last.reverts,
            back=last.at,
            why=why,
        ),
    )
