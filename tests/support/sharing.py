"""Policies that name one Kafka group, each with a workload of its own, and what was decided for each."""

import dataclasses
from typing import Any

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import GroupOwnership
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.reconcile.outcomes import Decided
from tests.support import worlds


def policy(name: str, namespace: str = "shop", group: str = "orders", **changes: Any) -> Policy:
    """Return a policy on a group, for the Deployment of the same name."""
    key = ObjectKey(namespace, name)
    workload = WorkloadRef("Deployment", key, "app")
    return worlds.policy(**{"key": key, "uid": f"{key}", "group_id": group, "workload": workload, **changes})


def decided(
    asked: Policy,
    decision: Decision,
    *,
    now: LivenessSettings | None = None,
    has: Workload | None = None,
    proven: bool = True,
) -> Decided:
    """Return what was decided for one policy.

    Args:
        asked: the policy.
        decision: on it.
        now: what its pods have.
        has: its workload, in place of one with `now`.
        proven: whether a member of the group was seen in its pods.
    """
    inputs = worlds.situation(policy=asked, now=now, has=has)
    seen = GroupOwnership(asked.cluster, asked.group_id, inputs.workload.uid, worlds.NOW) if proven else None
    return Decided(dataclasses.replace(inputs, ownership=seen), decision)


def change(target: LivenessSettings, reason: Reason = Reason.DANGER) -> Decision:
    """Return a decision to write values."""
    return Decision(Verdict.CHANGE, Finding(reason, "so it is"), target=target)


HEALTHY = Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "all is well"))
UNKNOWN = Decision(Verdict.UNKNOWN, Finding(Reason.TOO_LITTLE_DATA, "nothing is known"))
