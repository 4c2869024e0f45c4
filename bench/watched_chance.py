"""What counts of evictions can say of rates at all, where chance alone makes them differ from the truth.

Groups are drawn as in `watched_rates`, many times, without windows and days: a group's count is Poisson, and each
eviction is caught by chance. Three estimates are compared with the truth: the fit's own (`unseen_evictions` and
`tails.rates`), one of the certain evictions alone, and the best possible. That one knows every eviction and the law of
the rates, too, and names the rate around which the most of what is possible lies within the factor: no estimate can be
within it more often.

How long an evicted member is out of its group, and how many programs make consumers again by themselves, are the
world's, and no part of the fit knows them.
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
from heartbeat_tuner.tails import rates

Numbers = npt.NDArray[np.float64]

DRAWS: Final = 60
_CENTRES: Final = 400
_STEPS: Final = 10_001


def _exponential(mean_s: float) -> Callable[[Numbers], Numbers]:
    return lambda at_s: np.exp(-at_s / mean_s)


_TWELVE_SECONDS: Final = _exponential(12.0)


@dataclasses.dataclass(frozen=True)
class World:
    """Which groups are drawn.

    Attributes:
        away: the share of evicted members that are out of their group for longer than a time in seconds.
        reopening_share: of the groups, whose programs close consumers and make them again.
        reopenings: of such a member, a day.
        groups: of one draw.
        days: for how long they are watched.
        low: evictions of a member a day, of the calmest group.
        high: of the worst; rates are evenly spread on a scale of logarithms.
        factor: so near the truth an estimate should be.
    """

    away: Callable[[Numbers], Numbers] = _TWELVE_SECONDS
    reopening_share: float = 0.0
    reopenings: float = 0.0
    groups: int = 200
    days: int = 14
    low: float = 0.02
    high: float = 2.0
    factor: float = 1.5

    def caught(self, look_every_s: float) -> float:
        """Return the share of evictions in which a description shows the member out of its group.

        A description that may come at any moment of its period catches who is away for longer than what is left of it.
        """
        if look_every_s <= 0:
            return 1.0
        return min(1.0, float(np.trapezoid(self.away(np.linspace(0.0, look_every_s, _STEPS)), dx=1.0 / (_STEPS - 1))))


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
    rows = [_draw(world, look_every_s, np.random.default_rng(seed)) for seed in range(draws)]
    true, counts, *estimates = (np.concatenate(column) for column in zip(*rows, strict=True))
    fitted, bounds, alone, their_bounds, best = estimates
    report = {}
    for least in leasts:
        some = counts >= least
        near = {
            name: round(float(_is_near(world, estimate[some], true[some]).mean()), 3)
            for name, estimate in (("fit", fitted), ("certain_alone", alone), ("best_possible", best))
        }
        report[f"from_{least}_events"] = {
            "groups": round(float(some.sum()) / draws, 1),
            **near,
            "upper_bound_holds": round(float((true <= bounds)[some].mean()), 3),
            "upper_bound_holds_certain_alone": round(float((true <= their_bounds)[some].mean()), 3),
        }
    return report


def _draw(world: World, look_every_s: float, chance: np.random.Generator) -> tuple[Numbers, ...]:
    """Return the rates of some groups, what descriptions caught, what is estimated by two estimates, and the best."""
    members = chance.integers(2, 5, world.groups).astype(np.float64)
    true = world.low * (world.high / world.low) ** chance.random(world.groups)
    days = members * world.days
    evictions = chance.poisson(true * days)
    certain = chance.binomial(evictions, world.caught(look_every_s))
    reopens = chance.random(world.groups) < world.reopening_share
    unseen = evictions - certain + chance.poisson(np.where(reopens, world.reopenings * days, 0.0))
    homes = np.zeros(world.groups, dtype=np.int64)
    events, share = unseen_evictions.with_unseen(
        certain.astype(np.float64), unseen.astype(np.float64), homes == 0, homes
    )
    fitted, alone = rates.rates(events, days * share), rates.rates(certain.astype(np.float64), days)
    best = _best(world, members, evictions.astype(np.float64))
    return true, certain.astype(np.float64), fitted.mean, fitted.upper, alone.mean, alone.upper, best


def _best(world: World, members: Numbers, evictions: Numbers) -> Numbers:
    """Return the centre of the most likely stretch of rates, of each group."""
    best = np.full(evictions.size, math.sqrt(world.low * world.high))
    centres = np.geomspace(world.low, world.high, _CENTRES)
    counted = {(size, count) for size, count in zip(members.tolist(), evictions.tolist(), strict=True) if count}
    for size, count in counted:
        # Evenly spread logarithms make the rate a gamma law, cut off at both ends.
        law = stats.gamma(count, scale=1.0 / (size * world.days))
        mass = law.cdf(np.minimum(centres * world.factor, world.high)) - law.cdf(
            np.maximum(centres / world.factor, world.low)
        )
        best[(members == size) & (evictions == count)] = centres[mass.argmax()]
    return best


def _is_near(world: World, estimate: Numbers, true: Numbers) -> npt.NDArray[np.bool_]:
    ratio = estimate / true
    return np.asarray((ratio <= world.factor) & (ratio >= 1.0 / world.factor))
