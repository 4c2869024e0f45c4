"""A broker for the whole session, and pods of KafkaJS consumers on it."""

import itertools
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import network
from sandbox.consumers import kafkajs_command
from sandbox.kafka import Kafka
from sandbox.processes import Process
from sandbox.proxy import FaultProxy

_hosts = itertools.count(1)


@dataclass(frozen=True)
class Pod:
    """A running consumer, as a pod on a cluster would be one."""

    process: Process
    name: str
    ip: str
    metrics_port: int

    def get(self, path: str) -> str:
        """Return what the pod answers at `path`."""
        with urllib.request.urlopen(f"http://{self.ip}:{self.metrics_port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def is_ready(self) -> bool:
        """Whether the pod's readiness probe would succeed."""
        try:
            self.get("/readyz")
        except OSError:
            return False
        return True


StartPod = Callable[..., Pod]


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
    """Return a function that starts a consumer `name` of the group and topic `group`, with more environment."""
    metrics_port = network.free_ports(1)[0]
    with ExitStack() as pods:

        def start(name: str, group: str, **environment: object) -> Pod:
            pod_ip = f"127.9.{next(_hosts) % 250}.7"
            env = {
                "PATH": os.environ["PATH"],
                "KAFKA_BROKERS": kafka.bootstrap,
                "KAFKA_GROUP_ID": group,
                "KAFKA_TOPIC": group,
                "KAFKA_CLIENT_ID": name,
                "POD_IP": pod_ip,
                "METRICS_PORT": str(metrics_port),
            } | {variable: str(value) for variable, value in environment.items()}
            process = Process(name, kafkajs_command(), log=tmp_path / f"{name}.log", env=env)
            return Pod(pods.enter_context(process), name, pod_ip, metrics_port)

        yield start
