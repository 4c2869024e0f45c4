"""The API server as `bench.cycle` uses it itself: lists by pages, and many edits at a time.

It is the floor that the operator is compared with: what the same lists, and the same queries to Prometheus, cost a
client that does nothing else.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

import aiohttp
import yaml

from bench.cycle_exporter import Subject
from heartbeat_tuner.api.v1alpha1.fields import API_VERSION
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import PLURAL
from heartbeat_tuner.reconcile.series import reading_plan
from heartbeat_tuner.reconcile.series.series_store import LATE_S
from sandbox.control_plane import ControlPlane

LISTS: Final = {
    "policies": f"/apis/{API_VERSION}/{PLURAL}",
    "deployments": "/apis/apps/v1/deployments",
    "pods": "/api/v1/pods",
}
PAGE: Final = 500
AT_ONCE: Final = 20
"""Edits under way at a time: more bring no higher rate."""

_FLOOR_TRIES: Final = 3
_MOST_PAGES: Final = 1000
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60)


@dataclass(frozen=True)
class Edit:
    """A policy's spec was changed.

    Attributes:
        at: when the change was sent.
        generation: what the policy has now.
    """

    at: datetime
    generation: int


class Api:
    """Connections of the administrator; an asynchronous context manager."""

    def __init__(self, control_plane: ControlPlane) -> None:
        kubeconfig = yaml.safe_load(control_plane.kubeconfig.read_text())
        self._headers = {"Authorization": f"Bearer {kubeconfig['users'][0]['user']['token']}"}
        self._url = control_plane.url
        self._ssl = ssl.create_default_context(cafile=str(control_plane.ca_file))
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers=self._headers, timeout=_TIMEOUT, connector=aiohttp.TCPConnector(ssl=self._ssl, limit=AT_ONCE)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def count(self, path: str) -> int:
        """Read the list at `path` by pages, as JSON; return how many objects it has."""
        found, rest = 0, ""
        for _ in range(_MOST_PAGES):
            parameters = {"limit": str(PAGE), **({"continue": rest} if rest else {})}
            async with self._session.get(f"{self._url}{path}", params=parameters) as answer:
                answer.raise_for_status()
                page = json.loads(await answer.read())
            found += len(page["items"])
            rest = page["metadata"].get("continue", "")
            if not rest:
                return found
        raise RuntimeError(f"{path} has no end after {_MOST_PAGES} pages")

    async def edit(self, subject: Subject, *, longest_session_s: int) -> Edit:
        """Bound a policy's session from above, by so much that it changes no verdict."""
        path = f"/apis/{API_VERSION}/namespaces/{subject.namespace}/{PLURAL}/{subject.name}"
        patch = {"spec": {"bounds": {"sessionTimeout": {"max": f"{longest_session_s}s"}}}}
        at = datetime.now(UTC)
        async with self._session.patch(
            f"{self._url}{path}",
            data=json.dumps(patch),
            headers={"Content-Type": "application/merge-patch+json"},
        ) as answer:
            answer.raise_for_status()
            stored: dict[str, Any] = json.loads(await answer.read())
        return Edit(at, stored["metadata"]["generation"])

    async def rewrite_status(self, subject: Subject) -> None:
        """Write a policy's status as the operator does, with a condition's sentence changed.

        What is measured is the API server's time for such a write, so nothing is left to look at: it comes last.
        """
        path = f"{self._url}/apis/{API_VERSION}/namespaces/{subject.namespace}/{PLURAL}/{subject.name}"
        async with self._session.get(path) as answer:
            answer.raise_for_status()
            policy: dict[str, Any] = json.loads(await answer.read())
        policy["status"]["conditions"][0]["message"] += " (written by the benchmark)"
        async with self._session.put(f"{path}/status", json=policy) as answer:
            answer.raise_for_status()


@dataclass(frozen=True)
class Floor:
    """What the plain pieces took, the best of three.

    Attributes:
        lists_s: of all policies, Deployments and pods, one after the other.
        queries_s: of what a steady cycle asks Prometheus for, likewise; each answer parsed as JSON.
    """

    lists_s: float
    queries_s: float

    @property
    def total_s(self) -> float:
        """Both together."""
        return self.lists_s + self.queries_s


async def floor(
    control_plane: ControlPlane, prometheus_url: str, namespaces: Sequence[str], *, interval_s: float
) -> Floor:
    """Measure it, while no operator runs."""
    window_s = interval_s + LATE_S
    texts = [
        reading_plan.query(quantity, ["kafkajs"], namespaces, window_s=window_s)
        for quantity in reading_plan.READ
        if reading_plan.needs("kafkajs", quantity)
    ]

    async with Api(control_plane) as api, aiohttp.ClientSession(timeout=_TIMEOUT) as session:

        async def lists() -> None:
            for path in LISTS.values():
                await api.count(path)

        async def queries() -> None:
            for text in texts:
                async with session.post(f"{prometheus_url}/api/v1/query", data={"query": text}) as answer:
                    assert json.loads(await answer.read())["data"]["result"], text

        return Floor(await _best_s(lists), await _best_s(queries))


async def _best_s(work: Callable[[], Awaitable[None]]) -> float:
    taken_s = []
    for _ in range(_FLOOR_TRIES):
        began_s = time.monotonic()
        await work()
        taken_s.append(time.monotonic() - began_s)
    return min(taken_s)


async def counts(control_plane: ControlPlane) -> dict[str, int]:
    """Return how many policies, Deployments and pods there are."""
    async with Api(control_plane) as api:
        return {name: await api.count(path) for name, path in LISTS.items()}


async def rewrite_all(control_plane: ControlPlane, some: Sequence[Subject]) -> float:
    """Read each policy and write its status, `AT_ONCE` at a time; return how long that took, in seconds."""
    turn, began_s = asyncio.Semaphore(AT_ONCE), time.monotonic()
    async with Api(control_plane) as api:

        async def rewritten(subject: Subject) -> None:
            async with turn:
                await api.rewrite_status(subject)

        await asyncio.gather(*map(rewritten, some))
    return time.monotonic() - began_s


async def edit_all(control_plane: ControlPlane, some: Sequence[Subject], *, longest_session_s: int) -> list[Edit]:
    """Edit policies, `AT_ONCE` at a time; return the edits in the order of `some`."""
    turn = asyncio.Semaphore(AT_ONCE)
    async with Api(control_plane) as api:

        async def edited(subject: Subject) -> Edit:
            async with turn:
                return await api.edit(subject, longest_session_s=longest_session_s)

        return await asyncio.gather(*map(edited, some))
