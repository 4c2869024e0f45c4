"""Groups whose truth is known, for `bench.verify`: evictions of 14 days before a change of values, and of 28 after.

The test is not made of these laws: bursts, hours, days and regimes are drawn here, by thinning, and
only times come out. Rates are of what begins per day, on average over days and hours; where that is often, some come
within 15 minutes of each other, and are counted as one episode.
"""

import dataclasses
import functools
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.verifications import PromisedRate
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification import episodes
from heartbeat_tuner.verification.change import Change, Watched

WRITTEN: Final = datetime(2026, 3, 16, 12, tzinfo=UTC)  # a Monday, at the peak of the day
LANDED: Final = WRITTEN + timedelta(minutes=10)
AFTER_DAYS: Final = 28

_SEED: Final = 7
_GROUPS: Final = 400
_SIGMA: Final = 0.7
_PEAK_HOUR: Final = 12.0
_BURST_MEAN: Final = 4.0
_BURST_GAP_S: Final = 60.0
_AT_NIGHT: Final = 0.05
_OFFICE_HOURS: Final = (8.0, 18.0)
_WORKING_DAYS: Final = 5
_STORM_PER_DAY: Final = 72.0
_STORM_HOURS: Final = 3.0


@dataclasses.dataclass(frozen=True)
class World:
    """How evictions come.

    Attributes:
        name: in the report.
        known: whether the rate before is known, as from a model; else there is a record.
        record_days: how long that is.
        bursts: each episode has four evictions on average.
        swing: how far the rate swings around its mean in a day; the change is made at its peak.
        scatter: each day has a lognormal factor of its own.
        memory: correlation of that from day to day.
        office: nearly all comes in office hours of working days.
        storm: the change is made in the middle of six hours with 3 episodes an hour more.
        beyond: two weeks of record do not show what the world is like, so no goal is set.
    """

    name: str
    known: bool = False
    record_days: int = 14
    bursts: bool = False
    swing: float = 0.0
    scatter: bool = False
    memory: float = 0.0
    office: bool = False
    storm: bool = False
    beyond: bool = False


WORLDS: Final = (
    World("even, B known", known=True),
    World("bursts, B known", known=True, bursts=True),
    World("swing, B known", known=True, swing=0.9),
    World("days, B known", known=True, scatter=True),
    World("all, B known", known=True, bursts=True, swing=0.9, scatter=True),
    World("even, record"),
    World("bursts, record", bursts=True),
    World("swing, record", swing=0.9),
    World("days, record", scatter=True),
    World("all, record", bursts=True, swing=0.9, scatter=True),
    World("all, record of 3 days", record_days=3, bursts=True, swing=0.9, scatter=True),
    World("office hours, record", office=True),
    World("regimes of days, record", scatter=True, memory=0.7),
    World("in an incident, record", storm=True),
    World("regimes, bursts, swing, record", bursts=True, swing=0.9, scatter=True, memory=0.7),
    World("regimes, record of 7 days", record_days=7, scatter=True, memory=0.7),
    World("regimes of weeks, record", scatter=True, memory=0.85, beyond=True),
    World("regimes of days, B known", known=True, scatter=True, memory=0.7, beyond=True),
)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """One group.

    Attributes:
        evictions_s: before and after the change.
        rate: how many a day begin before the change.
        world: that it lives in.
    """

    evictions_s: Array
    rate: float
    world: World

    @property
    def change(self) -> Change:
        """The change of values."""
        return Change(
            WRITTEN,
            LANDED,
            Rollout(),
            promise=PromisedRate(counted_rate(self.world, self.rate)) if self.world.known else None,
        )

    @property
    def watched(self) -> Watched:
        """What the operator would have seen."""
        return Watched(WRITTEN - timedelta(days=self.world.record_days), self.evictions_s.tolist())


@functools.lru_cache
def counted_rate(world: World, rate: float) -> float:
    """Return how many episodes are counted a day, over 17,000 days without a change."""
    numbers = np.random.default_rng(_SEED)
    groups = [draw(world, rate, 1.0, numbers) for _ in range(_GROUPS)]
    counted = sum(episodes.starts(group.evictions_s).size for group in groups)
    return counted / (_GROUPS * (world.record_days + AFTER_DAYS + 1))


def draw(world: World, rate: float, times: float, numbers: np.random.Generator) -> Drawn:
    """Return a group whose rate is so many times as high after the change."""
    written_s = WRITTEN.timestamp()
    first, last = -world.record_days, AFTER_DAYS + 1
    factors = _factors(world, last - first, numbers)
    highest = _highest(world) * factors * rate * np.where(np.arange(first, last) < 0, 1.0, times)
    count = numbers.poisson(highest)
    days = np.repeat(np.arange(first, last), count) + numbers.random(count.sum())
    at_s = written_s + days * DAY_S
    at_s = at_s[numbers.random(at_s.size) * _highest(world) < _hourly(world, at_s)]
    if world.storm:
        storm = numbers.poisson(_STORM_PER_DAY * 2.0 * _STORM_HOURS / 24.0)
        at_s = np.append(at_s, written_s + numbers.uniform(-_STORM_HOURS, _STORM_HOURS, storm) * 3600.0)
    if world.bursts:
        at_s = _burst(at_s, numbers)
    return Drawn(np.sort(at_s), rate, world)


def _factors(world: World, days: int, numbers: np.random.Generator) -> Array:
    if not world.scatter:
        return np.ones(days)
    shocks = numbers.standard_normal(days)
    levels = [shocks[0]]
    for shock in shocks[1:]:
        levels.append(world.memory * levels[-1] + np.sqrt(1.0 - world.memory**2) * shock)
    return np.exp(_SIGMA * np.array(levels) - 0.5 * _SIGMA**2)


def _hourly(world: World, at_s: Array) -> Array:
    hour, weekday = at_s / 3600.0 % 24.0, (at_s // DAY_S + 3) % 7
    if not world.office:
        return np.asarray(1.0 + world.swing * np.cos(2.0 * np.pi * (hour - _PEAK_HOUR) / 24.0))
    busy = (hour >= _OFFICE_HOURS[0]) & (hour < _OFFICE_HOURS[1]) & (weekday < _WORKING_DAYS)
    return np.where(busy, 1.0, _AT_NIGHT) / _office_mean()


def _office_mean() -> float:
    busy = (_OFFICE_HOURS[1] - _OFFICE_HOURS[0]) / 24.0 * _WORKING_DAYS / 7.0
    return busy + _AT_NIGHT * (1.0 - busy)


def _highest(world: World) -> float:
    return 1.0 / _office_mean() if world.office else 1.0 + world.swing


def _burst(at_s: Array, numbers: np.random.Generator) -> Array:
    """Return episodes as bursts of evictions, a minute apart."""
    sizes = numbers.geometric(1.0 / _BURST_MEAN, at_s.size)
    ends = np.cumsum(sizes)
    gaps = numbers.exponential(_BURST_GAP_S, ends[-1] if ends.size else 0)
    waited = np.cumsum(gaps)
    began = waited[ends - sizes] if ends.size else waited
    return np.asarray(np.repeat(at_s - began, sizes) + waited)
