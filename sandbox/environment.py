"""All parts together: a small cluster with a broker, a Prometheus and a node.

`Sandbox` is what the demo, `python -m sandbox up` and the end-to-end tests stand on; `Environment` is what it has in
common with a cluster whose node runs containers (`sandbox.container_node`). Parts start in order and stop in the
reverse order, also when one of them fails to start.
"""

import abc
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from sandbox import kafka, kafka_cluster, network, prerequisites, progress
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.kafka import Kafka
from sandbox.kafka_cluster import ControllerApart
from sandbox.node import ProcessNode
from sandbox.prometheus import Prometheus

OPERATOR_USERS: Final = ("operator-a", "operator-b")
"""One for each replica, so that the audit log tells them apart."""

OPERATOR_USER: Final = OPERATOR_USERS[0]


class Environment(abc.ABC):
    """Control plane, a node, Kafka and Prometheus; a context manager.

    Args:
        run_dir: gets data and logs of every part.
        users: who may log in to the API server besides the administrator.
        history: what Prometheus knows before it starts, from `sandbox.backfill`.
        address: where all of them listen.
        kafka_version: of the broker, one of `sandbox.kafka`.
        controller_apart: whether Kafka's controller is a process of its own, as in production.
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        users: Sequence[str],
        history: Path | None = None,
        address: str = network.LOOPBACK,
        kafka_version: str = kafka.VERSION,
        controller_apart: bool = False,
    ) -> None:
        self.run_dir = run_dir
        self._history = history
        self._users = users
        self._address = address
        self._kafka_version = kafka_version
        self._controller_apart = controller_apart
        self._parts = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start all parts.

        Raises:
            SandboxError: a prerequisite is missing, or a part did not start; what had started is stopped again.
        """
        binaries = Binaries()
        prerequisites.require(*(["go"] if binaries.to_build() else []), "java", "mvn", "node", "npm")
        binaries.get_all()
        with contextlib.ExitStack() as starting:
            self.control_plane = starting.enter_context(
                ControlPlane(self.run_dir, binaries, users=self._users, address=self._address)
            )
            progress.say("kubernetes", f"API server answers at {self.control_plane.url}")
            kubeconfig = self.control_plane.kubeconfig
            self._start_node(starting, binaries)
            self.prometheus = starting.enter_context(
                Prometheus(self.run_dir, binaries, kubeconfig=kubeconfig, history=self._history, address=self._address)
            )
            progress.say("prometheus", f"answers at {self.prometheus.url}")
            self.kafka = self._start_kafka(starting)
            progress.say("kafka", f"answers at {self.kafka.bootstrap}")
            self._parts = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def _start_kafka(self, starting: contextlib.ExitStack) -> Kafka:
        (tap_port,) = network.free_ports(1)
        if self._controller_apart:
            apart = ControllerApart(self.run_dir, bounds=kafka_cluster.AS_THE_BROKER, tap_port=tap_port)
            return starting.enter_context(apart).broker
        broker = Kafka(self.run_dir, tap_port=tap_port, address=self._address, version=self._kafka_version)
        return starting.enter_context(broker)

    @abc.abstractmethod
    def _start_node(self, starting: contextlib.ExitStack, binaries: Binaries) -> None:
        """Start what runs pods; the control plane answers already."""


class Sandbox(Environment):
    """The parts on loopback, with a node whose pods are processes.

    Args:
        run_dir: gets data and logs of every part.
        users: who may log in to the API server besides the administrator.
        history: what Prometheus knows before it starts, from `sandbox.backfill`.
        kafka_version: of the broker, one of `sandbox.kafka`.
        controller_apart: as of `Environment`.
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        users: Sequence[str] = OPERATOR_USERS,
        history: Path | None = None,
        kafka_version: str = kafka.VERSION,
        controller_apart: bool = False,
    ) -> None:
        super().__init__(
            run_dir, users=users, history=history, kafka_version=kafka_version, controller_apart=controller_apart
        )

    def _start_node(self, starting: contextlib.ExitStack, binaries: Binaries) -> None:
        del binaries  # it needs none
        self.node = starting.enter_context(ProcessNode(self.run_dir, self.control_plane.kubeconfig))
