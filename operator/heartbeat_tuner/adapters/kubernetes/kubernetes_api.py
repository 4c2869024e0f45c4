"""Requests to the API server: raw JSON in and out, errors by name.

A thin layer over the asyncio part of the Kubernetes client, which brings configuration, credentials and connections;
its generated models are left out, because they cost memory and refuse objects newer than themselves.

Behind a fence a write leaves only while this replica leads: that is asked before it is made, once more right before its
bytes leave, and it does not wait for an answer beyond the end of the leadership.
"""

import asyncio
import contextlib
import json
import os
import urllib.request
from collections.abc import AsyncGenerator, Coroutine, Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.domain.errors import ApiServerError, FieldOwnedError, WriteConflictError
from heartbeat_tuner.ports.leader_lease import Fence

FIELD_MANAGER: Final = "heartbeat-tuner"
APPLY: Final = "application/apply-patch+yaml"
JSON: Final = "application/json"

SHOWN_BODY: Final = 300
"""Characters of an answer in plain text that a message repeats."""

LONGEST_LINE_BYTES: Final = 16 * 2**20
"""Of a watch: etcd takes objects of 1.5 MiB, and in JSON a character may be six bytes where it was one."""

LARGEST_ANSWER_BYTES: Final = 32 * 2**20
"""More than any one object is; read whole, in JSON, it takes a multiple of it."""

LARGEST_PAGE_BYTES: Final = 4 * 2**20
"""Of a list, which can be had in smaller pages: reading one takes some tens of milliseconds, in which nothing else is
done."""

SMALLER: Final = 4
"""So many times fewer objects are asked for after a page of too many bytes."""


class _TooLargeError(ApiServerError):
    """An answer has more than `LARGEST_ANSWER_BYTES`."""


