"""The adverse worlds of `bench.quality` are what their table says."""

import functools
from collections.abc import Sequence

import pytest

from bench.as_shipped import adverse
from bench.as_shipped.lives import Life
from bench.as_shipped.surroundings import policy_of
from bench.fleets import Kind

FEW = 10


@functools.cache
def lives(world: str) -> Sequence[Life]:
    """Some groups of a world."""
    return adverse.lives(world, FEW)


@pytest.mark.parametrize("world", adverse.WORLDS)
def test_each_world_has_as_many_groups_as_asked_for_that_a_policy_may_name(world: str) -> None:
    """Librdkafka's are left out, and others make up for them."""
    assert len(lives(world)) >= FEW
    assert all(life.group.kind is not Kind.LIBRDKAFKA and policy_of(life) is not None for life in lives(world))


def test_another_seed_makes_other_groups_and_the_same_seed_the_same() -> None:
    """A world is rules and a seed."""
    again, other = adverse.lives("quiet", FEW), adverse.lives("quiet", FEW, seed=7)
    assert [life.group.truth.settle_s for life in again] == [life.group.truth.settle_s for life in lives("quiet")]
    assert {life.group.truth.settle_s for life in again} != {life.group.truth.settle_s for life in other}


def test_the_regime_changes_on_day_ten() -> None:
    """Two groups of three stop longer from then on, every third for shorter times."""
    means = [[life.truth(day).pauses.law.mean_s for day in (0, 9, 10)] for life in lives("regime")]
    assert all(first == ninth for first, ninth, _ in means)
    assert [tenth > ninth for _, ninth, tenth in means] == [bool(number % 3) for number in range(len(means))]


def test_a_pareto_tail_of_index_1_2_falls_by_16_for_times_ten_times_as_long() -> None:
    """10 to the power of 1.2 is 15.8."""
    law = lives("pareto")[0].group.usual.pauses.law
    assert float(law.sf(30.0)) / float(law.sf(300.0)) == pytest.approx(15.8, rel=0.05)


def test_nothing_stops_in_quiet_groups_but_of_who_lies_nobody_is_judged() -> None:
    """Quiet groups never evict; a fifth of the poisoned fleet makes up what it exports, from another namespace."""
    assert all(life.truth(0).pauses.per_day < 1e-3 for life in lives("quiet"))
    liars = [life for life in lives("poisoned") if life.lies]
    assert {life.namespace for life in liars} == {"mallory"}
    assert len(liars) == -(-len(lives("poisoned")) // 5)


def test_groups_come_and_go() -> None:
    """None is there before it joins, nor after it has left."""
    for life in lives("coming and going"):
        assert life.joins_on == 0 or not life.is_there(life.joins_on - 1)
        assert life.is_there(life.joins_on)
        assert life.leaves_on is None or not life.is_there(life.leaves_on)
    assert any(life.leaves_on is not None for life in lives("coming and going"))
