"""The values of a report that figures are drawn of, and the base of all values."""

from typing import Final

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

_UNITS: Final = {"s": "seconds", "ms": "milliseconds"}
"""Units at the end of names, and how JSON calls them."""


def _outside(name: str) -> str:
    """Return a field's name in JSON: `now_ms` is `nowMilliseconds`."""
    *rest, last = name.split("_")
    return to_camel("_".join([*rest, _UNITS.get(last, last)]))


class Entry(BaseModel):
    """Base of all values: camelCase outside, unknown fields ignored, frozen, and no number that JSON does not know."""

    model_config = ConfigDict(
        alias_generator=_outside, populate_by_name=True, frozen=True, extra="ignore", allow_inf_nan=False
    )


class SurvivalEntry(Entry):
    """How often an absence of a member lasts longer than a time.

    Attributes:
        title: what the absences are.
        times_s: the times.
        per_month: how many last longer, of the whole group in 30 days.
        at_most: the same at most, at 95 %.
    """

    title: str
    times_s: tuple[float, ...]
    per_month: tuple[float, ...]
    at_most: tuple[float, ...]


class CostEntry(Entry):
    """What each session timeout costs with one heartbeat interval.

    Attributes:
        heartbeat_ms: that interval.
        sessions_s: the session timeouts.
        stalled_per_day: partition-seconds beyond what no setting can change, of each.
        evictions_per_month: expected, of each.
        evictions_at_most: at 95 %, of each.
        band_s: from the shortest to the longest session that costs at most 5 % more than the best; None where none
            is known.
    """

    heartbeat_ms: int
    sessions_s: tuple[float, ...]
    stalled_per_day: tuple[float, ...]
    evictions_per_month: tuple[float, ...]
    evictions_at_most: tuple[float, ...]
    band_s: tuple[float, float] | None = None


class LaneEntry(Entry):
    """One line of a timeline.

    Attributes:
        title: what is counted, with its unit.
        times_s: the ends of the stretches that were counted.
        values: of each stretch; None where nothing is known.
    """

    title: str
    times_s: tuple[float, ...]
    values: tuple[float | None, ...]


class MarkEntry(Entry):
    """A moment in a timeline.

    Attributes:
        at_s: when.
        label: what happened.
    """

    at_s: float
    label: str


class TimelineEntry(Entry):
    """What happened to a group in a stretch of time.

    Attributes:
        title: where this is from.
        since_s: when it begins.
        until_s: when it ends.
        lanes: what was counted.
        evictions_s: when live members were evicted.
        counted: what each of these is.
        unknown_s: from and to of stretches of which nothing is known.
        marks: changes of values.
    """

    title: str
    since_s: float
    until_s: float
    lanes: tuple[LaneEntry, ...] = ()
    evictions_s: tuple[float, ...] = ()
    counted: str = "evictions"
    unknown_s: tuple[tuple[float, float], ...] = ()
    marks: tuple[MarkEntry, ...] = ()


class RateEntry(Entry):
    """Episodes of evictions a day, with the interval in which the rate lies at 95 %.

    Attributes:
        episodes: that were counted.
        days: for how long.
        per_day_lower: the lower end.
        per_day_upper: the upper end; None where it is not known.
        stalled_each: partition-seconds that one eviction stalls, by a fitted model; None where none was asked.
    """

    episodes: int
    days: float
    per_day_lower: float
    per_day_upper: float | None = None
    stalled_each: float | None = None


class MovedEntry(Entry):
    """One setting of a change: its name in words, and what it was and became."""

    name: str
    before_ms: int
    after_ms: int


class ChangeEntry(Entry):
    """A change that the tuner made.

    Attributes:
        at_s: when it was written.
        kind: what was done, in words.
        moved: the settings that moved.
        outcome: what is known of it, like `Verified`.
        message: what shows that.
        before: evictions before it; None where the group was not watched.
        after: evictions since it landed; None while nothing was counted.
    """

    at_s: float
    kind: str
    moved: tuple[MovedEntry, ...]
    outcome: str = ""
    message: str = ""
    before: RateEntry | None = None
    after: RateEntry | None = None
