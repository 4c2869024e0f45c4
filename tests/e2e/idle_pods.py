"""Pods that consume nothing, of a policy that gives static ids: the webhook asks no more of a consumer."""

import json
from typing import Any, Final

from heartbeat_tuner.api.slot_names import SLOT_LABEL
from sandbox.processes import wait_until
from tests.e2e.teams import Team

ENDS_AT_ONCE: Final = "trap 'exit 0' TERM; while :; do sleep 0.2; done"
STAYS: Final = "trap '' TERM; while :; do sleep 0.2; done"


def pods_that(team: Team, behaves: str, *, replicas: int, grace_s: int) -> str:
    """Return the Deployment of pods that consume nothing, and are replaced one after the other."""
    container = {"name": "app", "image": "none", "command": ["sh", "-c", behaves]}
    labels = {"app": team.name}
    document = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": team.name},
        "spec": {
            "replicas": replicas,
            "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": grace_s, "containers": [container]},
            },
        },
    }
    return json.dumps(document)


def enrol(team: Team) -> None:
    """Give a team a policy whose pods get static ids; an operator saw its group speak the classic protocol once."""
    team.apply_policy_spec(client={"library": "java"}, staticMembership="Enabled")
    ownership = {
        "clusterRef": "main",
        "groupId": team.name,
        "workloadUid": "of-another-time",
        "proofTime": "2026-01-01T00:00:00Z",
    }
    seen = {"observedGeneration": 1, "groupProtocol": "Classic", "groupOwnership": ownership}
    team.kubectl(
        *("patch", "cgp", team.name, f"--namespace={team.namespace}", "--subresource=status", "--type=merge"),
        *("--patch", json.dumps({"status": seen})),
    )


def slots(team: Team) -> dict[str, dict[str, Any]]:
    """Return the pods' slots, by their labels."""
    found = team.get("pods", labels=SLOT_LABEL)["items"]
    return {item["metadata"]["labels"][SLOT_LABEL]: item for item in found}


def await_slots(team: Team, count: int) -> None:
    """Wait until so many pods have a slot each; those that came before the webhook knew the policy are replaced."""

    def claimed() -> bool:
        bare = set(team.pods()) - {item["metadata"]["name"] for item in slots(team).values()}
        if bare:
            team.kubectl("delete", "pod", *bare, f"--namespace={team.namespace}", "--grace-period=0", "--force")
        return len(slots(team)) == count

    wait_until(claimed, part="test", what=f"{count} slots", timeout_s=90, poll_s=0.5)
    team.await_available(team.name)
