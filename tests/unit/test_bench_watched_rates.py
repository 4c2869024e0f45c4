"""What the bench of fitted eviction rates simulates, and how it counts."""

import numpy as np
import pytest

from bench import watched_chance, watched_rates
from bench.watched_chance import World
from bench.watched_rates import TrueGroup


def test_rare_descriptions_catch_fewer_evictions() -> None:
    """By the time that members are away: at 12 s on average four in five are caught every 5 s."""
    always, seldom = (sum(group.events for group in watched_rates.truth(1, every_s)) for every_s in (0.0, 5.0))
    assert seldom / always == pytest.approx(0.78, abs=0.06)


def test_shares_are_of_groups_with_enough_events() -> None:
    """Too low and too high rates are none that are near."""
    few, many = ((1.0,) * 3,), ((1.0,) * 15,)
    groups = [
        TrueGroup("calm", 1.0, ((1.0,),)),
        *(TrueGroup(name, 1.0, few) for name in "ab"),
        TrueGroup("c", 1.0, many),
    ]
    report = watched_rates.figures(groups, {"a": (1.4, 1.6), "b": (0.6, 0.9), "c": (0.7, 1.2)})
    assert report["from_3_events"] == {"groups": 3, "within_factor": 0.667, "upper_bound_holds": 0.667}
    assert report["from_15_events"] == {"groups": 1, "within_factor": 1.0, "upper_bound_holds": 1.0}


def test_no_estimate_is_nearer_than_the_best_possible() -> None:
    """The fit's own comes next to it, also where some are missed; that of certain ones alone falls behind there."""
    all_seen = watched_chance.figures(World(), 0.0, (3,), draws=3)["from_3_events"]
    seldom = watched_chance.figures(World(), 15.0, (3,), draws=3)["from_3_events"]
    assert all_seen["best_possible"] == pytest.approx(0.82, abs=0.06)
    assert all_seen["fit"] == pytest.approx(all_seen["best_possible"], abs=0.05)
    assert all_seen["fit"] == pytest.approx(all_seen["certain_alone"], abs=0.02)
    assert seldom["fit"] == pytest.approx(seldom["best_possible"], abs=0.05)
    assert seldom["fit"] - seldom["certain_alone"] > 0.3
    assert seldom["upper_bound_holds"] - seldom["upper_bound_holds_certain_alone"] > 0.3


@pytest.mark.parametrize("name", watched_chance.WORLDS)
def test_a_share_is_what_descriptions_of_random_moments_catch(name: str) -> None:
    """By drawing them; one that is always 0 or 1 would show no difference between the estimates."""
    world, chance = watched_chance.WORLDS[name], np.random.default_rng(1)
    until_back_s = 15.0 * chance.random(20_000)
    caught = chance.random(20_000) < world.away(until_back_s + 0.5)
    assert world.caught(15.0) == pytest.approx(caught.mean(), abs=0.02)
    assert world.caught(0.0) == 1.0


@pytest.mark.parametrize("world", watched_chance.WITHOUT_EVICTIONS.values())
def test_where_nobody_is_evicted_nothing_is_counted(world: World) -> None:
    """However often programs make their consumers again."""
    report = watched_chance.false_events(world, 5.0, draws=3)
    assert report["new_ids"] > 0
    assert report["counted_as_evictions"] == 0
