"""From days in a Prometheus to the status that names the model: the fit as a process, on real parts all the way."""

import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from bench import fit_truth, fit_world
from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.metrics.measured import ABSENCE
from sandbox import forked_commands
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.fleet import KAFKAJS, GroupTruth, fleet
from sandbox.prometheus import Prometheus
from tests.e2e.operators import Operators
from tests.e2e.teams import Team
from tests.support import java

pytestmark = pytest.mark.timeout(600)

GROUPS: Final = 12
DAYS: Final = 2


@pytest.fixture(autouse=True)
def _quick_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let Spark's Java start quickly, as in the ring spark."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", java.options(tmp_path))


@pytest.fixture
def truths(healthy: Team) -> list[GroupTruth]:
    """Twelve groups in the healthy team's namespace; one of them is the team's own, as it was before today."""
    found = [dataclasses.replace(item, namespace=healthy.namespace) for item in fleet(GROUPS, kafkajs_share=0.25)]
    own = next(number for number, item in enumerate(found) if item.client == KAFKAJS)
    found[own] = dataclasses.replace(found[own], group=healthy.name)
    return found


@pytest.fixture
def remembering(truths: list[GroupTruth], tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus that has scraped them for two days and what there is of today."""
    made = fit_world.history(tmp_path / "history", truths, days=DAYS, interval_s=60)
    with Prometheus(tmp_path, Binaries(), kubeconfig=None, history=made.folder) as started:
        yield started


@pytest.fixture
def policy(healthy: Team, operators: Operators) -> Iterator[Team]:
    """The team with a policy; operators read models when they begin to lead."""
    operators.stop()
    healthy.apply_policy(healthy.name, mode="Recommend")
    yield healthy
    healthy.delete_policy()
    healthy.kubectl("delete", "cgm", "--all", f"--namespace={healthy.namespace}")
    operators.stop()


def test_days_of_history_become_a_model_that_a_status_names(
    policy: Team,
    truths: list[GroupTruth],
    remembering: Prometheus,
    operators: Operators,
    sandbox: Sandbox,
    tmp_path: Path,
) -> None:
    """A model for each group, near the truth where absences show whole; the next run has nothing to read or write."""
    first, again = (fit_world.fit(sandbox, remembering, tmp_path / "days", days=DAYS) for _ in range(2))
    assert (first["models"]["written"], first["models"]["failed"]) == (GROUPS, []), first
    assert (again["models"]["written"], again["models"]["unchanged"]) == (0, GROUPS), again

    fitted = fit_world.models_of(sandbox.control_plane)
    assert {item.group for item in fitted} == {truth.group for truth in truths}
    compared = {
        (comparison.quantity, comparison.rate): comparison for comparison in fit_truth.comparisons(truths, fitted)
    }
    absences = compared[ABSENCE, "1 a month"]
    assert absences.groups >= GROUPS / 2
    assert absences.ratios[0] > 0.5
    assert absences.ratios[1] == pytest.approx(1.0, abs=0.3)
    assert absences.ratios[2] < 2.0

    ModelFiles(tmp_path / "models").write(fitted)
    group = (
        "--group",
        policy.name,
        "--namespace",
        policy.namespace,
        "--client",
        "kafkajs",
        "--cluster",
        fit_world.CLUSTER,
    )
    options = ("--models", str(tmp_path / "models"), "--members", "3", "--partitions", "6", "-o", "json")
    for command in ("recommend", "explain", "simulate"):
        days = ("--days", "2") if command == "simulate" else ()
        done = forked_commands.run(command, *group, *options, *days)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert json.loads(done.stdout)["group"] == policy.name

    operators.get()
    policy.await_verdict("Healthy", "Unproven", timeout_s=150)
    model = policy.status()["model"]
    named = model_documents.name_of(policy.name, fit_world.CLUSTER)
    assert (model["source"], model["name"], model["days"]) == ("Model", named, DAYS)
    assert datetime.fromisoformat(model["until"]).date() < datetime.now(UTC).date()
