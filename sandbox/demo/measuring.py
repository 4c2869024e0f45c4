"""What the coordinator saw of the demo's group, from the broker's request log."""

import dataclasses
import time
from pathlib import Path

from sandbox import request_log
from sandbox.request_log import Record, RequestLog


@dataclasses.dataclass(frozen=True)
class Measured:
    """One window of the group's life.

    Attributes:
        length_s: of the window.
        rebalances: generations handed out in it.
        beat_period_s: median time between two heartbeats of one member; None if there were not two.
        accepted: heartbeats that the coordinator accepted.
        refused: heartbeats that it refused.
    """

    length_s: float
    rebalances: int
    beat_period_s: float | None
    accepted: int
    refused: int

    @property
    def rebalances_per_minute(self) -> float:
        """The rate of rebalances."""
        return self.rebalances * 60 / self.length_s


class GroupWatch:
    """Follows the request log for one group."""

    def __init__(self, log: Path, group_id: str) -> None:
        self._log = RequestLog(log)
        self._group_id = group_id
        self._records: list[Record] = []

    def measure(self, since_s: float, until_s: float | None = None) -> Measured:
        """Return what happened since a time (as `time.time()` gives it), until now or another time."""
        until_s = time.time() if until_s is None else until_s
        self._records += self._log.read_new()
        beats = request_log.heartbeats(self._records, self._group_id, since_s, until_s)
        periods = [
            period
            for client_id in {beat.client_id for beat in beats}
            for period in request_log.beat_periods_s(beats, client_id)
        ]
        by_code = request_log.beats_by_error_code(beats)
        return Measured(
            length_s=until_s - since_s,
            rebalances=request_log.rebalances(self._records, self._group_id, since_s, until_s),
            beat_period_s=request_log.median_s(periods),
            accepted=by_code[request_log.NONE],
            refused=by_code.total() - by_code[request_log.NONE],
        )
