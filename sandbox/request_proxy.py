"""The request proxy: an HTTP proxy on loopback before the API server that knows one request from another.

Where `sandbox.proxy` makes a wire bad, this one makes a moment: it holds the one request that a test waits for, before
the API server has seen it or after it has answered, so that a process can be ended or stopped at exactly that point. It
also answers in the API server's place, and makes watches silent. It speaks plain HTTP to the client, whose token it
passes on, and TLS to the API server. Like the other one it runs in a thread of its own.
"""

import asyncio
import enum
import json
import re
import ssl
import threading
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import aiohttp
from aiohttp import web

from sandbox.errors import PartNotReadyError
from sandbox.network import LOOPBACK

_COMMAND_TIMEOUT_S: Final = 10.0
_TLS_END_S: Final = 0.25
"""Time for closed connections to say goodbye to the API server; a loop that has stopped leaks their sockets."""

_OWN_HEADERS: Final = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Point(enum.Enum):
    """Where a request is held."""

    BEFORE = "before the API server has it"
    AFTER = "after the API server has answered"


@dataclass(frozen=True)
class Asked:
    """A request that a client made."""

    time_s: float
    """Of the monotonic clock."""
    method: str
    path: str
    """With the query."""


class Hold:
    """Catches one request that fits; it goes on when it is released, its sender alive or not."""

    def __init__(self, method: str, path: str, point: Point, loop: asyncio.AbstractEventLoop, *, after: str) -> None:
        self._method, self._path, self._loop = method, re.compile(path), loop
        self.point = point
        self._caught, self._go = threading.Event(), asyncio.Event()
        self._taken = False
        self.lost = False
        self._after = re.compile(after) if after else None

    def await_caught(self, *, timeout_s: float = 60.0) -> None:
        """Wait until it holds a request.

        Raises:
            PartNotReadyError: none came.
        """
        if not self._caught.wait(timeout_s):
            raise PartNotReadyError(f"No {self._method} {self._path.pattern} came within {timeout_s:.0f} s.")

    def release(self) -> None:
        """Let the request go on, or never hold one."""
        self._loop.call_soon_threadsafe(self._go.set)

    def lose(self) -> None:
        """Break the request's connection off: it never arrives."""
        self.lost = True
        self.release()

    def wants(self, method: str, path: str) -> bool:
        """Whether this request is the one; asked in the proxy's thread."""
        if self._after is not None:
            if method == "PATCH" and self._after.search(path):
                self._after = None
            return False
        if self._taken or self._go.is_set() or method != self._method or not self._path.search(path):
            return False
        self._taken = True
        return True

    async def hold(self) -> None:
        """Tell that the request is here, and wait for its release."""
        self._caught.set()
        await self._go.wait()


@dataclass(frozen=True)
class _Refusal:
    method: re.Pattern[str]
    path: re.Pattern[str]
    status: int
    headers: Mapping[str, str]


class RequestProxy:
    """Passes requests on to an API server, or not; use as a context manager.

    Args:
        target_url: of the API server.
        ca_file: who signed its certificate.
    """

    def __init__(self, target_url: str, ca_file: Path) -> None:
        self._target_url = target_url
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._holds: list[Hold] = []
        self._refusals: list[_Refusal] = []
        self._watches_silent = False
        self._streams: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="request-proxy", daemon=True)
        self.asked: list[Asked] = []
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{LOOPBACK}:{self.port}"

    def hold(self, method: str, path: str, point: Point = Point.BEFORE, *, after: str = "") -> Hold:
        """Hold the next request whose path (with its query) matches the expression `path`.

        With `after`, only what comes after a PATCH whose path matches that expression counts.
        """
        hold = Hold(method, path, point, self._loop, after=after)
        self._holds.append(hold)
        return hold

    def refuse(self, method: str, path: str, status: int, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Answer requests that match both regular expressions in the API server's place, until `heal`."""
        self._refusals.append(_Refusal(re.compile(method), re.compile(path), status, headers))

    def silence_watches(self) -> None:
        """Swallow from now on what the API server says in watches, open ones and new ones, and never end them."""
        self._watches_silent = True

    def heal(self) -> None:
        """Release what is held, refuse nothing, and break off the watches that have lost something."""
        for hold in self._holds:
            hold.release()
        self._holds, self._refusals = [], []
        if self._watches_silent:
            self._watches_silent = False
            self._do(self._break_off_streams())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the proxy's thread and wait for its end."""
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result(_COMMAND_TIMEOUT_S)
        except TimeoutError as error:
            raise PartNotReadyError(f"The request proxy on port {self.port} did not take a command in time.") from error

    async def _listen(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._tls, limit=0),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, 0)
        await site.start()
        (address,) = self._runner.addresses
        self.port = address[1]

    async def _close(self) -> None:
        await self._break_off_streams()
        await self._runner.cleanup()
        await self._session.close()
        await asyncio.sleep(_TLS_END_S)

    async def _break_off_streams(self) -> None:
        for task in self._streams:
            task.cancel()
        await asyncio.sleep(0)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path, body = request.raw_path, await request.read()
        self.asked.append(Asked(time.monotonic(), request.method, path))
        for refusal in self._refusals:
            if refusal.method.fullmatch(request.method) and refusal.path.search(path):
                return _refused(refusal)
        hold = next((hold for hold in self._holds if hold.wants(request.method, path)), None)
        if hold is not None and hold.point is Point.BEFORE:
            await hold.hold()
            if hold.lost:
                if request.transport is not None:  # else the client has given up first
                    request.transport.abort()
                return web.Response()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN_HEADERS}
        try:
            async with self._session.request(
                request.method, self._target_url + path, headers=headers, data=body or None, allow_redirects=False
            ) as answer:
                if "watch=true" in path and answer.ok:
                    return await self._streamed(request, answer)
                payload = await answer.read()
        except aiohttp.ClientError as error:
            return web.Response(status=502, text=str(error))
        if hold is not None and hold.point is Point.AFTER:
            await hold.hold()
        return web.Response(status=answer.status, headers=_kept(answer), body=payload)

    async def _streamed(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Pass a watch on as it comes."""
        mine = asyncio.current_task()
        assert mine is not None  # noqa: S101 - a handler runs in a task
        self._streams.add(mine)
        response, whole = web.StreamResponse(status=answer.status, headers=_kept(answer)), False
        try:
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                if not self._watches_silent:
                    await response.write(chunk)
            if self._watches_silent:
                await asyncio.Event().wait()  # its end is not told either, until it is broken off
            await response.write_eof()
            whole = True
        except (aiohttp.ClientError, ConnectionError):
            pass  # either end has gone
        finally:
            self._streams.discard(mine)
            if not whole and request.transport is not None:
                request.transport.abort()
        return response


def _kept(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.lower() not in _OWN_HEADERS}


def _refused(refusal: _Refusal) -> web.Response:
    message = f"the request proxy answers {refusal.status}"
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": refusal.status, "message": message}
    return web.Response(
        status=refusal.status, headers=dict(refusal.headers), text=json.dumps(status), content_type="application/json"
    )
