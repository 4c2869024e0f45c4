"""What a group may cost to meet its objective, by what is set and by what stood before our changes."""

import dataclasses
from datetime import timedelta

import numpy as np
import pytest

from heartbeat_tuner.decision.optimize.cost_points import CostPoint
from heartbeat_tuner.decision.optimize.economics import Budget
from heartbeat_tuner.decision.optimize.tuning import goal as answer
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.models.failure_profile import Rebalancing
from tests.support.questions import happening, profile, question, seconds, with_session


@pytest.mark.parametrize(
    ("upper", "net", "left", "restores"),
    [
        (3.0, 110.0, 0.6, True),
        (3.0, 111.0, 0.6, False),
        (3.0, 101.0, 0.8, False),
        (8.2, 101.0, 0.6, False),
        (8.2, 100.0, 0.6, True),
    ],
    ids=["for a tenth", "for more", "by small steps", "likelier met", "likelier met, for nothing"],
)
def test_a_group_that_likely_misses_its_objective_is_brought_to_it_at_a_price(
    upper: float, net: float, left: float, *, restores: bool
) -> None:
    """From 1.5 a month to half of it for a tenth more, if it is likelier missed than not, and else for nothing."""
    settings = with_session(question(), 45).current
    now = CostPoint(settings, 100.0, 0.0, 1.5, upper, 43.0, 0.0, 1.0, 0.0)
    new = CostPoint(settings, net, 0.0, left, 2.9, 58.0, 0.0, 1.0, 0.0)
    assert Budget(now, None, 1.0, shown=True, counted=True).restores(new) is restores
    assert not Budget(new, None, 1.0, shown=True, counted=True).restores(
        dataclasses.replace(new, evictions_per_month=0.1)
    )


@pytest.mark.parametrize(
    ("left", "poll_limit", "at_broker", "restores"),
    [
        (0.9, None, True, True),
        (0.9, None, False, False),
        (0.9, timedelta(minutes=9), True, False),
        (1.01, None, True, False),
        (1.0, None, True, True),
    ],
    ids=["at the broker", "in the pods", "and with a rollout", "still missed", "just met"],
)
def test_what_needs_no_rollout_may_just_meet_the_objective(
    left: float, poll_limit: timedelta | None, *, at_broker: bool, restores: bool
) -> None:
    """From 1.5 a month: a further step at the broker costs nothing, and a rollout has to leave room."""
    settings = with_session(question(), 45).current
    moved = dataclasses.replace(settings, session_timeout=timedelta(seconds=60))
    moved = moved if poll_limit is None else dataclasses.replace(moved, max_poll_interval=poll_limit)
    now = CostPoint(settings, 100.0, 0.0, 1.5, 3.0, 43.0, 0.0, 1.0, 0.0)
    new = CostPoint(moved, 101.0, 0.0, left, 2.9, 58.0, 0.0, 1.0, 0.0)
    budget = Budget(now, None, 1.0, shown=True, counted=True, at_broker=at_broker)
    assert budget.restores(new) is restores
    assert not dataclasses.replace(budget, per_month=1.45).restores(dataclasses.replace(new, evictions_per_month=1.1))


@pytest.mark.parametrize(
    ("upper", "before", "most", "in_danger"),
    [
        (3.0, None, 110.0, 110.0),
        (3.0, 400.0, 440.0, 440.0),
        (8.2, 400.0, 175.0, 440.0),
        (8.2, 95.0, 100.0, 104.5),
        (3.0, 95.0, 104.5, 104.5),
        (3.0, 50.0, 100.0, 100.0),
    ],
    ids=[
        "nothing of ours is set",
        "we saved",
        "likelier met, and we saved",
        "likelier met, and we saved nothing",
        "half of the price is paid",
        "more than it is paid",
    ],
)
def test_an_objective_is_worth_a_tenth_of_what_stood_before_our_changes(
    upper: float, before: float | None, most: float, in_danger: float
) -> None:
    """Else it would be worth next to nothing after a saving, and a tenth more after a price is paid."""
    now = CostPoint(with_session(question(), 45).current, 100.0, 0.0, 1.5, upper, 43.0, 0.0, 1.0, 0.0)
    earlier = None if before is None else dataclasses.replace(now, net_per_day=before)
    budget = Budget(now, earlier, 1.0, shown=True, counted=True)
    assert (budget.most, budget.in_danger) == pytest.approx((most, in_danger))


