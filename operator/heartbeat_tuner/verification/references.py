"""What a count after a change is compared with: the record before it, and what was promised of the new values.

Worse than *before* is harm. Worse than *promised*, and not worse than before, is a model that was wrong: a reason to
decide again, not to go back. A deliberate trade, such as more evictions for a faster detection within the objective,
was made in the knowledge of its price, so it is judged by the larger of the two.

Values are often changed in the middle of an incident, which may go on for a while whatever the values are. Where the
last hours before the change were clearly worse than the rest of the record, the first day after it tells nothing; and
what was an incident is no rate that a change could claim to have bettered.
"""

import dataclasses
import math
from typing import Final

import numpy as np

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification import counts
from heartbeat_tuner.verification.e_process import ALPHA
from heartbeat_tuner.verification.exposure import ExposureClock

_INCIDENT_HOURS: Final = (1.0, 2.0, 3.0, 6.0, 12.0, 24.0)
_INCIDENT_EPISODES: Final = 3
_INCIDENT_ERROR: Final = 0.1  # to overlook one may cost a revert, to see one that is none costs a day


@dataclasses.dataclass(frozen=True, slots=True)
class Before:
    """What the record before a change says.

    Attributes:
        episodes: in it.
        days: its exposure.
        dispersion: how much more its days scatter than chance makes them.
        lower: bound of the rate per day, of what was no incident.
        upper: bound of the rate per day.
        in_incident: whether its last hours were clearly worse than the rest.
        by_day: episodes of each whole day, the last at the end.
    """

    episodes: int
    days: float
    dispersion: float
    lower: float
    upper: float
    in_incident: bool = False
    by_day: Array = dataclasses.field(default_factory=lambda: np.zeros(0), compare=False)

    @property
    def is_known(self) -> bool:
        """Whether anything was watched."""
        return self.days > 0.0

    @property
    def mean(self) -> float:
        """Rate per day."""
        return self.episodes / self.days if self.is_known else math.nan


def before(episodes_s: Array, since_s: float, until_s: float, clock: ExposureClock) -> Before:
    """Return what a record says.

    Args:
        episodes_s: when the episodes of the record began, in order.
        since_s: where it begins.
        until_s: where it ends: when values were written.
        clock: of the group.
    """
    days = float(clock.days(since_s, until_s))
    scatter = _dispersion(episodes_s, since_s, until_s, clock)
    lower, upper = counts.garwood(episodes_s.size, days, alpha=ALPHA, dispersion=scatter)
    by_day = counts.daily(episodes_s, _days(since_s, until_s))
    plain = Before(episodes_s.size, days, scatter, lower, upper, by_day=by_day)
    incident = _in_incident(episodes_s, since_s, until_s, clock)
    return plain if incident is None else dataclasses.replace(plain, lower=min(lower, incident), in_incident=True)


def _in_incident(episodes_s: Array, since_s: float, until_s: float, clock: ExposureClock) -> float | None:
    """Return the lower bound of the rate of a record without its last hours, if those were an incident; else None."""
    in_last = [(hours, int(np.count_nonzero(episodes_s >= until_s - 3600.0 * hours))) for hours in _INCIDENT_HOURS]
    suspicious = [(hours, lately) for hours, lately in in_last if lately >= _INCIDENT_EPISODES]
    if not suspicious:
        return None
    days = float(clock.days(since_s, until_s))
    quiet = _dispersion(episodes_s, since_s, until_s - DAY_S, clock)  # an incident that scatters would hide itself
    for hours, lately in suspicious:
        exposed = float(clock.days(max(until_s - hours * 3600.0, since_s), until_s))
        if not 0.0 < exposed < days:
            continue
        last = counts.garwood(lately, exposed, alpha=_INCIDENT_ERROR, dispersion=quiet)
        others = episodes_s.size - lately
        rest = counts.garwood(others, days - exposed, alpha=_INCIDENT_ERROR, dispersion=quiet)
        if last.lower > rest.upper:
            return rest.lower
    return None


def by_record(record: Before) -> float | None:
    """Return the rate per day that harm is measured by; None without a record."""
    return record.upper if record.is_known else None


def by_promise(per_day: float | None) -> float | None:
    """Return the rate that was promised; None where it is not a positive number."""
    return per_day if per_day is not None and 0.0 < per_day < math.inf else None


def larger(record: float | None, promise: float | None) -> float | None:
    """Return the rate that allows more; None if there is neither."""
    return max((rate for rate in (record, promise) if rate is not None), default=None)


def _dispersion(episodes_s: Array, since_s: float, until_s: float, clock: ExposureClock) -> float:
    """Return the dispersion of the whole days that end with the record."""
    edges = _days(since_s, until_s)
    return counts.dispersion(counts.daily(episodes_s, edges), np.diff(clock.days(edges[0], edges)))


def _days(since_s: float, until_s: float) -> Array:
    """Return the edges of whole days that end with a record."""
    whole = max(0, int((until_s - since_s) // DAY_S))
    return until_s - DAY_S * np.arange(whole, -1.0, -1.0)
