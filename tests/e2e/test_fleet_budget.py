"""A fleet that wants to change all at once, and an operator that may begin two rollouts at a time.

New pods become ready when a test lets them: so rollouts take their time, and nothing ends before.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.errors import PartNotReadyError
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.operators import Operators, await_cycles, await_no_policies
from tests.support import documents
from tests.support.fleets import Fleet, PodMetrics, Scrapes
from tests.support.written import container

pytestmark = pytest.mark.timeout(300)

SIZE: Final = 6
BUDGET: Final = 2
INTERVAL_S: Final = 0.5
CYCLES: Final = 4
SCRAPES: Final = Scrapes(every_s=0.5, reach_s=120.0, from_start=True)


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    """Where a file of a Deployment's name lets its new pods become ready."""
    return tmp_path


@pytest.fixture
def fleet(sandbox: Sandbox, operators: Operators, gates: Path) -> Iterator[Fleet]:
    """Stormy Deployments whose new pods are not ready before a test lets them; no other operator runs."""
    operators.stop()
    await_no_policies(sandbox)  # where another namespace has some, this one gets half of the places
    with Fleet(sandbox, "budgeted", SIZE) as made:
        made.deploy(scenario.STORMING)
        for name in made.names:
            made.change(name, slow(made, gates / name))
        made.await_rolled_out()
        yield made
        made.kubectl("delete", "namespace", made.namespace, "--wait=false")


def slow(fleet: Fleet, gate: Path) -> dict[str, Any]:
    """Return a template whose pods with the tuner's values are not ready before there is a file."""
    ready = f'[ "$KAFKA_SESSION_TIMEOUT_MS" != 30000 ] || [ -e {gate} ]'
    probe = {"exec": {"command": ["sh", "-c", ready]}, "periodSeconds": 1}
    return container(fleet, "exec sleep infinity", readinessProbe=probe)


def written(fleet: Fleet) -> list[str]:
    """Return the Deployments that the operator has written to."""
    found = fleet.deployments()
    return [name for name in fleet.names if "heartbeat-tuner.dev/applied" in found[name]["metadata"]["annotations"]]


def await_written(fleet: Fleet, count: int) -> None:
    """Wait until the operator has written to so many Deployments."""
    wait_until(lambda: len(written(fleet)) >= count, part=fleet.namespace, what=f"write {count}", timeout_s=60)


def applied(fleet: Fleet) -> dict[str, dict[str, str]]:
    """Return what each policy says of its values."""
    policies = fleet.policies()
    return {name: scenario.condition(policies[name], "Applied") for name in fleet.names}


def said(fleet: Fleet) -> str:
    """Return what each policy says of its values, as a text: pytest would shorten anything else."""
    lines = ((name, item["reason"], item["message"]) for name, item in applied(fleet).items())
    return "\n".join(": ".join(line) for line in lines)


def waiting(fleet: Fleet) -> list[str]:
    """Return the policies that are told to wait for their turn."""
    return [name for name, condition in applied(fleet).items() if condition["reason"] == "FleetBudgetSpent"]


def await_queue(fleet: Fleet, length: int) -> None:
    """Wait until so many policies wait for their turn; where they do not, say what each of them says."""
    try:
        wait_until(lambda: len(waiting(fleet)) == length, part="fleet", what="its queue", timeout_s=120)
    except PartNotReadyError as error:
        raise AssertionError(f"{error}\n{said(fleet)}") from None


def shown_as_documented(sandbox: Sandbox, fleet: Fleet) -> list[str]:
    """Return why each policy is applied or not, by the command of the how-to."""
    (command,) = documents.code_blocks("docs/how-to/rollouts.md", "shell")
    lines = sandbox.control_plane.kubectl(*shlex.split(command.replace("\\\n", ""))[1:]).splitlines()
    found = [line.split() for line in lines]
    return [reason for namespace, _, reason in found if namespace == fleet.namespace]


def test_a_fleet_changes_two_at_a_time_and_all_in_the_end(sandbox: Sandbox, fleet: Fleet, gates: Path) -> None:
    """In the order of their names where none is more urgent; another leader begins no third, and nobody is left out."""
    with PodMetrics([fleet], storms=lambda env: "KAFKA_SESSION_TIMEOUT_MS" not in env, scrapes=SCRAPES) as metrics:
        url = f"http://{LOOPBACK}:{metrics.port}"
        fleet.create_policies(mode="Apply")  # before the operator, or those that it happens to read first begin
        with Operator(
            sandbox, interval_s=INTERVAL_S, prometheus_url=url, max_rollouts=BUDGET, grants=scenario.EVERY_GROUP
        ) as operator:
            await_queue(fleet, SIZE - BUDGET)
            await_cycles(operator, CYCLES)
            assert written(fleet) == fleet.names[:BUDGET], said(fleet)
            assert waiting(fleet) == fleet.names[BUDGET:]
            assert shown_as_documented(sandbox, fleet) == ["RollingOut"] * BUDGET + ["FleetBudgetSpent"] * (
                SIZE - BUDGET
            )

        with Operator(
            sandbox, interval_s=INTERVAL_S, prometheus_url=url, max_rollouts=BUDGET, grants=scenario.EVERY_GROUP
        ) as operator:
            wait_until(operator.leads, part="operator", what="its leadership", timeout_s=60)
            await_cycles(operator, CYCLES)
            assert written(fleet) == fleet.names[:BUDGET]

            for done, name in enumerate(fleet.names[: SIZE - BUDGET], start=1):
                (gates / name).touch()
                await_written(fleet, BUDGET + done)
                await_cycles(operator, 2)
                assert written(fleet) == fleet.names[: BUDGET + done]
            assert waiting(fleet) == []
