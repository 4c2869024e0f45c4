"""What a play adds up: for how long how many partitions were not read, and for whose sake; evictions, rebalances."""

import enum
from collections import Counter, defaultdict
from collections.abc import Hashable

from heartbeat_tuner.simulation.event_queue import Events


class Cause(enum.StrEnum):
    """Why partitions stand still; the names of the terms of the cost."""

    PAUSES = "pauses"
    NODE_PAUSES = "nodePauses"
    OUTAGES = "outages"
    CRASHES = "crashes"
    RESTARTS = "restarts"
    HANGS = "hangs"
    SLOW_HANDLERS = "slowHandlers"


class Meter:
    """The sums of one play.

    Attributes:
        stalled_s: partition-seconds that were not read, by cause.
        own_s: those of them that absences cost up to the broker's least session, which no setting changes.
        evictions: of members that lived, by cause.
        detections_s: from a death or a hang to the removal of the member, by cause.
        rebalances: generations begun.
        rebalancing_s: from the beginning of one until partitions are read again.
        rollouts: deploys begun.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._open: dict[Hashable, tuple[Cause, int, float]] = {}
        self._muted = False
        self.stalled_s: defaultdict[Cause, float] = defaultdict(float)
        self.own_s = 0.0
        self.evictions: Counter[Cause] = Counter()
        self.detections_s: defaultdict[Cause, list[float]] = defaultdict(list)
        self.rebalances = 0
        self.rebalancing_s = 0.0
        self.rollouts = 0

    def stand(self, key: Hashable, partitions: int, cause: Cause) -> None:
        """Say how many partitions of somebody stand still from now on."""
        before = self._open.pop(key, None)
        if before is not None:
            was, count, since = before
            if not self._muted:
                self.stalled_s[was] += count * (self._events.now - since)
        if partitions:
            self._open[key] = (cause, partitions, self._events.now)

    def mute(self, *, muted: bool) -> None:
        """Leave out what stands still while nothing could be read anyway: network or cluster are away."""
        for key, (cause, count, _) in list(self._open.items()):
            self.stand(key, count, cause)
        self._muted = muted

    def close(self) -> None:
        """Add what still stands still at the end."""
        for key, (cause, _, _) in list(self._open.items()):
            self.stand(key, 0, cause)
