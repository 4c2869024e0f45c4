"""What went wrong with policies in one cycle, as the log tells it: one line for each kind, not for each policy."""

import dataclasses
import traceback
from typing import Final

import structlog

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ObjectKey

MOST_NAMED: Final = 20
"""Policies that one line names."""

_Kind = tuple[str, str, str]

_log = structlog.get_logger()


@dataclasses.dataclass(slots=True)
class _Same:
    """Policies with one trouble: how many, the first names, and the first error."""

    error: Exception
    count: int = 0
    first: list[str] = dataclasses.field(default_factory=list)


class Troubles:
    """Collects what went wrong, until it is told."""

    def __init__(self) -> None:
        self._same: dict[_Kind, _Same] = {}

    def add(self, event: str, key: ObjectKey, error: Exception) -> None:
        """Note that something did not work with a policy.

        Args:
            event: what the log says.
            key: of the policy.
            error: why; only the first of its kind is repeated.
        """
        same = self._same.setdefault((event, type(error).__name__, _where(error)), _Same(error))
        same.count += 1
        if len(same.first) < MOST_NAMED:
            same.first.append(str(key))

    def tell(self) -> None:
        """Tell the log, and begin anew; a surprise with the traceback that only a change of the program can mend."""
        for (event, _, _), same in self._same.items():
            named = {"count": same.count, "policies": same.first}
            if isinstance(same.error, TunerError):
                _log.warning(event, error=str(same.error), **named)
            else:
                _log.error(event, exc_info=same.error, **named)
        self._same = {}


def _where(error: Exception) -> str:
    """Return where a surprise came from: two of one type are different ones if that differs."""
    if isinstance(error, TunerError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return "" if not frames else f"{frames[-1].filename}:{frames[-1].lineno}"
