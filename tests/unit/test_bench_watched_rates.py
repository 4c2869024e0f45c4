"""What the bench of fitted eviction rates simulates, and how it counts."""

import pytest

from bench import watched_rates
from bench.watched_rates import TrueGroup


def test_rare_descriptions_catch_fewer_evictions() -> None:
    """By the time that members are away: at 12 s on average four in five are caught every 5 s."""
    always, seldom = (sum(group.events for group in watched_rates.truth(1, every_s)) for every_s in (0.01, 5.0))
    assert seldom / always == pytest.approx(0.82, abs=0.06)


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
