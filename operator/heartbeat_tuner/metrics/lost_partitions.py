"""Fencings of members of the consumer protocol (KIP-848), as far as the Java consumer's metrics show them.

A member keeps its id through a fencing, and no counter counts one. But a member that was fenced calls its rebalance
listener with the partitions that it lost, and the longest such call of the last minute is exported: no number while
there was none, any number after a loss (measured: docs/design/0003). A consumer without a listener never exports a
number. So what is counted here is a lower bound, and 0 says nothing. The threads of Kafka Streams in a group of the
streams protocol (KIP-1071) show the same of their tasks (measured: docs/design/0019).
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.metrics import evictions
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.vocabulary import Quantity

SHOWN_S: Final = 90.0
"""A loss shows for so many seconds at most: the client's window holds 59 to 86 s."""


def losses(pods: Sequence[Pod], observed: Observed, *, since_s: float, lingers: bool = False) -> list[MemberChange]:
    """Return when members of pods were fenced, each time that is surely another one.

    Two numbers that are further apart than a loss shows are two losses; nearer ones may be one, and count as one.

    Args:
        pods: whose.
        observed: the series of the running pods.
        since_s: start of the time to count, in Unix seconds; a loss that may have been before it does not count.
        lingers: whether a number may be shown for longer: then a scrape without one must be between two losses.
    """
    return [
        MemberChange(datetime.fromtimestamp(at, UTC), pod.name)
        for pod in pods
        for at in sorted(_losses_s(pod, observed, since_s, lingers=lingers))
    ]


def apart(times_s: Iterable[float]) -> Iterator[float]:
    """Yield the times, in order, that surely show another loss than the one before: by more than `SHOWN_S`."""
    last_s = -math.inf
    for at in times_s:
        if at > last_s + SHOWN_S:
            last_s = at
            yield at


def _losses_s(pod: Pod, observed: Observed, since_s: float, *, lingers: bool) -> list[float]:
    started_s = pod.started.timestamp()
    joins, partitions, tasks = (
        evictions.of_pod(observed.get(quantity, ()), pod.name)
        for quantity in (Quantity.REBALANCES, Quantity.PARTITIONS_LOST_LATENCY_MAX, Quantity.TASKS_LOST_LATENCY_MAX)
    )
    scrapes_s = sorted(at for series in joins for at in series.samples.times_s if at >= since_s)
    times_s: list[float] = []
    for series in (*partitions, *tasks):
        shown_s = series.samples.between(started_s, math.inf).times_s
        shown, is_young = set(shown_s), started_s >= since_s
        begins_s = [at for at in shown_s if not lingers or _is_new(at, scrapes_s, shown, first=is_young)]
        new_s = [at for at in apart(begins_s) if at > since_s]
        times_s += [at for at in new_s if lingers or is_young or _is_since(at, since_s, scrapes_s, shown)]
    return times_s


def _is_since(at: float, since_s: float, scrapes_s: Sequence[float], shown_s: Collection[float]) -> bool:
    """Whether a loss was surely after a time: it shows for no longer, or a scrape in between did not show it."""
    if at > since_s + SHOWN_S:
        return True
    return _is_new(at, scrapes_s, shown_s, first=False)


def _is_new(at: float, scrapes_s: Sequence[float], shown_s: Collection[float], *, first: bool) -> bool:
    """Whether the scrape before did not show a number; `first` where there was none before."""
    before = bisect_left(scrapes_s, at)
    return scrapes_s[before - 1] not in shown_s if before > 0 else first
