"""Whoever reaches the ports of metrics and reviews delays neither the leader nor a probe."""

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from sandbox import network, scenario
from sandbox.environment import Sandbox
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.support.webhooks import Replica

READERS = 600
SLOW = 20
ASKING = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\n\r\n"
RENEW_DEADLINE_S = 10.0
PROBE_S = 2.0
MOST_OPEN = 64

pytestmark = pytest.mark.timeout(240)


def _reader(port: int, said: bytes) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(10)
    client.connect((LOOPBACK, port))
    with contextlib.suppress(OSError):
        client.sendall(said)
    return client


@contextlib.contextmanager
def _besieged(port: int, said: bytes = ASKING) -> Iterator[list[socket.socket]]:
    """Give many clients that ask and do not read, beside some that read a byte at a time."""
    over = threading.Event()

    def read_slowly() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), _reader(port, said) as client:
                while not over.wait(0.2) and client.recv(1):
                    pass

    slow = [threading.Thread(target=read_slowly) for _ in range(SLOW)]
    with contextlib.ExitStack() as closing:
        for item in slow:
            item.start()
        try:
            yield [closing.enter_context(_reader(port, said)) for _ in range(READERS)]
        finally:
            over.set()
            for item in slow:
                item.join()


def _still_open(clients: list[socket.socket]) -> int:
    """Return how many the server has not closed."""
    found = 0
    for client in clients:
        client.setblocking(False)
        try:
            while client.recv(65_536):
                pass
        except BlockingIOError:
            found += 1
        except OSError:
            pass
    return found


def _renewals(sandbox: Sandbox, ends_s: float, meanwhile: Callable[[], None]) -> list[float]:
    """Watch the leader's lease until a moment; return the times between its renewals, by its own clock."""
    moments: list[datetime] = []
    while time.monotonic() < ends_s:
        lease = json.loads(
            sandbox.control_plane.kubectl(
                "get", "lease", "heartbeat-tuner", f"--namespace={scenario.LEASE_NAMESPACE}", "--output=json"
            )
        )
        renewed = datetime.fromisoformat(lease["spec"]["renewTime"])
        if not moments or renewed != moments[-1]:
            moments.append(renewed)
        meanwhile()
        time.sleep(0.3)
    moments.append(datetime.now(moments[-1].tzinfo))
    return [(after - before).total_seconds() for before, after in itertools.pairwise(moments)]


@pytest.mark.row("B5")
def test_readers_of_metrics_delay_neither_the_lease_nor_a_probe(sandbox: Sandbox, operator: Operator) -> None:
    """600 that do not read, 20 that read slowly: the lease is renewed in time, probes answer, nothing is logged."""
    wait_until(operator.leads, part="operator", what="its leadership", timeout_s=60)
    already = len(operator.log.read_text())
    probes_s: list[float] = []

    def probe() -> None:
        for path in ("/healthz", "/readyz"):
            began_s = time.monotonic()
            assert operator.answers(path), path
            probes_s.append(time.monotonic() - began_s)

    with _besieged(operator.metrics_port) as clients:
        gaps_s = _renewals(sandbox, time.monotonic() + 8, probe)
        assert _still_open(clients) <= MOST_OPEN
    assert max(gaps_s) < RENEW_DEADLINE_S / 2, gaps_s
    assert max(probes_s) < PROBE_S, sorted(probes_s)[-5:]
    wait_until(operator.leads, part="operator", what="its metrics, afterwards", timeout_s=30)
    logged = operator.log.read_text()[already:]
    assert "Traceback" not in logged
    assert "lost" not in logged


@pytest.mark.row("B5")
def test_who_fills_the_ports_of_the_webhook_keeps_no_review_out(webhook: Replica) -> None:
    """Its metrics and its reviews have the same limits: who says nothing, or half a request, is hung up on."""
    half = b"POST /mutate-pods HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{"
    already = len(webhook.process.log.read_text())
    with _besieged(webhook.metrics_port) as readers, _besieged(webhook.port, half) as senders:
        assert webhook.page("/healthz") == "ok\n"
        assert webhook.page("/readyz") == "ok\n"
        wait_until(
            lambda: _still_open(readers) <= MOST_OPEN and not _still_open(senders),
            part="webhook",
            what="the end of connections that say nothing",
            timeout_s=30,
        )
        assert network.answers(webhook.port)
    wait_until(lambda: webhook.count("unreadable") >= 0, part="webhook", what="its metrics", timeout_s=30)
    assert "Traceback" not in webhook.process.log.read_text()[already:]
