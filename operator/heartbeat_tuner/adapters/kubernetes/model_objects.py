"""`ConsumerGroupModel` objects: written by the fit, read by the operator.

Server-side apply under a manager of the fit's own, so that it shows in each object who wrote it, and never forced. Only
what differs is written; a tail that the newest fit rejects is kept from the object that it would replace. What goes
wrong with one model, or with one namespace, costs no other.

They are listed every few minutes by who decides with them, and not watched. At 10,000 models a list of which nothing
has changed takes 1.9 CPU-seconds, 0.6 % of a core every five minutes, and nothing of it is held but what is new
(`known_models`). A watch would save that, and could not bound what a namespace may fill (`api.model_choice`): which of
its models are the newest is known when all of them were seen.
"""

import asyncio
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

import structlog

from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api, listing
from heartbeat_tuner.adapters.kubernetes.known_models import KnownModels
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.model_choice import SPARE, ModelChoice
from heartbeat_tuner.domain.errors import ApiServerError, FieldOwnedError, TunerError
from heartbeat_tuner.models.group_model import Fitted, GroupModel, Unfitted, Unreadable
from heartbeat_tuner.ports.stored_models import Written

FIELD_MANAGER: Final = "heartbeat-tuner-fit"

CONCURRENT_REQUESTS: Final = 10
REQUEST_TIMEOUT: Final = timedelta(seconds=10)

PAGE: Final = 200
"""Models per request of a list: to read a page takes 40 ms, in which nothing else is done."""

_PATH: Final = api_paths.collection(api_paths.MODELS)

_log = structlog.get_logger()

_INSTALL: Final = "install them first: kubectl apply -f crds/"
PATIENCE: Final = 3
"""Requests that may go unanswered before the rest of a namespace is left for the next run."""

_ENDING: Final = "because it is being terminated"
"""What the API server says of a namespace that is on its way out."""


class _NotServedError(ApiServerError):
    """There is no such resource, in no namespace."""


@dataclasses.dataclass(slots=True)
class _Tally:
    """What became of the models so far; of those of one namespace, until nothing more can be written there."""

    written: int = 0
    unchanged: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)
    gone: list[str] = dataclasses.field(default_factory=list)
    unanswered: int = 0
    stopped: str = ""
    left: int = 0
    is_gone: bool = False


