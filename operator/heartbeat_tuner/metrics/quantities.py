"""Everything that can be measured of one group, from its series and those around its pods: the way in for a reader.

Each quantity is there with its meaning, or an `Unknown` says why not and what would help. What a model is fitted to is
in `rows`; what people see, in the quantities themselves.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import downtime, rebalances
from heartbeat_tuner.metrics.absence import absences, blocks, described_evictions, lost_sessions, missing_beats
from heartbeat_tuner.metrics.absence.missing_beats import Deficits
from heartbeat_tuner.metrics.downtime import Downtime, Restart
from heartbeat_tuner.metrics.measured import (
    ABSENCE,
    CRASH_DOWNTIME,
    DOWNTIMES,
    EVICTION,
    OUTAGE,
    PLANNED_REBALANCE,
    POLL_GAP,
    REBALANCE_LATENCY,
    RESTART_DOWNTIME,
    SHOW_OUTAGES,
    UNPLANNED_REBALANCE,
    UNSEEN_REJOIN,
    Evictions,
    Measured,
    Observation,
    Quantities,
    Rebalances,
)
from heartbeat_tuner.metrics.raw import queries, samples
from heartbeat_tuner.metrics.raw.resolver import GroupKey, Observed, PodKey
from heartbeat_tuner.metrics.raw.samples import Sample, Series
from heartbeat_tuner.metrics.vocabulary import Quantity


def measured(
    observed: Observed,
    platform: Mapping[PodKey, Observed],
    *,
    cooperative: bool = False,
    changed: Collection[float] = (),
    session_s: Callable[[float], float | None] = lost_sessions.not_known,
) -> Quantities:
    """Return what can be known of one group.

    Args:
        observed: the group's series, from `resolver.by_group` and `resolver.followed`.
        platform: what is exported around pods, from `resolver.by_pod`; those of other pods are left out.
        cooperative: the group rebalances cooperatively, in two rounds.
        changed: when its settings were changed, in Unix seconds.
        session_s: which session timeout was set at a time in Unix seconds, in seconds; None where nothing tells.
    """
    around, beats = _around(observed, platform), missing_beats.of_group(observed)
    restarts = downtime.restarts(observed, around)
    absent = _absences(observed, around, beats)
    shown = absent.observations if isinstance(absent, Measured) else ()
    return Quantities(
        absences=absent,
        missing_beats=_missing_beats(beats),
        poll_gaps=_poll_gaps(observed),
        outages=_outages(observed),
        rebalance_latencies=_latencies(observed),
        rebalances=_rebalances(observed, around, cooperative=cooperative, changed=changed),
        restarts=_downtimes(observed, restarts, in_place=False),
        crashes=_downtimes(observed, restarts, in_place=True),
        evictions=described_evictions.evictions(observed, session_s)
        or lost_sessions.evictions(observed, beats, session_s, shown),
        unseen_rejoins=described_evictions.unseen_rejoins(observed)
        or Unknown(Reason.NO_SERIES, "the group watcher does not count new member ids between two descriptions"),
    )


def rows(group: GroupKey, quantities: Quantities) -> Iterator[tuple[GroupKey, str, float, float]]:
    """Yield group, quantity, block start in Unix seconds and value in seconds: what a model is fitted to.

    A rebalance stands in the block in which the last member showed it; its value is how long it took, and 0, which
    none takes, where that is not exported. Of an absence it is what it likely was, of an eviction what the absence that
    ended in it outlasted. Of a downtime it is the middle of its bounds, which scrapes leave far apart:
    what it surely was is zero for many.
    """
    for name, values in _named(quantities):
        if isinstance(values, Measured):
            for observation in values.observations:
                value_s = observation.value_s if observation.likely_s is None else observation.likely_s
                if name in DOWNTIMES:
                    value_s = 0.5 * (observation.value_s + observation.at_most_s)
                yield group, name, observation.block_s, value_s
        elif isinstance(values, Evictions):
            for event in values.events:
                yield group, name, event.block_s, event.value_s
        else:
            for rebalance in values.events:
                if rebalance.planned is (name == PLANNED_REBALANCE):
                    yield group, name, blocks.start_s(rebalance.until_s), rebalance.took_s or 0.0


def watched(quantities: Quantities) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield quantity and watched blocks, one for each member: how much time the values are of."""
    for name, values in _named(quantities):
        yield name, values.watched


def _named(quantities: Quantities) -> Iterator[tuple[str, Measured | Rebalances | Evictions]]:
    """Yield what is known, by the names of the rows."""
    named: tuple[tuple[str, Measured | Rebalances | Evictions | Unknown], ...] = (
        (ABSENCE, quantities.absences),
        (POLL_GAP, quantities.poll_gaps),
        (OUTAGE, quantities.outages),
        (REBALANCE_LATENCY, quantities.rebalance_latencies),
        (RESTART_DOWNTIME, quantities.restarts),
        (CRASH_DOWNTIME, quantities.crashes),
        (PLANNED_REBALANCE, quantities.rebalances),
        (UNPLANNED_REBALANCE, quantities.rebalances),
        (EVICTION, quantities.evictions),
        (UNSEEN_REJOIN, quantities.unseen_rejoins),
    )
    for name, values in named:
        if not isinstance(values, Unknown):
            yield name, values


