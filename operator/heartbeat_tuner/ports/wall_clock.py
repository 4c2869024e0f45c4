"""The time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...
