"""What counts of evictions can say of rates at all, where chance alone makes them differ from the truth.

Groups are drawn as in `watched_rates`, many times, without windows and days: a group's count is Poisson, and each
eviction is caught by chance. Three estimates are compared with the truth: the fit's own (`unseen_evictions` and
`tails.rates`), one of the certain evictions alone, and the best possible. That one knows every eviction and the law of
the rates, too, and names the rate around which the most of what is possible lies within the factor: no estimate can be
within it more often.

How long an evicted member is out of its group, and how many programs make consumers again by themselves, are the
world's, and no part of the fit knows them. A description that meets a member out of its group is followed by another
one half a second later, and catches an eviction only if that shows the member out of its group, too. A consumer that is
made again is back by then.

In worlds without evictions each event that is counted is false (`false_events`).
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from heartbeat_tuner.fitting.models import unseen_evictions
from heartbeat_tuner.reconcile.group_watch import follow_ups
from heartbeat_tuner.tails import rates

Numbers = npt.NDArray[np.float64]

GROUPS: Final = 200
DAYS: Final = 14
RATES: Final = (0.02, 2.0)
"""Evictions of a member a day, of the calmest and of the worst group; evenly spread on a scale of logarithms."""

AWAY_S: Final = 12.0
"""An evicted member is out of its group for so long on average, by an exponential law."""

FACTOR: Final = 1.5
"""So near the truth an estimate should be."""

DRAWS: Final = 60
_CENTRES: Final = 400
_STEPS: Final = 10_001


def _exponential(mean_s: float) -> Callable[[Numbers], Numbers]:
    return lambda at_s: np.exp(-at_s / mean_s)


_USUAL: Final = _exponential(AWAY_S)


@dataclasses.dataclass(frozen=True)
class World:
    """Which groups are drawn.

    Attributes:
        away: the share of evicted members that are out of their group for longer than a time in seconds.
        reopening_share: of the groups, whose programs close consumers and make them again.
        reopenings: of such a member, a day.
        has_evictions: whether members are evicted.
    """

    away: Callable[[Numbers], Numbers] = _USUAL
    reopening_share: float = 0.0
    reopenings: float = 0.0
    has_evictions: bool = True

    def caught(self, look_every_s: float) -> float:
        """Return the share of evictions in which a description shows the member out of its group.

        A description that may come at any moment of its period catches who is away for longer than what is left of it,
        and then until the follow-up.
        """
        if look_every_s <= 0:
            return 1.0
        until_s = np.linspace(0.0, look_every_s, _STEPS) + follow_ups.AFTER_S
        return min(1.0, float(np.trapezoid(self.away(until_s), dx=1.0 / (_STEPS - 1))))


WORLDS: Final[Mapping[str, World]] = MappingProxyType(
    {
        "exponential, 12 s": World(),
        "exponential, 3 s": World(away=_exponential(3.0)),
        "Pareto, median 4.7 s": World(away=lambda at_s: (1.0 + at_s / 8.0) ** -1.5),
        "half of them 1 s, half 30 s": World(away=lambda at_s: 0.5 * (np.exp(-at_s) + np.exp(-at_s / 30.0))),
        "8 s, always": World(away=lambda at_s: (at_s < 8.0).astype(np.float64)),  # noqa: PLR2004 - the world's
        "3 of 10 programs make a consumer again each day": World(reopening_share=0.3, reopenings=1.0),
        "half of them do, each ten days": World(reopening_share=0.5, reopenings=0.1),
        "all do, each five days": World(reopening_share=1.0, reopenings=0.2),
    }
)
"""By how long evicted members are out of their groups, which is the first one's where only programs differ."""


WITHOUT_EVICTIONS: Final[Mapping[str, World]] = MappingProxyType(
    {
        "half of the programs make a consumer again each ten days": World(
            reopening_share=0.5, reopenings=0.1, has_evictions=False
        ),
        "half of them do, each 200 days": World(reopening_share=0.5, reopenings=0.005, has_evictions=False),
        "all do, each day": World(reopening_share=1.0, reopenings=1.0, has_evictions=False),
    }
)


