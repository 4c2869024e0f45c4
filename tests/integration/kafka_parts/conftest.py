"""A broker for the whole session, and pods of consumers on it."""

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from sandbox import commands, network
from sandbox.consumers import java_command, kafkajs_command
from sandbox.kafka import Kafka
from sandbox.processes import Process
from sandbox.proxy import FaultProxy
from tests.integration.kafka_parts.pods import Pod, StartPod

_LAB: Final = Path(__file__).parents[2] / "lab" / "consumers"

_hosts = itertools.count(1)


@pytest.fixture(scope="session")
def tap_proxy_port() -> int:
    """The port of the fault proxy before the broker."""
    return network.free_ports(1)[0]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, tap_proxy_port: int) -> Iterator[Kafka]:
    """Run a broker."""
    with Kafka(tmp_path_factory.mktemp("kafka"), tap_port=tap_proxy_port) as broker:
        yield broker


@pytest.fixture
def tap(kafka: Kafka, tap_proxy_port: int) -> Iterator[FaultProxy]:
    """Run a recording proxy before the broker's second listener."""
    with FaultProxy(*kafka.tap_target, listen_port=tap_proxy_port, record_kafka=True) as proxy:
        yield proxy


@pytest.fixture
def start_pod(kafka: Kafka, tmp_path: Path) -> Iterator[StartPod]:
    """Return a function that starts a KafkaJS consumer."""
    (port,) = network.free_ports(1)
    with ExitStack() as pods:

        def start(name: str, group: str, **environment: object) -> Pod:
            own = {"KAFKA_CLIENT_ID": name, "METRICS_PORT": port}
            pod_ip, env = _environment(kafka, group, own | environment)
            process = Process(name, kafkajs_command(), log=tmp_path / f"{name}.log", env=env)
            return Pod(pods.enter_context(process), name, pod_ip, port, port)

        yield start


@pytest.fixture
def start_java_pod(kafka: Kafka, tmp_path: Path) -> Iterator[StartPod]:
    """Return a function that starts a Java consumer."""
    metrics_port, probe_port = network.free_ports(2)
    with ExitStack() as pods:

        def start(name: str, group: str, **environment: object) -> Pod:
            pod_ip, env = _environment(kafka, group, {"PROBE_PORT": probe_port} | environment)
            command = java_command(address=pod_ip, metrics_port=metrics_port)
            process = Process(name, command, log=tmp_path / f"{name}.log", env=env)
            return Pod(pods.enter_context(process), name, pod_ip, metrics_port, probe_port)

        yield start


@pytest.fixture
def start_share_pod(kafka: Kafka, tmp_path: Path) -> Iterator[StartPod]:
    """Return a function that starts a Java consumer of a share group: the laboratory's, with the sandbox's jars."""
    (metrics_port,) = network.free_ports(1)
    sources = [_LAB / "java" / "ShareMember.java", _LAB / "Lab.java"]
    with ExitStack() as pods:

        def start(name: str, group: str, **environment: object) -> Pod:
            pod_ip, env = _environment(kafka, group, {"KAFKA_CLIENT_ID": f"consumer-{group}-1"} | environment)
            *options, jars, _main = java_command(address=pod_ip, metrics_port=metrics_port)
            if not (tmp_path / "ShareMember.class").exists():
                commands.run(name, "compiling it", ["javac", "-cp", jars, "-d", str(tmp_path), *map(str, sources)])
            command = [*options, f"{jars}:{tmp_path}", "ShareMember"]
            process = Process(name, command, log=tmp_path / f"{name}.log", env=env)
            return Pod(pods.enter_context(process), name, pod_ip, metrics_port, metrics_port)

        yield start


def _environment(kafka: Kafka, group: str, more: Mapping[str, object]) -> tuple[str, dict[str, str]]:
    """Return a new pod's address and its environment."""
    pod_ip = f"127.9.{next(_hosts) % 250}.7"
    env = {
        "PATH": os.environ["PATH"],
        "KAFKA_BROKERS": kafka.bootstrap,
        "KAFKA_GROUP_ID": group,
        "KAFKA_TOPIC": group,
        "POD_IP": pod_ip,
    }
    return pod_ip, env | {variable: str(value) for variable, value in more.items()}
