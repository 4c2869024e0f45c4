"""Clients that are too many, too slow, or gone: the others are answered."""

import contextlib
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator
from typing import Self

import aiohttp
import pytest
from aiohttp import web

from heartbeat_tuner.adapters.http.http_server import HttpServer, Limits
from heartbeat_tuner.domain.errors import InvalidSettingsError
from sandbox.network import LOOPBACK, free_ports
from tests.support import certified
from tests.support.electors import until

ELSEWHERE = "127.0.0.2"
LIMITS = Limits(connections=5, first_s=30.0, idle_s=30.0, answer_s=30.0)
ASKING = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"x" * 2**26


async def _hello(request: web.BaseRequest) -> web.StreamResponse:
    if request.path == "/large":
        return web.Response(body=LARGE)
    if request.path == "/surprise":
        raise LookupError("surprise")
    return web.Response(text="hello")


@contextlib.asynccontextmanager
async def serving(
    limits: Limits = LIMITS, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[HttpServer, int]]:
    """Give a server and its port."""
    (port,) = free_ports(1)
    server = HttpServer(_hello, limits, section="http")
    await server.serve(LOOPBACK, port, context=context)
    try:
        yield server, port
    finally:
        await server.close()


class Client:
    """A connection of which nothing is read unless a test does; closed with the test's stack."""

    def __init__(self, port: int, address: str = LOOPBACK) -> None:
        self._socket = socket.create_connection((LOOPBACK, port), source_address=(address, 0))
        self._socket.setblocking(False)
        self.said = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, said: bytes) -> Self:
        """Send something."""
        self._socket.sendall(said)
        return self

    def is_over(self) -> bool:
        """Read what there is; return whether the server closed the connection."""
        try:
            while got := self._socket.recv(65_536):
                self.said += got
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        return True


async def asked(port: int, path: str = "/", **how: object) -> tuple[int, bytes]:
    """Return what is answered, and to whom who has a connection of his own."""
    scheme = "https" if how else "http"
    async with aiohttp.ClientSession() as session, session.get(f"{scheme}://{LOOPBACK}:{port}{path}", **how) as answer:  # type: ignore[arg-type]
        return answer.status, await answer.read()


async def test_who_opens_too_many_connections_closes_its_own() -> None:
    """The oldest ones of the address that has the most; another's stay, and new ones are answered."""
    async with serving() as (server, port):
        with contextlib.ExitStack() as closing:
            victim = closing.enter_context(Client(port, ELSEWHERE))
            crowd = [closing.enter_context(Client(port)) for _ in range(20)]
            assert await asked(port) == (200, b"hello")
            await until(lambda: server.connections <= LIMITS.connections)
            await until(lambda: sum(item.is_over() for item in crowd) >= 15)
            assert not victim.is_over()
            assert not crowd[-1].is_over()


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01 no HTTP at all\r\n\r\n"])
async def test_who_does_not_ask_is_hung_up_on(said: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it says instead, and nothing is logged of it."""
    caplog.set_level(logging.INFO)
    async with serving(Limits(connections=5, first_s=0.2, idle_s=30.0, answer_s=30.0)) as (server, port):
        with Client(port) as client:
            await until(client.say(said).is_over)
        await until(lambda: not server.connections)
    assert not caplog.records


async def test_who_says_no_more_is_hung_up_on() -> None:
    """A connection is kept for the next request for so long; one for a single request is closed at once."""
    for idle_s, at_least in ((0.3, 0.2), (None, 0.0)):
        async with serving(Limits(connections=5, first_s=30.0, idle_s=idle_s, answer_s=30.0)) as (_, port):
            began_s = time.monotonic()
            with Client(port) as client:
                await until(client.say(ASKING).is_over)
            assert b"hello" in client.said
            assert time.monotonic() >= began_s + at_least


async def test_who_does_not_read_is_hung_up_on(caplog: pytest.LogCaptureFixture) -> None:
    """An answer has to be taken within its time; neither that nor a client's end is logged."""
    caplog.set_level(logging.INFO)
    async with serving(Limits(connections=5, first_s=30.0, idle_s=30.0, answer_s=0.3)) as (server, port):
        with socket.create_connection((LOOPBACK, port)) as client:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: server.connections == 1)
            await until(lambda: not server.connections)
        with socket.create_connection((LOOPBACK, port)) as client:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: server.connections == 1)
        await until(lambda: not server.connections)
        assert await asked(port) == (200, b"hello")
    assert not caplog.records


async def test_a_surprise_costs_its_request() -> None:
    """And nothing of it is shown to the client."""
    async with serving() as (_, port):
        assert await asked(port, "/surprise") == (500, b"internal error\n")
        assert await asked(port) == (200, b"hello")


async def test_a_handshake_that_is_not_made_ends() -> None:
    """Before it there is nothing to show for a connection but its memory; who speaks TLS is answered meanwhile."""
    made = certified.fresh()
    limits = Limits(connections=5, first_s=0.5, idle_s=30.0, answer_s=30.0)
    async with serving(limits, certified.serving(made)) as (server, port):
        with contextlib.ExitStack() as closing:
            crowd = [closing.enter_context(Client(port)) for _ in range(20)]
            assert await asked(port, ssl=certified.trusting(made.bundle)) == (200, b"hello")
            assert server.connections <= limits.connections + 1
            await until(lambda: all(item.is_over() for item in crowd))
            garbage = closing.enter_context(Client(port))
            await until(garbage.say(ASKING).is_over)


async def test_nobody_can_listen_at_a_port_that_is_taken() -> None:
    """The message names the section, and closing what never began is no error."""
    async with serving() as (_, port):
        second = HttpServer(_hello, LIMITS, section="admission")
        with pytest.raises(InvalidSettingsError, match=f"admission: cannot listen on {LOOPBACK}:{port}: "):
            await second.serve(LOOPBACK, port)
        with pytest.raises(InvalidSettingsError, match=f"admission: cannot listen on port {port} of any address: "):
            await second.serve("", port)
        await second.close()


@pytest.mark.parametrize("address", [LOOPBACK, "::1"])
async def test_without_an_address_it_answers_by_ipv4_and_ipv6(address: str) -> None:
    """On a node of an IPv6-only cluster the kubelet and the API server have no other way."""
    if address == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    (port,) = free_ports(1)
    server = HttpServer(_hello, LIMITS, section="http")
    await server.serve("", port)
    try:
        host = f"[{address}]" if ":" in address else address
        async with aiohttp.ClientSession() as session, session.get(f"http://{host}:{port}/") as answer:
            assert await answer.text() == "hello"
    finally:
        await server.close()