class KubernetesApi:
    """One API server; make it with `connect`, end it with `close`.

    Args:
        api_client: brings configuration, credentials and connections; nobody else's.
        request_timeout: for one request.
        fence: asked before each write; None if writes need no leadership.
    """

    def __init__(self, api_client: client.ApiClient, *, request_timeout: timedelta, fence: Fence | None = None) -> None:
        self._client = api_client
        self._timeout_s = request_timeout.total_seconds()
        self._fence = fence
        # To look for a proxy costs each request two errands to other threads: done only where there is one.
        api_client.configuration.client_session_kwargs = {"trust_env": bool(urllib.request.getproxies())}
        if fence is not None:
            api_client.configuration.trace_configs = [_last_look(fence)]

    @classmethod
    async def connect(cls, *, request_timeout: timedelta, fence: Fence | None = None) -> "KubernetesApi":
        """Return a connection as the environment configures it: kubeconfig, or the pod's service account.

        Args:
            request_timeout: for one request.
            fence: asked before each write; None if writes need no leadership.

        Raises:
            ApiServerError: neither is there.
        """
        configuration = client.Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration)
        except config.ConfigException:
            try:
                # The client would have read the variable when it was imported.
                await config.load_kube_config(os.environ.get("KUBECONFIG"), client_configuration=configuration)
            except config.ConfigException as error:
                raise ApiServerError(f"no service account and no usable kubeconfig: {error}") from error
        return cls(client.ApiClient(configuration), request_timeout=request_timeout, fence=fence)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return the object or list at `path`; None if it does not exist.

        Of a list with a limit fewer objects may come than there are and than were asked for, if those are too large.

        Raises:
            ApiServerError: any other failure.
        """
        while True:
            limit = int(query.get("limit", "1"))
            most_bytes = LARGEST_PAGE_BYTES if limit > 1 else LARGEST_ANSWER_BYTES
            try:
                return await self._request("GET", path, query=query, timeout_s=self._timeout_s, most_bytes=most_bytes)
            except _TooLargeError:
                # Whose objects are large must not keep anybody's from being listed.
                if limit <= 1:
                    raise
                query["limit"] = str(max(limit // SMALLER, 1))  # a token to continue with knows of no limit

    async def lines(self, path: str, *, silence: timedelta, **query: str) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an answer that goes on, as a watch's does, until the API server ends it.

        Args:
            path: what is asked for.
            silence: how long nothing may come; a connection that is dead says nothing either.
            query: of the request.

        Raises:
            ApiServerError: it refused, the connection broke, or a line is longer than `LONGEST_LINE_BYTES`.
        """
        request = await self._client.param_serialize(
            "GET",
            api_paths.checked(path),
            query_params=list(query.items()),
            header_params={"Accept": JSON},
            auth_settings=["BearerToken"],
        )
        patience = aiohttp.ClientTimeout(
            total=None, connect=self._timeout_s, sock_connect=self._timeout_s, sock_read=silence.total_seconds()
        )
        try:
            answer = (await self._client.call_api(*request, _request_timeout=patience)).response
            async with answer:
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    text = (await answer.text())[:SHOWN_BODY]
                    sentence = f"the API server refused GET {path} with {answer.status}: {text}"
                    raise ApiServerError(sentence, status=answer.status)
                while line := await answer.content.readline(max_line_length=LONGEST_LINE_BYTES):
                    yield line
        except HttpProcessingError as error:  # no ClientError, though it is a client's: a line beyond all measure
            raise ApiServerError(f"the API server's answer to GET {path} makes no sense: {error.message}") from error
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ApiServerError(f"the API server broke off GET {path}: {error}") from error

    async def write(
        self, method: str, path: str, body: Mapping[str, Any], *, content_type: str = JSON, **query: str
    ) -> dict[str, Any] | None:
        """Send `body`; return the object as stored, None if what `path` names does not exist.

        Raises:
            FieldOwnedError: server-side apply met another manager's field.
            WriteConflictError: the object is not the one that was read.
            NotLeaderError: the fence is closed.
            ApiServerError: any other failure.
        """
        timeout_s = self._timeout_s if self._fence is None else min(self._timeout_s, self._fence.remaining_s())
        request = self._request(
            method, path, query=query, body=dict(body), content_type=content_type, timeout_s=timeout_s
        )
        return await (request if self._fence is None else _to_its_end(request))

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        timeout_s: float,
        body: dict[str, Any] | None = None,
        content_type: str = JSON,
        most_bytes: int = LARGEST_ANSWER_BYTES,
    ) -> dict[str, Any] | None:
        request = await self._client.param_serialize(
            method,
            api_paths.checked(path),
            query_params=list(query.items()),
            header_params={"Accept": JSON, "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            async with asyncio.timeout(timeout_s):  # the library's own may be up to a second late
                response = await self._client.call_api(*request, _request_timeout=timeout_s)
                payload = await _payload(response.response, f"{method} {path}", most_bytes)
        except (TimeoutError, aiohttp.ClientError) as error:
            if body is not None and self._fence is not None:
                self._fence.remaining_s()  # where the leadership ended first, that is what happened
            why = f" in {timeout_s:.2g} s" if isinstance(error, TimeoutError) else f": {error}"
            raise ApiServerError(f"the API server did not answer {method} {path}{why}") from error
        if response.status == HTTPStatus.NOT_FOUND:
            return None  # before the body is read: an unknown resource is answered in plain text
        try:
            answer = dict(json.loads(payload))
        except ValueError as error:
            text = payload.decode(errors="replace").strip()[:SHOWN_BODY]
            sentence = f"the API server answered {method} {path} with {response.status} and no object: {text}"
            raise ApiServerError(sentence, status=response.status) from error
        if response.status < HTTPStatus.BAD_REQUEST:
            other = api_paths.mismatch(path, answer)
            if other is not None:
                raise ApiServerError(f"the API server answered {method} {path} with {other}: it is not used")
            return answer
        raise _refusal(response.status, answer, f"{method} {path}")


async def _payload(answer: aiohttp.ClientResponse, request: str, most_bytes: int) -> bytes:
    """Return the whole of an answer; where that does not come to an end, its connection is given up.

    Raises:
        ApiServerError: it is too large.
    """
    payload = bytearray()
    with contextlib.closing(answer):  # one that was read to its end has no connection any more
        async for part in answer.content.iter_any():
            payload += part
            if len(payload) > most_bytes:
                raise _TooLargeError(f"the API server answered {request} with more than {most_bytes} bytes")
    return bytes(payload)


def _last_look(fence: Fence) -> aiohttp.TraceConfig:
    """Return what asks the fence right before the bytes of a write leave.

    Opening a connection takes tens of milliseconds, and from the headers to the body it is one more turn of the event
    loop, with all that others do in it. The process may stand still in any of that, for long. The headers leave with
    the body's first bytes.
    """

    async def ask(_session: object, _context: object, _chunk: aiohttp.TraceRequestChunkSentParams) -> None:
        fence.remaining_s()

    trace = aiohttp.TraceConfig()
    trace.on_request_chunk_sent.append(ask)  # called when it is about to be sent, whatever its name says
    return trace


async def _to_its_end(request: Coroutine[Any, Any, dict[str, Any] | None]) -> dict[str, Any] | None:
    """Await a write also where its caller is cancelled: nobody may take over while it is under way."""
    sending = asyncio.create_task(request)
    try:
        return await asyncio.shield(sending)
    except asyncio.CancelledError:
        await asyncio.wait([sending])
        if not sending.cancelled():
            sending.exception()  # looked at, or asyncio complains that nobody did
        raise


def _refusal(
    status: int, answer: Mapping[str, Any], request: str
) -> ApiServerError | WriteConflictError | FieldOwnedError:
    """Return the error that a refused request stands for."""
    message = str(answer.get("message", "no message"))
    if status != HTTPStatus.CONFLICT:
        return ApiServerError(f"the API server refused {request} with {status}: {message}", status=status)
    causes = (answer.get("details") or {}).get("causes") or []
    if any(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        return FieldOwnedError(message)
    return WriteConflictError(message)
