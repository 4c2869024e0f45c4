"""B3, B4 and B9: what a tenant's metrics and models do to others, and to a healthy group, on a real API server."""

import asyncio
import json
import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.model_objects import KubernetesModels
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.model_choice import SPARE
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain import durations
from heartbeat_tuner.metrics.measured import ABSENCE, CRASH_DOWNTIME
from heartbeat_tuner.models.group_model import Fitted, GroupModel, Unfitted
from heartbeat_tuner.tails.rates import Duration, Rate
from sandbox.control_plane import ControlPlane
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.teams import Team
from tests.support import fitted, tenants
from tests.support.tenants import Habit

pytestmark = pytest.mark.timeout(240)

FACTOR = 1.25
FLOOD = 400


def stored(
    plane: ControlPlane, written: Collection[GroupModel], asked: Collection[tuple[str, str]]
) -> tuple[dict[tuple[str, str], GroupModel], float]:
    """Write models as the fit does, and return what the operator reads of them, and in how many seconds."""

    async def run() -> tuple[dict[tuple[str, str], GroupModel], float]:
        configuration = client.Configuration()
        await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
        api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=30))
        try:
            store = KubernetesModels(api)
            assert not (await store.write(list(written))).failed
            began = time.monotonic()
            found = await store.read(asked)
            took_s = time.monotonic() - began
        finally:
            await api.close()
        assert not isinstance(found, Unfitted)
        return {
            (item.model.namespace, item.model.group): item.model for item in found if isinstance(item, Fitted)
        }, took_s

    return asyncio.run(run())


@pytest.fixture(scope="module")
def places(sandbox: Sandbox) -> Iterator[ControlPlane]:
    """Two tenants' namespaces."""
    plane = sandbox.control_plane
    for name in ("victim", "evil"):
        plane.kubectl("create", "namespace", name)
    yield plane
    for name in ("victim", "evil"):
        plane.kubectl("delete", "namespace", name, "--wait=false")


def session_s(model: GroupModel) -> float:
    """Return the session that a group should have by its model."""
    found = tenants.wanted(model)
    return (found.target or catalogue.client("java").defaults).session_timeout.total_seconds()


@pytest.mark.row("B3")
def test_what_one_namespace_exports_hardly_moves_another_ones_session(places: ControlPlane) -> None:
    """Groups that never freeze, days without end, freezes all the time: fitted together, written, read back."""
    honest = tenants.rows("victim", 8)
    alone, _ = stored(places, tenants.models(honest).values(), ())
    for groups, habit in (
        (40, Habit(freezes=0.0, pause_s=0.02)),
        (5, Habit(freezes=0.0, days=500)),
        (20, Habit(freezes=400.0, freeze_s=60.0)),
    ):
        poisoned = tenants.models(honest, tenants.rows("evil", groups, habit, seed=9))
        asked = {place for place in poisoned if place[0] == "victim"}
        beside, _ = stored(places, [item for item in poisoned.values() if item.namespace == "victim"], asked)
        for place in asked:
            assert 1 / FACTOR <= session_s(beside[place]) / session_s(alone[place]) <= FACTOR


def forged(team: Team, **changes: Any) -> dict[str, Any]:
    """Return a model that nobody fitted: nothing is ever late, and members crash all day."""
    now = datetime.now(UTC)
    absences = fitted.quantity(largest_s=0.1, tail=fitted.tail(threshold_s=0.05, share=1e-6, largest_s=0.1))
    crashes = fitted.quantity(values=200, rate=Rate(5.0, 6.0), duration=Duration(3.0, 0.4, 8.0))
    document = model_documents.document_of(
        fitted.model(
            namespace=team.namespace,
            group=team.name,
            since=now.date() - timedelta(days=14),
            until=now.date() - timedelta(days=1),
            fitted_at=now,
            quantities={ABSENCE: absences, CRASH_DOWNTIME: crashes},
        )
    )
    crash = next(quantity for quantity in document["spec"]["quantities"] if quantity["name"] == CRASH_DOWNTIME)
    crash.update(changes)
    return document


@pytest.fixture
def deceived(healthy: Team, operators: Operators) -> Iterator[Team]:
    """The healthy team, whose policy applies what is better, and a model that a tenant wrote.

    Operators read models when they begin to lead.
    """
    operators.stop()
    healthy.apply(json.dumps(forged(healthy)))
    healthy.apply_policy(healthy.name, mode="Apply")
    yield healthy
    healthy.delete_policy()
    healthy.kubectl("delete", "cgm", "--all", f"--namespace={healthy.namespace}")
    operators.stop()


@pytest.mark.row("B4")
def test_a_forged_model_writes_nothing_into_a_healthy_group(deceived: Team, operators: Operators) -> None:
    """It may be recommended by half; what is written needs the group's own record, of half an hour and more."""
    before = deceived.get("deployments", deceived.name)["spec"]["template"]
    operator = operators.get()
    wait_until(
        lambda: deceived.status().get("verdict") in {"Healthy", "Unproven", "Change"},
        part="operator",
        what="a verdict that the model is part of",
        timeout_s=150,
    )
    await_cycles(operator, 4)
    status = deceived.status()
    assert status["model"]["source"] == "Model", status
    now = durations.parse(status["current"]["sessionTimeout"])
    target = (status.get("recommendation") or {}).get("target") or status["current"]
    assert durations.parse(target["sessionTimeout"]) >= now / 2
    assert deceived.get("deployments", deceived.name)["spec"]["template"] == before


@pytest.mark.row("B4")
@pytest.mark.parametrize(
    "changes",
    [
        {"rate": {"mean": "2000", "upper": "2000"}},
        {"rate": {"mean": "5", "upper": "1"}},
        {"groupDays": "5000"},
        {"duration": {"meanLog": "19", "sdLog": "1", "worth": "5"}},
    ],
    ids=["crashes without a pause", "a bound below the mean", "more days than there are", "downtimes of years"],
)
def test_the_api_server_refuses_what_no_group_is_like(healthy: Team, changes: dict[str, Any]) -> None:
    """By the schema and its rules; the operator refuses the same where no schema did."""
    document = forged(healthy, **changes)
    with pytest.raises(SandboxError, match=r"(?s)invalid|Invalid"):
        healthy.apply(json.dumps(document))
    with pytest.raises(model_documents.InvalidModelError, match="cannot be used"):
        model_documents.model_of(document)


@pytest.mark.row("B9")
def test_a_flood_of_models_costs_another_namespace_nothing(places: ControlPlane) -> None:
    """What policies ask for is there, whoever wrote how many; of the rest so many are kept, and the log says so."""
    today = datetime.now(UTC)
    flood = [
        fitted.model(namespace="evil", group=f"flood-{number}", fitted_at=today - timedelta(seconds=number))
        for number in range(FLOOD)
    ]
    oldest = ("evil", f"flood-{FLOOD - 1}")
    mine = ("victim", "orders")
    with structlog.testing.capture_logs() as logs:
        found, took_s = stored(places, [*flood, fitted.model(namespace="victim")], {mine, oldest})
    assert {mine, oldest} <= found.keys()
    assert sum(1 for namespace, _ in found if namespace == "evil") == SPARE + 1
    assert took_s < 20
    (report,) = [log for log in logs if log.get("namespace") == "evil"]
    assert report["left_out"] == FLOOD - SPARE - 1
