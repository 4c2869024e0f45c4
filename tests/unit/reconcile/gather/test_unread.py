"""How long the status of a policy stands that cycles do not reach."""

from datetime import timedelta

import pytest

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.kafka_groups import UnreadableGroup
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES
from heartbeat_tuner.reconcile.gather import unread
from heartbeat_tuner.reconcile.gather.unread import LastRead
from tests.support import worlds
from tests.support.worlds import NOW

WITH_STATUS = worlds.policy(observed_generation=1)


def passed_over(cycles: int, *, every: timedelta, before: LastRead | None = None) -> LastRead:
    """Return what is remembered after some cycles that did not reach a policy, the first of them now."""
    last = before
    for number in range(cycles):
        last = unread.missed(last, now=NOW + number * every)
    assert last is not None
    return last


@pytest.mark.parametrize("read", [None, LastRead(NOW)], ids=["not-by-this-leader", "in-the-cycle-before"])
def test_a_status_stands_for_some_cycles_and_some_time(read: LastRead | None) -> None:
    """Few long cycles are not many, and many short ones are not long."""
    assert unread.keeps(WITH_STATUS, passed_over(STALE_SCRAPES, every=STALE_AFTER, before=read), now=NOW + worlds.HOUR)
    last = passed_over(STALE_SCRAPES + 1, every=timedelta(seconds=1), before=read)
    assert unread.keeps(WITH_STATUS, last, now=NOW + STALE_AFTER)
    assert not unread.keeps(WITH_STATUS, last, now=NOW + STALE_AFTER + timedelta(seconds=1))


def test_a_policy_without_a_status_gets_one() -> None:
    """A note of a write that is about to be done is no status yet: it has no generation."""
    assert not unread.keeps(worlds.policy(), passed_over(1, every=timedelta(minutes=1)), now=NOW)


def test_only_what_nobody_asked_for_is_passed_over() -> None:
    """A coordinator or a Prometheus that refused has answered."""
    assert unread.is_unread(UnreadableGroup("later", unread=True))
    assert not unread.is_unread(UnreadableGroup("refused"))
    assert not unread.is_unread(None)
    assert unread.is_left_over(Unknown(Reason.NOT_READ_YET, "later"))
    assert not unread.is_left_over(Unknown(Reason.PROMETHEUS_UNREACHABLE, "down"))
    assert not unread.is_left_over(worlds.record())
