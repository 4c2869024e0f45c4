"""Worlds that our formulas did not make, each a fleet of its own: what the operator must not do harm in.

All have the mix of kinds of `bench.fleets`, from seeds of their own, but for librdkafka. When the worlds were made its
groups could not be tuned; without them the draws of all others stay what they were.

| world | what is adverse |
|---|---|
| bimodal | stops of about .2 s, and now and then one of about 18 s: nothing lies between |
| sundays | on Sundays handlers take 6 times and stops 3 times as long: a week has one such day |
| regime | from day 10 on stops come 3 times as often and last twice as long; in every third group half as long |
| lost scrapes | 5 % of what was scraped is missing, and processes restart .3 times a day, with their counters |
| pareto | stops have a Pareto tail of index 1.2, so that the mean of the longest is infinite |
| quiet | nothing ever stops or crashes, and handlers take .05 s |
| slow pod | one pod of each group stops 10 times as often, and 4 times as long, as the others |
| nodes | half of a group stands on one node, which stops twice a week for about 10 s |
| day factors | each day has a factor of its own, lognormal(1), on rates of stops and outages |
| coming and going | groups join the fleet within the first 20 days, and a third of them leave it within the last 15 |
| poisoned | a fifth of the groups, of another namespace, make up what they export: nothing ever, or 300 s all day |

Members of a group are drawn alike. In `slow pod` each has the mean of all: its stops are rare, so the rows of the group
come out the same.
"""

import dataclasses
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from bench import fleets
from bench.as_shipped.lives import Life
from bench.fleets import Group, Kind, over_the_day, stretched
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import Law

GROUPS: Final = 60
"""Of each world, at least."""

_SPARE: Final = 1.15
"""One group in ten is of librdkafka."""

_SEED: Final = 24_000
_TURNS_ON: Final = 10
_DAYS: Final = 60
_NEVER: Final = FailureProcess(0.0, Law.constant(1.0))
_PARETO_INDEX: Final = 1.2

Make = Callable[[Group, int, np.random.Generator], Life]
"""From a group, its number and chance to what it lives through."""


def lives(world: str, groups: int = GROUPS, seed: int | None = None) -> Sequence[Life]:
    """Return the groups of one world.

    Args:
        world: one of `WORLDS`.
        groups: how many at least.
        seed: of the random generator; None for the fleet's own.
    """
    number = _SEED + zlib.crc32(world.encode()) % 1000 if seed is None else seed
    drawn = fleets.fleet("holdout", math.ceil(groups * _SPARE), number)
    rng = np.random.default_rng([number, 1])
    some = [group for group in drawn if group.kind is not Kind.LIBRDKAFKA]
    return [WORLDS[world](group, place, rng) for place, group in enumerate(some)]


def _with(group: Group, usual: Profile) -> Group:
    changed = dataclasses.replace(group, usual=usual)
    return dataclasses.replace(changed, truth=over_the_day(changed))


def _scaled(process: FailureProcess, rate: float, time: float) -> FailureProcess:
    return FailureProcess(process.per_day * rate, stretched(process.law, time))


def _together(*processes: FailureProcess) -> FailureProcess:
    per_day = sum(process.per_day for process in processes)
    return FailureProcess(per_day, Law.mixture((process.per_day / per_day, process.law) for process in processes))


def _bimodal(group: Group, _number: int, rng: np.random.Generator) -> Life:
    short = FailureProcess(group.usual.pauses.per_day, Law.lognormal(0.2, 0.5))
    long = FailureProcess(0.05 * float(rng.lognormal(0.0, 0.5)), Law.lognormal(float(rng.uniform(14, 24)), 0.15))
    return Life(_with(group, dataclasses.replace(group.usual, pauses=_together(short, long))))


def _sundays(group: Group, _number: int, _rng: np.random.Generator) -> Life:
    usual = group.usual
    busy = dataclasses.replace(usual, handlers=stretched(usual.handlers, 6.0), pauses=_scaled(usual.pauses, 1.0, 3.0))
    return Life(group, sunday=_with(group, busy))


