"""Changes that look as if the tuner had made them: entries, record and status, by its manager's name.

A test that needs values of ours in a Deployment need not wait for a storm and its cure first.
"""

import json
from datetime import UTC, datetime
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import FIELD_MANAGER
from heartbeat_tuner.api import applied
from heartbeat_tuner.domain.policies import Application
from tests.support import worlds
from tests.support.fleets import Fleet

CURE: Final = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}
"""The tuner's cure of the storm, as entries of env."""


def write(fleet: Fleet, name: str, *, known: bool = True) -> None:
    """Write the cure into a Deployment, with its record.

    Args:
        fleet: whose Deployment it is.
        name: of Deployment and policy.
        known: whether the policy's status tells of it, as only the tuner can make it do.
    """
    uid = fleet.deployments()[name]["metadata"]["uid"]
    before, after = worlds.settings("1s", "333ms", "5s"), worlds.settings("30s", "1s", "1s")
    change = Application(after, before, datetime.now(UTC).replace(microsecond=0), uid, "app")
    env = [{"name": variable, "value": value} for variable, value in CURE.items()]
    document = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": {applied.ANNOTATION: applied.to_annotation({"app": change})}},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "env": env}]}}},
    }
    fleet.admin.apply(fleet.path("deployments", name), document, manager=FIELD_MANAGER)
    if known:
        status = applied.applied_of(change).model_dump(by_alias=True, exclude_none=True)
        fleet.admin.merge(f"{fleet.path('policies', name)}/status", {"status": {"applied": status}})


def container(fleet: Fleet, behaves: str, **fields: Any) -> dict[str, Any]:
    """Return a template's change: its container runs a script; `$CURED` is 1 in it where the cure is in force."""
    script = f'CURED=0; [ "$KAFKA_SESSION_TIMEOUT_MS" = 30000 ] && CURED=1; {behaves}'
    app = {
        "name": "app",
        "image": "sleep",
        "command": ["sh", "-c", script],
        "envFrom": [{"configMapRef": {"name": fleet.namespace}}],
        **fields,
    }
    return {"template": {"spec": {"containers": [app]}}}


def conditions(policy: dict[str, Any]) -> str:
    """Return all that a policy's status says, for the words of a failure."""
    return json.dumps(policy.get("status", {}).get("conditions", []), indent=1)
