"""What went wrong with policies in one cycle, as the log tells it: one line for each kind, not for each policy.

What lasts is told when it begins and when it changes, not with each cycle.
"""

import dataclasses
import traceback
from collections.abc import Mapping
from typing import Final

import structlog

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ObjectKey

MOST_NAMED: Final = 20
"""Policies that one line names."""

_Kind = tuple[str, str, str]

_log = structlog.get_logger()


@dataclasses.dataclass(slots=True)
class _SameTrouble:
    """Policies with one trouble: how many, the first names, and the first error."""

    error: Exception
    count: int = 0
    first: list[str] = dataclasses.field(default_factory=list)


class Troubles:
    """Collects what goes wrong in a cycle, until it is told at its end."""

    def __init__(self) -> None:
        self._same: dict[_Kind, _SameTrouble] = {}
        self._told: Mapping[_Kind, tuple[int, list[str]]] = {}

    def add(self, event: str, key: ObjectKey, error: Exception) -> None:
        """Note that something did not work with a policy.

        Args:
            event: what the log says.
            key: of the policy.
            error: why; only the first of its kind is repeated.
        """
        same = self._same.setdefault((event, type(error).__name__, _where(error)), _SameTrouble(error))
        same.count += 1
        if len(same.first) < MOST_NAMED:
            same.first.append(str(key))

    def tell(self, *, early: bool = False) -> None:
        """Tell the log what is new; a surprise with the traceback that only a change of the program can repair.

        Args:
            early: some policies were looked at: what they do not show may last all the same.
        """
        now = {kind: (same.count, same.first) for kind, same in self._same.items()}
        for kind, same in self._same.items():
            if self._told.get(kind) == now[kind]:
                continue
            named = {"count": same.count, "policies": same.first}
            if isinstance(same.error, TunerError):
                _log.warning(kind[0], error=str(same.error), **named)
            else:
                _log.error(kind[0], exc_info=same.error, **named)
        self._same, self._told = {}, {**self._told, **now} if early else now


def _where(error: Exception) -> str:
    """Return where a surprise came from: two of one type are different ones if that differs."""
    if isinstance(error, TunerError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return "" if not frames else f"{frames[-1].filename}:{frames[-1].lineno}"
