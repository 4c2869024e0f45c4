"""The few calls a node makes to the API server: JSON in, JSON out.

Plain HTTP rather than a client library: a node handles whole objects, must pass on fields it does not know, and should
start at once.
"""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import aiohttp
import yaml

from sandbox.errors import SandboxError

Document: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON."""

USER_AGENT: Final = "sandbox-process-node"
STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"

_REQUEST_TIMEOUT_S: Final = 15.0
_WATCH_S: Final = 60
_LINE_BYTES: Final = 4 * 1024 * 1024  # the largest object etcd takes is 1.5 MiB


class ApiError(SandboxError):
    """The API server refused a request.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class ApiUnreachableError(SandboxError):
    """Nobody answered, or the answer broke off."""


class Api:
    """A session with the API server; use as an asynchronous context manager."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        context = _named(document, "context", document["current-context"])
        cluster = _named(document, "cluster", context["cluster"])
        self._server: str = cluster["server"]
        self._token: str = _named(document, "user", context["user"])["token"]
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._token}", "User-Agent": USER_AGENT},
            connector=aiohttp.TCPConnector(ssl=self._tls),
            read_bufsize=_LINE_BYTES,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(self, path: str) -> Document:
        """Read an object or a list."""
        return await self._request("GET", path)

    async def create(self, path: str, document: Document) -> Document:
        """POST an object to its collection or subresource."""
        return await self._request("POST", path, document)

    async def patch(self, path: str, document: Document) -> Document:
        """Apply a strategic merge patch."""
        return await self._request("PATCH", path, document, STRATEGIC_MERGE)

    async def delete(self, path: str, options: Document) -> Document:
        """Delete an object with the given DeleteOptions."""
        return await self._request("DELETE", path, options)

    async def watch(self, path: str, resource_version: str) -> AsyncIterator[tuple[str, Document]]:
        """Yield (event type, object) until the server ends the watch, after about a minute.

        Raises:
            ApiError: the resource version is too old, or another refusal.
            ApiUnreachableError: the connection broke.
        """
        parameters = {"watch": "true", "resourceVersion": resource_version, "timeoutSeconds": str(_WATCH_S)}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_REQUEST_TIMEOUT_S, sock_read=_WATCH_S * 1.5)
        try:
            async with self._session.get(self._server + path, params=parameters, timeout=timeout) as response:
                await _check(response)
                async for line in response.content:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ApiError(event["object"].get("code", 0), event["object"].get("message", ""))
                    yield event["type"], event["object"]
        except (aiohttp.ClientError, TimeoutError, json.JSONDecodeError) as error:
            raise ApiUnreachableError(f"watching {path}: {error!r}") from error

    async def _request(
        self, method: str, path: str, document: Document | None = None, content_type: str = "application/json"
    ) -> Document:
        body = None if document is None else json.dumps(document)
        timeout = aiohttp.ClientTimeout(total=_REQUEST_TIMEOUT_S)
        headers: Mapping[str, str] = {"Content-Type": content_type}
        try:
            async with self._session.request(
                method, self._server + path, data=body, headers=headers, timeout=timeout
            ) as response:
                await _check(response)
                answer: Document = await response.json()
                return answer
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiUnreachableError(f"{method} {path}: {error!r}") from error


def _named(kubeconfig: Document, kind: str, name: str) -> Document:
    found: Document = next(item[kind] for item in kubeconfig[f"{kind}s"] if item["name"] == name)
    return found


async def _check(response: aiohttp.ClientResponse) -> None:
    if not response.ok:
        raise ApiError(response.status, await response.text())
