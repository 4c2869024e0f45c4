"""The only kopf code: a watch that feeds the policy store.

Only `on.event`, which writes nothing: no finalizer, no annotation, no handler on other people's objects. What acts is
in `reconcile`. Nor does kopf read what it would have written itself: anybody could have put it into their object.
"""

import asyncio
import dataclasses
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import kopf
from kopf._cogs.clients.errors import APIError  # it has no public name
from kopf._core.engines.peering import Identity  # nor has this

from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import PLURAL
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.reconcile.policy_store import PolicyStore

WATCH_SERVER_TIMEOUT_S = 240
WATCH_CLIENT_TIMEOUT_S = 300

LIST_PAGE: Final = 500
"""Policies per request of kopf's list: whole, as it reads them, ten thousand would fill 200 MiB at once."""

WORKER_IDLE_S: Final = 0.1
"""How long kopf keeps an object's task, and with it the object as it came, for another event: its default of 5 s is for
handlers that write. At a start there would be one for each policy."""

_IDENTITY: Final = Identity("heartbeat-tuner")
"""For kopf's peering, which is off. Not given, kopf asks for the user's name, and in a container there may be none."""


def registry_for(store: PolicyStore, before_end: Callable[[], Awaitable[None]]) -> kopf.OperatorRegistry:
    """Return kopf's registry with the one watch that feeds `store`, and what to await before kopf ends."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        """Log in as the pod's service account, or as the kubeconfig says."""
        account = kopf.login_with_service_account(**kwargs)
        return kopf.login_with_kubeconfig(**kwargs) if account is None else without_dns(account, os.environ)

    @kopf.on.event(fields.GROUP, fields.VERSION, PLURAL, registry=registry)
    async def policy_changed(event: kopf.RawEvent, **_: Any) -> None:
        """Take the object as it is now; not in a thread, where kopf runs plain functions.

        An event of no type is kopf's for an object of the list with which it begins a watch, or goes on after an error.
        """
        body = event["object"]
        if event["type"] == "DELETED":
            store.remove(body)
        else:
            store.show(body, is_listed=event["type"] is None)

    @kopf.on.cleanup(registry=registry)
    async def ending(**_: Any) -> None:
        """End our own tasks: kopf takes every task younger than itself for its own, and cancels those it finds."""
        await before_end()

    return registry


def without_dns(account: kopf.ConnectionInfo, environ: Mapping[str, str]) -> kopf.ConnectionInfo:
    """Return the same account at the address that Kubernetes gives every container, as all else here uses it.

    kopf would ask for `kubernetes.default.svc`, and so not start on a cluster whose DNS is down.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        return account
    return dataclasses.replace(account, server=f"https://{f'[{host}]' if ':' in host else host}:{port}")


class _NoDiffBase(kopf.DiffBaseStorage):
    """Nothing of an object's last state: only handlers of changes, of which there are none, would ask for it.

    Kopf reads it before any handler, also where nobody asks; in an annotation that is no JSON it would stumble, and the
    object would never be shown.
    """

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Return nothing of an object."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> kopf.BodyEssence | None:
        """Return nothing of what was handled last."""
        return None

    def store(self, **_: Any) -> None:
        """Write nothing."""


class _NoProgress(kopf.ProgressStorage):
    """Nothing of how far handlers are: those of events are called once, and that is all."""

    def fetch(self, **_: Any) -> None:
        """Return nothing of a handler."""

    def store(self, **_: Any) -> None:
        """Write nothing."""

    def purge(self, **_: Any) -> None:
        """Write nothing."""

    def touch(self, **_: Any) -> None:
        """Write nothing."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """Return what is nothing already."""
        return essence


def operator_settings() -> kopf.OperatorSettings:
    """Return kopf's settings: it watches, and does nothing else."""
    settings = kopf.OperatorSettings()
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = _NoProgress()
    # Where it is not needed kopf takes its finalizer off, by a write that asks for no leadership: so it is none that
    # anybody could have put on.
    settings.persistence.finalizer = f"{fields.GROUP}/{secrets.token_hex(16)}"
    settings.posting.enabled = False
    settings.scanning.disabled = True  # spares cluster-wide rights on CRDs and namespaces
    settings.watching.server_timeout = WATCH_SERVER_TIMEOUT_S
    settings.watching.chunk_size = LIST_PAGE
    settings.queueing.idle_timeout = WORKER_IDLE_S
    settings.watching.client_timeout = WATCH_CLIENT_TIMEOUT_S  # a watch that went silent is opened again
    return settings


async def watch(
    store: PolicyStore,
    before_end: Callable[[], Awaitable[None]],
    over: asyncio.Event,
    *,
    namespaces: Sequence[str] = (),
) -> None:
    """Feed `store` until the process is told to end (SIGTERM, SIGINT), or `over` is set; then await `before_end`.

    Args:
        store: gets the policies.
        before_end: awaited before kopf ends.
        over: set where there is nothing to watch for any more.
        namespaces: where policies are watched; everywhere if empty.

    Raises:
        ApiServerError: the API server refuses to be watched: it does not know policies any more, or forbids it.
    """
    registry = registry_for(store, before_end)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_without_traceback_of_a_refusal)
    try:
        await kopf.operator(
            registry=registry,
            settings=operator_settings(),
            identity=_IDENTITY,
            clusterwide=not namespaces,
            namespaces=namespaces,
            standalone=True,
            stop_flag=over,
        )
    except APIError as error:
        raise ApiServerError(
            f"the API server ended the watch of ConsumerGroupPolicies: {str(error).strip()}; see that they are "
            f"installed and that the operator may watch them, then start it again"
        ) from error


def _without_traceback_of_a_refusal(record: logging.LogRecord) -> bool:
    """Take the traceback out of what kopf logs of a refused request: its message says it all."""
    if record.exc_info and isinstance(record.exc_info[1], APIError):
        record.exc_info = None
    return True
