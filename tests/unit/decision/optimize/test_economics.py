"""A change that asks for restarts has to pay for them, within the time that it lasts alone."""

from datetime import timedelta

import pytest

from heartbeat_tuner.decision.optimize import economics
from heartbeat_tuner.decision.optimize.cost_points import CostPoint
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.law import Law
from tests.support.profiles import calm
from tests.support.worlds import java_settings

NOW = java_settings("45s", "3s")
SESSION, BEAT, POLL = java_settings("30s", "3s"), java_settings("45s", "1s"), java_settings("45s", "3s", poll="2m")
ROLLOUT = 100.0
DAYS = 10


def point(settings: LivenessSettings, net_per_day: float, evictions_per_month: float = 0.0) -> CostPoint:
    """Return values that cost so much."""
    return CostPoint(settings, net_per_day, 0.0, evictions_per_month, 0.0, 30.0, 0.0, 1.0, 0.0)


def waits(new: LivenessSettings, saved: float, profile: Profile | None = None) -> bool:
    """Return whether a change waits that saves so much in ten days."""
    before, after = point(NOW, 1_000.0), point(new, 1_000.0 - saved / DAYS)
    return economics.is_not_worth_a_rollout(profile or calm(), before, after, ROLLOUT, timedelta(days=DAYS))


@pytest.mark.parametrize(
    ("new", "saved", "is_left"),
    [(SESSION, 1.25, True), (SESSION, 1.35, False), (POLL, 1.35, False), (BEAT, 1.35, True), (BEAT, 2.05, False)],
)
def test_a_change_saves_more_than_its_rollout_costs(new: LivenessSettings, saved: float, *, is_left: bool) -> None:
    """By a third, since both are estimates; by twice as much where only the beat changes."""
    assert waits(new, saved * ROLLOUT) is is_left


def test_deploys_of_others_do_not_end_the_horizon() -> None:
    """Their pods come without the values: a group that is deployed daily would never get what pays in two days."""
    daily, yearly = (calm(restarts=FailureProcess(rate, Law.constant(20.0))) for rate in (1.0, 1 / 365))
    assert not waits(SESSION, 5 * ROLLOUT, daily)
    assert not waits(SESSION, 5 * ROLLOUT, yearly)
    assert waits(SESSION, 1.25 * ROLLOUT, daily)


@pytest.mark.parametrize(
    ("evictions", "after", "asks"),
    [
        (0.9, 0.1, False),
        (1.5, 1.0, True),
        (1.01, 0.99, False),
        (22.0, 12.0, False),
        (22.0, 11.0, True),
        (22.0, 30.0, False),
    ],
    ids=["met", "met again", "hardly fewer", "half is left", "halved", "more"],
)
def test_an_objective_that_is_missed_asks_for_the_change(evictions: float, after: float, *, asks: bool) -> None:
    """A group that evicts 22 times a month where one is allowed must not stay so for want of a saving."""
    now, new = point(NOW, 10.0, evictions), point(POLL, 9.0, after)
    assert economics.restores_the_objective(now, new, per_month=1.0) is asks


@pytest.mark.parametrize(
    ("before", "is_paid"), [(None, False), (1_012.0, False), (1_014.0, True)], ids=["nothing of ours", "less", "enough"]
)
def test_what_all_changes_saved_pays_for_one_more_rollout(before: float | None, *, is_paid: bool) -> None:
    """By a third more than it costs, within ten days, against what stood before them."""
    earlier, new = None if before is None else point(BEAT, before), point(SESSION, 1_000.0)
    assert economics.is_paid_by_savings(earlier, new, ROLLOUT, timedelta(days=DAYS)) is is_paid


def test_values_that_the_broker_has_need_no_restart() -> None:
    """KIP-848: the session and the heartbeat; the poll limit is the client's."""
    consumer = calm(client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    assert not waits(SESSION, 0.0, consumer)
    assert not waits(BEAT, 0.0, consumer)
    assert waits(POLL, 0.0, consumer)
