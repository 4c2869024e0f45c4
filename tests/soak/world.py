"""Where a soak runs: real parts with hundreds of policies, two replicas, and wires between them that can be made bad.

The parts are those of `bench.cycle_world`: no node takes the pods, which are there because they say so.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from bench import cycle_world
from bench.cycle import allocator
from bench.cycle_seen import PAGE_TIMEOUT_S
from sandbox.environment import OPERATOR_USERS
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.scenario import EVERY_GROUP, LeaseTimes, Operator
from tests.soak.exporter import Past, Replaced, everybody, write_generations
from tests.soak.vitals import Page, Vitals

INTERVAL_S: Final = 1.0
SOURCE_TIMEOUT_S: Final = 5.0
LEASE_TIMES: Final = LeaseTimes("6s", "4s", "1s")

_LEADER_TIMEOUT_S: Final = 120.0


class World:
    """Everything; a context manager.

    Args:
        run_dir: gets data and logs of every part.
        policies: how many subjects there are, each with a policy at first.
    """

    def __init__(self, run_dir: Path, policies: int) -> None:
        self._run_dir = run_dir
        self.subjects: list[Replaced] = everybody(policies, Past(policies, cycle_world.HISTORY_S).generations())
        self.pods_file = run_dir / "pods.json"
        self._running = contextlib.ExitStack()
        self.replicas: dict[str, Operator] = {}
        self.api_wires: dict[str, FaultProxy] = {}

    def __enter__(self) -> Self:
        os.environ.update(allocator())
        write_generations(self.pods_file, self.subjects)
        with contextlib.ExitStack() as starting:
            self.cluster = starting.enter_context(cycle_world.Cluster(self._run_dir))
            self.prototypes = cycle_world.fill(self.cluster, self.subjects)
            words = ("tests.soak.exporter", "--pods", str(self.pods_file))
            starting.enter_context(cycle_world.exporting(self.cluster, self.subjects, words))
            self.prometheus_wire = starting.enter_context(FaultProxy(LOOPBACK, _port(self.cluster.prometheus.url)))
            kafka = self.cluster.kafka
            self.broker_wire = starting.enter_context(FaultProxy(*kafka.tap_target, listen_port=kafka.tap_port))
            for user in OPERATOR_USERS:
                wire = starting.enter_context(FaultProxy(LOOPBACK, _port(self.cluster.control_plane.url)))
                self.api_wires[user] = wire
                self.replicas[user] = starting.enter_context(self._replica(user, wire))
                wait_until(
                    lambda: self.leader() != "", part=user, what="a leader", timeout_s=_LEADER_TIMEOUT_S, poll_s=1.0
                )
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def page(self, user: str) -> Page | None:
        """Return what a replica's page of metrics says; None if it does not answer."""
        return Page.parsed(self.replicas[user].page("/metrics", timeout_s=PAGE_TIMEOUT_S))

    def leader(self) -> str:
        """Return the user of the replica that says it leads; empty for none."""
        return next((user for user, replica in self.replicas.items() if replica.leads()), "")

    def looks(self, *, at_h: float) -> list[Vitals]:
        """Look at each replica that is alive."""
        alive = [(user, replica) for user, replica in self.replicas.items() if replica.process.alive()]
        return [Vitals.of(item.process.pid, user=user, at_h=at_h, page=self.page(user)) for user, item in alive]

    def heal(self) -> None:
        """Make all wires good, and start again who has ended, as a kubelet would."""
        for wire in (self.prometheus_wire, self.broker_wire, *self.api_wires.values()):
            wire.heal()
        self.tend()

    def tend(self) -> None:
        """Start again who has ended: an operator that finds no API server at its start gives up."""
        for replica in self.replicas.values():
            if not replica.process.alive():
                replica.process.start()

    def logs(self) -> Sequence[Path]:
        """Return the replicas' logs."""
        return [replica.log for replica in self.replicas.values()]

    def _replica(self, user: str, wire: FaultProxy) -> Operator:
        return Operator(
            self.cluster,
            interval_s=INTERVAL_S,
            user=user,
            api_url=f"https://{LOOPBACK}:{wire.port}",
            prometheus_url=f"http://{LOOPBACK}:{self.prometheus_wire.port}",
            bootstrap=f"{LOOPBACK}:{self.broker_wire.port}",
            source_timeout_s=SOURCE_TIMEOUT_S,
            lease_times=LEASE_TIMES,
            grants=EVERY_GROUP,
        )


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
