"""The truth of a synthetic fleet: rates and times that say the same, and some of each kind of group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fleet import JAVA, KAFKAJS, Tail, fleet, watched


@given(st.floats(1, 500), st.floats(0.1, 5), st.sampled_from([0.0, 0.1, 0.35]), st.floats(1e-4, 1))
def test_rates_and_times_are_each_others_inverse(per_day: float, scale_s: float, shape: float, share: float) -> None:
    """A fit is compared by the one, and counts by the other."""
    tail = Tail(per_day, scale_s, shape)
    assert tail.per_day_over(tail.exceeded_s(share * per_day)) == pytest.approx(share * per_day, rel=1e-6)
    assert tail.per_day_over(0.0) == per_day
    assert tail.exceeded_s(2 * per_day) == 0.0


def test_a_small_fleet_has_some_of_each_kind() -> None:
    """Four groups are enough for a test of all of them."""
    found = fleet(4, kafkajs_share=0.25)
    assert sorted(item.client for item in found) == [JAVA, JAVA, JAVA, KAFKAJS]
    assert {item.polls_quickly for item in found if item.client == JAVA} == {True, False}
    assert len({(item.namespace, item.group) for item in found}) == 4


def test_the_same_seed_gives_the_same_fleet() -> None:
    """Else no failure could be looked at twice."""
    assert fleet(10, seed=3) == fleet(10, seed=3) != fleet(10, seed=4)


def test_watched_groups_are_evicted_as_often_as_asked() -> None:
    """Within the rates asked for, and by the absences that outlast a session from any moment between two beats."""
    truths = watched(50, rates=(0.02, 2.0), away_s=12.0, look_every_s=5.0)
    assert all(0.02 <= truth.evictions_per_day <= 2.0 for truth in truths)
    for truth in truths:
        least, most = (truth.absences.per_day_over(time_s) for time_s in (10.0, 7.0))
        assert least < truth.evictions_per_day < most
