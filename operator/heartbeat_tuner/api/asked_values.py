"""What of a policy its values depend on, as one fingerprint: whether two specs ask for the same values. Pure.

It is made of the parsed policy: a field that the API server filled in with its default, because a newer version knows
it, makes no other spec of a stored one. How and when something is written is no part of it.
"""

import hashlib
import json
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import Policy, Range

_DIGITS: Final = 16
"""Hex digits: nobody gains by two specs that are taken for one."""


def fingerprint(policy: Policy) -> str:
    """Return what tells a policy from one that asks for other values, or for values of another container."""
    objective, workloads = policy.objective, policy.workloads or (policy.workload,)
    named = sorted([workload.kind, workload.key.name, workload.container] for workload in workloads)
    asked = {
        "group": policy.group_id,
        "cluster": policy.cluster,
        "workload": named if policy.workloads else named[0],
        "library": policy.library,
        "env": {setting.value: name for setting, name in policy.env_names.items()},
        "declared": {setting.value: durations.to_ms(value) for setting, value in policy.declared.items()},
        "objective": [durations.to_ms(objective.max_detection_time), objective.max_false_evictions_per_month],
        "bounds": {setting.value: _sides(bounds) for setting, bounds in policy.bounds.items() if bounds != Range()},
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _sides(bounds: Range) -> list[int | None]:
    return [None if side is None else durations.to_ms(side) for side in (bounds.min, bounds.max)]
