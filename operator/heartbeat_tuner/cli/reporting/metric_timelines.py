"""What happened to a group lately, as its counters show: evictions, joins and heartbeats, stretch by stretch."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.decision.from_metrics import MetricsView
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.metrics import evictions
from heartbeat_tuner.metrics.raw import counter_steps, queries, samples
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.report.plotted_data import LaneEntry, MarkEntry, TimelineEntry

_STRETCHES: Final = 60
_LEAST_S: Final = 5.0
_LATE: Final = 3.0
"""So many scrape intervals between two scrapes are a delay, and more a gap."""

_MINUTE_S: Final = 60.0
_LANES: Final = {
    Quantity.REBALANCES: "joins a minute, all members",
    Quantity.HEARTBEATS: "accepted heartbeats a minute, all members",
}


def timeline(seen: MetricsView, marks: Sequence[MarkEntry]) -> TimelineEntry | None:
    """Return what the counters of a group show; None where it has none.

    Pods that ended meanwhile count, too: unlike a record, a timeline spans changes.

    Args:
        seen: the group's series.
        marks: changes of values; those outside of the time that is shown are left out.
    """
    until_s = seen.now.timestamp()
    since_s = until_s - seen.lookback.total_seconds()
    lanes = [
        _lane(title, seen.observed.get(quantity, ()), since_s, until_s)
        for quantity, title in _LANES.items()
        if seen.observed.get(quantity)
    ]
    if not lanes:
        return None
    evicted = sorted(change.at.timestamp() for change in _evicted(seen, since_s))
    return TimelineEntry(
        title=f"The last {durations.show(seen.lookback)}, as Prometheus shows it",
        since_s=since_s,
        until_s=until_s,
        lanes=tuple(lanes),
        evictions_s=tuple(round(at_s, 1) for at_s in evicted),
        marks=tuple(mark for mark in marks if since_s <= mark.at_s <= until_s),
    )


def _lane(title: str, counters: Sequence[Series], since_s: float, until_s: float) -> LaneEntry:
    """Return how much counters grew in each stretch.

    A stretch without a scrape is unknown, and so is when a counter grew between two scrapes that are further apart.
    """
    interval_s = samples.scrape_interval_s(counters) or 0.0
    length_s = max((until_s - since_s) / _STRETCHES, 2 * interval_s, _LEAST_S)
    count = max(1, int((until_s - since_s) / length_s))
    length_s = (until_s - since_s) / count
    grown: list[float | None] = [None] * count
    for counter in counters:
        for step in counter_steps.steps(counter):
            place = math.ceil((step.until_s - since_s) / length_s) - 1  # of its end: a stretch ends with a scrape
            if 0 <= place < count and step.until_s - step.since_s <= max(length_s, _LATE * interval_s):
                grown[place] = (grown[place] or 0.0) + step.grown
    per_minute = _MINUTE_S / length_s
    return LaneEntry(
        title=title,
        times_s=tuple(round(since_s + (place + 1) * length_s, 1) for place in range(count)),
        values=tuple(None if value is None else float(f"{value * per_minute:.4g}") for value in grown),
    )


def _evicted(seen: MetricsView, since_s: float) -> list[MemberChange]:
    """Return the evictions that the counters of all pods show, the ended ones too, as far as they are counted."""
    by_notices = set(evictions.BY_NOTICES) <= set(seen.convention.needed)
    first_s: dict[str, float] = {}
    for series in (series for group in seen.observed.values() for series in group if series.samples):
        name = series.labels.get(queries.POD_LABEL, "")
        first_s[name] = min(first_s.get(name, series.samples.times_s[0]), series.samples.times_s[0])
    changes: list[MemberChange] = []
    for name, began_s in first_s.items():
        pod = Pod(name, "", "", datetime.fromtimestamp(began_s, UTC), 0)
        if Quantity.LOST_FOR_SILENCE in seen.convention.needed:
            changes += evictions.counted(Quantity.LOST_FOR_SILENCE, pod, seen.observed, since_s=since_s)
        elif by_notices:
            changes += evictions.unannounced(pod, seen.observed, since_s=since_s)
        elif all(evictions.of_pod(seen.observed.get(by_lost_id, ()), name) for by_lost_id in evictions.BY_LOST_IDS):
            changes += evictions.lost_ids(pod, seen.observed, since_s=since_s)
    return changes
