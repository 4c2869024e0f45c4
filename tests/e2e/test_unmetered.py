"""A group whose client library exports nothing: the operator's group watcher sees its evictions, and they are cured."""

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Final

import pytest

from sandbox import request_log, scenario
from sandbox.environment import Sandbox
from sandbox.request_log import JoinGroup, Record, RequestLog
from sandbox.scenario import Operator
from tests.e2e.operators import await_cycles
from tests.e2e.teams import Team
from tests.lab import rows

pytestmark = pytest.mark.timeout(600)

_HERE: Final = Path(__file__).parent
PAUSE_S: Final = 10.0
BETWEEN_PAUSES_S: Final = 6.0
MOST_PAUSES: Final = 14
SETTLING_S: Final = 10.0
LIBRARY: Final = "kafka-python"


@pytest.fixture
def unmetered(sandbox: Sandbox, operator: Operator) -> Iterator[Team]:
    """Two kafka-python consumers under a session of 6 s, with a policy in mode Apply; only the operator is scraped."""
    sandbox.prometheus.scrape_too("operator", operator.metrics_port, namespace="monitoring")
    team = Team(sandbox, "unmetered")
    team.create()
    sandbox.kafka.create_topic(team.name, scenario.PARTITIONS)
    interpreter, program = next(row for row in rows.ROWS if row.client == LIBRARY).command()
    command = [interpreter, str(_HERE / "bound_consumer.py"), program]
    manifest = (_HERE / "unmetered-consumer.yaml").read_text()
    team.apply(
        Template(manifest).substitute(name=team.name, command=json.dumps(command), bootstrap=sandbox.kafka.bootstrap)
    )
    team.await_available(team.name)
    team.apply_policy(team.name, mode="Apply", library=LIBRARY)
    yield team
    team.delete()


def counted(team: Team, certainty: str) -> int:
    """Return what the group watcher counted of all pods that the team had."""
    selector = f'namespace="{team.namespace}",certainty="{certainty}"'
    query = f"sum(max_over_time(heartbeat_tuner_group_evictions_total{{{selector}}}[15m]))"
    url = f"{team.sandbox.prometheus.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - the sandbox's own Prometheus
        found = json.load(answer)["data"]["result"]
    return int(float(found[0]["value"][1])) if found else -1


def removed(records: Sequence[Record], group_id: str, since_s: float, until_s: float) -> list[str]:
    """Return the members that the coordinator removed in a window: their clients joined under new ids, without leaving.

    Who was silent for its session asks to join at once, so no heartbeat of it is refused.
    """
    left = request_log.left(records, group_id, 0.0, until_s)
    joins = [
        record
        for record in records
        if isinstance(record, JoinGroup) and (record.group_id, record.error_code) == (group_id, request_log.NONE)
    ]
    ids: dict[str, str] = {}
    found: list[str] = []
    for join in sorted(joins, key=lambda join: join.arrival_s):
        before = ids.get(join.client_id, join.member_id)
        if before != join.member_id and before not in left and since_s <= join.arrival_s < until_s:
            found.append(before)
        ids[join.client_id] = join.member_id
    return found


def pause_one(team: Team, number: int) -> None:
    """Let the process of one pod stand still for longer than its session."""
    with team.sandbox.node.paused(team.namespace, team.pods()[number % 2]):
        time.sleep(PAUSE_S)
    time.sleep(BETWEEN_PAUSES_S)


def test_evictions_of_consumers_without_metrics_are_seen_and_cured(unmetered: Team, operator: Operator) -> None:
    """A rollout and a scale step are none; processes that stand still for 10 s under S = 6 s are, until S is raised."""
    log = RequestLog(unmetered.sandbox.kafka.request_log)
    for replicas in (3, 2):
        unmetered.kubectl(
            "scale", "deployment", unmetered.name, f"--namespace={unmetered.namespace}", f"--replicas={replicas}"
        )
        unmetered.await_available(unmetered.name)
    unmetered.kubectl("rollout", "restart", "deployment", unmetered.name, f"--namespace={unmetered.namespace}")
    unmetered.await_available(unmetered.name)
    time.sleep(SETTLING_S)
    await_cycles(operator, 3)
    assert (counted(unmetered, "certain"), counted(unmetered, "doubtful")) == (0, 0)

    began_s = time.time()
    for number in range(MOST_PAUSES):
        pause_one(unmetered, number)
        if "applied" in unmetered.status():
            break
    unmetered.await_rolled_out()
    unmetered.await_available(unmetered.name)
    time.sleep(SETTLING_S)
    cured_s, seen = time.time(), counted(unmetered, "certain")
    for number in range(3):
        pause_one(unmetered, number)
    time.sleep(SETTLING_S)

    records = log.read_new()
    true = removed(records, unmetered.name, began_s, cured_s)
    assert len(true) >= 3
    assert abs(seen - len(true)) <= 1
    assert removed(records, unmetered.name, cured_s, time.time()) == []
    assert counted(unmetered, "certain") == seen
    status = unmetered.status()
    assert status["applied"]["previous"]["sessionTimeout"] == "6s"
    assert int(unmetered.env()["KAFKA_SESSION_TIMEOUT_MS"]) >= 2 * 6_000
    assert "Danger" in {reason for _, reason, _ in unmetered.events()}
