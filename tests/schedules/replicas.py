"""Two replicas of the operator, each behind a wire of its own to the API server, and what happens to them."""

import contextlib
from typing import Final, Self
from urllib.parse import urlsplit

from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.scenario import EVERY_GROUP, LeaseTimes, Operator
from tests.schedules.schedule import Act

LEASE_TIMES: Final = LeaseTimes("2s", "1200ms", "200ms")
INTERVAL_S: Final = 0.4
WIRE_DELAY_S: Final = 0.04
"""Each way: so the twenty applies take about a second."""


class Replicas:
    """Two operators, restarted whenever they end; a context manager.

    Args:
        sandbox: where they work.
        prometheus_url: where they read metrics.
        bootstrap: where they ask about groups; None is the broker itself.
        lease_times: of their leader election.
        interval_s: of their cycles.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        prometheus_url: str,
        bootstrap: str | None = None,
        lease_times: LeaseTimes = LEASE_TIMES,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._sandbox = sandbox
        self._lease_times = lease_times
        self._interval_s = interval_s
        self._bootstrap = bootstrap
        self._prometheus_url = prometheus_url
        self._running = contextlib.ExitStack()
        self._operators: dict[str, Operator] = {}
        self._wires: dict[str, FaultProxy] = {}

    def __enter__(self) -> Self:
        port = urlsplit(self._sandbox.control_plane.url).port
        assert port is not None
        with contextlib.ExitStack() as starting:
            for user in OPERATOR_USERS:
                wire = self._wires[user] = starting.enter_context(FaultProxy(LOOPBACK, port))
                self._operators[user] = starting.enter_context(
                    Operator(
                        self._sandbox,
                        interval_s=self._interval_s,
                        user=user,
                        api_url=f"https://{LOOPBACK}:{wire.port}",
                        prometheus_url=self._prometheus_url,
                        bootstrap=self._bootstrap,
                        lease_times=self._lease_times,
                        grants=EVERY_GROUP,  # nobody consumes
                        max_rollouts=100,  # all at once, so that schedules strike while much is being written
                    )
                )
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def await_ready(self) -> None:
        """Wait until both are in touch with the API server, and one of them leads."""
        wait_until(self._is_ready, part="replicas", what="being ready", timeout_s=60, poll_s=0.1)

    def slow_down(self) -> None:
        """Let every message take its time, so that the applies take long enough to be disturbed."""
        for wire in self._wires.values():
            wire.delay(WIRE_DELAY_S)

    def befall(self, user: str, act: Act) -> None:
        """Do something to a replica."""
        process, wire = self._operators[user].process, self._wires[user]
        match act:
            case Act.KILL:
                process.kill()
                process.start()
            case Act.STOP:
                process.pause()
            case Act.CONTINUE:
                process.resume()
            case Act.CUT:
                wire.cut()
            case Act.BLACK_HOLE:
                wire.black_hole()
            case Act.HALF_OPEN:
                wire.half_open()
            case Act.MEND:
                wire.heal()
                wire.delay(WIRE_DELAY_S)

    def heal(self) -> None:
        """Let both go on, over good wires and at full speed."""
        for user, operator in self._operators.items():
            self._wires[user].heal()
            if operator.process.alive():
                operator.process.resume()
        self.tend()

    def tend(self) -> None:
        """Start again who has ended: an operator that finds no API server at its start gives up."""
        for operator in self._operators.values():
            if not operator.process.alive():
                operator.process.start()

    def _is_ready(self) -> bool:
        self.tend()
        both = self._operators.values()
        return all(item.answers("/readyz") for item in both) and any(item.leads() for item in both)
