"""Row B9: what an uninstall leaves behind, and the documented command that frees the pods that wait."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from heartbeat_tuner.api.slot_names import GATE
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from tests.e2e.conftest import NewTeam
from tests.e2e.idle_pods import STAYS, await_slots, enrol, pods_that
from tests.e2e.static_members import started_webhook
from tests.e2e.teams import Team
from tests.support import documents

pytestmark = [pytest.mark.timeout(420), pytest.mark.row("B9")]

QUOTA: Final = "example.com/quota"


def gated_by_another(name: str) -> str:
    """Return a pod that waits at somebody else's gate."""
    spec = {"schedulingGates": [{"name": QUOTA}], "containers": [{"name": "app", "image": "none"}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def gates(team: Team) -> dict[str, list[str]]:
    """Return the gates of each pod that is not being deleted."""
    return {
        item["metadata"]["name"]: [gate["name"] for gate in item["spec"].get("schedulingGates", ())]
        for item in team.get("pods")["items"]
        if "deletionTimestamp" not in item["metadata"]
    }


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something."""
    wait_until(condition, part="test", what=what, timeout_s=150, poll_s=0.3)


def test_pods_that_wait_at_a_gate_are_freed_by_the_documented_command(
    sandbox: Sandbox, new_team: NewTeam, tmp_path: Path
) -> None:
    """Pods that wait when the webhook goes wait for ever otherwise; another's gate is not touched."""
    team = new_team("abandoned")
    team.apply(gated_by_another("waits-for-quota"))
    with started_webhook(sandbox, tmp_path):
        enrol(team)
        team.apply(pods_that(team, STAYS, replicas=1, grace_s=40))
        await_slots(team, 1)
        team.kubectl("rollout", "restart", f"--namespace={team.namespace}", f"deployment/{team.name}")
        until(lambda: [GATE] in gates(team).values(), "a pod that waits")
    waiting = [name for name, held in gates(team).items() if held == [GATE]]
    free = documents.code_blocks("docs/how-to/remove.md", "shell")[-1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(sandbox.control_plane.kubectl_path)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "KUBECONFIG": str(sandbox.control_plane.kubeconfig),
    }
    subprocess.run(["bash", "-ec", free], env=environment, check=True, timeout=120)
    until(lambda: not set(waiting) & set(gates(team)), "their end")
    until(lambda: sorted(gates(team).values()) == [[], [QUOTA]], "a successor without a gate, and the quota's pod")
