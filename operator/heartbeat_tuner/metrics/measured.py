"""The nouns of what was measured of a group: values with their moments, and for how long each was watched."""

import dataclasses
from typing import Final

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.metrics.absence import blocks
from heartbeat_tuner.metrics.rebalances import Rebalance
from heartbeat_tuner.metrics.vocabulary import Quantity

ABSENCE: Final = "absence"

POLL_GAP: Final = "pollGap"

OUTAGE: Final = "outage"

REBALANCE_LATENCY: Final = "rebalanceLatency"

RESTART_DOWNTIME: Final = "restartDowntime"

CRASH_DOWNTIME: Final = "crashDowntime"

PLANNED_REBALANCE: Final = "plannedRebalance"

UNPLANNED_REBALANCE: Final = "unplannedRebalance"

EVICTION: Final = "eviction"

UNSEEN_REJOIN: Final = "unseenRejoin"
"""What the rows of a model call the quantities. The value of an eviction is what the absence that ended in it surely
outlasted: the absence itself is not among the values of `ABSENCE`, for nobody saw its end. Unseen rejoins have no
value, and no model: they say how many evictions the group watcher may have missed."""

OF_THE_GROUP: Final = frozenset({OUTAGE, REBALANCE_LATENCY, PLANNED_REBALANCE, UNPLANNED_REBALANCE})
"""Those that happen to the group as one: their rates are a day of the group, of the others a day of a member."""

DOWNTIMES: Final = frozenset({RESTART_DOWNTIME, CRASH_DOWNTIME})
"""Those that lie between scrapes."""

MOST_DOWNTIMES_PER_DAY: Final = 1_000.0
"""Of each member: to die and to be back takes a minute or more. What was watched for a minute may show more."""

EVENTS: Final = DOWNTIMES | OF_THE_GROUP | {EVICTION}
"""Those whose values are events, each of them counted; of the others each block has one."""

DURATIONS: Final = DOWNTIMES | {REBALANCE_LATENCY, OUTAGE}
"""Those events that say how long they last."""

SHOW_OUTAGES: Final = (
    Quantity.HEARTBEAT_RESPONSE_TIME_MAX,
    Quantity.COMMIT_LATENCY_MAX,
    Quantity.COORDINATOR_ROUND_TRIP_MAX,
)
"""They hold the delay of network and coordinator, and only of requests that were answered."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """One value.

    Attributes:
        pod: whose; empty if it is the group's.
        block_s: when its block begins, in Unix seconds.
        value_s: what it surely was.
        at_most_s: what it can have been.
        likely_s: what it was on average of all that it can have been; None where that is what it surely was.
    """

    pod: str
    block_s: float
    value_s: float
    at_most_s: float
    likely_s: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """The values of one quantity.

    Attributes:
        observations: the values, in order of time.
        watched: when each block that was watched begins, in Unix seconds, in order of time: one for each member that
            was, whether it showed a value or not. Not empty.
    """

    observations: tuple[Observation, ...]
    watched: tuple[float, ...]

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.observations)

    @property
    def largest_s(self) -> float | None:
        """The largest value, in seconds; None if none was seen."""
        return max((observation.value_s for observation in self.observations), default=None)

    @property
    def blocks(self) -> int:
        """How many blocks were watched, of all members together."""
        return len(self.watched)

    @property
    def span_s(self) -> float:
        """How long was watched, from the first block to the last."""
        return self.watched[-1] + blocks.BLOCK_S - self.watched[0]


@dataclasses.dataclass(frozen=True, slots=True)
class Rebalances:
    """When the group rebalanced, between two moments.

    Attributes:
        events: in order of time.
        since_s: the first scrape that counted joins, in Unix seconds.
        until_s: the last.
        watched: likewise as of `Measured`.
    """

    events: tuple[Rebalance, ...]
    since_s: float
    until_s: float
    watched: tuple[float, ...]

    @property
    def planned(self) -> int:
        """How many were the doing of a pod's start or end, or of a change of ours."""
        return sum(1 for event in self.events if event.planned)

    @property
    def unplanned(self) -> int:
        """How many were not."""
        return sum(1 for event in self.events if not event.planned)


@dataclasses.dataclass(frozen=True, slots=True)
class Evictions:
    """The evictions of a group, for silence, as far as counters of its members show them.

    Attributes:
        events: of each its pod, its block, and what the absence that ended in it outlasted: no more is known.
        watched: likewise as of `Measured`.
    """

    events: tuple[Observation, ...]
    watched: tuple[float, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Quantities:
    """What is known of one group.

    Attributes:
        absences: the longest of each member in each block, pauses of a node once.
        missing_beats: of them, what heartbeats that did not come show; one value for each block.
        poll_gaps: the longest of each member in each block: an upper bound of what the client compares with its limit.
        outages: the longest delay of network or coordinator in each block, for all members once.
        rebalance_latencies: the longest join in each block, for all members once.
        rebalances: the events of the group.
        restarts: how long members were away whose pod was replaced by another one, or by a new one of its name.
        crashes: how long those were whose container was started again in its pod.
        evictions: of members, where absences show as missing beats, and so not those that ended in one.
        unseen_rejoins: new member ids that came between two descriptions, of groups whose evictions these show.
    """

    absences: Measured | Unknown
    missing_beats: Measured | Unknown
    poll_gaps: Measured | Unknown
    outages: Measured | Unknown
    rebalance_latencies: Measured | Unknown
    rebalances: Rebalances | Unknown
    restarts: Measured | Unknown
    crashes: Measured | Unknown
    evictions: Evictions | Unknown
    unseen_rejoins: Evictions | Unknown
