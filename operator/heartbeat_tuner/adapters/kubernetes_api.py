"""Requests to the API server: raw JSON in and out, errors by name.

A thin layer over the asyncio part of the Kubernetes client, which brings configuration, credentials and connections;
its generated models are left out, because they cost memory and refuse objects newer than themselves.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from kubernetes.aio import client, config

from heartbeat_tuner.domain.errors import ApiServerError, FieldOwnedError, WriteConflictError

FIELD_MANAGER: Final = "heartbeat-tuner"
APPLY: Final = "application/apply-patch+yaml"
JSON: Final = "application/json"

SHOWN_BODY: Final = 300
"""Characters of an answer in plain text that a message repeats."""


class KubernetesApi:
    """One API server; make it with `connect`, end it with `close`."""

    def __init__(self, api_client: client.ApiClient, *, request_timeout: timedelta) -> None:
        self._client = api_client
        self._timeout_s = request_timeout.total_seconds()

    @classmethod
    async def connect(cls, *, request_timeout: timedelta) -> "KubernetesApi":
        """Return a connection as the environment configures it: kubeconfig, or the pod's service account.

        Raises:
            ApiServerError: neither is there.
        """
        configuration = client.Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration)
        except config.ConfigException:
            try:
                await config.load_kube_config(client_configuration=configuration)
            except config.ConfigException as error:
                raise ApiServerError(f"no service account and no usable kubeconfig: {error}") from error
        return cls(client.ApiClient(configuration), request_timeout=request_timeout)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return the object or list at `path`; None if it does not exist.

        Raises:
            ApiServerError: any other failure.
        """
        return await self._request("GET", path, query=query)

    async def write(
        self, method: str, path: str, body: Mapping[str, Any], *, content_type: str = JSON, **query: str
    ) -> dict[str, Any] | None:
        """Send `body`; return the object as stored, None if what `path` names does not exist.

        Raises:
            FieldOwnedError: server-side apply met another manager's field.
            WriteConflictError: the object is not the one that was read.
            ApiServerError: any other failure.
        """
        return await self._request(method, path, query=query, body=dict(body), content_type=content_type)

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: dict[str, Any] | None = None,
        content_type: str = JSON,
    ) -> dict[str, Any] | None:
        request = await self._client.param_serialize(
            method,
            path,
            query_params=list(query.items()),
            header_params={"Accept": JSON, "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            response = await self._client.call_api(*request, _request_timeout=self._timeout_s)
            payload = await response.read()
        except TimeoutError as error:
            raise ApiServerError(f"the API server did not answer {method} {path} in {self._timeout_s:.0f} s") from error
        except aiohttp.ClientError as error:
            raise ApiServerError(f"the API server did not answer {method} {path}: {error}") from error
        if response.status == HTTPStatus.NOT_FOUND:
            return None  # before the body is read: an unknown resource is answered in plain text
        try:
            answer = dict(json.loads(payload))
        except ValueError as error:
            text = payload.decode(errors="replace").strip()[:SHOWN_BODY]
            sentence = f"the API server answered {method} {path} with {response.status} and no object: {text}"
            raise ApiServerError(sentence) from error
        if response.status < HTTPStatus.BAD_REQUEST:
            return answer
        raise _refusal(response.status, answer, f"{method} {path}")


def _refusal(
    status: int, answer: Mapping[str, Any], request: str
) -> ApiServerError | WriteConflictError | FieldOwnedError:
    """Return the error that a refused request stands for."""
    message = str(answer.get("message", "no message"))
    if status != HTTPStatus.CONFLICT:
        return ApiServerError(f"the API server refused {request} with {status}: {message}")
    causes = (answer.get("details") or {}).get("causes") or []
    if any(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        return FieldOwnedError(message)
    return WriteConflictError(message)
