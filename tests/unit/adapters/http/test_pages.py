"""The page of metrics: written once, for few readers at a time."""

import asyncio
import contextlib
import gzip
import socket
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily

from heartbeat_tuner.adapters.http import pages
from heartbeat_tuner.adapters.http.pages import Large, Pages
from heartbeat_tuner.domain.errors import InvalidSettingsError
from sandbox.network import LOOPBACK, free_ports

MANY = 100_000


class Counted(Large):
    """Many series, that count how often they are written."""

    def __init__(self) -> None:
        self.written = 0
        self.passes: object = "first"

    @property
    def version(self) -> object:
        """What a test says."""
        return self.passes

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield them."""
        self.written += 1
        gauge = GaugeMetricFamily("many", "Many.", labels=["which"])
        for index in range(MANY):
            gauge.add_metric([f"{index}{'x' * 50}"], float(index))
        yield gauge

    def texts(self) -> Iterator[bytes]:
        """Yield them as text, in two pieces and an empty one."""
        text = generate_latest(self)
        yield from (text[: MANY // 2], b"", text[MANY // 2 :])


@contextlib.asynccontextmanager
async def serving(large: Large | None = None) -> AsyncIterator[tuple[str, str]]:
    """Give the addresses of the metrics and of the probes."""
    ports, registry = free_ports(2), CollectorRegistry()
    Counter("few", "Few.", registry=registry)
    shown = Pages(registry, large=large)
    await shown.serve(LOOPBACK, ports[0], probe_port=ports[1], unhealthy=str, unready=lambda: "busy")
    try:
        yield f"http://{LOOPBACK}:{ports[0]}", f"http://{LOOPBACK}:{ports[1]}"
    finally:
        await shown.close()


async def read(url: str, *, encoding: str = "identity") -> tuple[int, bytes]:
    """Return status and bytes as they come."""
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(url, headers={"Accept-Encoding": encoding}) as answer,
    ):
        return answer.status, await answer.read()


async def test_what_a_pass_found_is_written_once() -> None:
    """However often it is read, compressed or not; and again after the next pass."""
    large = Counted()
    async with serving(large) as (metrics, _):
        _, plain = await read(f"{metrics}/metrics")
        assert plain.count(b"\nmany{") == MANY
        assert plain.count(b"\nfew_total ") == 1
        for _ in range(3):
            assert await read(f"{metrics}/metrics") == (200, plain)
            status, packed = await read(f"{metrics}/metrics", encoding="gzip")
            assert (status, gzip.decompress(packed)) == (200, plain)
        await asyncio.sleep(pages.FRESH_S)
        await read(f"{metrics}/metrics")
        assert large.written == 1
        large.passes = "second"
        await read(f"{metrics}/metrics")
        assert large.written == 2


def _idle_reader(url: str) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = url.removeprefix("http://").split(":")
    client.connect((host, int(port)))
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    return client


async def test_two_idle_readers_keep_nobody_out_for_long() -> None:
    """A third one is told to come back; who reads nothing is hung up on, and probes answer throughout."""
    async with serving(Counted()) as (metrics, probes):
        assert (await read(f"{metrics}/metrics"))[0] == 200
        with _idle_reader(metrics), _idle_reader(metrics):
            async with aiohttp.ClientSession() as session, session.get(f"{metrics}/metrics") as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert await read(f"{probes}/healthz") == (200, b"ok\n")
            assert await read(f"{probes}/readyz") == (503, b"busy\n")
            await asyncio.sleep(pages.STALL_S + 0.5)
            assert (await read(f"{metrics}/metrics"))[0] == 200


async def test_each_port_has_its_own_pages() -> None:
    """What reads the one must not be served by the other; HEAD has no body."""
    async with serving() as (metrics, probes):
        for url in (f"{metrics}/healthz", f"{metrics}/", f"{probes}/metrics"):
            assert (await read(url))[0] == 404
        async with aiohttp.ClientSession() as session, session.head(f"{metrics}/metrics") as answer:
            assert (answer.status, await answer.read()) == (200, b"")


async def test_a_probe_port_that_is_taken_is_an_error() -> None:
    """Which names the field; the other port is free again."""
    async with serving() as (_, probes):
        (port,) = free_ports(1)
        taken = int(probes.rpartition(":")[2])
        for _ in range(2):
            with pytest.raises(InvalidSettingsError, match=r"http\.probePort: cannot listen on"):
                await Pages(CollectorRegistry()).serve(LOOPBACK, port, probe_port=taken, unhealthy=str, unready=str)
