"""May the chosen values be written at the broker now? Gates that are asked of nothing else."""

from heartbeat_tuner.decision.at_broker import group_savings, write_holds
from heartbeat_tuner.decision.gates.write_gates import ProposedChange
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding


def group_may_not_be_written(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold what is set at the broker unless all of the group is the policy's, and the operator may write it."""
    return _of_broker(inputs)


def _of_broker(inputs: DecisionInput) -> Finding | None:
    policy, others = inputs.policy, (inputs.peers, inputs.strangers)
    return write_holds.finding(policy, inputs.workload, inputs.group, inputs.cluster, others, inputs.seen_at)


def broker_refuses(inputs: DecisionInput) -> bool:
    """Whether what is set at the broker is held for long: not by a member that is about to go, or a write just made."""
    hold = _of_broker(inputs)
    if hold is None or hold.reason is Reason.ROLLING_OUT:
        return False
    return hold.reason is not Reason.GROUP_NOT_OWNED or bool(inputs.peers)


def fencings_are_not_shown(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold what nothing demands at the broker: nobody would see there what it does to the group."""
    return group_savings.not_verifiable(inputs.group) if change.effect_is_unseen else None


def group_may_not_go_back(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold what stood before at the broker likewise, and where somebody set another value since."""
    policy, others = inputs.policy, (inputs.peers, inputs.strangers)
    return write_holds.of_revert(policy, inputs.workload, inputs.group, inputs.cluster, others, inputs.seen_at)
