"""From what a fit says of one quantity to a law of times, and how often a day they come.

A tail tells what is rare. Below its threshold stands a straight line in logarithms, through the median where the fit
says one: what is usual costs little, but its integral must be finite. Doubt is the worse of two bounds, as in
`expected_evictions`: that of the fit, and one from counts that rests on no shape.
"""

import dataclasses
import functools
from statistics import NormalDist
from typing import Final

import numpy as np

from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.models.group_model import QuantityModel
from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.model import Z_95, TailModel
from heartbeat_tuner.tails.pool import Pool

HANDLER_SIGMA: Final = 0.6
"""Standard deviation of the logarithm of the time from one poll to the next, of an ordinary consumer."""

_LOG_TIMES: Final = np.log(np.maximum(TIMES_S, TIMES_S[1] / 2))
_SHORTEST_S: Final = float(TIMES_S[1]) / 2
_LONGEST_S: Final = float(TIMES_S[-1])
_BELOW: Final = 16
_BEYOND: Final = 96
"""Times that a curve is made of: tables have ten times as many, and lie between."""

_LEAST: Final = 1e-300  # stands for a share of none in logarithms
_MISSED: Final = 1.35  # events that may have been missed, whatever was counted (`shape_free`)
_BEFORE: Final = 1.0 - 1e-9  # just before the largest value, whose bound is another than at it


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Tail:
    """What is rare of a quantity: from its first time on.

    Attributes:
        times_s: ascending.
        shares: of the values that exceed each of them, on average.
        uppers: the fit's bound of that.
        slope: how fast the share falls at the first time, in logarithms of both.
    """

    times_s: Array
    shares: Array
    uppers: Array
    slope: float


def failure_process(
    quantity: QuantityModel, days: float, *, least_s: float = 0.0, all_end: bool = False
) -> FailureProcess | None:
    """Return how often a day a quantity takes somebody away, and for how long; None if no value was seen.

    Without a tail that fits, the largest value begins one: once in all values, and beyond it as heavy as what nobody
    knows.

    Args:
        quantity: its values.
        days: for how long he was watched: member-days, or days of the group; above 0.
        least_s: what is shorter does not count, in seconds.
        all_end: whether the end of every value was seen, so that none was longer than the largest. A law that follows
            many short ones may expect several beyond it; on average it then expects one, and its bound stays.
    """
    law = quantity.law
    count = quantity.values if law is None else law[1] * quantity.group_days
    if not count > 0 or (law is None and not quantity.largest_s):
        return None
    if law is None:
        largest_s = quantity.largest_s or 0.0
        rare = _unfitted(largest_s, count)
    else:
        largest_s = max(law[0].largest_s if quantity.largest_s is None else quantity.largest_s, law[0].threshold_s)
        rare = _fitted(law[0], largest_s)
    times, shares, fitted = _with_usual(rare, quantity.median_s)
    seen = np.maximum(shares * count, 1.0)
    counted = np.where(
        times < largest_s,
        seen + Z_95 * np.sqrt(seen) + _MISSED,
        shape_free.beyond_per_day(times, largest_s, 1.0),
    )
    uppers = np.maximum(np.maximum(counted, count * fitted), count * shares)
    falling = np.maximum.accumulate(uppers[::-1])[::-1]
    if all_end:
        shares = np.where(times < largest_s, shares, shares / max(count * float(shares[times >= largest_s][0]), 1.0))
    return _from(least_s, count / days, _table(times, shares), _table(times, falling / days))


def pooled(
    own: FailureProcess, pool: Pool, days: float, *, largest_s: float, whole: bool, unended: bool = False
) -> FailureProcess:
    """Return what happens by a group's own account and that of all groups of its kind, the more it saw the more own.

    What the group saw is what its own law expects it to have seen, and nothing beyond the largest value. Before the
    first time of the pool, the group speaks for itself.

    Args:
        own: what its own values say; of a rate of 0 if there are none.
        pool: what all of them saw.
        days: for how long the group was watched: member-days, or days of the group.
        largest_s: that the group saw.
        whole: whether what lasted longer than a session shows, too. Else nobody's values tell that there is little of
            it, and the bound is no lower than the group's own.
        unended: whether some of what the group saw had no end that anybody saw: evictions, counted or hidden. Beyond
            the largest value the group then saw what its own law says, weighed as any count of its is; where evictions
            are hidden, not even a count is known, and the mean is no lower than the group's own.
    """
    alone, covered = own.per_day * own.law.exceedances, min(pool.times_s[0], _LONGEST_S) <= TIMES_S
    seen = np.where(largest_s > TIMES_S, alone * days, 0.0)
    means, uppers = np.zeros(TIMES_S.size), np.zeros(TIMES_S.size)
    means[covered], uppers[covered] = pool.posterior(TIMES_S[covered], seen[covered], days)
    if unended:
        least = alone[covered]
        if pool.hides_from_s is None:
            least = np.minimum(least, pool.posterior(TIMES_S[covered], least * days, days)[0])
        means[covered] = np.maximum(means[covered], least)
    first, first_upper = float(means[covered][0]), float(uppers[covered][0])
    rates = np.minimum.accumulate(np.where(covered, means, np.maximum(alone, first)))
    before = alone if own.upper_per_day is None else own.upper_per_day
    uppers = np.where(covered, uppers if whole else np.maximum(uppers, before), np.maximum(before, first_upper))
    falling = np.maximum.accumulate(np.maximum(uppers, rates)[::-1])[::-1]
    return FailureProcess(float(rates[0]), Law.table(rates / max(rates[0], _LEAST)), falling)


