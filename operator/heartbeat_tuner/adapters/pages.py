"""What a process tells of itself over HTTP.

`/metrics` for Prometheus, `/healthz` (fails when this process should be started anew) and `/readyz` (fails while it
could not do its work); what they say comes from outside.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import prometheus_client
from aiohttp import web
from prometheus_client import CollectorRegistry, Metric

from heartbeat_tuner.domain.errors import InvalidSettingsError

Complaint = Callable[[], str]
"""Says what is wrong; an empty text if nothing is."""


class Pages:
    """An HTTP server with a registry's metrics and two probes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._runner: web.AppRunner | None = None

    async def serve(self, address: str, port: int, *, unhealthy: Complaint, unready: Complaint) -> None:
        """Answer on `address`:`port` until `close`.

        Args:
            address: where to listen.
            port: likewise.
            unhealthy: why this process should be started anew.
            unready: why it could not do its work now.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        app = web.Application()
        app.add_routes(
            [
                web.get("/metrics", self._metrics),
                web.get("/healthz", _probe(unhealthy)),
                web.get("/readyz", _probe(unready)),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, address, port).start()
        except OSError as error:
            await self.close()
            raise InvalidSettingsError(f"http: cannot listen on {address}:{port}: {error.strerror}") from error

    async def close(self) -> None:
        """Stop answering."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        """Send the metrics one by one: with thousands of policies all of them are tens of megabytes.

        Each is written by a thread, since that takes seconds then, and the lease has to be renewed meanwhile.
        """
        response = web.StreamResponse(headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST})
        await response.prepare(request)
        families = iter(self._registry.collect())
        while text := await asyncio.to_thread(_next_text, families):
            await response.write(text)
        await response.write_eof()
        return response


class _Alone(CollectorRegistry):
    """A registry of one metric, in which the client's writer finds it."""

    def __init__(self, family: Metric) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterator[Metric]:
        """Yield it."""
        yield self._family


def _next_text(families: Iterator[Metric]) -> bytes:
    """Return the next metric as text; nothing after the last."""
    family = next(families, None)
    return b"" if family is None else prometheus_client.generate_latest(_Alone(family))


def _probe(complaint: Complaint) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return what answers a probe."""

    async def answer(_request: web.Request) -> web.Response:
        wrong = complaint()
        return web.Response(status=503, text=f"{wrong}\n") if wrong else web.Response(text="ok\n")

    return answer
