"""The policies as the API server has them, and what is written of them: statuses and Events."""

import dataclasses
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list of all policies.

    Attributes:
        bodies: objects.
        version: the resource version of the list's moment: what is newer is not in it.
    """

    bodies: Sequence[Mapping[str, Any]]
    version: int


class Policies(Protocol):
    """The policies as the API server has them."""

    def list_all(self) -> AsyncGenerator[ListPage, None]:
        """Yield all policies of the cluster, page by page.

        Raises:
            ApiServerError: the API server did not answer, or could not give one moment's list.
        """
        ...

    async def is_current(self, body: Mapping[str, Any]) -> bool:
        """Whether the policy is still there and still asks for what `body` asks for.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def write_status(self, body: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Replace the status of the policy `body`; return the object as stored.

        Raises:
            WriteConflictError: the policy changed since `body` was read, or is gone.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...

    async def announce(
        self, body: Mapping[str, Any], *, reason: str, message: str, warning: bool, count: int = 1
    ) -> None:
        """Record a Kubernetes Event about the policy, or about `count` policies of its namespace.

        Raises:
            NotLeaderError: the leadership is over.
            TunerError: it is not written.
        """
        ...
