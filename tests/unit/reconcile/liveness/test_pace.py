"""When cycles begin, and whether they keep the pace of the interval."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from heartbeat_tuner.reconcile.liveness.pace import SETTLING_S, Pace


def test_by_how_much_a_cycle_took_longer() -> None:
    """As long as the interval is in time."""
    pace = Pace(timedelta(seconds=60))
    assert [pace.overrun_s(duration_s) for duration_s in (59.0, 60.0, 75.5, 0.1)] == [0.0, 0.0, 15.5, 0.0]


def test_the_log_is_told_when_it_begins_and_when_it_ends() -> None:
    """One line each, however many cycles there are in between."""
    pace = Pace(timedelta(seconds=60))
    with capture_logs() as lines:
        for duration_s in (10.0, 61.0, 90.0, 200.0, 30.0, 20.0, 70.0):
            pace.overrun_s(duration_s)
    assert [(line["log_level"], line["cycle_s"]) for line in lines] == [
        ("warning", 61.0),
        ("info", 30.0),
        ("warning", 70.0),
    ]


def begun_s(edits: Sequence[tuple[float, str]], *, length_s: float, until_s: float) -> list[float]:
    """Return when early cycles began, looked for every half second, if each takes so long."""
    pace, begun, now_s, seen_until_s = Pace(timedelta(seconds=60)), list[float](), 0.0, 0.0
    pace.ended(length_s, now_s=0.0)
    while now_s < until_s:
        now_s += 0.5
        if pace.is_due_early([name for at_s, name in edits if seen_until_s <= at_s < now_s], now_s=now_s):
            begun.append(now_s)
            seen_until_s = now_s
            now_s += length_s
            pace.ended(length_s, now_s=now_s)
    return begun


def test_an_edit_brings_the_next_cycle_forward() -> None:
    """Not before others of the same `kubectl apply` have come."""
    (begun,) = begun_s([(10.0, "shop"), (11.0, "shop"), (11.2, "bills")], length_s=1.0, until_s=60)
    assert SETTLING_S <= begun - 10.0 <= SETTLING_S + 1.0


def test_without_an_edit_there_is_none() -> None:
    """The interval is the interval."""
    assert begun_s([], length_s=1.0, until_s=200) == []


@given(
    st.lists(st.tuples(st.floats(0, 300), st.sampled_from(["shop", "bills", "team"])), max_size=60),
    st.floats(0.1, 40),
)
def test_edits_take_no_more_than_half_of_the_time(edits: list[tuple[float, str]], length_s: float) -> None:
    """Nor has a namespace a second early cycle within an interval, however often it edits."""
    begun = begun_s(edits, length_s=length_s, until_s=300)
    assert all(later - earlier >= 2 * length_s for earlier, later in pairwise(begun))
    assert len(begun) <= 3 * (300 / 60 + 1)


def test_one_namespace_does_not_bring_every_cycle_forward() -> None:
    """Somebody else's edit still does."""
    flood = [(float(at_s), "shop") for at_s in range(60)]
    first, *others = begun_s([*flood, (30.0, "bills")], length_s=1.0, until_s=60)
    assert first < 5
    assert [32 <= other <= 34 for other in others] == [True]
