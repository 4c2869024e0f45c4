from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import pytest

from sandbox import scenario
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.fake_prometheus import EMPTY, Answer, FakePrometheus, one_sample, success
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(300), pytest.mark.faults]

CYCLES: Final = 2
TEN_MINUTES_S: Final = 600.0


@dataclass(frozen=True)
class Wrong:
    """A way in which Prometheus can fail.

    Attributes:
        answer: what it says about a group.
        reason: what the policy must say.
        words: part of the sentence.
    """

    answer: Callable[[str], Answer]
    reason: str
    words: str


WRONG: Final = {
    "503": Wrong(lambda _: (503, "upstream is down"), "PrometheusUnreachable", "answered 503 (upstream is down)"),
    "no-json": Wrong(lambda _: (200, "<html>log in</html>"), "PrometheusUnreachable", "no JSON"),
    "no-result": Wrong(lambda _: success({"resultType": "matrix"}), "PrometheusUnreachable", "an invalid matrix"),
    "no-sample": Wrong(
        lambda group: success(one_sample(group, value="many")), "PrometheusUnreachable", "an invalid matrix"
    ),
    "partial": Wrong(lambda _: success(EMPTY, warnings=["one store is away"]), "PartialData", "one store is away"),
    "empty": Wrong(lambda _: success(EMPTY), "NoSeries", "no series of group"),
    "nan": Wrong(lambda group: success(one_sample(group, value="NaN")), "NotANumber", "are no numbers"),
    "stale": Wrong(
        lambda group: success(one_sample(group, value="7", age_s=TEN_MINUTES_S)), "Stale", "the newest sample of group"
    ),
}


@pytest.fixture(scope="module")
def fake() -> Iterator[FakePrometheus]:
    """A Prometheus that lies."""
    with FakePrometheus() as started:
        yield started


@pytest.fixture(autouse=True)
def _no_lie_outlives_its_test(fake: FakePrometheus) -> None:
    """Begin with an answer that finds nothing."""
    fake.answer = lambda: success(EMPTY)


@pytest.fixture
def operator(operators: Operators, fake: FakePrometheus) -> Operator:
    """The operator that believes it."""
    return operators.get(prometheus_url=f"http://{LOOPBACK}:{fake.port}")


@pytest.fixture
def eager(storming: Team, operator: Operator) -> Iterator[Team]:
    """The storming team with a new policy in mode Apply: nothing but metrics is between it and its cure."""
    assert operator.process.alive()  # before the policy is there: an operator that knows better would cure it
    storming.apply_policy(storming.name, mode="Apply")
    yield storming
    storming.delete_policy()
    await_cycles(operator, CYCLES)  # in which what was read for it is forgotten


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_answer_changes_nothing(fake: FakePrometheus, eager: Team, operator: Operator, wrong: Wrong) -> None:
    """An answer that is no evidence is told with the query that was tried, and nothing is written."""
    began = datetime.now(UTC)
    fake.answer = lambda: wrong.answer(eager.name)

    found = eager.await_condition("MetricsAvailable", wrong.reason, status="False")
    wait_until(
        lambda: wrong.words in scenario.condition(eager.policy(eager.name), "MetricsAvailable")["message"],
        part=eager.name,
        what=f"the words {wrong.words!r}",
        timeout_s=30,
    )
    await_cycles(operator, CYCLES)

    assert 'tried {__name__=~"kafka' in found["message"]
    assert eager.name in found["message"].replace("\\", "")
    assert not eager.operator_writes("deployments", since=began)
    assert eager.status()["verdict"] == "Unknown"
