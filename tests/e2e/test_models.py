"""A fitted model, from its object to the status that names it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.domain import durations
from heartbeat_tuner.metrics.measured import ABSENCE, CRASH_DOWNTIME
from heartbeat_tuner.tails.rates import Duration, Rate
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.teams import Team
from tests.support import fitted

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def modelled(healthy: Team, operators: Operators) -> Iterator[Team]:
    """The healthy team with a model that was fitted last night: a member crashes once in five days, and is soon back.

    Operators read models when they begin to lead.
    """
    operators.stop()
    now = datetime.now(UTC)
    crashes = fitted.quantity(values=8, rate=Rate(0.2, 0.3), duration=Duration(3.0, 0.4, 8.0))
    model = fitted.model(
        namespace=healthy.namespace,
        group=healthy.name,
        since=now.date() - timedelta(days=14),
        until=now.date() - timedelta(days=1),
        fitted_at=now,
        quantities={ABSENCE: fitted.quantity(), CRASH_DOWNTIME: crashes},
    )
    healthy.apply(json.dumps(model_documents.document_of(model)))
    healthy.apply_policy(healthy.name, mode="Recommend")
    yield healthy
    healthy.delete_policy()
    healthy.kubectl("delete", "cgm", "--all", f"--namespace={healthy.namespace}")
    operators.stop()


def test_a_status_names_the_model_that_was_asked(modelled: Team, operators: Operators) -> None:
    """What it expects and recommends stands in the status, and nothing is written while nothing happens."""
    operator = operators.get()
    modelled.await_verdict("Change", timeout_s=150)
    await_cycles(operator, 1)
    since, status = datetime.now(UTC), modelled.status()
    await_cycles(operator, 5)

    yesterday = (datetime.now(UTC).date() - timedelta(days=1)).isoformat()
    model = status["model"]
    assert (model["source"], model["name"], model["days"]) == ("Model", modelled.name, 14)
    assert model["until"] in {yesterday, (datetime.now(UTC).date() - timedelta(days=2)).isoformat()}
    assert "expects evictions a month: " in model["message"]
    said = {condition["type"]: condition for condition in status["conditions"]}
    assert said["Recommended"]["reason"] == "Cheaper"
    assert model["message"] not in said["Recommended"]["message"]
    assert (said["ObjectiveMet"]["status"], said["ObjectiveMet"]["reason"]) == ("True", "WithinObjective")
    predicted, recommendation = status["predicted"], status["recommendation"]
    assert float(predicted["recommended"]["stalledPartitionSecondsPerDay"]) < float(
        predicted["current"]["stalledPartitionSecondsPerDay"]
    )
    band = [durations.parse(recommendation[side]) for side in ("lower", "upper")]
    assert band[0] <= durations.parse(recommendation["target"]["sessionTimeout"]) <= band[1]
    assert modelled.status() == status
    assert not modelled.operator_writes("consumergrouppolicies", since=since)
