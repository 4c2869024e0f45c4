"""One connection of the fault proxy: two directions, each with its own queue of held-back bytes.

Lives in the proxy's event loop and is steered by `sandbox.proxy`, which sets `mute` and calls `reset` and
`lose_target`; what all connections of a proxy share (the delay, the counts, the record) is in `Shared`.
"""

import asyncio
import contextlib
import enum
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.kafka_frames import FrameHeads, Recorder, api_key

_CHUNK_BYTES: Final = 65536
_CHUNKS_HELD_BACK: Final = 1024
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class _Direction(enum.Enum):
    TO_TARGET = "to target"
    TO_CLIENT = "to client"


@dataclass(frozen=True)
class Stream:
    """The two halves of one TCP connection, as asyncio gives them."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def reset(self) -> None:
        """Close at once; the peer gets a reset and not an orderly end, also where that has begun."""
        with contextlib.suppress(OSError):  # it is closed already
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.writer.transport.abort()


@dataclass
class Shared:
    """What all connections of one proxy have in common."""

    recorder: Recorder | None = None
    delay_s: float = 0.0
    slow_requests_s: Mapping[int, float] = field(default_factory=dict)
    connections: int = 0
    bytes_to_target: int = 0
    bytes_to_client: int = 0

    def count(self, connection: int, chunk: bytes, direction: _Direction) -> None:
        """Take note of bytes that are being passed on."""
        if direction is _Direction.TO_TARGET:
            self.bytes_to_target += len(chunk)
            return
        self.bytes_to_client += len(chunk)
        if self.recorder is not None:
            self.recorder.to_client(connection, chunk, time.time())


class Connection:
    """One client's connection and the proxy's own to the target.

    Args:
        client: the accepted connection.
        shared: of the proxy.
    """

    def __init__(self, client: Stream, shared: Shared) -> None:
        shared.connections += 1
        self.mute = False
        """Whether bytes are swallowed instead of passed on."""
        self.maimed = False
        """Whether bytes, or the target's end, have been lost."""
        self._number = shared.connections
        self._client = client
        self._target: Stream | None = None
        self._shared = shared
        self._requests = FrameHeads()
        self._broken_off = asyncio.Event()

    async def run(self, host: str, port: int) -> None:
        """Connect to the target and pass bytes on until both ends are done or one of them breaks off."""
        try:
            self._target = Stream(*await asyncio.open_connection(host, port))
            self._check_whole()
            async with asyncio.TaskGroup() as directions:
                directions.create_task(self._pump(self._client.reader, self._target.writer, _Direction.TO_TARGET))
                directions.create_task(self._pump(self._target.reader, self._client.writer, _Direction.TO_CLIENT))
            for stream in (self._client, self._target):
                stream.writer.close()
            for stream in (self._client, self._target):
                await stream.writer.wait_closed()  # `reset` can still break off what a deaf peer does not take
        except* OSError:
            self.reset()  # the other end shall learn of it

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: _Direction) -> None:
        """Pass one direction on to its end."""
        held_back: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_CHUNKS_HELD_BACK)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._take(reader, held_back, direction))
            both.create_task(self._deliver(held_back, writer, direction))

    async def _take(
        self, reader: asyncio.StreamReader, held_back: asyncio.Queue[tuple[float, bytes]], direction: _Direction
    ) -> None:
        clock = asyncio.get_running_loop().time
        chunk = b"not the end"
        while chunk:
            chunk = await reader.read(_CHUNK_BYTES)
            if direction is _Direction.TO_TARGET and self._shared.recorder is not None:
                self._shared.recorder.from_client(self._number, chunk, time.time())
            delay_s = self._shared.delay_s
            if direction is _Direction.TO_TARGET:
                delay_s += self._slowness_s(chunk)
            await held_back.put((clock() + delay_s, chunk))

    def _slowness_s(self, chunk: bytes) -> float:
        """Return for how long the Kafka requests in `chunk` are held back; what comes behind them waits as well."""
        slow = self._shared.slow_requests_s
        return max((slow.get(api_key(head), 0.0) for head in self._requests.feed(chunk)), default=0.0)

    async def _deliver(
        self, held_back: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter, direction: _Direction
    ) -> None:
        """Write each chunk when it is due; the empty one is the end. Nothing overtakes what waits before it."""
        clock = asyncio.get_running_loop().time
        chunk = b"not the end"
        while chunk:
            due, chunk = await held_back.get()
            if due > clock():
                await self._wait_until(due)
            if self.mute:
                self.maimed = True
                continue
            try:
                if chunk:
                    self._shared.count(self._number, chunk, direction)
                    writer.write(chunk)
                    await writer.drain()
                else:
                    writer.write_eof()
            except OSError:
                if not self.mute:  # else it is the fault that took the target away, and the client must not notice
                    raise

    async def _wait_until(self, due: float) -> None:
        """Sleep, but not through a `reset`, so that a long delay does not outlive its connection."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._broken_off.wait()
        self._check_whole()

    def _check_whole(self) -> None:
        if self._broken_off.is_set():
            raise ConnectionAbortedError("this connection was broken off")

    async def run_without_target(self) -> None:
        """Keep the client's connection open and swallow what comes, until the client ends it or `reset` does."""
        self.mute = self.maimed = True
        with contextlib.suppress(OSError):
            while await self._client.reader.read(_CHUNK_BYTES):
                pass
        self.reset()

    def reset(self) -> None:
        """Break off both sides."""
        self._broken_off.set()
        self._client.reset()
        if self._target is not None:
            self._target.reset()

    def lose_target(self) -> None:
        """Break off the target's side only."""
        self.mute = self.maimed = True
        if self._target is not None:
            self._target.reset()
