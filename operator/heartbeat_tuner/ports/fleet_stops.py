"""Whether changes of values are stopped until a person resumes them: noted where it outlasts every leader."""

import dataclasses
from datetime import datetime
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class FleetStop:
    """A stop.

    Attributes:
        message: why.
        since: when the operator stopped; None where a person did, or where the note cannot be read.
        namespaces: whose groups are not changed; everybody's are not where it is empty.
    """

    message: str
    since: datetime | None = None
    namespaces: frozenset[str] = frozenset()

    def holds(self, namespace: str) -> bool:
        """Whether no values are changed in a namespace."""
        return not self.namespaces or namespace in self.namespaces


@dataclasses.dataclass(frozen=True, slots=True)
class StopNote:
    """What is noted.

    Attributes:
        stop: None while values may be changed.
        asked_to_resume: whether a person asked to go on, and no leader has noted since when.
        resumed_at: what was written before tells nothing any more; None if nobody ever resumed.
    """

    stop: FleetStop | None = None
    asked_to_resume: bool = False
    resumed_at: datetime | None = None


class FleetStops(Protocol):
    """The one note, for the whole fleet."""

    async def read(self) -> StopNote:
        """Return what is noted now.

        Raises:
            ApiServerError: the API server did not answer, or what carries the note is not there.
        """
        ...

    async def replace(self, noted: StopNote, note: StopNote) -> None:
        """Replace what was read as `noted`.

        Raises:
            WriteConflictError: somebody has changed it since.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...
