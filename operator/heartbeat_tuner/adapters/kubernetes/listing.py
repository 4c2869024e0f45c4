"""Which objects of the API server are looked at, and a list of them page by page."""

import dataclasses
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

from heartbeat_tuner.adapters.kubernetes import api_paths

PAGE: Final = 100
"""Objects per request of a list: reading a page of pods takes some milliseconds, in which nothing else is done."""


class ObjectSource(Protocol):
    """What is asked of an API server."""

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return the object or list at `path`; None if it does not exist."""
        ...

    def lines(self, path: str, *, silence: timedelta, **query: str) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an answer that goes on."""
        ...


async def pages(
    source: ObjectSource, path: str, *, limit: int, **query: str
) -> AsyncGenerator[dict[str, Any] | None, None]:
    """Yield a list page by page, with so many objects at most in each; None if there is no such list.

    Raises:
        ApiServerError: no answer, or the moment of the first page is forgotten.
    """
    query["limit"] = str(limit)
    while True:
        page = await source.get(path, **query)
        yield page
        token = None if page is None else page["metadata"].get("continue")
        if not token:
            return
        query["continue"] = token


@dataclasses.dataclass(frozen=True, slots=True)
class WatchedKind:
    """Which objects.

    Attributes:
        path: of the list over all namespaces.
        selector: labels, as the API server takes them; empty for all objects.
        may_be_missing: whether the kind itself may be missing; the list is empty then, without an error.
        page: objects per request of a list.
    """

    path: str
    selector: str = ""
    may_be_missing: bool = False
    page: int = PAGE

    def within(self, namespace: str) -> "WatchedKind":
        """Return the same objects in one namespace."""
        return dataclasses.replace(self, path=api_paths.in_namespace(self.path, namespace))


def lists(path: str, namespaces: Sequence[str]) -> list[str]:
    """Return the paths of the lists of these namespaces; of all, if none is named."""
    return [api_paths.in_namespace(path, namespace) for namespace in namespaces] or [path]
