"""Everything that can be measured of one group, from its series and those around its pods: the way in for a reader.

Each quantity is there with its meaning, or an `Unknown` says why not and what would help. What a model is fitted to is
in `rows`; what people see, in the quantities themselves.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import absences, blocks, deficits, downtime, queries, rebalances, samples
from heartbeat_tuner.metrics.deficits import Deficits
from heartbeat_tuner.metrics.downtime import Downtime, Restart
from heartbeat_tuner.metrics.rebalances import Rebalance
from heartbeat_tuner.metrics.resolver import GroupKey, Observed, PodKey
from heartbeat_tuner.metrics.samples import Sample, Series
from heartbeat_tuner.metrics.vocabulary import Quantity

ABSENCE: Final = "absence"
POLL_GAP: Final = "pollGap"
OUTAGE: Final = "outage"
REBALANCE_LATENCY: Final = "rebalanceLatency"
RESTART_DOWNTIME: Final = "restartDowntime"
CRASH_DOWNTIME: Final = "crashDowntime"
PLANNED_REBALANCE: Final = "plannedRebalance"
UNPLANNED_REBALANCE: Final = "unplannedRebalance"
"""What the rows of a model call the quantities."""

OF_THE_GROUP: Final = frozenset({OUTAGE, REBALANCE_LATENCY, PLANNED_REBALANCE, UNPLANNED_REBALANCE})
"""Those that befall the group as one: their rates are a day of the group, of the others a day of a member."""

DOWNTIMES: Final = frozenset({RESTART_DOWNTIME, CRASH_DOWNTIME})
"""Those that lie between scrapes."""

MOST_DOWNTIMES_PER_DAY: Final = 1_000.0
"""Of each member: to die and to be back takes a minute or more. What was watched for a minute may show more."""

EVENTS: Final = DOWNTIMES | OF_THE_GROUP
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
    """

    pod: str
    block_s: float
    value_s: float
    at_most_s: float


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
        return max((one.value_s for one in self.observations), default=None)

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
        return sum(1 for one in self.events if one.planned)

    @property
    def unplanned(self) -> int:
        """How many were not."""
        return sum(1 for one in self.events if not one.planned)


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
        crashes: how long those were whose container was started anew in its pod.
    """

    absences: Measured | Unknown
    missing_beats: Measured | Unknown
    poll_gaps: Measured | Unknown
    outages: Measured | Unknown
    rebalance_latencies: Measured | Unknown
    rebalances: Rebalances | Unknown
    restarts: Measured | Unknown
    crashes: Measured | Unknown


def measured(
    observed: Observed,
    platform: Mapping[PodKey, Observed],
    *,
    cooperative: bool = False,
    changed: Collection[float] = (),
) -> Quantities:
    """Return what can be known of one group.

    Args:
        observed: the group's series, from `resolver.by_group` and `resolver.followed`.
        platform: what is exported around pods, from `resolver.by_pod`; those of other pods are left out.
        cooperative: the group rebalances cooperatively, in two rounds.
        changed: when its settings were changed, in Unix seconds.
    """
    around, beats = _around(observed, platform), deficits.of_group(observed)
    restarts = downtime.restarts(observed, around)
    return Quantities(
        absences=_absences(observed, around, beats),
        missing_beats=_missing_beats(beats),
        poll_gaps=_poll_gaps(observed),
        outages=_outages(observed),
        rebalance_latencies=_latencies(observed),
        rebalances=_rebalances(observed, around, cooperative=cooperative, changed=changed),
        restarts=_downtimes(observed, restarts, in_place=False),
        crashes=_downtimes(observed, restarts, in_place=True),
    )


def rows(group: GroupKey, found: Quantities) -> Iterator[tuple[GroupKey, str, float, float]]:
    """Yield group, quantity, block start in Unix seconds and value in seconds: what a model is fitted to.

    A rebalance stands in the block in which the last member showed it; its value is how long it took, and 0, which
    none takes, where that is not exported. Of a downtime it is the middle of its bounds, which scrapes leave far apart:
    what it surely was is zero for many.
    """
    for name, values in _named(found):
        if isinstance(values, Measured):
            for one in values.observations:
                value_s = 0.5 * (one.value_s + one.at_most_s) if name in DOWNTIMES else one.value_s
                yield group, name, one.block_s, value_s
        else:
            for event in values.events:
                if event.planned is (name == PLANNED_REBALANCE):
                    yield group, name, blocks.start_s(event.until_s), event.took_s or 0.0


def watched(found: Quantities) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield quantity and watched blocks, one for each member: how much time the values are of."""
    for name, values in _named(found):
        yield name, values.watched


