"""Whether cycles keep the pace of the interval; when edits are looked at before the next one, `early_looks` says."""

from datetime import timedelta

import structlog

_log = structlog.get_logger()


class Pace:
    """The last cycle, measured by the interval; the log is told when that changes, and not with each cycle.

    Args:
        interval: from the start of a cycle to that of the next, where it keeps it.
    """

    def __init__(self, interval: timedelta) -> None:
        self._interval_s = interval.total_seconds()
        self._behind = False

    def overrun_s(self, duration_s: float) -> float:
        """Return by how many seconds a finished cycle took longer than the interval; 0 if it did not."""
        overrun_s = max(0.0, duration_s - self._interval_s)
        behind = overrun_s > 0
        if behind != self._behind:
            self._behind = behind
            times = {"interval_s": self._interval_s, "cycle_s": round(duration_s, 1)}
            if behind:
                _log.warning("a cycle took longer than the interval, policies are looked at less often", **times)
            else:
                _log.info("cycles take no longer than the interval again", **times)
        return overrun_s
