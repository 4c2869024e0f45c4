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
from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification import scatter
from heartbeat_tuner.verification.e_process import ALPHA, PastCount
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
        dispersion: how much more its days scatter than chance makes them, as they show.
        possible_dispersion: how much more they may scatter, for all that the record shows.
        lower: bound of the rate per day, of what was no incident.
        upper: bound of the rate per day.
        in_incident: whether its last hours were clearly worse than the rest.
        calm: what was no incident.
        by_day: episodes of each whole day, the last at the end.
    """

    episodes: int
    days: float
    dispersion: float
    possible_dispersion: float
    lower: float
    upper: float
    calm: PastCount
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

    @property
    def middle_dispersion(self) -> float:
        """What benefit is measured with: to call useless values good takes nothing back, so half of what may be."""
        return 0.5 * (self.dispersion + self.possible_dispersion)

    @property
    def whole(self) -> PastCount:
        """All of it: what harm is measured against."""
        return PastCount(self.episodes, self.days)


def before(episodes_s: Array, since_s: float, until_s: float, clock: ExposureClock) -> Before:
    """Return what a record says.

    Args:
        episodes_s: when the episodes of the record began, in order.
        since_s: where it begins.
        until_s: where it ends: when values were written.
        clock: of the group.
    """
    days = float(clock.days(since_s, until_s))
    edges = _days(since_s, until_s)
    by_day, exposure = scatter.daily(episodes_s, edges), np.diff(clock.days(edges[0], edges))
    dispersion = scatter.shown(by_day, exposure)
    lower, upper = count_bounds.garwood(episodes_s.size, days, alpha=ALPHA, dispersion=dispersion)
    plain = Before(
        episodes=episodes_s.size,
        days=days,
        dispersion=dispersion,
        possible_dispersion=scatter.possible(by_day, exposure, episodes_s.size, days),
        lower=lower,
        upper=upper,
        calm=PastCount(episodes_s.size, days),
        by_day=by_day,
    )
    incident = _without_incident(episodes_s, since_s, until_s, clock)
    if incident is None:
        return plain
    calm, rate = incident
    return dataclasses.replace(plain, lower=min(lower, rate), calm=calm, in_incident=True)


def _without_incident(
    episodes_s: Array, since_s: float, until_s: float, clock: ExposureClock
) -> tuple[PastCount, float] | None:
    """Return a record without its last hours, and the lower bound of its rate, if those were an incident; else None."""
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
        last = count_bounds.garwood(lately, exposed, alpha=_INCIDENT_ERROR, dispersion=quiet)
        others = episodes_s.size - lately
        rest = count_bounds.garwood(others, days - exposed, alpha=_INCIDENT_ERROR, dispersion=quiet)
        if last.lower > rest.upper:
            return PastCount(others, days - exposed), rest.lower
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
    return scatter.shown(scatter.daily(episodes_s, edges), np.diff(clock.days(edges[0], edges)))


def _days(since_s: float, until_s: float) -> Array:
    """Return the edges of whole days that end with a record."""
    whole = max(0, int((until_s - since_s) // DAY_S))
    return until_s - DAY_S * np.arange(whole, -1.0, -1.0)
