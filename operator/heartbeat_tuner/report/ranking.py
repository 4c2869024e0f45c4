"""Groups in two orders: by what tuning saves, and by how far their evictions may be above what is allowed."""

from collections.abc import Iterable, Sequence
from typing import Final

from heartbeat_tuner.report.report_data import GroupEntry, RecordEntry

_MONTH_S: Final = 30 * 86_400.0


def saving(group: GroupEntry) -> float | None:
    """Return what the recommended values save: stalled partition-seconds a day; None where nobody knows."""
    forecast = group.forecast
    if forecast is None:
        return None
    return 0.0 if forecast.recommended is None else forecast.now.stalled_per_day - forecast.recommended.stalled_per_day


def evictions_per_month(record: RecordEntry | None) -> float | None:
    """Return the rate of evictions that was counted, of 30 days; None where nothing was."""
    if record is None or record.until_s <= record.since_s:
        return None
    return (record.evictions + record.poll_gap_evictions) * _MONTH_S / (record.until_s - record.since_s)


def risk(group: GroupEntry) -> float | None:
    """Return how many times the allowed evictions a group may have; None where nobody knows.

    What a model says at most, or what was counted, whichever is more.
    """
    counted = evictions_per_month(group.record)
    possible = None if group.forecast is None else group.forecast.now.evictions_at_most
    known = [rate for rate in (counted, possible) if rate is not None]
    return max(known) / group.allowed_per_month if known and group.allowed_per_month > 0 else None


def by_saving(groups: Iterable[GroupEntry]) -> list[GroupEntry]:
    """Return groups, those first where tuning saves most; where that is not known, those at risk come first."""
    return sorted(groups, key=lambda group: (_descending(saving(group)), _descending(risk(group)), _place(group)))


def by_risk(groups: Iterable[GroupEntry]) -> list[GroupEntry]:
    """Return groups, those first whose evictions are furthest above what is allowed; the unknown ones come last."""
    return sorted(groups, key=lambda group: (_descending(risk(group)), _descending(saving(group)), _place(group)))


def first(groups: Sequence[GroupEntry], most: int) -> list[int]:
    """Return the places of the groups that matter most, in order: the worst and the best by turns.

    Args:
        groups: all of them.
        most: how many are wanted.
    """
    places = {id(group): place for place, group in enumerate(groups)}
    by_turns = [group for pair in zip(by_risk(groups), by_saving(groups), strict=True) for group in pair]
    return list(dict.fromkeys(places[id(group)] for group in by_turns))[:most]


def _descending(value: float | None) -> tuple[bool, float]:
    return value is None, 0.0 if value is None else -value


def _place(group: GroupEntry) -> tuple[str, str, str]:
    return group.cluster, group.namespace, group.group