def figures(
    world: World, look_every_s: float, leasts: Sequence[int], *, draws: int = DRAWS
) -> dict[str, dict[str, float]]:
    """Return the share of groups with so many events or more whose estimate is within the factor, and bounds that hold.

    Args:
        world: whose groups are drawn.
        look_every_s: between two descriptions; 0 shows every eviction.
        leasts: events that descriptions caught.
        draws: of the groups.
    """
    rows = [_estimated(world, look_every_s, np.random.default_rng(seed)) for seed in range(draws)]
    true, counts, *estimates = (np.concatenate(column) for column in zip(*rows, strict=True))
    fitted, bounds, alone, their_bounds, best = estimates
    report = {}
    for least in leasts:
        some = counts >= least
        near = {
            name: round(float(_is_near(estimate[some], true[some]).mean()), 3)
            for name, estimate in (("fit", fitted), ("certain_alone", alone), ("best_possible", best))
        }
        report[f"from_{least}_events"] = {
            "groups": round(float(some.sum()) / draws, 1),
            **near,
            "upper_bound_holds": round(float((true <= bounds)[some].mean()), 3),
            "upper_bound_holds_certain_alone": round(float((true <= their_bounds)[some].mean()), 3),
        }
    return report


def false_events(world: World, look_every_s: float, *, draws: int = DRAWS) -> dict[str, float]:
    """Return how many new ids the groups of a world without evictions have, and how many a fit counts as evictions."""
    ids, events = 0.0, 0.0
    for seed in range(draws):
        drawn = _drawn(world, look_every_s, np.random.default_rng(seed))
        ids += float(drawn.unseen.sum())
        events += float(drawn.known()[0].sum())
    return {"new_ids": round(ids / draws, 1), "counted_as_evictions": round(events / draws, 2)}


@dataclasses.dataclass(frozen=True, slots=True)
class Drawn:
    """Some groups.

    Attributes:
        true: evictions of a member a day.
        members: how many each has.
        evictions: how many there were.
        certain: of these, those that descriptions caught.
        unseen: new ids that they did not explain.
    """

    true: Numbers
    members: Numbers
    evictions: Numbers
    certain: Numbers
    unseen: Numbers

    def known(self) -> tuple[Numbers, Numbers]:
        """Return how many evictions a fit counts, and which share of all it takes these for."""
        homes = np.zeros(self.certain.size, dtype=np.int64)
        return unseen_evictions.with_unseen(self.certain, self.unseen, homes == 0, homes)


def _drawn(world: World, look_every_s: float, chance: np.random.Generator) -> Drawn:
    low, high = RATES
    members = chance.integers(2, 5, GROUPS).astype(np.float64)
    true = low * (high / low) ** chance.random(GROUPS) * float(world.has_evictions)
    evictions = chance.poisson(true * members * DAYS)
    certain = chance.binomial(evictions, world.caught(look_every_s))
    reopens = chance.random(GROUPS) < world.reopening_share
    unseen = evictions - certain + chance.poisson(np.where(reopens, world.reopenings * members * DAYS, 0.0))
    return Drawn(true, members, *(counts.astype(np.float64) for counts in (evictions, certain, unseen)))


def _estimated(world: World, look_every_s: float, chance: np.random.Generator) -> tuple[Numbers, ...]:
    """Return the rates of some groups, what descriptions caught, what is estimated by two estimates, and the best."""
    drawn = _drawn(world, look_every_s, chance)
    days = drawn.members * DAYS
    events, share = drawn.known()
    fitted, alone = rates.rates(events, days * share), rates.rates(drawn.certain, days)
    best = _best(drawn.members, drawn.evictions)
    return drawn.true, drawn.certain, fitted.mean, fitted.upper, alone.mean, alone.upper, best


def _best(members: Numbers, evictions: Numbers) -> Numbers:
    """Return the centre of the most likely stretch of rates, of each group."""
    low, high = RATES
    best = np.full(evictions.size, math.sqrt(low * high))
    centres = np.geomspace(low, high, _CENTRES)
    counted = {(size, count) for size, count in zip(members.tolist(), evictions.tolist(), strict=True) if count}
    for size, count in counted:
        # Evenly spread logarithms make the rate a gamma law, cut off at both ends.
        law = stats.gamma(count, scale=1.0 / (size * DAYS))
        mass = law.cdf(np.minimum(centres * FACTOR, high)) - law.cdf(np.maximum(centres / FACTOR, low))
        best[(members == size) & (evictions == count)] = centres[mass.argmax()]
    return best


def _is_near(estimate: Numbers, true: Numbers) -> npt.NDArray[np.bool_]:
    ratio = estimate / true
    return np.asarray((ratio <= FACTOR) & (ratio >= 1.0 / FACTOR))