def _named(found: Quantities) -> Iterator[tuple[str, Measured | Rebalances]]:
    """Yield what is known, by the names of the rows."""
    named: tuple[tuple[str, Measured | Rebalances | Unknown], ...] = (
        (ABSENCE, found.absences),
        (POLL_GAP, found.poll_gaps),
        (OUTAGE, found.outages),
        (REBALANCE_LATENCY, found.rebalance_latencies),
        (RESTART_DOWNTIME, found.restarts),
        (CRASH_DOWNTIME, found.crashes),
        (PLANNED_REBALANCE, found.rebalances),
        (UNPLANNED_REBALANCE, found.rebalances),
    )
    for name, values in named:
        if not isinstance(values, Unknown):
            yield name, values


def _around(observed: Observed, platform: Mapping[PodKey, Observed]) -> dict[Quantity, list[Series]]:
    """Return what is exported around the group's pods, whoever's pods were asked for."""
    pods = {
        (one.labels.get(queries.NAMESPACE_LABEL, ""), one.labels.get(queries.POD_LABEL, ""))
        for group in observed.values()
        for one in group
    }
    found: dict[Quantity, list[Series]] = {}
    for place in sorted(pods & platform.keys()):
        for quantity, group in platform[place].items():
            found.setdefault(quantity, []).extend(group)
    return found


def _absences(
    observed: Observed, around: Observed, beats: Sequence[tuple[str, Deficits | Unknown]]
) -> Measured | Unknown:
    shown, watched, withheld = absences.shown(observed, around, beats)
    if not watched:
        because = "; ".join(one.message for one in withheld) or "the group's heartbeats are not counted"
        return Unknown(
            Reason.NO_SERIES,
            f"nothing shows absences: {because}; neither pauses of garbage collection, CPU throttling, delays of the "
            "event loop, scrapes nor short gaps between polls are exported for its pods",
        )
    found = absences.once_per_node(absences.by_block(shown), absences.nodes_of(around))
    values = [Observation(one.pod, one.block_s, one.at_least_s, one.at_most_s) for one in found]
    return _measured(values, [block_s for _, block_s in watched])


def _missing_beats(beats: Iterable[tuple[str, Deficits | Unknown]]) -> Measured | Unknown:
    values: list[Observation] = []
    messages = []
    for pod, lacking in beats:
        if isinstance(lacking, Unknown):
            messages.append(lacking.message)
        else:
            values += [Observation(pod, one.block_s, max(0.0, one.at_least_s), one.at_most_s) for one in lacking.blocks]
    if not values:
        because = "; ".join(messages) or "no counter of accepted heartbeats is exported"
        return Unknown(Reason.TOO_LITTLE_DATA if messages else Reason.NO_SERIES, because)
    return _measured(values, [one.block_s for one in values])


def _poll_gaps(observed: Observed) -> Measured | Unknown:
    group = observed.get(Quantity.POLL_GAP_MAX, ())
    if not group:
        only = observed.get(Quantity.POLL_GAP_MEAN)
        return Unknown(
            Reason.NO_SERIES,
            "only the mean of the gaps between polls is exported (time-between-poll-avg), which says nothing of the "
            "longest: add a rule that keeps time-between-poll-max"
            if only
            else "the longest gap between polls is not exported (time-between-poll-max)",
        )
    rare = _rare(observed, "time-between-poll-max")
    if rare is not None:
        return rare
    values, watched = [], []
    for ended in group:
        ages = samples.twins(ended, observed.get(Quantity.POLL_AGE, ()))
        running = [Sample(gap.seen_s, gap.at_least_s) for age in ages for gap in blocks.gaps(age)]
        values += [
            Observation(ended.labels[queries.POD_LABEL], one.time_s, one.value, one.value)
            for one in blocks.maxima([*blocks.news(ended).samples, *running])
        ]
        watched += sorted({blocks.start_s(sample.time_s) for sample in ended.samples})
    return _measured(values, watched, empty="no gap between polls has been seen")