def _around(observed: Observed, platform: Mapping[PodKey, Observed]) -> dict[Quantity, list[Series]]:
    """Return what is exported around the group's pods; `platform` may have those of other groups as well."""
    pods = {
        (series.labels.get(queries.NAMESPACE_LABEL, ""), series.labels.get(queries.POD_LABEL, ""))
        for group in observed.values()
        for series in group
    }
    by_quantity: dict[Quantity, list[Series]] = {}
    for place in sorted(pods & platform.keys()):
        for quantity, group in platform[place].items():
            by_quantity.setdefault(quantity, []).extend(group)
    return by_quantity


def _absences(
    observed: Observed, around: Observed, beats: Sequence[tuple[str, Deficits | Unknown]]
) -> Measured | Unknown:
    shown, watched, withheld = absences.shown(observed, around, beats)
    if not watched:
        because = "; ".join(unknown.message for unknown in withheld) or "the group's heartbeats are not counted"
        return Unknown(
            Reason.NO_SERIES,
            f"nothing shows absences: {because}; neither pauses of garbage collection, CPU throttling, delays of the "
            "event loop, scrapes nor short gaps between polls are exported for its pods",
        )
    block_absences = absences.once_per_node(absences.by_block(shown), absences.nodes_of(around))
    values = [
        Observation(
            block_absence.pod,
            block_absence.block_s,
            block_absence.at_least_s,
            block_absence.at_most_s,
            block_absence.likely_s,
        )
        for block_absence in block_absences
    ]
    return _measured(values, [block_s for _, block_s in watched])


def _missing_beats(beats: Iterable[tuple[str, Deficits | Unknown]]) -> Measured | Unknown:
    values: list[Observation] = []
    messages = []
    for pod, lacking in beats:
        if isinstance(lacking, Unknown):
            messages.append(lacking.message)
        else:
            values += [
                Observation(pod, block.block_s, max(0.0, block.at_least_s), block.at_most_s) for block in lacking.blocks
            ]
    if not values:
        because = "; ".join(messages) or "no counter of accepted heartbeats is exported"
        return Unknown(Reason.TOO_LITTLE_DATA if messages else Reason.NO_SERIES, because)
    return _measured(values, [observation.block_s for observation in values])


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
            Observation(ended.labels[queries.POD_LABEL], maximum.time_s, maximum.value, maximum.value)
            for maximum in blocks.maxima([*blocks.news(ended).samples, *running])
        ]
        watched += sorted({blocks.start_s(sample.time_s) for sample in ended.samples})
    return _measured(values, watched, empty="no gap between polls has been seen")


def _outages(observed: Observed) -> Measured | Unknown:
    return _of_the_group(observed, SHOW_OUTAGES, "heartbeat-response-time-max, commit-latency-max")


def _latencies(observed: Observed) -> Measured | Unknown:
    return _of_the_group(observed, (Quantity.REBALANCE_LATENCY_MAX,), "rebalance-latency-max")


def _of_the_group(observed: Observed, wanted: Iterable[Quantity], names: str) -> Measured | Unknown:
    """Return the maxima of all members together: what happens to the group is one event, however many members show it.

    A window in which nothing happened shows no number, and was watched all the same: when it was scraped, other series
    of its pod tell.
    """
    group = [series for quantity in wanted for series in observed.get(quantity, ())]
    if not group:
        return Unknown(Reason.NO_SERIES, f"the client's maxima are not exported ({names}): add a rule that keeps them")
    rare = _rare(observed, names)
    if rare is not None:
        return rare
    values = [
        Observation("", maximum.time_s, maximum.value, maximum.value)
        for maximum in blocks.maxima(sample for series in group for sample in blocks.news(series).samples)
    ]
    pods = {series.labels[queries.POD_LABEL] for series in group}
    scraped = (series for series in _every(observed) if series.labels[queries.POD_LABEL] in pods)
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
    return [series for group in observed.values() for series in group]


def _rebalances(
    observed: Observed, around: Observed, *, cooperative: bool, changed: Collection[float]
) -> Rebalances | Unknown:
    group = observed.get(Quantity.REBALANCES, ())
    times = [sample.time_s for series in group for sample in series.samples]
    if not times:
        return Unknown(Reason.NO_SERIES, "completed joins are not counted (rebalance-total)")
    events = rebalances.events(
        rebalances.increases(group, observed.get(Quantity.REBALANCE_TIME, ())),
        latency_s=rebalances.latency_s(observed),
        cooperative=cooperative,
        causes=[*rebalances.causes(around), *changed],
    )
    return Rebalances(tuple(events), min(times), max(times), tuple(_watched(group)))


def _downtimes(observed: Observed, unknown: Sequence[Restart] | Unknown, *, in_place: bool) -> Measured | Unknown:
    if isinstance(unknown, Unknown):
        return unknown
    values = [
        Observation(
            restart.pod, blocks.start_s(restart.ended_s), restart.downtime.at_least_s, restart.downtime.at_most_s
        )
        for restart in unknown
        if isinstance(restart.downtime, Downtime) and restart.in_place is in_place
    ]
    return _measured(values, _watched(_every(observed)))


def _watched(group: Iterable[Series]) -> list[float]:
    """Return the blocks of which these series have samples, those of one pod once."""
    by_pod: dict[str, list[Series]] = {}
    for series in group:
        by_pod.setdefault(series.labels[queries.POD_LABEL], []).append(series)
    return sorted(block_s for mine in by_pod.values() for block_s in blocks.block_starts(mine))


def _measured(values: list[Observation], watched: list[float], *, empty: str = "") -> Measured | Unknown:
    if not watched:
        return Unknown(Reason.NOT_A_NUMBER, empty)
    return Measured(
        tuple(sorted(values, key=lambda observation: (observation.block_s, observation.pod))), tuple(sorted(watched))
    )
