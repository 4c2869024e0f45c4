"""The tutorial's commands, typed on a real API server as the page has them; nothing hangs at its end."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from heartbeat_tuner.api import parsing
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.processes import wait_until
from tests.chart.test_monitoring import run
from tests.support import yaml_texts
from tests.support.documents import CHECKOUT, code_blocks

pytestmark = pytest.mark.timeout(300)

PAGE: Final = "docs/tutorial.md"
MANIFEST: Final = CHECKOUT / "docs" / "tutorial.yaml"
CONSUMER: Final = CHECKOUT / "sandbox" / "consumers" / "kafkajs" / "consumer.js"
NAMESPACES: Final = {"kafka", "monitoring", "shop", "heartbeat-tuner"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of this module's own: definitions come and go."""
    with ControlPlane(tmp_path_factory.mktemp("tutorial"), Binaries()) as started:
        yield started


@pytest.fixture
def shell(plane: ControlPlane, tmp_path: Path) -> Mapping[str, str]:
    """The environment of a person who follows the page."""
    (tmp_path / "kubectl").symlink_to(plane.kubectl_path)
    (tmp_path / "helm").symlink_to(Binaries().path("helm"))
    (tmp_path / "kubeconfig").write_text(plane.kubeconfig.read_text())
    homes = {name: str(tmp_path / name) for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}
    return {
        **os.environ,
        **homes,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
    }


def typed(command: str, shell: Mapping[str, str]) -> str:
    """Return what a documented block says; it must end well, and soon."""
    done = subprocess.run(
        ["bash", "-ec", command],
        env=dict(shell),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def namespaces(plane: ControlPlane) -> set[str]:
    """Return which of the tutorial's namespaces there are."""
    return NAMESPACES & set(plane.kubectl("get", "namespaces", "--output=name").replace("namespace/", "").split())


def manifest(kind: str, name: str) -> Any:
    """Return an object of the tutorial's manifest."""
    documents = yaml_texts.documents(MANIFEST.read_text())
    return next(document for document in documents if (document["kind"], document["metadata"]["name"]) == (kind, name))


def test_the_page_s_commands_work_from_first_to_last(plane: ControlPlane, shell: Mapping[str, str]) -> None:
    """What is made is there, what is asked is shown, and at the end nothing of it is left."""
    *blocks, remove = code_blocks(PAGE, "shell")
    for block in blocks:
        said = typed(block, shell)
        if "helm" in block:
            plane.await_definitions()
            assert "NOTES:" in said
    policy = yaml_texts.document(plane.kubectl("get", "cgp", "orders", "--namespace=shop", "--output=yaml"))
    asked = parsing.policy_of(policy)
    assert (asked.group_id, asked.mode.value, asked.workload.key.name) == ("orders", "Apply", "orders-consumer")
    (image,) = plane.kubectl(
        "get", "deployment", "heartbeat-tuner", "--namespace=heartbeat-tuner",
        "--output=jsonpath={.spec.template.spec.containers[*].image}",
    ).split()  # fmt: skip
    assert image == "heartbeat-tuner:tutorial"
    assert "consumer.js" in plane.kubectl("get", "cm", "orders-consumer-source", "--namespace=shop", "--output=yaml")
    assert namespaces(plane) == NAMESPACES

    typed(remove, shell)
    wait_until(lambda: not namespaces(plane), part="tutorial", what="the namespaces' end", timeout_s=120)
    left = plane.kubectl("get", "crd,clusterrole,clusterrolebinding", "--output=name")
    assert "heartbeat-tuner" not in left
    assert "tutorial" not in left


ORDERS: Final = {
    "namespaces first": ["namespaces", "release", "definitions"],
    "definitions first": ["definitions", "namespaces", "release"],
    "release first, definitions last": ["release", "namespaces", "definitions"],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_in_any_order_nothing_hangs(plane: ControlPlane, shell: Mapping[str, str], order: list[str]) -> None:
    """A policy is there meanwhile, and no pod of the operator runs any more that could let anything go."""
    commands = {
        "namespaces": "kubectl delete namespace heartbeat-tuner shop --timeout=90s",
        "release": "helm uninstall heartbeat-tuner --namespace heartbeat-tuner --ignore-not-found",
        "definitions": "kubectl delete crd --timeout=60s"
        " consumergrouppolicies.heartbeat-tuner.dev consumergroupmodels.heartbeat-tuner.dev",
    }
    _, install, policy, *_ = code_blocks(PAGE, "shell")
    typed("kubectl create namespace shop", shell)
    typed(install, shell)
    plane.await_definitions()
    typed(policy, shell)
    for step in order:
        typed(commands[step], shell)
    assert not namespaces(plane)
    assert "heartbeat-tuner" not in plane.kubectl("get", "crd", "--output=name")
    typed(
        "kubectl delete clusterrole,clusterrolebinding,mutatingwebhookconfiguration,"
        "validatingadmissionpolicy,validatingadmissionpolicybinding"
        " --selector app.kubernetes.io/name=heartbeat-tuner",
        shell,
    )


def test_its_prometheus_is_configured_as_prometheus_wants_it(promtool: Path, tmp_path: Path) -> None:
    """By its own check; the series bear the labels that the operator asks for."""
    text = manifest("ConfigMap", "prometheus")["data"]["prometheus.yml"]
    (tmp_path / "prometheus.yml").write_text(text)
    run(promtool, "check", "config", "--syntax-only", tmp_path / "prometheus.yml")
    (job,) = yaml_texts.document(text)["scrape_configs"]
    assert {"namespace", "pod"} <= {relabel_config.get("target_label") for relabel_config in job["relabel_configs"]}


def test_its_consumer_is_given_what_it_reads() -> None:
    """Each variable is one of the consumer's, and those that it cannot do without are there."""
    container = manifest("Deployment", "orders-consumer")["spec"]["template"]["spec"]["containers"][0]
    given = {item["name"] for item in container["env"]} | set(manifest("ConfigMap", "orders-consumer")["data"])
    source = CONSUMER.read_text()
    assert all(f"'{name}'" in source for name in given)
    assert {"KAFKA_BROKERS", "KAFKA_GROUP_ID", "KAFKA_TOPIC", "KAFKA_CLIENT_ID", "POD_IP", "METRICS_PORT"} <= given
