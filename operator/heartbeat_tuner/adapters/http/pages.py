"""What a process shows about itself over HTTP.

`/metrics` for Prometheus on one port; `/healthz` (fails when this process should be started again) and `/readyz` (fails
while it could not do its work) on another, so that no number of readers makes a probe fail. What they say comes from
outside.
"""

import abc
import asyncio
import contextlib
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Final

import prometheus_client
from aiohttp import web
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from heartbeat_tuner.adapters.http.http_server import HttpServer, Limits

MOST_READERS: Final = 2
"""Of the metrics at a time: a Prometheus, and another one or a person."""

FRESH_S: Final = 1.0
"""Younger than that the page is not made again, however often it is asked for."""

CHUNK_BYTES: Final = 2**16

STALL_S: Final = 3.0
"""A reader that takes no chunk for so long is hung up on."""

METRICS: Final = Limits(connections=32, first_s=5.0, idle_s=None, answer_s=30.0)
PROBES: Final = Limits(connections=32, first_s=5.0, idle_s=None, answer_s=5.0)

_GZIP: Final = zlib.MAX_WBITS | 16

Complaint = Callable[[], str]
"""Says what is wrong; an empty text if nothing is."""


class Large(Collector):
    """Metrics that are many, and change all at once."""

    @property
    @abc.abstractmethod
    def version(self) -> object:
        """Another object whenever they have changed."""

    @abc.abstractmethod
    def texts(self) -> Iterator[bytes]:
        """Yield what they are as text, in pieces of some milliseconds each."""


class Pages:
    """The metrics of a process, and two probes.

    Args:
        registry: metrics that are read each time the page is made.
        large: metrics that are written once for each of their versions; None where there are none.
        before: called in the event loop before metrics are read in a thread.
    """

    def __init__(
        self, registry: CollectorRegistry, *, large: Large | None = None, before: Callable[[], None] = lambda: None
    ) -> None:
        self._page = _Page(registry, large, before)
        self._readers = 0
        self._probes: Mapping[str, Complaint] = {}
        self._servers = (
            HttpServer(self._metrics, METRICS, section="http.port"),
            HttpServer(self._probe, PROBES, section="http.probePort"),
        )

    async def serve(
        self, address: str, port: int, *, probe_port: int, unhealthy: Complaint, unready: Complaint
    ) -> None:
        """Answer until `close`.

        Args:
            address: where to listen.
            port: for the metrics.
            probe_port: for the probes.
            unhealthy: why this process should be started again.
            unready: why it could not do its work now.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        self._probes = {"/healthz": unhealthy, "/readyz": unready}
        try:
            for server, server_port in zip(self._servers, (port, probe_port), strict=True):
                await server.serve(address, server_port)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Stop answering."""
        for server in self._servers:
            await server.close()

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send the page as it was written last, chunk by chunk: with thousands of policies it is tens of megabytes."""
        if request.path != "/metrics" or request.method not in {"GET", "HEAD"}:
            return _nothing_here(request)
        if self._readers >= MOST_READERS:
            why = f"{MOST_READERS} readers at a time are answered; ask again\n"
            return web.Response(status=503, text=why, headers={"Retry-After": "1"})
        self._readers += 1
        try:
            gzip = "gzip" in request.headers.get("Accept-Encoding", "")
            parts = await self._page.read(gzip=gzip)
            response = web.StreamResponse(headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST})
            if gzip:
                response.headers["Content-Encoding"] = "gzip"
            response.content_length = sum(map(len, parts))
            response.force_close()
            await response.prepare(request)
            for part in parts if request.method == "GET" else ():
                for start in range(0, len(part), CHUNK_BYTES):
                    async with _patience():
                        await response.write(part[start : start + CHUNK_BYTES])
            return response
        finally:
            self._readers -= 1

    async def _probe(self, request: web.BaseRequest) -> web.StreamResponse:
        complaint = self._probes.get(request.path)
        if complaint is None:
            return _nothing_here(request)
        wrong = complaint()
        return web.Response(status=503, text=f"{wrong}\n") if wrong else web.Response(text="ok\n")


class _Page:
    """The metrics as text, kept for who asks next.

    The large part comes first, and is kept compressed alone: with thousands of policies it is tens of megabytes, and
    Prometheus takes it compressed. What is read each time is compressed behind it.
    """

    def __init__(self, registry: CollectorRegistry, large: Large | None, before: Callable[[], None]) -> None:
        self._registry = registry
        self._large = large
        self._before = before
        self._one_at_a_time = asyncio.Lock()
        self._made_at_s = float("-inf")
        self._version: object = None
        self._packed = _Packed()
        self._own: tuple[bytes, ...] = ()

    async def read(self, *, gzip: bool) -> tuple[bytes, ...]:
        """Return the page in parts, compressed if wanted; made again where it is old."""
        async with self._one_at_a_time:
            version = None if self._large is None else self._large.version
            if version is not self._version or time.monotonic() >= self._made_at_s + FRESH_S:
                self._before()
                await self._make(version)
            if gzip:
                return self._packed.followed_by(self._own)
            return (*await asyncio.to_thread(self._packed.plain), *self._own)

    async def _make(self, version: object) -> None:
        """Write the page, by a thread and a piece at a time: probes have to be answered meanwhile."""
        if self._large is not None and version is not self._version:
            packed, texts = _Packed(), self._large.texts()
            while await asyncio.to_thread(packed.takes, texts):
                pass
            self._packed = packed
        self._own = await _written(self._registry)
        self._version, self._made_at_s = version, time.monotonic()


class _Packed:
    """Text as the beginning of a gzip stream."""

    def __init__(self) -> None:
        self._stream = zlib.compressobj(level=1, wbits=_GZIP)
        self._parts: list[bytes] = []

    def takes(self, texts: Iterator[bytes]) -> bool:
        """Add the next text; return whether there was one."""
        text = next(texts, None)
        part = self._stream.flush(zlib.Z_SYNC_FLUSH) if text is None else self._stream.compress(text)
        if part:
            self._parts.append(part)
        return text is not None

    def followed_by(self, texts: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the whole stream, with some more text at its end; what is here stays as it is."""
        stream = self._stream.copy()
        parts = [*self._parts, *map(stream.compress, texts), stream.flush()]
        return tuple(part for part in parts if part)

    def plain(self) -> tuple[bytes, ...]:
        """Return the text; zlib lets the event loop go on meanwhile."""
        stream = zlib.decompressobj(wbits=_GZIP)
        return tuple(text for part in self._parts if (text := stream.decompress(part)))


class _Alone(CollectorRegistry):
    """A registry of one metric, in which the client's writer finds it."""

    def __init__(self, family: Metric) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterator[Metric]:
        """Yield it."""
        yield self._family


async def _written(metrics: CollectorRegistry) -> tuple[bytes, ...]:
    """Return each metric as text."""
    parts = []
    families = iter(metrics.collect())
    while text := await asyncio.to_thread(_next_text, families):
        parts.append(text)
    return tuple(parts)


def _next_text(families: Iterator[Metric]) -> bytes:
    """Return the next metric as text; nothing after the last."""
    family = next(families, None)
    return b"" if family is None else prometheus_client.generate_latest(_Alone(family))


@contextlib.asynccontextmanager
async def _patience() -> AsyncIterator[None]:
    """Hang up on a client that takes nothing."""
    try:
        async with asyncio.timeout(STALL_S):
            yield
    except TimeoutError:
        raise ConnectionResetError("the client reads nothing") from None


def _nothing_here(request: web.BaseRequest) -> web.Response:
    return web.Response(status=404, text=f"there is no {request.path} at this port\n")
