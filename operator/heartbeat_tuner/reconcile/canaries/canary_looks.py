"""A workload in two parts: the pods with a canary's values, and the others. Pure."""

import dataclasses
from collections.abc import Callable

from heartbeat_tuner.decision.evictions import contradictions
from heartbeat_tuner.decision.input import CanaryLook
from heartbeat_tuner.domain.evidence import Record, Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.liveness import CurrentSettings, ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say

RecordOf = Callable[[Workload], Record | Unknown]
"""What happened to the members at a workload's pods."""


def without_canary(workload: Workload) -> Workload:
    """Return a workload of which a canary's pods are no part: the very same where there are none."""
    names = workload.canary.uids.keys()
    if not names:
        return workload
    return dataclasses.replace(workload, pods=tuple(pod for pod in workload.pods if pod.name not in names))


def look(policy: Policy, workload: Workload, group: Group, brokers: int, record_of: RecordOf) -> CanaryLook | None:
    """Return what is seen of the members at a canary's pods; None where there is no canary.

    Args:
        policy: with the canary.
        workload: with all of its pods.
        group: as it was seen.
        brokers: how many the cluster has.
        record_of: what happened to the members at pods.
    """
    canary = policy.canary
    if canary is None:
        return None
    names = workload.canary.uids.keys()
    pods = tuple(pod for pod in workload.pods if pod.name in names)
    if not pods:
        nobody = say("no pod of {workload} runs with the values of the canary", workload=policy.workload)
        return CanaryLook(Unknown(Reason.TOO_LITTLE_DATA, nobody))
    current = CurrentSettings(canary.values, dict.fromkeys(canary.values.by_setting, ValueSource.POD))
    part = dataclasses.replace(workload, pods=pods, current=current, rolling_out=False)
    record = record_of(part)
    if isinstance(record, Unknown):
        return CanaryLook(record)
    doubt = contradictions.find_contradiction(policy, part, group, brokers, record, current)
    return CanaryLook(record, "" if doubt is None else doubt.message)
