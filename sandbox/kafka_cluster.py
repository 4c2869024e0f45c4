"""Several Apache Kafka processes on loopback: three brokers, or a broker whose controller is a process of its own.

Three brokers are for what depends on which of them leads which partition. The first is the controller, too, and
coordinates all groups: it makes the only partition of the offsets topic before the others are there. Each of the three
is a `Kafka`; what makes the other two join the first are properties.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from sandbox import network
from sandbox.errors import SandboxError
from sandbox.kafka import Kafka
from sandbox.processes import Process, wait_until

COORDINATOR: Final = 1
"""The id of the broker that coordinates every group."""

BROKERS: Final = (COORDINATOR, 2, 3)
"""The ids of all brokers."""


class KafkaCluster:
    """Three brokers; use as a context manager.

    Args:
        run_dir: gets a folder for each broker.
    """

    def __init__(self, run_dir: Path) -> None:
        self._first = Kafka(run_dir / f"broker-{COORDINATOR}")
        self._others = [
            Kafka(run_dir / f"broker-{node}", properties=_follower(node, self._first)) for node in BROKERS[1:]
        ]
        self.bootstrap = self._first.bootstrap
        self.request_log = self._first.request_log

    def __enter__(self) -> Self:
        try:
            for other in (self._first, *self._others):
                other.start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def create_topic(self, name: str, leaders: Sequence[int]) -> None:
        """Create a topic with one partition for each of `leaders`, led by that broker; wait until all are."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        placed = NewTopic(name, len(leaders), replica_assignment=[[leader] for leader in leaders])
        try:
            admin.create_topics([placed])[name].result(30)
        except KafkaException as error:
            raise SandboxError(f"topic {name} could not be created: {error.args[0].str()}") from error

        def led() -> bool:
            partitions = admin.list_topics(name, timeout=10).topics[name].partitions
            return [partitions[number].leader for number in sorted(partitions)] == list(leaders)

        wait_until(led, part="kafka", what=f"topic {name}", timeout_s=30)

    def _stop(self) -> None:
        # The controller is the last: the others say goodbye to it.
        for other in (*reversed(self._others), self._first):
            other.stop()


def _follower(node: int, controller: Kafka) -> dict[str, str]:
    """Return what makes a broker one without a controller of its own, in the cluster of `controller`."""
    return {
        "process.roles": "broker",
        "node.id": str(node),
        "controller.quorum.voters": f"{COORDINATOR}@{controller.controller}",
        # A broker that is no controller must not listen under the controllers' name: CONTROLLER is idle here.
        "controller.listener.names": "VOTERS",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TAP:PLAINTEXT,CONTROLLER:PLAINTEXT,VOTERS:PLAINTEXT",
    }


KAFKAS_BOUNDS: Final[Mapping[str, str]] = MappingProxyType(
    {"group.consumer.min.session.timeout.ms": "45000", "group.consumer.min.heartbeat.interval.ms": "5000"}
)
"""What a controller allows to groups of the consumer protocol that nobody configured."""

AS_THE_BROKER: Final[Mapping[str, str]] = MappingProxyType({})
"""Of a controller that was configured as its broker is: groups may be as nervous as a test wants them."""


class _Controller(Kafka):
    """A controller that is no broker, as people run them in production."""

    def __init__(self, run_dir: Path, bounds: Mapping[str, str]) -> None:
        super().__init__(run_dir)
        self._properties |= {
            "process.roles": "controller",
            "listeners": f"CONTROLLER://{self.controller}",
            "advertised.listeners": f"CONTROLLER://{self.controller}",
            **bounds,
        }

    def _await_ready(self, process: Process) -> None:
        host, _, port = self.controller.partition(":")
        wait_until(lambda: network.answers(int(port), host), part="controller", what=f"port {port}", process=process)


class ControllerApart:
    """A controller and a broker in processes of their own; use as a context manager.

    The broker allows short sessions in groups of the consumer protocol.

    Args:
        run_dir: gets the broker's files, and a folder for the controller's.
        bounds: what the controller allows.
        tap_port: as of `Kafka`.
    """

    def __init__(self, run_dir: Path, *, bounds: Mapping[str, str], tap_port: int | None = None) -> None:
        self._controller = _Controller(run_dir / "controller", bounds)
        self.broker = Kafka(run_dir, properties=_follower(BROKERS[1], self._controller), tap_port=tap_port)

    def __enter__(self) -> Self:
        try:
            self._controller.start()
            self.broker.start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self.broker.stop()
        self._controller.stop()
