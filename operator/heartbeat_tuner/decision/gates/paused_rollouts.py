"""Does a change of a template reach all pods? Not where a workload is paused, or a StatefulSet partitioned. Pure."""

from collections.abc import Mapping

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import ROLLOUT, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding


def paused(workloads: Mapping[WorkloadRef, Workload]) -> Finding | None:
    """Return which workload is paused, and what to do; None where none is."""
    at_rest = next((reference for reference, workload in workloads.items() if workload.paused), None)
    if at_rest is None:
        return None
    pause, resume = workloads[at_rest].pause, "`kubectl rollout resume`"
    if at_rest.kind == ROLLOUT:
        resume = f"`kubectl argo rollouts promote {at_rest.key.name}`" if pause else "spec.paused is false"
    phrase = "{workload} is paused ({pause}): nothing is written until {resume}"
    return Finding(Reason.ROLLOUT_PAUSED, say(phrase, workload=at_rest, pause=pause or "spec.paused", resume=resume))


def partitioned(workloads: Mapping[WorkloadRef, Workload]) -> Finding | None:
    """Return which StatefulSet has a partition, so that the group would be left with two sets of values; or None."""
    parted = next((reference for reference, workload in workloads.items() if workload.partition), None)
    if parted is None:
        return None
    phrase = (
        "{workload} keeps its pods below ordinal {partition} at the template they have "
        "(spec.updateStrategy.rollingUpdate.partition is {partition}): nothing is written until it is 0"
    )
    return Finding(Reason.ROLLOUT_PAUSED, say(phrase, workload=parted, partition=workloads[parted].partition))