def _regime(group: Group, number: int, _rng: np.random.Generator) -> Life:
    rate, time = (1.0, 0.5) if not number % 3 else (3.0, 2.0)
    usual = dataclasses.replace(group.usual, pauses=_scaled(group.usual.pauses, rate, time))
    return Life(group, later=_with(group, usual), turns_on=_TURNS_ON)


def _lost_scrapes(group: Group, _number: int, _rng: np.random.Generator) -> Life:
    crashes = dataclasses.replace(group.usual.crashes, per_day=0.3)
    return Life(_with(group, dataclasses.replace(group.usual, crashes=crashes)), lost_scrapes=0.05)


def _pareto(group: Group, _number: int, rng: np.random.Generator) -> Life:
    scale_s = 0.3 * float(rng.lognormal(0.0, 0.25))

    def exceedance(times_s: Array) -> Array:
        return np.asarray((1.0 + times_s / scale_s) ** -_PARETO_INDEX)

    pauses = FailureProcess(5.0 * float(rng.lognormal(0.0, 0.5)), Law.of(exceedance))
    return Life(_with(group, dataclasses.replace(group.usual, pauses=pauses)))


def _quiet(group: Group, _number: int, _rng: np.random.Generator) -> Life:
    usual = dataclasses.replace(
        group.usual,
        pauses=FailureProcess(1e-6, Law.constant(1.0)),
        node_pauses=_NEVER,
        outages=_NEVER,
        crashes=dataclasses.replace(group.usual.crashes, per_day=1e-4),
        hangs=_NEVER,
        handlers=Law.lognormal(0.05, 0.3),
    )
    return Life(_with(dataclasses.replace(group, burst=None), usual))


def _slow_pod(group: Group, _number: int, _rng: np.random.Generator) -> Life:
    usual = group.usual
    share = 1.0 / usual.members
    pauses = _together(_scaled(usual.pauses, 1.0 - share, 1.0), _scaled(usual.pauses, 10.0 * share, 4.0))
    return Life(_with(group, dataclasses.replace(usual, pauses=pauses)))


def _nodes(group: Group, _number: int, rng: np.random.Generator) -> Life:
    usual = group.usual
    stops = FailureProcess(2.0 / 7.0, Law.lognormal(10.0 * float(rng.lognormal(0.0, 0.25)), 0.8))
    return Life(_with(group, dataclasses.replace(usual, node_pauses=stops, node_members=max(1, usual.members // 2))))


def _day_factors(group: Group, _number: int, rng: np.random.Generator) -> Life:
    factors = np.exp(rng.normal(-0.5, 1.0, _DAYS))
    return Life(group, day_factors=tuple(factors.tolist()))


def _coming_and_going(group: Group, number: int, rng: np.random.Generator) -> Life:
    leaves_on = int(rng.integers(20, 30)) if number % 3 == 0 else None
    return Life(group, joins_on=int(rng.integers(0, 20)), leaves_on=leaves_on)


def _poisoned(group: Group, number: int, rng: np.random.Generator) -> Life:
    if number % 5:
        return Life(group)
    usual = _quiet(group, number, rng).group.usual
    if number % 2:
        usual = dataclasses.replace(group.usual, pauses=FailureProcess(100.0, Law.constant(300.0)))
    return Life(_with(group, usual), namespace="mallory", lies=True)


WORLDS: Final[Mapping[str, Make]] = {
    "bimodal": _bimodal,
    "sundays": _sundays,
    "regime": _regime,
    "lost scrapes": _lost_scrapes,
    "pareto": _pareto,
    "quiet": _quiet,
    "slow pod": _slow_pod,
    "nodes": _nodes,
    "day factors": _day_factors,
    "coming and going": _coming_and_going,
    "poisoned": _poisoned,
}
