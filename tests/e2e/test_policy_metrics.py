"""What a running operator's own page says of policies: while they are there, and no longer."""

import subprocess
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from heartbeat_tuner.domain.exposed import PREFIX
from sandbox.binaries import Binaries
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def watched(storming: Team) -> Iterator[Team]:
    """The storming team with a policy that only recommends; it is deleted afterwards."""
    storming.apply_policy(storming.name, mode="Recommend")
    yield storming
    storming.kubectl("delete", "cgp", storming.name, f"--namespace={storming.namespace}", "--ignore-not-found")


Series = dict[tuple[str, tuple[str, ...]], float]


def series_of(team: Team, operator: Operator) -> Series:
    """Return a policy's series: by name without the prefix, and values of the labels that not all of them have."""
    found: Series = {}
    for family in text_string_to_metric_families(operator.page("/metrics")):
        for sample in family.samples:
            if sample.name.startswith(PREFIX) and sample.labels["policy"] == team.name:
                others = (
                    value for label, value in sorted(sample.labels.items()) if label not in {"namespace", "policy"}
                )
                assert sample.labels["namespace"] == team.namespace
                found[sample.name.removeprefix(PREFIX), tuple(others)] = sample.value
    return found


def test_a_policy_has_its_series_while_it_is_there(watched: Team, operator: Operator) -> None:
    """Of a storm: what is set, what would cure it, what holds that back, what was seen; and nothing after its end."""
    watched.await_verdict("Change")
    held = ("blocked", ("RecommendMode",))
    wait_until(lambda: held in series_of(watched, operator), part=watched.name, what="its series", timeout_s=60)
    found = series_of(watched, operator)
    assert found["session_timeout_seconds", ("set",)] == 1.0
    assert found["fetch_wait_seconds", ("set",)] == 5.0
    assert found["session_timeout_seconds", ("recommended",)] == 30.0
    assert found["decision", ("CadenceExceedsSession", "Change")] == 1.0
    assert found["condition", ("Fresh", "True", "MetricsAvailable")] == 1.0
    assert found[held] == 1.0
    assert found["record_seconds", ()] > 0
    assert found["model_used", ()] == 0.0
    assert not [name for name, _ in found if "expected" in name or "last_applied" in name]

    def rebalances() -> bool:
        """Whether some were counted: a group is given time to settle first."""
        return series_of(watched, operator).get(("record_rebalances", ()), 0.0) > 0

    wait_until(rebalances, part="operator", what="a rebalance of the storm", timeout_s=90)
    watched.delete_policy()
    wait_until(lambda: not series_of(watched, operator), part="operator", what="the end of its series", timeout_s=90)


def test_the_page_is_as_prometheus_wants_it(watched: Team, operator: Operator) -> None:
    """Names, units and help, by its own linter."""
    watched.await_verdict("Change")
    promtool = Binaries().path("promtool")
    done = subprocess.run(
        [str(promtool), "check", "metrics"],
        input=operator.page("/metrics"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
