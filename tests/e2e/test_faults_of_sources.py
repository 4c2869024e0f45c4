"""What happens to Prometheus and the broker: nothing is decided on what is not known, and what is known goes on."""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.kafka import Kafka
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.scenario import Operator
from tests.e2e import steered
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import INTERVAL_S, Operators, await_cycles
from tests.e2e.replicas import await_status, edit
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(240), pytest.mark.faults]

CYCLES: Final = 2
TIMEOUT_S: Final = 2.0
BEYOND_THE_TIMEOUT_S: Final = 2.5
CYCLE_S: Final = 15.0
"""No cycle may take longer, whatever is away: sources are asked at the same time, each no more than a few times."""

_CYCLE_SECONDS: Final = re.compile(r"^heartbeat_tuner_cycle_duration_seconds_(sum|count) (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Wires:
    """The operator's wires to its sources; cluster `direct` is the same broker on a wire that stays good."""

    prometheus: FaultProxy
    broker: FaultProxy


@pytest.fixture(scope="module")
def wires(sandbox: Sandbox) -> Iterator[Wires]:
    """Good wires."""
    target = urlsplit(sandbox.prometheus.url)
    assert target.port is not None
    with (
        FaultProxy(LOOPBACK, target.port) as prometheus,
        FaultProxy(*sandbox.kafka.tap_target, listen_port=sandbox.kafka.tap_port) as broker,
    ):
        yield Wires(prometheus, broker)


@pytest.fixture
def operator(sandbox: Sandbox, operators: Operators, wires: Wires) -> Iterator[Operator]:
    """The operator that reads through them; they are good again afterwards."""
    operators.stop()
    with Operator(
        sandbox,
        interval_s=INTERVAL_S,
        prometheus_url=f"http://{LOOPBACK}:{wires.prometheus.port}",
        bootstrap=f"{LOOPBACK}:{wires.broker.port}",
        source_timeout_s=TIMEOUT_S,
    ) as started:
        yield started
    wires.prometheus.heal()
    wires.broker.heal()


def _slow(wire: FaultProxy) -> None:
    wire.delay(BEYOND_THE_TIMEOUT_S)


FAULTS: Final[dict[str, Callable[[FaultProxy], None]]] = {
    "cut": FaultProxy.cut,
    "slow": _slow,
    "half-open": FaultProxy.half_open,
}


def cycle_s(operator: Operator) -> tuple[float, float]:
    """Return how many seconds all cycles took so far, and how many they were."""
    found = dict(_CYCLE_SECONDS.findall(operator.page("/metrics")))
    return float(found["sum"]), float(found["count"])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_source_out_of_reach(
    operator: Operator, wires: Wires, storming: Team, new_team: NewTeam, fault: Callable[[FaultProxy], None]
) -> None:
    """First the broker, then Prometheus too, then Prometheus alone: each is told, nothing is written, all heals."""
    bystander = new_team("bystander")
    with steered.frozen(storming):
        steered.recommend(storming)
        took_s, cycles = cycle_s(operator)

        fault(wires.broker)
        storming.await_condition("Ready", "ClusterUnreachable", status="False")
        steered.switch_to_apply(storming)
        bystander.apply_policy_spec()
        await_status(bystander)
        assert "Kafka cluster main" in storming.await_condition("Ready", "ClusterUnreachable")["message"]

        fault(wires.prometheus)
        await_cycles(operator, 1)  # one that is under way may have its metrics already
        wires.broker.heal()
        found = storming.await_condition("MetricsAvailable", "PrometheusUnreachable", status="False")
        assert 'tried {__name__=~"kafka' in found["message"]
        edit(bystander, 1)
        await_status(bystander)
        await_cycles(operator, CYCLES)
        assert storming.status()["verdict"] == "Unknown"
        assert steered.CURE.items().isdisjoint(storming.env().items())
        long_s, more = cycle_s(operator)
        assert (long_s - took_s) / (more - cycles) < CYCLE_S

        wires.prometheus.heal()
        steered.await_applied(storming)


def test_restarts_of_the_broker_and_of_prometheus(
    sandbox: Sandbox, operators: Operators, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each is told while it is away; what they know afterwards counts, and a healthy group is left alone throughout."""
    operators.stop()
    elsewhere = copy.copy(sandbox)
    with Kafka(tmp_path_factory.mktemp("restarted")) as elsewhere.kafka:
        team = Team(elsewhere, "restarted")
        team.create()
        try:
            team.deploy(scenario.HEALTHY, replicas=1)
            with Operator(elsewhere, interval_s=INTERVAL_S) as operator:
                team.apply_policy(team.name, mode="Apply")
                team.await_condition("MetricsAvailable", "Fresh", status="True")

                elsewhere.kafka.stop()
                team.await_condition("Ready", "ClusterUnreachable", status="False")
                elsewhere.kafka.start()
                team.await_condition("Ready", "Watching", status="True", timeout_s=90)

                sandbox.prometheus.stop()
                team.await_condition("MetricsAvailable", "PrometheusUnreachable", status="False")
                sandbox.prometheus.start()
                team.await_condition("MetricsAvailable", "Fresh", status="True")
                team.await_verdict("Unproven")
                await_cycles(operator, CYCLES)
                assert team.operator_writes("deployments") == []
        finally:
            team.delete()
            wait_until(lambda: not team.pods(), part=team.name, what="the pods' end")
