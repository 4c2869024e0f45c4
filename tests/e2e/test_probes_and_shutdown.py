import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.environment import OPERATOR_USER, Sandbox
from sandbox.network import LOOPBACK, free_ports
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.scenario import Operator
from tests.e2e.fake_prometheus import FakePrometheus
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(200)

END_WITHIN_S = 10.0


@pytest.fixture
def watched(storming: Team) -> Iterator[Team]:
    """The storming team, whose policy is deleted afterwards."""
    yield storming
    storming.delete_policy()


def run(config: Path, kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    """Run the operator until it ends by itself."""
    return subprocess.run(
        [sys.executable, "-m", "heartbeat_tuner", "run", "--config", config],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def configuration(**changes: object) -> str:
    """Return a configuration file that fits, with sections replaced."""
    document = {
        "prometheus": {"url": f"http://{LOOPBACK}:1"},
        "kafka": {"clusters": {"main": {"bootstrapServers": f"{LOOPBACK}:1"}}},
        "http": dict(zip(("port", "probePort"), free_ports(2), strict=True)) | {"address": LOOPBACK},
        "leaderElection": {"namespace": "default"},
    }
    return yaml.safe_dump({**document, **changes})


def end(operator: Operator) -> tuple[int | None, float, list[str]]:
    """Ask an operator to end; return its exit status, how long it took, and the events it logged."""
    already = len(operator.log.read_text().splitlines())
    began = time.monotonic()
    operator.process.stop(grace_s=30)
    took_s = time.monotonic() - began
    lines = operator.log.read_text().splitlines()[already:]
    return operator.process.returncode(), took_s, [json.loads(line)["event"] for line in lines if line.startswith("{")]


def test_probes_and_metrics_answer(operator: Operator) -> None:
    """The operator says that it is alive and ready, and what it does."""
    metrics = operator.page("/metrics")

    assert operator.page("/healthz") == "ok\n"
    assert operator.page("/readyz") == "ok\n"
    assert 'heartbeat_tuner_policies{verdict="Healthy"}' in metrics
    assert 'heartbeat_tuner_writes_total{target="workload"}' in metrics
    assert "heartbeat_tuner_prometheus_requests_total" in metrics


def test_sigterm_ends_it_in_good_order(operator: Operator, operators: Operators) -> None:
    """SIGTERM ends an idle operator soon, with status 0 and a last line."""
    code, took_s, events = end(operator)
    operators.stop()

    assert code == 0
    assert took_s < END_WITHIN_S
    assert events[-1:] == ["stopped"]


def test_sigterm_does_not_wait_for_prometheus(watched: Team, operators: Operators) -> None:
    """SIGTERM ends an operator in good order though Prometheus lets it wait."""
    with FakePrometheus() as fake, FaultProxy(LOOPBACK, fake.port) as wire:
        operator = operators.get(prometheus_url=f"http://{LOOPBACK}:{wire.port}")
        wire.black_hole()
        watched.apply_policy(watched.name, mode="Recommend")
        watched.await_condition("MetricsAvailable", "PrometheusUnreachable")
        lines = [json.loads(line) for line in operator.log.read_text().splitlines() if line.startswith("{")]

        code, took_s, events = end(operator)
        operators.stop()

    assert code == 0
    assert took_s < END_WITHIN_S
    assert events[-1:] == ["stopped"]
    # Whoever reads the log sees which address does not answer; the status, which tenants read, does not have it.
    asked = [line["prometheus"] for line in lines if line["event"] == "started"]
    assert asked[-1] == f"http://{LOOPBACK}:{wire.port}"  # the log has the operators of the tests before, too
    assert not any(str(wire.port) in str(line.get("message")) for line in lines)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (configuration(prometheus={"url": "prometheus:9090"}), "prometheus.url: write http://prometheus:9090 or https"),
        (configuration(period="60s"), "period: there is no such field"),
        (configuration(interval="1 minute"), "interval: '1 minute' is not a duration"),
        ("kafka: [", "is no YAML"),
        ("", "(whole file)"),
        (None, "cannot be read: No such file or directory"),
    ],
    ids=["url", "unknown-field", "duration", "no-yaml", "empty", "no-file"],
)
def test_wrong_configuration_is_told_in_a_sentence(
    sandbox: Sandbox, tmp_path: Path, text: str | None, sentence: str
) -> None:
    """An operator with a configuration that does not fit ends with status 2 and says what is wrong where."""
    config = tmp_path / "config.yaml"
    if text is not None:
        config.write_text(text)

    done = run(config, sandbox.control_plane.kubeconfig_for(OPERATOR_USER))

    assert done.returncode == 2
    assert str(config) in done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_definition_is_told_in_a_sentence(tmp_path: Path) -> None:
    """On a cluster without the CustomResourceDefinition the operator ends with status 2 and says how to install it."""
    config = tmp_path / "config.yaml"
    config.write_text(configuration())
    with ControlPlane(tmp_path, Binaries()) as plane:
        done = run(config, plane.kubeconfig)

    assert done.returncode == 2
    assert "install them first: kubectl apply -f crds/" in done.stderr
    assert "Traceback" not in done.stderr


def test_unreachable_api_server_is_told_in_a_sentence(sandbox: Sandbox, tmp_path: Path) -> None:
    """Without an API server the operator ends with status 2 and says whom it asked."""
    config, kubeconfig = tmp_path / "config.yaml", tmp_path / "kubeconfig"
    config.write_text(configuration())
    document = sandbox.control_plane.kubeconfig_for(OPERATOR_USER).read_text()
    kubeconfig.write_text(document.replace(sandbox.control_plane.url, f"https://{LOOPBACK}:{free_ports(1)[0]}"))

    done = run(config, kubeconfig)

    assert done.returncode == 2
    assert "the API server did not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_suspended_policy_writes_nothing(watched: Team, operator: Operator) -> None:
    """A suspended policy recommends and applies nothing, and says so."""
    began = datetime.now(UTC)
    watched.apply_policy_spec(mode="Apply", suspend=True)

    found = watched.await_condition("Applied", "Suspended", status="False")
    assert "spec.suspend is true" in found["message"]
    wait_until(lambda: watched.status().get("verdict") == "Change", part="operator", what="a verdict", timeout_s=60)
    await_cycles(operator, 2)
    assert not watched.operator_writes("deployments", since=began)


def test_unreachable_kafka_changes_nothing(watched: Team, operators: Operators) -> None:
    """Without an answer from Kafka the policy is not ready, names the cluster, and nothing is written."""
    began, nowhere = datetime.now(UTC), f"{LOOPBACK}:{free_ports(1)[0]}"
    operator = operators.get(bootstrap=nowhere)
    watched.apply_policy(watched.name, mode="Apply")

    found = watched.await_condition("Ready", "ClusterUnreachable", status="False")
    await_cycles(operator, 1)
    code, took_s, events = end(operator)
    operators.stop()

    assert f"Kafka cluster main ({nowhere}) did not answer" in found["message"]
    assert not watched.operator_writes("deployments", since=began)
    assert "cycle failed" not in operator.log.read_text()
    assert (code, events[-1:]) == (0, ["stopped"])
    assert took_s < END_WITHIN_S
