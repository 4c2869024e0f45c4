"""The machine's clock."""

from datetime import UTC, datetime


class SystemClock:
    """The time as the machine has it."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        return datetime.now(UTC)
