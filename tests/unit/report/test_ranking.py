"""In which order groups stand."""

from heartbeat_tuner.report import ranking
from heartbeat_tuner.report.report_data import ExpectedEntry, ForecastEntry, GroupEntry, RecordEntry

DAY_S = 86_400.0


def expected(stalled: float, at_most: float) -> ExpectedEntry:
    """Return what some values bring."""
    return ExpectedEntry(evictions_per_month=0, evictions_at_most=at_most, stalled_per_day=stalled, detection_s=1)


def group(
    name: str, *, forecast: ForecastEntry | None = None, evictions: int | None = None, allowed: float = 1.0
) -> GroupEntry:
    """Return a group with so many evictions in a day."""
    record = None if evictions is None else RecordEntry(since_s=0, until_s=DAY_S, evictions=evictions)
    return GroupEntry(
        namespace="",
        group=name,
        client="KafkaJS",
        verdict="Change",
        forecast=forecast,
        record=record,
        allowed_per_month=allowed,
    )


GROUPS = (
    group("unknown"),
    group("stormy", evictions=10),
    group("saves", forecast=ForecastEntry(now=expected(90, 0.5), recommended=expected(10, 0.9))),
    group("risky", forecast=ForecastEntry(now=expected(50, 12)), evictions=0),
    group("lax", forecast=ForecastEntry(now=expected(20, 12), recommended=expected(15, 12)), allowed=100),
)


def names(groups: list[GroupEntry]) -> list[str]:
    """Return their names."""
    return [entry.group for entry in groups]


def test_the_largest_saving_comes_first_and_the_unknown_last() -> None:
    """Of those whose saving nobody knows, the one that storms comes first."""
    assert names(ranking.by_saving(GROUPS)) == ["saves", "lax", "risky", "stormy", "unknown"]


def test_the_greatest_risk_comes_first_and_the_unknown_last() -> None:
    """What was counted goes before what a model says, if it is more; each by what its own objective allows."""
    assert names(ranking.by_risk(GROUPS)) == ["stormy", "risky", "saves", "lax", "unknown"]
    assert [ranking.risk(entry) for entry in GROUPS] == [None, 300.0, 0.5, 12.0, 0.12]


def test_the_worst_and_the_best_are_the_first_by_turns() -> None:
    """Each once, whatever order they come in."""
    assert [GROUPS[place].group for place in ranking.first(GROUPS, 3)] == ["stormy", "saves", "risky"]
    assert sorted(ranking.first(GROUPS, 99)) == [0, 1, 2, 3, 4]
    assert ranking.first([], 3) == []
