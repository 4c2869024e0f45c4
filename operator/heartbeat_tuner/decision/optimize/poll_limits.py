"""Which M are worth computing with exactly: what is set, if it may stay, and what handlers and late polls ask for.

M acts on hung handlers (the longer, the later they are noticed) and on slow ones (the shorter, the more of them are
evicted), and on hardly anything else: so it is chosen before S and H, by a rough bill of these two.

It is lowered where it surely evicts few, and raised where it is expected to evict many. In between it stays: a tail of
slow handlers goes on far beyond the longest one seen, and a higher limit makes the group wait for each one that hangs.
"""

import dataclasses
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.domain.durations import DAY_S, MONTH_DAYS
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.limits import allowed_values as allowed
from heartbeat_tuner.limits import grid, smallest_changes
from heartbeat_tuner.limits.allowed_values import Infeasible, Rules
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S

_POLL_SHARE: Final = 0.5
"""Of the objective, for members that do not poll; the rest is for silences."""

_HANGS_PER_DAY: Final = 1e-3
"""Of each member."""


@dataclasses.dataclass(frozen=True, slots=True)
class PollLimits:
    """Which M to try.

    Attributes:
        kept: the one set, if it may stay.
        other: the one that seems the cheapest, if it is another.
        saving: roughly what that one saves, in stalled partition-seconds a day.
    """

    kept: timedelta | None
    other: timedelta | None = None
    saving: float = 0.0


def poll_limits(profile: Profile, rules: Rules, per_month: float) -> PollLimits | Infeasible:
    """Return which M to try, or the two limits of M that collide."""
    now = rules.current.max_poll_interval
    if now is None or Setting.MAX_POLL_INTERVAL not in rules.client.names or rules.largest_poll_gap_s is None:
        return PollLimits(now)
    floor, ceiling = rules.poll()
    if floor.value > ceiling.value:
        return allowed.collide("No poll interval fits: handlers need", floor, ceiling)
    lowest = floor.value
    if rules.gaps_too_few:
        if now > ceiling.value:
            return PollLimits(now)  # only less is allowed: as where gaps are not measured
        lowest = max(lowest, now)
    highest = max(lowest, ceiling.value)
    values = grid.settable(lowest.total_seconds(), highest.total_seconds())
    stays = floor.value <= now <= ceiling.value
    if stays:
        values = np.append(values, now.total_seconds())
    limits = rules.client.poll_limit_factor * values
    mean, upper = _late_polls_per_day(profile, limits)
    late = MONTH_DAYS * profile.members * upper
    sound = late <= _POLL_SHARE * per_month
    if not sound.any():
        sound = late <= late.min()  # the objective says of it what it says of all evictions
    if stays and MONTH_DAYS * profile.members * mean[-1] <= _POLL_SHARE * per_month:
        sound[-1] = True  # it is not raised for what may be: who hangs would be missed later
    bill = np.where(sound, _poll_bill(profile, limits, mean), np.inf)
    least = int(np.argmin(bill))
    best = timedelta(milliseconds=round(float(values[least]) * 1000))
    if not (stays and sound[-1]):
        return PollLimits(best)
    if smallest_changes.too_small(now, best):
        return PollLimits(now)
    return PollLimits(now, best, float(bill[-1] - bill[least]))


def where_none_is_safe(profile: Profile, rules: Rules, per_month: float) -> list[timedelta | None]:
    """Return which M may be set where no S is safe: what is set, if it may stay, and what polls ask for."""
    now = rules.current.max_poll_interval
    limits = poll_limits(profile, rules, per_month)
    if isinstance(limits, Infeasible) or now is None:
        return [now]
    floor, ceiling = rules.poll()
    stays = [now] if floor.value <= now <= ceiling.value else []
    return list(dict.fromkeys(limit for limit in (*stays, limits.kept, limits.other) if limit is not None))


def _late_polls_per_day(profile: Profile, limits_s: Array) -> tuple[Array, Array]:
    """Return how often a day a member polls later than each limit, expected and at most."""
    slow = profile.slow_handlers
    if slow is None:
        often = DAY_S / max(profile.handlers.mean_s, 1e-3) * profile.handlers.sf(limits_s)
        return often, often
    mean = slow.per_day * slow.law.sf(limits_s)
    return mean, mean if slow.upper_per_day is None else np.interp(limits_s, TIMES_S, slow.upper_per_day)


def _poll_bill(profile: Profile, limits_s: Array, late_per_day: Array) -> Array:
    """Return roughly what each poll limit costs in stalled partition-seconds a day: hung handlers, late polls.

    It only says which limit to compute with exactly.
    """
    everybody = profile.partitions if profile.rebalancing is Rebalancing.EAGER else profile.share
    removal = 2 * everybody * (profile.settle_s + profile.handlers.mean_s)
    hangs, members = profile.hangs, profile.members
    # How often handlers hang is hardly ever known: at least this often, or no limit would ever be too long.
    lasting = np.maximum(hangs.per_day * hangs.law.integral(limits_s), _HANGS_PER_DAY * limits_s)
    hung = profile.share * lasting + hangs.per_day * hangs.law.sf(limits_s) * removal
    if profile.rebalancing is Rebalancing.EAGER:
        # A rebalance that something else causes meanwhile waits for the hung member.
        triggers = members * (profile.crashes.per_day + profile.restarts.per_day) / DAY_S
        hung = hung + hangs.per_day * triggers * profile.partitions * limits_s**2 / 2
    return np.asarray(members * (hung + late_per_day * (removal + profile.eviction_price)))
