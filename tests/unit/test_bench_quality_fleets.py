"""The fleets of `bench.quality` are as they are written down."""

from bench import fleets
from bench.fleets import Kind


def test_a_fleet_is_the_same_each_time_and_no_two_are_alike() -> None:
    """A seed says everything."""
    first, again = (fleets.fleet("fleet", 20) for _ in range(2))
    assert [item.truth.members for item in first] == [item.truth.members for item in again]
    assert [item.truth.settle_s for item in first] == [item.truth.settle_s for item in again]
    other = fleets.fleet("holdout", 20)
    assert not {item.truth.settle_s for item in first} & {item.truth.settle_s for item in other}


def test_each_kind_has_its_share_of_a_fleet() -> None:
    """Of a hundred groups, as many as the mix says."""
    kinds = [item.kind for item in fleets.fleet("fleet", 100)]
    assert (kinds.count(Kind.CLEAN), kinds.count(Kind.KAFKAJS), kinds.count(Kind.STATIC)) == (22, 14, 8)


def test_the_truth_of_a_day_lies_between_its_hours() -> None:
    """Loads stretch times, and shrink them."""
    group = next(item for item in fleets.fleet("fleet", 20) if item.kind is Kind.GC)
    loads = [group.load(hour) for hour in range(fleets.HOURS)]
    usual, day = (item.pauses.law.mean_s for item in (group.usual, group.truth))
    assert usual * min(loads) < day < usual * max(loads)