@functools.lru_cache(maxsize=1024)  # as many as buckets; a law is 17 kB
def handlers(block_median_s: float) -> Law:
    """Return the law of the time from one poll to the next, from the usual largest of a block of 90 s.

    It is lognormal, and such that the largest of as many as a block has is what was seen half of the time. A block that
    is hardly longer than one of them shows it itself.

    Args:
        block_median_s: half of the blocks have a longer one, in seconds.
    """
    known = np.interp(np.log(max(block_median_s, _SHORTEST_S)), _BLOCK_LOGS, _GAP_LOGS)
    median_s = block_median_s if block_median_s >= _ALONE_S else float(np.exp(known))
    return Law.lognormal(median_s, HANDLER_SIGMA)


def _fitted(tail: TailModel, largest_s: float) -> _Tail:
    excess = tail.scale_s * np.geomspace(1e-2, max(_LONGEST_S / tail.scale_s, 1.0), _BEYOND)
    times = np.sort(tail.threshold_s + np.append(np.insert(excess, 0, 0.0), _edge(largest_s - tail.threshold_s)))
    return _Tail(times, tail.sf(times), tail.exceedance_upper(times), tail.threshold_s / tail.scale_s)


def _unfitted(largest_s: float, count: float) -> _Tail:
    times = np.geomspace(largest_s, max(_LONGEST_S, 2.0 * largest_s), 2)
    shares = np.minimum((times / largest_s) ** (-1.0 / shape_free.SHAPE) / count, 1.0)
    return _Tail(times, shares, shares, 1.0 / shape_free.SHAPE)


def _edge(time_s: float) -> Array:
    return np.array([time_s * _BEFORE, time_s])


def _with_usual(rare: _Tail, median_s: float | None) -> tuple[Array, Array, Array]:
    """Return times, shares and the fit's bounds, from where every value is longer; the bounds know nothing below."""
    first_s, share = float(rare.times_s[0]), max(float(rare.shares[0]), _LEAST)
    slope = rare.slope
    half_s = first_s if median_s is None else max(median_s, _SHORTEST_S)
    if half_s < first_s and share < 0.5:  # noqa: PLR2004 - the median
        slope = float(np.log(0.5 / share) / np.log(first_s / half_s))
    start_s = max(first_s * share ** (1.0 / slope), min(_SHORTEST_S, first_s))
    below = np.geomspace(start_s, first_s * _BEFORE, _BELOW)
    usual = np.minimum(share * (below / first_s) ** -slope, 1.0)
    return (
        np.concatenate((below, rare.times_s)),
        np.concatenate((usual, rare.shares)),
        np.concatenate((np.zeros(_BELOW), rare.uppers)),
    )


def _table(times_s: Array, values: Array) -> Array:
    """Return values at each of `TIMES_S`: straight lines in logarithms between some times."""
    return np.asarray(np.exp(np.interp(_LOG_TIMES, np.log(times_s), np.log(np.maximum(values, _LEAST)))))


def _from(least_s: float, per_day: float, shares: Array, uppers: Array) -> FailureProcess:
    """Return what happens, but for what is shorter than `least_s`."""
    share, upper = (float(np.interp(least_s, TIMES_S, values)) for values in (shares, uppers))
    return FailureProcess(
        per_day=per_day * share,
        law=Law.table(np.minimum(shares / max(share, _LEAST), 1.0)),
        upper_per_day=np.minimum(uppers, upper),
    )


def _block_logs(gap_logs: Array) -> Array:
    """Return logarithms of the median of the largest gap of a block, from those of the median gap."""
    counts = BLOCK_S / np.exp(gap_logs + HANDLER_SIGMA**2 / 2)  # by the mean of a lognormal law
    normal = NormalDist()
    places = [normal.inv_cdf(0.5 ** (1.0 / max(count, 1.0))) for count in counts.tolist()]
    return np.asarray(gap_logs + HANDLER_SIGMA * np.array(places))


_ALONE_S: Final = BLOCK_S / float(np.exp(HANDLER_SIGMA**2 / 2))
_GAP_LOGS: Final = np.linspace(np.log(1e-6), np.log(_ALONE_S), 400)
_BLOCK_LOGS: Final = _block_logs(_GAP_LOGS)
