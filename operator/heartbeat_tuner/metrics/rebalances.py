"""When a group rebalanced: what its members counted, as events of the group, each once.

Every member counts every rebalance that it takes part in, so that members are never summed: what one counted between
two scrapes may be what another one counted between two of its own. The events are the fewest that explain all members'
counts: never more than all of them counted together, never fewer than any one of them did. A new client's first sample
holds its first join already, which no growth shows. All of it is from raw samples: Prometheus' `increase` interpolates.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from heartbeat_tuner.metrics.absence import process_lives
from heartbeat_tuner.metrics.raw import counter_steps, queries, samples
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

PLANNED_WITHIN_S: Final = 90.0
"""So near to the start or the end of a pod, or to a change of ours, a rebalance is its doing: a container needs time
from its start to its first poll, and a pod is told to end by a time that lies its grace period ahead."""

FIRST_JOINS: Final = 3
"""A series that begins in the watched time and stands higher than this has a past that was not scraped."""


@dataclasses.dataclass(frozen=True, slots=True)
class Increase:
    """A member counted joins between two scrapes.

    Attributes:
        member: which one.
        since_s: the earlier scrape, in Unix seconds.
        until_s: the later one.
        joins: how many it counted.
        took_s: how long each of them took, in the mean; None if that is not exported.
    """

    member: int
    since_s: float
    until_s: float
    joins: int
    took_s: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Rebalance:
    """A rebalance of a group.

    Attributes:
        since_s: the earliest scrape before it, of the members that counted it.
        until_s: the latest scrape after it.
        members: how many members counted it.
        planned: whether a pod began or ended around it, or we changed its settings.
        took_s: how long the member that joined longest took, since all wait for it; None if that is not exported.
    """

    since_s: float
    until_s: float
    members: int
    planned: bool
    took_s: float | None = None


def increases(group: Sequence[Series], times: Sequence[Series] = ()) -> list[Increase]:
    """Return what the members counted, in order of time.

    Args:
        group: the counters of completed joins, one for each client object; all of one window.
        times: the counters of the time spent in them.
    """
    interval_s = samples.scrape_interval_s(group) or 0.0
    opening_s = (
        min((counter.samples[0].time_s for counter in group if counter.samples), default=math.inf) + 1.5 * interval_s
    )
    increases = []
    for member, series in enumerate(group):
        first = series.samples[0] if series.samples else None
        spent = next(iter(samples.twins(series, times)), None)
        if first is not None and first.time_s > opening_s and 0 < first.value <= FIRST_JOINS:
            before_s = first.time_s - interval_s
            took_s = _mean(_at(spent, first.time_s), first.value)
            increases.append(Increase(member, before_s, first.time_s, round(first.value), took_s))
        grown = [step for step in counter_steps.nonzero_steps(series) if step.grown > 0]
        grown_s = (
            {} if spent is None or not grown else {step.until_s: step.grown for step in counter_steps.steps(spent)}
        )
        increases += [
            Increase(
                member, step.since_s, step.until_s, round(step.grown), _mean(grown_s.get(step.until_s), step.grown)
            )
            for step in grown
        ]
    return sorted(increases, key=lambda increase: (increase.until_s, increase.since_s))


def events(
    increases: Iterable[Increase], *, latency_s: float, cooperative: bool = False, causes: Collection[float] = ()
) -> list[Rebalance]:
    """Return the rebalances of a group, in order of time.

    An increase is explained by events that lie in its time, each but once by one member; what is left of it is new.

    Args:
        increases: from `increases`.
        latency_s: how much later than the first of them a member may complete the same rebalance.
        cooperative: the group rebalances cooperatively: partitions are given up in one round and handed out in the
            next, which follows at once. The two are one.
        causes: when pods began and ended, and settings were changed.
    """
    placed: list[_Event] = []
    for increase in increases:
        free: list[_Event] = []
        for event in reversed(placed):
            if event.first_s <= increase.since_s - latency_s:
                break
            if all(increase.member != other.member for other in event.seen):
                free.append(event)
        for event in free[: -increase.joins - 1 : -1]:
            event.seen.append(increase)
        placed += [_Event(increase.until_s, [increase]) for _ in range(increase.joins - len(free))]
    return [_rebalance(event, causes) for event in (_in_pairs(placed, latency_s) if cooperative else placed)]


@dataclasses.dataclass(slots=True)
class _Event:
    """An event that happened before `first_s`, and the increases that it explains."""

    first_s: float
    seen: list[Increase]


def _in_pairs(placed: Sequence[_Event], latency_s: float) -> list[_Event]:
    """Return the events with each second round joined to its first one."""
    events: list[_Event] = []
    open_s = -math.inf
    for event in placed:
        if min(increase.since_s for increase in event.seen) - latency_s <= open_s:
            events[-1].seen += event.seen
            open_s = -math.inf
        else:
            events.append(_Event(event.first_s, list(event.seen)))
            open_s = event.first_s
    return events


def latency_s(observed: Observed) -> float:
    """Return how much later than others a member may complete a rebalance: the longest join, or a scrape interval."""
    latencies = [
        sample.value for series in observed.get(Quantity.REBALANCE_LATENCY_MAX, ()) for sample in series.samples
    ]
    interval_s = samples.scrape_interval_s(list(observed.get(Quantity.REBALANCES, ()))) or 0.0
    return max(latencies, default=interval_s)


def causes(platform: Observed) -> list[float]:
    """Return when pods began, were ready and were told to end, as kube-state-metrics tells it.

    A container that was started again in its pod is no plan: it crashed, or was killed; nor is that its pod was ready
    again.
    """
    crashed = {
        series.labels.get(queries.POD_LABEL)
        for series in platform.get(Quantity.CONTAINER_RESTARTS, ())
        if any(sample.value > 0 for sample in series.samples)
    }
    ready = [
        series for series in platform.get(Quantity.POD_READY, ()) if series.labels.get(queries.POD_LABEL) not in crashed
    ]
    groups = (platform.get(Quantity.POD_STARTED, ()), platform.get(Quantity.POD_DELETED, ()), ready)
    return sorted({at_s for group in groups for at_s in process_lives.instants(group)})


def _at(spent: Series | None, time_s: float) -> float | None:
    """Return the value of a series' first sample, if it is of this scrape."""
    first = next(iter(spent.samples), None) if spent is not None else None
    return first.value if first is not None and first.time_s == time_s else None


def _mean(spent_s: float | None, joins: float) -> float | None:
    return None if spent_s is None else spent_s / joins


def _rebalance(event: _Event, causes: Collection[float]) -> Rebalance:
    since_s, until_s = (
        min(increase.since_s for increase in event.seen),
        max(increase.until_s for increase in event.seen),
    )
    near = (since_s - PLANNED_WITHIN_S, until_s + PLANNED_WITHIN_S)
    return Rebalance(
        since_s,
        until_s,
        members=len({increase.member for increase in event.seen}),
        planned=any(near[0] <= at_s <= near[1] for at_s in causes),
        took_s=max((increase.took_s for increase in event.seen if increase.took_s is not None), default=None),
    )
