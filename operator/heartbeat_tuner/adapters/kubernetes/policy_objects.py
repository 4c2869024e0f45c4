"""Policies as the API server has them: listed, status and Events written back."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api, kubernetes_events, listing
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.api.v1alpha1.fields import API_VERSION
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import KIND
from heartbeat_tuner.domain.errors import ApiServerError, NotAllowedError, WriteConflictError
from heartbeat_tuner.ports.stored_policies import ListPage

PAGE: Final = 500
"""Policies per request of a list."""

_LIST: Final = api_paths.collection(api_paths.POLICIES)


class KubernetesPolicies:
    """Reads policies, and writes what the reconciler found into them.

    Args:
        api: one API server.
        namespaces: where; everywhere if empty.
        page: policies per request of a list.
    """

    def __init__(self, api: KubernetesApi, *, namespaces: Sequence[str] = (), page: int = PAGE) -> None:
        self._api = api
        self._namespaces = namespaces
        self._page = page

    async def served(self) -> bool:
        """Whether the API server knows the resource at all.

        Raises:
            NotAllowedError: it may not be listed where it should be.
            ApiServerError: the API server did not answer.
        """
        for namespace in self._namespaces or ("",):
            (path,) = listing.lists(_LIST, [namespace] if namespace else [])
            try:
                answer = await self._api.get(path, limit="1")
            except ApiServerError as error:
                if error.status == HTTPStatus.FORBIDDEN:
                    raise NotAllowedError(_not_allowed(namespace)) from error
                raise
            if answer is None:
                return False
        return True

    async def list_all(self) -> AsyncGenerator[ListPage, None]:
        """Yield all policies that are looked after, page by page.

        What is made while the lists of several namespaces are asked for one after the other may be missing, and is not
        gone: of the pages' moments the earliest counts.

        Raises:
            ApiServerError: the API server did not answer, or forgot the moment of the first page.
        """
        for path in listing.lists(_LIST, self._namespaces):
            async for page in listing.pages(self._api, path, limit=self._page):
                if page is None:
                    raise ApiServerError("the API server does not know ConsumerGroupPolicies any more")
                yield ListPage(page["items"], int(page["metadata"]["resourceVersion"]))

    async def is_current(self, body: Mapping[str, Any]) -> bool:
        """Whether the policy is still there and still asks for what `body` asks for.

        Raises:
            ApiServerError: the API server did not answer.
        """
        stored = await self._api.get(_path(body))
        if stored is None or "deletionTimestamp" in stored["metadata"]:
            return False
        return all(stored["metadata"][key] == body["metadata"][key] for key in ("uid", "generation"))

    async def write_status(self, body: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Replace the status of the policy `body`; return the object as stored.

        Raises:
            WriteConflictError: the policy changed since `body` was read, or is gone.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        metadata = body["metadata"]
        # A PUT of the whole status: fields that are gone must go, and resourceVersion and uid refuse a stale view.
        document = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")},
            "spec": body["spec"],
            "status": status,
        }
        stored = await self._api.write(
            "PUT", _path(body, "status"), document, fieldManager=kubernetes_api.FIELD_MANAGER
        )
        if stored is None:
            raise WriteConflictError(f"policy {metadata['namespace']}/{metadata['name']} is gone")
        return stored

    async def announce(
        self, body: Mapping[str, Any], *, reason: str, message: str, warning: bool, count: int = 1
    ) -> None:
        """Record a Kubernetes Event about the policy, or about `count` policies of its namespace.

        Raises:
            NotLeaderError: the leadership is over.
            TunerError: it is not written.
        """
        policy = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            **{key: body["metadata"][key] for key in ("name", "namespace", "uid")},
        }
        await kubernetes_events.write(self._api, policy, reason=reason, message=message, warning=warning, count=count)


def _not_allowed(namespace: str) -> str:
    """Return what to do about rights that do not reach a namespace; all of them, if it is empty."""
    if not namespace:
        return (
            "the operator may not list the ConsumerGroupPolicies of all namespaces; bind its ClusterRole by a "
            "ClusterRoleBinding, or name the namespaces in which it has a Role in kubernetes.namespaces (Helm: "
            "watchNamespaces)"
        )
    return (
        f"the operator may not list the ConsumerGroupPolicies of namespace {namespace}, which kubernetes.namespaces "
        f"names; bind a Role with its rules there, or take the namespace out (Helm: watchNamespaces)"
    )


def _path(body: Mapping[str, Any], subresource: str = "") -> str:
    metadata = body["metadata"]
    return api_paths.item(api_paths.POLICIES, metadata["name"], metadata["namespace"], subresource)
