"""What a step needs from the steps before it: where that is not there, this program is in error."""

from typing import TypeVar

_T = TypeVar("_T")


class StepOrderError(Exception):
    """A step stands before the one that makes sure of what it needs."""


def needed(value: _T | None, name: str) -> _T:
    """Return what a step needs.

    Raises:
        StepOrderError: it is not there.
    """
    if value is None:
        raise StepOrderError(f"a step asks for {name} before one has seen that it is there")
    return value