@pytest.mark.parametrize(
    ("expected", "counted", "most"),
    [(1.5, True, 110.0), (1.5, False, 100.0), (2.8, False, 110.0)],
    ids=["once is likely and counted", "once is likely alone", "two are likely"],
)
def test_what_is_likely_but_was_never_counted_is_paid_for_from_twice_the_objective_on(
    expected: float, most: float, *, counted: bool
) -> None:
    """Of groups in between less than half miss it in truth, and all would pay."""
    now = CostPoint(with_session(question(), 45).current, 100.0, 0.0, expected, 2 * expected, 43.0, 0.0, 1.0, 0.0)
    assert 1.0 < now.likeliest_per_month < expected
    assert Budget(now, None, 1.0, shown=False, counted=counted).most == pytest.approx(most)


@pytest.mark.parametrize(
    ("evictions", "shown", "before", "allowed"),
    [
        (1.5, True, None, [20.0]),
        (1.5, True, 400.0, [20.0, 384.0]),
        (1.5, False, 400.0, [20.0, 384.0]),
        (0.9, True, 400.0, [20.0, 384.0]),
        (0.9, False, 400.0, [20.0]),
        (1.5, True, 50.0, [20.0]),
    ],
    ids=["nothing of ours is set", "missed and shown", "missed", "shown", "met", "we paid"],
)
def test_what_we_saved_pays_for_a_session_that_costs_more_if_members_crash_often(
    evictions: float, before: float | None, allowed: list[float], *, shown: bool
) -> None:
    """It then costs a tenth more at most than what stood before does at most: 484 of 440."""
    now = CostPoint(with_session(question(), 45).current, 100.0, 0.0, evictions, 3.0, 43.0, 0.0, 1.0, 30.0)
    earlier = None if before is None else dataclasses.replace(now, net_per_day=before, crash_doubt_per_day=40.0)
    longer = np.array([20.0, 384.0, 385.0])
    assert (
        longer[Budget(now, earlier, 1.0, shown=shown, counted=shown).allows_doubt(100.0 + longer, longer)].tolist()
        == allowed
    )


@pytest.mark.parametrize(("left", "net", "restores"), [(2.8, 110.0, True), (2.9, 110.0, False), (2.8, 111.0, False)])
def test_values_that_are_ten_times_nearer_to_the_objective_are_worth_a_tenth_as_well(
    left: float, net: float, *, restores: bool
) -> None:
    """A group that misses it 28 times over would else stay there, since no session in time is sure to meet it."""
    settings = with_session(question(), 48).current
    now = CostPoint(settings, 100.0, 0.0, 28.0, 43.0, 46.0, 0.0, 1.0, 0.0)
    new = CostPoint(settings, net, 0.0, left, 4.0, 58.0, 0.0, 1.0, 0.0)
    assert Budget(now, None, 1.0, shown=True, counted=True).restores(new) is restores


@pytest.mark.parametrize(
    ("rate", "expected_s"), [(0.04, 56.0), (0.05, None)], ids=["just met", "missed by any session"]
)
def test_a_longer_session_at_the_broker_may_just_meet_the_objective(rate: float, expected_s: float | None) -> None:
    """No session of up to a minute is likely to meet it with room, and no pod restarts for the one that meets it."""
    absences = happening(rate, 15.0, 1.0, doubt=2.0)
    history = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER, pauses=absences)
    asked = question(
        dataclasses.replace(history, crashes=happening(0.005, 20.0)),
        least_session=seconds(45),
        most_session=seconds(60),
        broker_interval=Range(min=seconds(1)),
        watched_days=20.0,
        member_days=160.0,
        largest_absence_s=40.0,
        evictions=1,
        evictions_days=20.0,
    )
    beat = dataclasses.replace(asked.current, heartbeat_interval=seconds(1))
    longer = answer(dataclasses.replace(asked, current=beat)).target
    assert (None if longer is None else longer.session_timeout.total_seconds()) == expected_s


