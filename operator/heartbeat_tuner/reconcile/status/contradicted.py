"""What the record proved against the values that are set: kept in the policy's status. Pure.

The proof passes with the storm that gave it, and with a leader; what follows from it must not. It stands until the
policy is edited or the pods' template changes: a person has done something then, and the next record says what.
"""

from heartbeat_tuner.api.standing_words import fitting
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ContradictedStatus
from heartbeat_tuner.decision.evictions import contradictions
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.reconcile.outcomes import Decided


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
