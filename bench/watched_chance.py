"""What counts of evictions can say of rates at all, where chance alone makes them differ from the truth.

Groups are drawn as in `watched_rates`, many times, without windows and days: a group's count is Poisson. Three
estimates are compared with the truth: the fit's own (`tails.rates`), the same with the exposure multiplied by the
share of evictions that descriptions show, which only the truth knows, and the best possible. That one knows the law of
the rates, too, and names the rate around which the most of what is possible lies within the factor: no estimate of
these counts can be within it more often.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from heartbeat_tuner.tails import rates

Numbers = npt.NDArray[np.float64]

DRAWS: Final = 300
_CENTRES: Final = 400


@dataclasses.dataclass(frozen=True)
class World:
    """Which groups are drawn.

    Attributes:
        groups: of one draw.
        days: for how long they are watched.
        low: evictions of a member a day, of the calmest group.
        high: of the worst; rates are evenly spread on a scale of logarithms.
        away_s: how long an evicted member is out of its group, on average, by an exponential law.
        factor: so near the truth an estimate should be.
    """

    groups: int
    days: int
    low: float
    high: float
    away_s: float
    factor: float


def shown_share(world: World, look_every_s: float) -> float:
    """Return the share of evictions in which a description shows the member out of its group."""
    if look_every_s <= 0:
        return 1.0
    return world.away_s / look_every_s * -math.expm1(-look_every_s / world.away_s)


def figures(
    world: World, look_every_s: float, leasts: Sequence[int], *, draws: int = DRAWS
) -> dict[str, dict[str, float]]:
    """Return the share of groups with so many events or more whose estimate is within the factor, and bounds that hold.

    Args:
        world: whose groups are drawn.
        look_every_s: between two descriptions; 0 shows every eviction.
        leasts: events.
        draws: of the groups.
    """
    share = shown_share(world, look_every_s)
    rows = [_draw(world, share, np.random.default_rng(seed)) for seed in range(draws)]
    true, members, counts, fitted, bounds, corrected, their_bounds = (
        np.concatenate(column) for column in zip(*rows, strict=True)
    )
    best = _best(world, share, members, counts)
    report = {}
    for least in leasts:
        some = counts >= least
        near = {
            name: round(float(_is_near(world, estimate[some], true[some]).mean()), 3)
            for name, estimate in (("fit", fitted), ("share_known", corrected), ("best_possible", best))
        }
        report[f"from_{least}_events"] = {
            "groups": round(float(some.sum()) / draws, 1),
            **near,
            "upper_bound_holds": round(float((true <= bounds)[some].mean()), 3),
            "upper_bound_holds_share_known": round(float((true <= their_bounds)[some].mean()), 3),
        }
    return report


def _draw(world: World, share: float, chance: np.random.Generator) -> tuple[Numbers, ...]:
    """Return the rates of some groups, their members, what was counted, and what is estimated."""
    members = chance.integers(2, 5, world.groups).astype(np.float64)
    true = world.low * (world.high / world.low) ** chance.random(world.groups)
    counts = chance.poisson(true * members * world.days * share).astype(np.float64)
    plain = rates.rates(counts, members * world.days)
    corrected = rates.rates(counts, members * world.days * share)
    return true, members, counts, plain.mean, plain.upper, corrected.mean, corrected.upper


def _best(world: World, share: float, members: Numbers, counts: Numbers) -> Numbers:
    """Return the centre of the most likely stretch of rates, of each group."""
    best = np.full(counts.size, math.sqrt(world.low * world.high))
    centres = np.geomspace(world.low, world.high, _CENTRES)
    for size, count in {(size, count) for size, count in zip(members.tolist(), counts.tolist(), strict=True) if count}:
        # Evenly spread logarithms make the rate a gamma law, cut off at both ends.
        law = stats.gamma(count, scale=1.0 / (size * world.days * share))
        mass = law.cdf(np.minimum(centres * world.factor, world.high)) - law.cdf(
            np.maximum(centres / world.factor, world.low)
        )
        best[(members == size) & (counts == count)] = centres[mass.argmax()]
    return best


def _is_near(world: World, estimate: Numbers, true: Numbers) -> npt.NDArray[np.bool_]:
    ratio = estimate / true
    return np.asarray((ratio <= world.factor) & (ratio >= 1.0 / world.factor))
