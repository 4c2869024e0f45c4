"""The fitted models as the API server has them, and what became of those that a fit wrote."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Protocol

from heartbeat_tuner.models.group_model import Fitted, Unfitted, Unreadable


class Models(Protocol):
    """The fitted models as the API server has them."""

    async def read(self, asked: Collection[tuple[str, str]] = ()) -> Sequence[Fitted | Unreadable] | Unfitted:
        """Return the models of the cluster; Unfitted if none may or can be read, until somebody changes that.

        Those of `asked`, the namespaces and groups of policies, are there; of others so many as the store keeps.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What became of models that were to be written.

    Attributes:
        written: how many differed from what was there, and are there now.
        unchanged: how many said what was there already, whichever run fitted it.
        failed: a sentence for each failure; one that happened to a whole namespace is one.
        gone: a sentence for each namespace that is not there any more, which is no failure: its groups ended with it.
    """

    written: int
    unchanged: int
    failed: Sequence[str]
    gone: Sequence[str] = ()