def _outages(observed: Observed) -> Measured | Unknown:
    return _of_the_group(observed, SHOW_OUTAGES, "heartbeat-response-time-max, commit-latency-max")


def _latencies(observed: Observed) -> Measured | Unknown:
    return _of_the_group(observed, (Quantity.REBALANCE_LATENCY_MAX,), "rebalance-latency-max")


def _of_the_group(observed: Observed, wanted: Iterable[Quantity], names: str) -> Measured | Unknown:
    """Return the maxima of all members together: what befalls the group is one event, however many members show it.

    A window in which nothing happened shows no number, and was watched all the same: when it was scraped, other series
    of its pod tell.
    """
    group = [one for quantity in wanted for one in observed.get(quantity, ())]
    if not group:
        return Unknown(Reason.NO_SERIES, f"the client's maxima are not exported ({names}): add a rule that keeps them")
    rare = _rare(observed, names)
    if rare is not None:
        return rare
    values = [
        Observation("", one.time_s, one.value, one.value)
        for one in blocks.maxima(sample for series in group for sample in blocks.news(series).samples)
    ]
    pods = {one.labels[queries.POD_LABEL] for one in group}
    scraped = (one for one in _every(observed) if one.labels[queries.POD_LABEL] in pods)
    return _measured(values, _watched(scraped), empty=f"no value has been seen of {names}")


def _rare(observed: Observed, names: str) -> Unknown | None:
    interval_s = blocks.undersampled_s(_every(observed))
    if interval_s is None:
        return None
    return Unknown(
        Reason.TOO_LITTLE_DATA,
        f"a sample every {interval_s:.0f} s does not see most of {names}, which show a value for 60 to 90 s: scrape "
        "every 30 s",
    )


def _every(observed: Observed) -> list[Series]:
    return [one for group in observed.values() for one in group]


def _rebalances(
    observed: Observed, around: Observed, *, cooperative: bool, changed: Collection[float]
) -> Rebalances | Unknown:
    group = observed.get(Quantity.REBALANCES, ())
    times = [sample.time_s for one in group for sample in one.samples]
    if not times:
        return Unknown(Reason.NO_SERIES, "completed joins are not counted (rebalance-total)")
    events = rebalances.events(
        rebalances.increases(group, observed.get(Quantity.REBALANCE_TIME, ())),
        latency_s=rebalances.latency_s(observed),
        cooperative=cooperative,
        causes=[*rebalances.causes(around), *changed],
    )
    return Rebalances(tuple(events), min(times), max(times), tuple(_watched(group)))


def _downtimes(observed: Observed, found: Sequence[Restart] | Unknown, *, in_place: bool) -> Measured | Unknown:
    if isinstance(found, Unknown):
        return found
    values = [
        Observation(one.pod, blocks.start_s(one.ended_s), one.downtime.at_least_s, one.downtime.at_most_s)
        for one in found
        if isinstance(one.downtime, Downtime) and one.in_place is in_place
    ]
    return _measured(values, _watched(_every(observed)))


def _watched(group: Iterable[Series]) -> list[float]:
    """Return the blocks of which these series have samples, those of one pod once."""
    by_pod: dict[str, list[Series]] = {}
    for one in group:
        by_pod.setdefault(one.labels[queries.POD_LABEL], []).append(one)
    return sorted(block_s for mine in by_pod.values() for block_s in blocks.of(mine))


def _measured(values: list[Observation], watched: list[float], *, empty: str = "") -> Measured | Unknown:
    if not watched:
        return Unknown(Reason.NOT_A_NUMBER, empty)
    return Measured(tuple(sorted(values, key=lambda one: (one.block_s, one.pod))), tuple(sorted(watched)))
