"""One namespace takes nobody's places: who forges our name and our record holds no place, or its own share at most."""

import contextlib
from collections.abc import Iterator
from typing import Final

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.operators import Operators, await_cycles
from tests.support import written
from tests.support.fleets import Fleet, PodMetrics, Scrapes

pytestmark = pytest.mark.timeout(240)

INTERVAL_S: Final = 0.5
PLACES: Final = 4
SCRAPES: Final = Scrapes(every_s=0.5, reach_s=120.0, from_start=True)


def stuck(fleet: Fleet, name: str, *, known: bool) -> None:
    """Write by our name into a Deployment whose new pods never come."""
    fleet.change(name, {"progressDeadlineSeconds": 3_000, "strategy": {"rollingUpdate": {"maxUnavailable": 0}}})
    written.write(fleet, name, known=known)


@pytest.fixture(scope="module")
def fleets(sandbox: Sandbox, operators: Operators) -> Iterator[tuple[Fleet, Fleet]]:
    """A victim's storm and a tenant's five unfinished rollouts that look like ours; no other operator runs."""
    operators.stop()
    with contextlib.ExitStack() as made:
        victim = made.enter_context(Fleet(sandbox, "victims", 1))
        tenant = made.enter_context(Fleet(sandbox, "tenants", PLACES + 1))
        for item in (victim, tenant):
            item.deploy(scenario.STORMING)
            made.callback(item.kubectl, "delete", "namespace", item.namespace, "--wait=false")
        full = f"--hard=pods={len(tenant.names)}"
        tenant.kubectl("create", "quota", "full", full, f"--namespace={tenant.namespace}")
        yield victim, tenant


@pytest.mark.row("B6")
def test_forged_rollouts_keep_nobody_waiting(sandbox: Sandbox, fleets: tuple[Fleet, Fleet]) -> None:
    """Neither in mode Recommend nor, with a record that only the Deployment knows, in mode Apply."""
    victim, tenant = fleets
    tenant.create_policies(mode="Recommend")
    for name in tenant.names:
        stuck(tenant, name, known=False)
    victim.create_policies(mode="Apply")
    with (
        PodMetrics([victim], storms=lambda env: "KAFKA_SESSION_TIMEOUT_MS" not in env, scrapes=SCRAPES) as metrics,
        Operator(
            sandbox,
            interval_s=INTERVAL_S,
            prometheus_url=f"http://{LOOPBACK}:{metrics.port}",
            max_rollouts=PLACES,
            grants=scenario.EVERY_GROUP,  # nobody consumes
        ) as operator,
    ):
        await_cycles(operator, 2)
        for name in tenant.names:
            tenant.admin.merge(tenant.path("policies", name), {"spec": {"mode": "Apply"}})
        (name,) = victim.names
        try:
            wait_until(
                lambda: "applied" in victim.policies()[name].get("status", {}),
                part=victim.namespace,
                what="the victim's cure",
                timeout_s=100,
            )
        except SandboxError as error:
            raise AssertionError(f"{error}\n{written.conditions(victim.policies()[name])}") from error
        held = [line for line in operator.log.read_text().splitlines() if "rollouts under way" in line]
        assert any(f"Deployment {victim.namespace}/{name}" in line for line in held)
        condition = scenario.condition(victim.policies()[name], "Applied")
        assert tenant.namespace not in condition["message"]
