"""An HTTP server that anybody in the cluster may reach, and nobody can fill.

Whatever clients do, there are only so many connections, each request is whole within some seconds and each answer taken
within some. Where there would be too many connections, the oldest goes of the address that has the most: who opens
hundreds closes its own. A client that hangs up is no event, and nothing is logged of it.
"""

import asyncio
import dataclasses
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
import structlog
from aiohttp import web

from heartbeat_tuner.domain.errors import InvalidSettingsError

BACKLOG: Final = 128
"""Connections that wait to be accepted."""

NO_DESCRIPTORS_PAUSE_S: Final = 0.1
"""Before connections are accepted again where there is nothing left to hold them."""

SHUTDOWN_S: Final = 2.0
"""For requests under way when the server is closed."""

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What clients may do.

    Attributes:
        connections: open at a time, those of all clients together.
        first_s: from the connection to the whole head of its first request, the TLS handshake with it.
        idle_s: from one answer to the whole head of the next request; None where a connection is for one request.
        answer_s: from a request's head to its answer's last byte that is handed to the operating system.
        request_bytes: of a request's body.
    """

    connections: int
    first_s: float
    idle_s: float | None
    answer_s: float
    request_bytes: int = 2**16


class HttpServer:
    """One server.

    Args:
        answer: what it does with requests; what it raises is an error of ours, and is logged.
        limits: for clients.
        section: of the configuration, where the address stands.
    """

    def __init__(self, answer: Answer, limits: Limits, *, section: str) -> None:
        self._answer = answer
        self._limits = limits
        self._section = section
        self._connections: dict[str, dict[_Connection, None]] = {}
        self._by_protocol: dict[web.RequestHandler, _Connection] = {}
        self._accepting: asyncio.Task[None] | None = None
        self._protocols: _Protocols | None = None

    @property
    def connections(self) -> int:
        """How many are open."""
        return sum(map(len, self._connections.values()))

    async def serve(self, address: str, port: int, *, context: ssl.SSLContext | None = None) -> None:
        """Answer on `address`:`port` until `close`.

        Args:
            address: of an interface, by name or number; empty for all of them, by IPv4 and IPv6.
            port: of TCP.
            context: of TLS; None answers in plain text.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        try:
            listening = await _listening(address, port) if address else _listening_everywhere(port)
        except OSError as error:
            where = f"port {port} of any address" if not address else f"{address}:{port}"
            why = f"{self._section}: cannot listen on {where}: {error.strerror}"
            raise InvalidSettingsError(why) from error
        listening.setblocking(False)
        self._protocols = _Protocols(self._answered, self._request, self._lost)
        self._accepting = asyncio.create_task(self._accept(listening, self._protocols, context))

    async def close(self) -> None:
        """Stop answering; requests under way get their answer, if that is soon."""
        if self._accepting is None or self._protocols is None:
            return
        self._accepting.cancel()
        await asyncio.wait([self._accepting])
        self._protocols.pre_shutdown()
        await self._protocols.shutdown(SHUTDOWN_S)
        for connection in [connection for connections in self._connections.values() for connection in connections]:
            connection.abort()

    async def _accept(self, listening: socket.socket, protocols: "_Protocols", context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            while True:
                try:
                    client, address = await loop.sock_accept(listening)
                except OSError as error:  # no descriptors are left, or the client was gone before
                    _log.warning("no connection accepted", error=error.strerror)
                    await asyncio.sleep(NO_DESCRIPTORS_PAUSE_S)
                    continue
                connection = _Connection(str(address[0]))
                self._connections.setdefault(connection.address, {})[connection] = None
                connection.end_in(self._limits.first_s)
                self._open(connection, client, protocols(), context)
                if self.connections > self._limits.connections:
                    busiest: dict[_Connection, None] = max(self._connections.values(), key=len)
                    oldest = next(iter(busiest))
                    self._count_no_more(oldest)
                    oldest.abort()

    def _open(
        self,
        connection: "_Connection",
        client: socket.socket,
        protocol: web.RequestHandler,
        context: ssl.SSLContext | None,
    ) -> None:
        """Begin a connection, with its TLS handshake."""
        self._by_protocol[protocol] = connection
        patience_s = None if context is None else self._limits.first_s

        async def opened() -> None:
            connection.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, client, ssl=context, ssl_handshake_timeout=patience_s
            )

        def begun(task: asyncio.Task[None]) -> None:
            if task.cancelled() or task.exception() is not None:  # it hung up, took too long, or speaks no TLS
                self._lost(protocol)
                client.close()

        connection.task = asyncio.create_task(opened())
        connection.task.add_done_callback(begun)

    def _lost(self, protocol: web.RequestHandler) -> None:
        connection = self._by_protocol.pop(protocol, None)
        if connection is not None:
            connection.end_in(None)
            self._count_no_more(connection)

    def _count_no_more(self, connection: "_Connection") -> None:
        those = self._connections.get(connection.address, {})
        those.pop(connection, None)
        if not those:
            self._connections.pop(connection.address, None)

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        loop = asyncio.get_running_loop()
        return web.BaseRequest(
            message, payload, protocol, writer, task, loop, client_max_size=self._limits.request_bytes
        )

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request to its last byte, within the limits."""
        connection = self._by_protocol.get(request.protocol)
        if connection is None or connection.is_over:
            return web.Response(status=503)  # which nobody reads: the client is gone
        self._count_no_more(connection)
        self._connections.setdefault(connection.address, {})[connection] = (
            None  # the youngest now: who asks is not the first to go
        )
        connection.end_in(self._limits.answer_s)
        response: web.StreamResponse = web.Response(status=500, text="internal error\n")
        try:
            response = await self._answer(request)
            if self._limits.idle_s is None:
                response.force_close()
            await response.prepare(request)
            await response.write_eof()
        except (ConnectionError, aiohttp.ClientConnectionError):
            connection.abort()  # the client hung up, or was hung up on: nobody waits for an answer
        except Exception:  # noqa: BLE001 - one request's surprise is not the server's end
            _log.exception("surprise in a request", path=request.path)
            response.force_close()
        if request.protocol in self._by_protocol and not connection.is_over:
            connection.end_in(self._limits.idle_s or self._limits.first_s)
        return response


async def _listening(address: str, port: int) -> socket.socket:
    """Return a socket that listens on the first address that a name or number stands for."""
    loop = asyncio.get_running_loop()
    family, _, _, _, where = (await loop.getaddrinfo(address, port, type=socket.SOCK_STREAM))[0]
    return socket.create_server(where, family=family, backlog=BACKLOG)


def _listening_everywhere(port: int) -> socket.socket:
    """Return a socket that listens on all addresses: a node of an IPv6-only cluster has no others than IPv6."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:  # the kernel knows IPv6, and this node has it switched off
                raise
    return socket.create_server(("", port), backlog=BACKLOG)


class _Connection:
    """One client's connection, and when it is ended at the latest."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.task: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.is_over = False
        self._timer: asyncio.TimerHandle | None = None

    def end_in(self, seconds: float | None) -> None:
        """End it so much later, and not before; None ends nothing."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self.abort)

    def abort(self) -> None:
        """End it now, whatever is still to be sent."""
        self.is_over = True
        if self.transport is not None:
            self.transport.abort()
        elif self.task is not None:  # the handshake
            self.task.cancel()


class _Protocols(web.Server):
    """What aiohttp speaks HTTP with, and tells when a connection is over."""

    def __init__(self, answer: Answer, request: Any, lost: Callable[[web.RequestHandler], None]) -> None:
        super().__init__(answer, request_factory=request, access_log=None, auto_decompress=False)
        self._told = lost

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Take note that a connection is over."""
        super().connection_lost(handler, exc)
        self._told(handler)
