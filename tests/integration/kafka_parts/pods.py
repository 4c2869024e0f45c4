"""Running consumers of whatever library, and what a test asks them and their group."""

import re
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from sandbox.kafka import Kafka
from sandbox.processes import Process, wait_until


@dataclass(frozen=True)
class Pod:
    """A running consumer, as a pod on a cluster would be one."""

    process: Process
    name: str
    ip: str
    metrics_port: int
    probe_port: int

    def get(self, path: str) -> str:
        """Return what the pod answers at `path`."""
        port = self.metrics_port if path == "/metrics" else self.probe_port
        with urllib.request.urlopen(f"http://{self.ip}:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def is_ready(self) -> bool:
        """Whether the pod's readiness probe would succeed."""
        try:
            self.get("/readyz")
        except OSError:
            return False
        return True


StartPod = Callable[..., Pod]
"""Starts a consumer `name` of the group and topic `group`, with more environment."""


def await_ready(pods: list[Pod]) -> None:
    """Wait until every pod has joined its group once."""
    for pod in pods:
        wait_until(pod.is_ready, part=pod.name, what="readiness", process=pod.process)


def await_members(kafka: Kafka, group: str, count: int) -> None:
    """Wait until the group is stable with so many members."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})

    def stable() -> bool:
        described = admin.describe_consumer_groups([group])[group].result(10)
        return described.state.name == "STABLE" and len(described.members) == count

    wait_until(stable, part=group, what=f"{count} stable members")


def value(metrics: str, name: str, **labels: str) -> float:
    """Return the sum of a metric's series that carry the labels; there must be one."""
    wanted = [f'{label}="{expected}"' for label, expected in labels.items()]
    found = [
        float(line.rpartition(" ")[2])
        for line in metrics.splitlines()
        if re.match(rf"{name}[{{ ]", line) and all(item in line for item in wanted)
    ]
    assert found, f"{name} {labels} is not in the metrics"
    return sum(found)
