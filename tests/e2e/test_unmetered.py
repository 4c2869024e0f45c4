"""A group whose client library exports nothing: the operator's group watcher sees its evictions, and they are cured."""

from collections.abc import Iterator
from typing import Final

import pytest

from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.lab import rows
from tests.unmetered.trial import Trial

pytestmark = pytest.mark.timeout(600)

MOST_PAUSES: Final = 14
LIBRARY: Final = "kafka-python"


@pytest.fixture
def trial(sandbox: Sandbox, operator: Operator) -> Iterator[Trial]:
    """Two kafka-python consumers under a session of 6 s, with a policy in mode Apply; only the operator is scraped."""
    sandbox.prometheus.scrape_too("operator", operator.metrics_port, namespace="monitoring")
    made = Trial(sandbox, next(row for row in rows.ROWS if row.client == LIBRARY))
    made.deploy()
    yield made
    made.team.delete()


def test_evictions_of_consumers_without_metrics_are_seen_and_cured(trial: Trial, operator: Operator) -> None:
    """A rollout and a scale step are none; processes that stand still for 10 s under S = 6 s are, until S is raised."""
    outcome = trial.run(operator, most_pauses=MOST_PAUSES)
    assert outcome.doubtful == 0
    assert outcome.ok, outcome
    assert trial.team.status()["applied"]["previous"]["sessionTimeout"] == "6s"
    assert int(trial.team.env()["KAFKA_SESSION_TIMEOUT_MS"]) >= 2 * 6_000
    assert "Danger" in {reason for _, reason, _ in trial.team.events()}
