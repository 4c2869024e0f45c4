"""Values that the operator applied, beside who applies the Deployment's manifest from Git or a chart."""

import concurrent.futures
import dataclasses
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox import audit, scenario
from sandbox.errors import SandboxError
from sandbox.scenario import Operator
from tests.e2e import appliers
from tests.e2e.appliers import ARGO_CD, FLUX, HELM_4, MERGING, SERVER_SIDE, Applier
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import await_cycles
from tests.e2e.teams import Team
from tests.support import documents

pytestmark = pytest.mark.timeout(600)

CURE: Final = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}
GITS: Final = {
    "KAFKA_SESSION_TIMEOUT_MS": "1000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "333",
    "KAFKA_MAX_WAIT_TIME_MS": "5000",
}
EACH_S: Final = 10.0
"""Between two applications; who syncs from Git does so every few minutes."""

PAGE: Final = "docs/how-to/gitops.md"
FIGURES: Final = Path(__file__).parents[2] / "build" / "gitops.json"


@dataclasses.dataclass(frozen=True)
class Side:
    """A Deployment with an active policy, and who applies its manifest.

    Attributes:
        manifest: as it stands in Git: without the values.
    """

    team: Team
    applier: Applier
    manifest: str

    def apply(self) -> None:
        """Apply the manifest as it stands in Git."""
        self.applier.apply(self.team, self.manifest)

    def state(self) -> dict[str, Any]:
        """Return what a rollout would change."""
        deployment = self.team.get("deployments", self.team.name)
        sets = self.team.get("replicasets")["items"]
        return {
            "generation": deployment["metadata"]["generation"],
            "template": deployment["spec"]["template"],
            "replica_sets": sorted(item["metadata"]["name"] for item in sets),
            "pods": self.team.pods(),
        }


def written(team: Team, since: datetime) -> list[audit.Write]:
    """Return all writes to the team's Deployment that were done, whoever made them."""
    found = audit.writes(team.sandbox.control_plane.audit_log, since=since)
    return [
        item for item in found if (item.namespace, item.resource) == (team.namespace, "deployments") and item.succeeded
    ]


def flips(team: Team, since: datetime) -> int:
    """Return after how many writes the Deployment had other values than the operator's."""

    def values(write: audit.Write) -> dict[str, str]:
        (container,) = write.stored["spec"]["template"]["spec"]["containers"]
        return {item["name"]: item.get("value", "") for item in container["env"] if item["name"] in CURE}

    return sum(values(item) != CURE for item in written(team, since))


def deployed(new_team: NewTeam, who: Sequence[Applier], *, replicas: int) -> list[Side]:
    """Deploy a storming group for each applier, and have the operator cure them all."""
    sides = []
    for applier in who:
        team = new_team(applier.name)
        team.sandbox.kafka.create_topic(team.name, scenario.PARTITIONS)
        sides.append(Side(team, applier, team.manifest(scenario.STORMING, replicas=replicas)))
    at_once(sides, Side.apply)
    at_once(sides, lambda side: side.team.await_available(side.team.name))
    at_once(sides, lambda side: side.team.apply_policy(side.team.name, mode="Apply"))
    at_once(sides, cured)
    return sides


def cured(side: Side) -> None:
    """Wait until the operator's values are in all pods: in the template first, which may have lost what was applied."""
    side.team.await_env(CURE)
    side.team.await_rolled_out()
    side.team.await_available(side.team.name)


def at_once(sides: Sequence[Side], do: Callable[[Side], None]) -> None:
    """Do something for all sides at once."""
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        list(pool.map(do, sides))


def reapply(sides: Sequence[Side], times: int) -> None:
    """Apply each side's manifest again and again."""
    for _ in range(times):
        began_s = time.monotonic()
        at_once(sides, Side.apply)
        time.sleep(max(0.0, began_s + EACH_S - time.monotonic()))


@dataclasses.dataclass(frozen=True)
class Figures:
    """What reapplying came to.

    Attributes:
        requests: writes of the applier that reached the Deployment.
        operators: writes of the operator.
        rollouts: templates that were not there before.
        flips: writes after which the values were not the operator's.
    """

    applier: str
    applications: int
    took_s: float
    requests: int
    operators: int
    rollouts: int
    flips: int


def beside(operator: Operator, sides: Sequence[Side], *, times: int) -> list[Figures]:
    """Reapply beside active policies, and return what it came to; pods and templates stay."""
    await_cycles(operator, 2)
    began, before = datetime.now(UTC), [side.state() for side in sides]
    began_s = time.monotonic()
    reapply(sides, times)
    took_s = round(time.monotonic() - began_s, 1)
    await_cycles(operator, 2)
    found = []
    for side, was in zip(sides, before, strict=True):
        now = side.state()
        assert now == was, side.applier.name
        side.applier.assert_no_drift(side.team, side.manifest)
        own = [item for item in written(side.team, began) if not item.subresource and item.user == "admin"]
        found.append(
            Figures(
                applier=side.applier.name,
                applications=times,
                took_s=took_s,
                requests=len(own),
                operators=len(side.team.operator_writes("deployments", since=began)),
                rollouts=len(set(now["replica_sets"]) - set(was["replica_sets"])),
                flips=flips(side.team, began),
            )
        )
    return found


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(6, id="a-minute"),
        pytest.param(30, id="five-minutes", marks=[pytest.mark.gitops, pytest.mark.timeout(1800)]),
    ],
)
def test_reapplying_changes_nothing(new_team: NewTeam, operator: Operator, times: int) -> None:
    """Every ten seconds, by six appliers: no rollout, no flip, and nothing for the operator to write."""
    sides = deployed(new_team, appliers.ALL, replicas=1)
    found = beside(operator, sides, times=times)
    if times == 30:
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps([dataclasses.asdict(item) for item in found], indent=1) + "\n")
    assert [(item.applier, item.rollouts, item.flips, item.operators) for item in found] == [
        (item.name, 0, 0, 0) for item in appliers.ALL
    ]
    requests = {item.applier: item.requests for item in found}
    assert min(requests[item.name] for item in SERVER_SIDE) >= times

    # A change of the owner's is one rollout, and brings the values along.
    began, before = datetime.now(UTC), {side.team.name: side.state() for side in sides}
    changed = [
        dataclasses.replace(side, manifest=side.manifest.replace("annotations: {", 'annotations: {version: "2", '))
        for side in sides
    ]
    at_once(changed, Side.apply)
    at_once(changed, lambda side: side.team.await_available(side.team.name))
    for side in changed:
        new = set(side.state()["replica_sets"]) - set(before[side.team.name]["replica_sets"])
        assert (side.applier.name, len(new), flips(side.team, began)) == (side.applier.name, 1, 0)
        assert CURE.items() <= side.team.env().items()


