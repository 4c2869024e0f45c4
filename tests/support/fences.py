"""Fences before writes: open, or closed."""

from heartbeat_tuner.domain.errors import NotLeaderError


class TimedFence:
    """Says that so many seconds of a leadership are left; none closes it.

    Args:
        left_s: the seconds.
    """

    def __init__(self, left_s: float = 30.0) -> None:
        self.left_s = left_s

    def remaining_s(self) -> float:
        """Return for how many seconds more writes are allowed.

        Raises:
            NotLeaderError: none are left.
        """
        if self.left_s <= 0:
            raise NotLeaderError("the leadership is over")
        return self.left_s
