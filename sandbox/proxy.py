"""The fault proxy: a TCP proxy on loopback whose wire can be made bad at run time.

It stands before the broker, Prometheus or the API server and knows none of them; asked to, it also writes down Kafka's
requests, or holds back some kinds of them (`sandbox.kafka_frames`). It runs in a thread of its own, so that tests use
it as plain functions: `delay`, `delay_requests`, `cut`, `black_hole`, `half_open`, and `heal` to make the wire good
again.

A fault holds for the connections that are open and for those that come while it lasts. A connection that has lost bytes
or an end to a fault is reset by `heal`: it could only carry nonsense from there on. One that was idle goes on.
"""

import asyncio
import enum
import socket
import threading
from collections.abc import Coroutine, Iterable
from typing import Any, Final, Self

from sandbox.errors import PartNotReadyError
from sandbox.kafka_frames import KafkaRequest, Recorder
from sandbox.network import LOOPBACK
from sandbox.proxy_connection import Connection, Shared, Stream

_COMMAND_TIMEOUT_S: Final = 10.0


class _Wire(enum.Enum):
    GOOD = "good"
    CUT = "cut"
    BLACK_HOLE = "black hole"
    HALF_OPEN = "half open"


class FaultProxy:
    """Passes TCP connections on to a target, well or badly; use as a context manager.

    Args:
        target_host: where connections are passed on to.
        target_port: likewise.
        listen_port: port of 127.0.0.1 to listen on; 0 takes a free one.
        record_kafka: keep a record of each Kafka request.
    """

    def __init__(self, target_host: str, target_port: int, *, listen_port: int = 0, record_kafka: bool = False) -> None:
        self._target = (target_host, target_port)
        self._shared = Shared(Recorder() if record_kafka else None)
        self._wire = _Wire.GOOD
        self._open: set[Connection] = set()
        self._server: asyncio.Server | None = None
        # Bound but never listening, it keeps the port ours while a cut has closed the listener.
        self._reservation = _bound_socket(listen_port)
        self.port: int = self._reservation.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{self.port}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._reservation.close()

    @property
    def connections(self) -> int:
        """How many connections were accepted so far."""
        return self._shared.connections

    @property
    def bytes_to_target(self) -> int:
        """How many bytes were passed on to the target so far; what a fault swallowed does not count."""
        return self._shared.bytes_to_target

    @property
    def bytes_to_client(self) -> int:
        """How many bytes were passed on to clients so far."""
        return self._shared.bytes_to_client

    @property
    def requests(self) -> list[KafkaRequest]:
        """The Kafka requests seen so far, in the order of arrival; empty when they are not recorded."""
        return [] if self._shared.recorder is None else self._shared.recorder.requests

    def delay(self, seconds: float) -> None:
        """Hold back every chunk of bytes, in both directions, for so long; order is kept."""
        self._shared.delay_s = seconds

    def delay_requests(self, api_keys: Iterable[int], seconds: float) -> None:
        """Hold back Kafka requests of these kinds for so long, and all that follow one on its connection.

        Answers are not held back, so the broker sees such a request late, and the client its answer.
        """
        self._shared.slow_requests_s = dict.fromkeys(api_keys, seconds)

    def cut(self) -> None:
        """Reset all connections and refuse new ones."""
        self._do(self._set_wire(_Wire.CUT))

    def black_hole(self) -> None:
        """Accept connections and bytes and never answer; the target hears nothing more either."""
        self._do(self._set_wire(_Wire.BLACK_HOLE))

    def half_open(self) -> None:
        """Close the target's side of each connection without telling the client, whose side stays open and mute."""
        self._do(self._set_wire(_Wire.HALF_OPEN))

    def heal(self) -> None:
        """End every fault, delay included."""
        self._shared.delay_s = 0.0
        self._shared.slow_requests_s = {}
        self._do(self._set_wire(_Wire.GOOD))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the proxy's thread and wait for its end."""
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result(_COMMAND_TIMEOUT_S)
        except TimeoutError as error:
            raise PartNotReadyError(f"The proxy on port {self.port} did not take a command in time.") from error

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=_bound_socket(self.port))

    async def _set_wire(self, wire: _Wire) -> None:
        self._wire = wire
        if wire is _Wire.CUT:
            await self._stop_listening()
        for connection in list(self._open):
            if wire is _Wire.CUT or (wire is _Wire.GOOD and connection.maimed):
                connection.reset()
            connection.mute = wire is not _Wire.GOOD
            if wire is _Wire.HALF_OPEN:
                connection.lose_target()
        if wire is not _Wire.CUT and self._server is None:
            await self._listen()

    async def _stop_listening(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        # A server that is closed before a connection it has accepted is set up never closes that connection.
        for listening in server.sockets:
            self._loop.remove_reader(listening)
        await asyncio.sleep(0)
        server.close()

    async def _close(self) -> None:
        await self._set_wire(_Wire.CUT)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:  # a connection just accepted begins another
            await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # a connection that is reset last closes its socket in the next turn

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(Stream(reader, writer), self._shared)
        self._open.add(connection)
        try:
            if self._wire is _Wire.GOOD:
                await connection.run(*self._target)
            elif self._wire is _Wire.CUT:  # it was accepted just before
                connection.reset()
            else:
                await connection.run_without_target()
        finally:
            self._open.discard(connection)


def _bound_socket(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # two may be bound as long as one of them listens
    bound.bind((LOOPBACK, port))
    return bound