def with_values(manifest: str, values: Mapping[str, str]) -> str:
    """Return a manifest that sets variables itself."""
    lines = "".join(f'\n            - {{name: {name}, value: "{value}"}}' for name, value in values.items())
    return manifest.replace("\n          env:", f"\n          env:{lines}")


@pytest.mark.gitops
def test_git_has_the_last_word(new_team: NewTeam, operator: Operator) -> None:
    """Entries that come into the manifest later win once; the operator says so, and does not fight."""
    *winning, refused = deployed(new_team, (FLUX, ARGO_CD, HELM_4), replicas=1)
    insisting = [dataclasses.replace(item, manifest=with_values(item.manifest, GITS)) for item in winning]
    began = datetime.now(UTC)
    at_once(insisting, Side.apply)
    for side in insisting:
        report = side.team.await_condition("Applied", "TakenBack", status="False", timeout_s=240)
        assert "sessionTimeout 1s → 30s" in report["message"]
    reapply(insisting, 3)
    await_cycles(operator, 2)
    for side in insisting:
        assert flips(side.team, began) > 0, "who counts flips has to see this one"
        assert GITS.items() <= side.team.env().items()
        written_by_us = [
            operator_write.stored["spec"] for operator_write in side.team.operator_writes("deployments", since=began)
        ]
        assert len(written_by_us) <= 1, "to let go of the entries is all there is to do"

    with pytest.raises(SandboxError, match='conflicts with "heartbeat-tuner"'):
        HELM_4.apply(refused.team, with_values(refused.manifest, GITS))
    assert CURE.items() <= refused.team.env().items()


def renamed(side: Side) -> Side:
    """Return the side with a manifest that calls the container otherwise."""
    text = side.manifest.replace("- name: app\n", "- name: consumer\n")
    assert text != side.manifest
    return dataclasses.replace(side, manifest=text)


def names(team: Team) -> list[str]:
    """Return the containers of the template."""
    containers = team.get("deployments", team.name)["spec"]["template"]["spec"]["containers"]
    return [container["name"] for container in containers]


def rename_in_the_policy(side: Side) -> None:
    """Have the policy name the new container."""
    reference = {"name": side.team.name, "container": "consumer"}
    side.team.apply_policy_spec(mode="Apply", workloadRef=reference)


def steps(side: Side) -> Iterator[str]:
    """Yield the page's commands that let go of a container, for this Deployment."""
    (text,) = [code_block for code_block in documents.code_blocks(PAGE, "shell") if "rollout pause" in code_block]
    text = text.replace("orders-consumer", side.team.name).replace("shop", side.team.namespace)
    before, after = text.split("# now sync\n")
    yield before
    yield after


def typed(side: Side, text: str) -> None:
    """Run commands as a person types them."""
    plane = side.team.sandbox.control_plane
    environment = {
        "KUBECONFIG": str(plane.kubeconfig),
        "PATH": f"{plane.kubectl_path.parent}:/usr/bin:/bin",
        "HOME": str(plane.kubeconfig.parent),  # kubectl's cache, which would be in the checkout
    }
    done = subprocess.run(
        ["bash", "-e", "-c", text], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_renamed_container(new_team: NewTeam, operator: Operator) -> None:
    """Who merges renames at once; server-side apply is refused until the old container is let go of. No fight."""
    sides = deployed(new_team, (*MERGING, FLUX), replicas=1)
    after = [renamed(side) for side in sides]
    before = [side.state() for side in sides]
    for side in after:
        rename_in_the_policy(side)
    *merged, refused = after
    at_once(merged, Side.apply)
    with pytest.raises(SandboxError, match=r"spec\.template\.spec\.containers\[\d\]\.image: Required value"):
        refused.apply()
    assert refused.state() == before[-1]

    first, last = steps(refused)
    typed(refused, first)
    refused.apply()
    assert names(refused.team) == ["consumer"]
    typed(refused, last)

    for side, was in zip(after, before, strict=True):
        cured(side)
        assert names(side.team) == ["consumer"]
        new = set(side.state()["replica_sets"]) - set(was["replica_sets"])
        assert len(new) == 2, side.applier.name  # the rename's own, and that of the values
    found = beside(operator, after, times=2)
    assert [(item.rollouts, item.flips, item.operators) for item in found] == [(0, 0, 0)] * len(after)