class KubernetesModels:
    """Models through the API server.

    Args:
        api: one API server.
        namespaces: where they are read; everywhere if empty.
        page: models per request of a list.
    """

    def __init__(self, api: KubernetesApi, *, namespaces: Sequence[str] = (), page: int = PAGE) -> None:
        self._api = api
        self._namespaces = namespaces
        self._page = page
        self._known = KnownModels()
        self._left_out: frozenset[str] = frozenset()

    async def read(self, asked: Collection[tuple[str, str]] = ()) -> Sequence[Fitted | Unreadable] | Unfitted:
        """Return the models that policies ask for, and the newest others of each namespace, up to a bound.

        Args:
            asked: namespace and group of every policy.

        Returns:
            Unfitted if they are not installed, or not ours to read.

        Raises:
            ApiServerError: the API server did not answer.
        """
        choice = ModelChoice(asked, self._known.seen)
        try:
            for path in listing.lists(_PATH, self._namespaces):
                async for page in listing.pages(self._api, path, limit=self._page):
                    if page is None:
                        return Unfitted("the API server does not know ConsumerGroupModels")
                    for item in page["items"]:
                        choice.add(item)
        except ApiServerError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            return Unfitted("the operator may not list ConsumerGroupModels")
        self._say(choice.left_out)
        return await self._known.parsed(choice.kept)

    def _say(self, left_out: Mapping[str, int]) -> None:
        """Name the namespaces that have more models than are kept, where that is news."""
        for namespace, count in sorted(left_out.items()):
            if namespace not in self._left_out:
                _log.warning(
                    "a namespace has more ConsumerGroupModels than its policies need, the oldest are left out",
                    namespace=namespace,
                    left_out=count,
                    kept_beside_policies=SPARE,
                )
        self._left_out = frozenset(left_out)

    async def write(self, fitted: Sequence[GroupModel]) -> Written:
        """Apply what differs from what is there.

        Raises:
            ApiServerError: the API server knows no such objects.
        """
        by_namespace: dict[str, list[GroupModel]] = {}
        unnamed: list[str] = []
        for model in fitted:
            if model_documents.is_namespace(model.namespace):
                by_namespace.setdefault(model.namespace, []).append(model)
            else:
                unnamed.append(
                    f"group {model.group}: {model.namespace!r} is no namespace of Kubernetes; its metrics say so"
                )
        tallies = [await self._write_namespace(namespace, models) for namespace, models in sorted(by_namespace.items())]
        return Written(
            sum(tally.written for tally in tallies),
            sum(tally.unchanged for tally in tallies),
            [*unnamed, *(sentence for tally in tallies for sentence in tally.failed)],
            tuple(sentence for tally in tallies for sentence in tally.gone),
        )

    async def _write_namespace(self, namespace: str, fitted: Sequence[GroupModel]) -> _Tally:
        """Write the models of one namespace; what happens to all of it is told once."""
        tally, limit = _Tally(), asyncio.Semaphore(CONCURRENT_REQUESTS)
        try:
            stored = await self._stored(namespace)
        except _NotServedError:
            raise
        except ApiServerError as error:
            tally.failed.append(f"namespace {namespace}: {error}; {len(fitted)} models not written")
            return tally

        async def write(model: GroupModel) -> None:
            async with limit:
                if tally.stopped:
                    tally.left += 1
                    return
                try:
                    await self._write_one(model, stored, tally)
                except TunerError as error:
                    self._failed(model, error, tally)

        await asyncio.gather(*(write(model) for model in fitted))
        if tally.stopped:
            sentences = tally.gone if tally.is_gone else tally.failed
            sentences.append(f"namespace {namespace}: {tally.stopped}; {tally.left} models not written")
        return tally

    async def _write_one(self, model: GroupModel, stored: Mapping[str, Mapping[str, Any]], tally: _Tally) -> None:
        name = model_documents.name_of(model.group, model.cluster)
        document = model_documents.due(model, stored.get(name))
        if document is None:
            tally.unchanged += 1
            return
        path = api_paths.item(api_paths.MODELS, name, model.namespace)
        answer = await self._api.write(
            "PATCH", path, document, content_type=kubernetes_api.APPLY, fieldManager=FIELD_MANAGER
        )
        if answer is None:
            tally.stopped, tally.is_gone = "does not exist", True
            tally.left += 1
            return
        tally.written += 1

    def _failed(self, model: GroupModel, error: TunerError, tally: _Tally) -> None:
        """Note a failure, and whether it makes sense to go on in this namespace."""
        if isinstance(error, ApiServerError) and _ENDING in str(error):
            tally.stopped, tally.is_gone = "is being deleted", True
            tally.left += 1
            return
        if isinstance(error, FieldOwnedError):
            error = FieldOwnedError(f"{error}; delete the object, and the next fit writes it again")
        tally.failed.append(f"group {model.namespace}/{model.group}: {error}")
        if isinstance(error, ApiServerError) and error.status is None:
            tally.unanswered += 1
            if tally.unanswered >= PATIENCE:
                tally.stopped = "the API server does not answer any more"

    async def _stored(self, namespace: str) -> dict[str, Mapping[str, Any]]:
        """Return what is there, by name, without what servers add to it."""
        documents: dict[str, Mapping[str, Any]] = {}
        path = api_paths.collection(api_paths.MODELS, namespace)
        async for page in listing.pages(self._api, path, limit=self._page):
            if page is None:
                raise _NotServedError(f"the API server does not know ConsumerGroupModels; {_INSTALL}")
            for body in page["items"]:
                key = model_documents.key_of(body)
                documents[key.name] = {
                    "metadata": {"namespace": key.namespace, "name": key.name},
                    "spec": body.get("spec") or {},
                }
        return documents


def write_to_cluster(fitted: Sequence[GroupModel], *, request_timeout: timedelta = REQUEST_TIMEOUT) -> Written:
    """Write models to the cluster that the environment configures, from code that is not asynchronous.

    Raises:
        ApiServerError: there is no such cluster, or it knows no such objects.
    """
    return asyncio.run(_write_to_cluster(fitted, request_timeout))


async def _write_to_cluster(fitted: Sequence[GroupModel], request_timeout: timedelta) -> Written:
    api = await KubernetesApi.connect(request_timeout=request_timeout)
    try:
        return await KubernetesModels(api).write(fitted)
    finally:
        await api.close()
