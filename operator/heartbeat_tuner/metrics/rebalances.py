"""When a group rebalanced: what its members counted, as events of the group, each once.

Every member counts every rebalance that it takes part in, so that members are never summed: their counts are clustered
in time, and a cluster has as many rebalances as the member that counted most. A new client's first sample holds its
first join already, which no growth shows. All of it is from raw samples: Prometheus' `increase` interpolates.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from heartbeat_tuner.metrics import lives, samples
from heartbeat_tuner.metrics.resolver import Observed
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

PLANNED_WITHIN_S: Final = 90.0
"""So near to the start or the end of a pod, or to a change of ours, a rebalance is its doing: a container needs time
from its start to its first poll, and a pod is told to end by a time that lies its grace period ahead."""

FIRST_JOINS: Final = 3
"""A series that begins in the watched time and stands higher than this has a past that was not scraped."""


@dataclasses.dataclass(frozen=True, slots=True)
class Increase:
    """A member counted joins between two scrapes."""

    member: int
    since_s: float
    until_s: float
    joins: int


@dataclasses.dataclass(frozen=True, slots=True)
class Rebalance:
    """One or more rebalances of a group that scrapes cannot tell apart.

    Attributes:
        since_s: the scrape before the first join of it.
        until_s: the scrape after the last.
        members: how many members counted it.
        rounds: how many there were: no fewer than any member counted; in a cooperative group a change of two rounds is
            one.
        planned: whether a pod began or ended around it, or we changed its settings.
    """

    since_s: float
    until_s: float
    members: int
    rounds: int
    planned: bool


def increases(group: Sequence[Series]) -> list[Increase]:
    """Return what the members counted, in order of time.

    Args:
        group: the counters of completed joins, one for each client object; all of one window.
    """
    interval_s = samples.scrape_interval_s(group) or 0.0
    opening_s = min((one.samples[0].time_s for one in group if one.samples), default=math.inf) + 1.5 * interval_s
    found = []
    for member, one in enumerate(group):
        first = one.samples[0] if one.samples else None
        if first is not None and first.time_s > opening_s and 0 < first.value <= FIRST_JOINS:
            found.append(Increase(member, first.time_s - interval_s, first.time_s, round(first.value)))
        found += [
            Increase(member, step.since_s, step.until_s, round(step.grown))
            for step in samples.steps(one)
            if step.grown > 0
        ]
    return sorted(found, key=lambda one: (one.until_s, one.since_s))


def cluster(
    found: Iterable[Increase],
    *,
    window_s: float,
    cooperative: bool = False,
    causes: Collection[float] = (),
) -> list[Rebalance]:
    """Return the rebalances of a group.

    An increase belongs to those before it if it was seen within the window from the first of them, or may have happened
    before that was seen.

    Args:
        found: from `increases`.
        window_s: how far apart members see one rebalance: its latency, or the time between scrapes.
        cooperative: the group rebalances cooperatively: partitions are given up in one round and handed out in the
            next, which follows at once.
        causes: when pods began and ended, and settings were changed.
    """
    reach_s = 2 * window_s if cooperative else window_s
    together: list[list[Increase]] = []
    for one in found:
        first_s = together[-1][0].until_s if together else -math.inf
        if one.until_s <= first_s + reach_s or one.since_s < first_s:
            together[-1].append(one)
        else:
            together.append([one])
    return [_rebalance(several, cooperative=cooperative, causes=causes) for several in together]


def window_s(observed: Observed) -> float:
    """Return how far apart members can see one rebalance: the longest join, or the time between scrapes."""
    latencies = [sample.value for one in observed.get(Quantity.REBALANCE_LATENCY_MAX, ()) for sample in one.samples]
    interval_s = samples.scrape_interval_s(list(observed.get(Quantity.REBALANCES, ()))) or 0.0
    return max([interval_s, *latencies])


def causes(platform: Observed) -> list[float]:
    """Return when pods began, were ready and were told to end, as kube-state-metrics tells it.

    A container that was started anew in its pod is no plan: it crashed, or was killed.
    """
    return sorted(
        {
            at_s
            for quantity in (Quantity.POD_STARTED, Quantity.POD_READY, Quantity.POD_DELETED)
            for at_s in lives.instants(platform.get(quantity, ()))
        }
    )


def _rebalance(several: Sequence[Increase], *, cooperative: bool, causes: Collection[float]) -> Rebalance:
    by_member: dict[int, int] = {}
    for one in several:
        by_member[one.member] = by_member.get(one.member, 0) + one.joins
    most = max(by_member.values())
    since_s, until_s = min(one.since_s for one in several), max(one.until_s for one in several)
    near = (since_s - PLANNED_WITHIN_S, until_s + PLANNED_WITHIN_S)
    return Rebalance(
        since_s,
        until_s,
        members=len(by_member),
        rounds=math.ceil(most / 2) if cooperative else most,
        planned=any(near[0] <= at_s <= near[1] for at_s in causes),
    )