@pytest.mark.parametrize(
    ("raised_from_s", "shortest_s", "most_s", "expected_s"),
    [
        (45.0, 51.0, 60.0, None),
        (45.0, 46.0, 60.0, 46.0),
        (45.0, 51.0, 55.0, 51.0),
        (60.0, 51.0, 60.0, 51.0),
        (None, 51.0, 60.0, 51.0),
    ],
    ids=["for a sixth", "for more than a fifth", "it may not stay", "we raised nothing", "nothing of ours is set"],
)
def test_a_raise_at_the_broker_is_taken_back_for_a_fifth_alone(
    raised_from_s: float | None, shortest_s: float, most_s: float, expected_s: float | None
) -> None:
    """One event asked for it, and the next fit does not see that any more: nothing else keeps the two apart there."""
    history = profile(
        client="java-kip848",
        rebalancing=Rebalancing.CONSUMER,
        pauses=happening(0.02, 8.0),
        crashes=happening(0.05, 20.0),
    )
    asked = question(
        history,
        least_session=seconds(shortest_s),
        most_session=seconds(60),
        broker_interval=Range(min=seconds(1)),
        objective=Objective(seconds(most_s), 1.0),
        largest_absence_s=20.0,
    )
    current = dataclasses.replace(asked.current, session_timeout=seconds(60), heartbeat_interval=seconds(1))
    before = None
    if raised_from_s is not None:
        before = dataclasses.replace(current, session_timeout=seconds(raised_from_s), heartbeat_interval=seconds(5))
    target = answer(dataclasses.replace(asked, current=current, baseline=before)).target
    assert (None if target is None else target.session_timeout.total_seconds()) == expected_s


@pytest.mark.parametrize(
    ("crashes_per_day", "watched_days", "evictions", "rebalancing", "expected_s"),
    [
        (0.05, 20.0, 0, Rebalancing.CONSUMER, 45.0),
        (0.0005, 20.0, 0, Rebalancing.CONSUMER, 60.0),
        (0.05, 6.0, 0, Rebalancing.CONSUMER, 57.0),
        (0.05, 20.0, 3, Rebalancing.CONSUMER, 57.0),
        (0.05, 20.0, 0, Rebalancing.COOPERATIVE, 57.0),
    ],
    ids=["for a third", "for next to nothing", "within the first days", "in danger", "with a rollout for each step"],
)
def test_at_the_broker_a_bound_that_holds_is_worth_a_tenth(
    crashes_per_day: float, watched_days: float, evictions: int, rebalancing: Rebalancing, expected_s: float
) -> None:
    """Of 0.5 evictions a month that are expected, 1.6 may be true; a longer session is sure to keep one."""
    history = profile(
        client="java-kip848" if rebalancing is Rebalancing.CONSUMER else "java",
        rebalancing=rebalancing,
        pauses=happening(0.015, 15.0, 1.0, doubt=3.0),
        crashes=happening(crashes_per_day, 20.0),
    )
    asked = question(
        history,
        most_session=seconds(60),
        broker_interval=Range(min=seconds(1)),
        watched_days=watched_days,
        member_days=8 * watched_days,
        largest_absence_s=30.0,
        evictions=evictions,
        evictions_days=watched_days,
    )
    current = dataclasses.replace(asked.current, session_timeout=seconds(45), heartbeat_interval=seconds(5))
    target = answer(dataclasses.replace(asked, current=current)).target
    assert target is not None
    assert target.session_timeout.total_seconds() == expected_s
