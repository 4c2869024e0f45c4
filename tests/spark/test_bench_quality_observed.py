"""What `bench.quality` draws shows what metrics would, and who judges keeps the rules."""

import dataclasses
import functools
from datetime import timedelta

import numpy as np
import pytest

from bench import fleets, observed, policies
from bench.fleets import Group, Kind
from heartbeat_tuner.metrics import measured
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.law import Law


@functools.cache
def group_of(kind: Kind) -> Group:
    """Return the first group of a kind."""
    return next(item for item in fleets.fleet("fleet", 50) if item.kind is kind)


def seen(group: Group, window: str = "14d", session_s: float = 45.0) -> observed.Seen:
    """Return what shows of a group that has another S."""
    settings = dataclasses.replace(observed.settings_of(group.truth), session_timeout=timedelta(seconds=session_s))
    return observed.seen(group, settings, window, np.random.default_rng(1))


def longest_s(seen: observed.Seen, quantity: str) -> float:
    """Return the upper edge of the longest value's bucket."""
    return max(float(EDGES_S[bucket + 1]) for _, name, bucket, _ in seen.rows if name == quantity and bucket >= 0)


def test_as_many_blocks_are_watched_as_a_window_has() -> None:
    """Blocks of 90 s of every member."""
    group = group_of(Kind.CLEAN)
    for window, days in (("1h", 1 / 24), ("1d", 1.0), ("14d", 14.0)):
        rows = seen(group, window).rows
        blocks = sum(n for _, name, bucket, n in rows if name == measured.ABSENCE and bucket == -1)
        assert blocks == pytest.approx(days * 960 * group.truth.members)


@pytest.mark.parametrize(("kind", "shows"), [(Kind.GC, True), (Kind.LIBRDKAFKA, False)])
def test_who_is_evicted_counts_as_that_and_shows_no_missing_beats(kind: Kind, shows: bool) -> None:  # noqa: FBT001 - a row
    """A session of 20 s removes who is away for 30 s, one of 60 s does not; a gap between polls shows all the same."""
    group = group_of(kind)
    never = FailureProcess(0.0, Law.constant(1.0))
    usual = dataclasses.replace(
        group.usual, pauses=FailureProcess(10.0, Law.constant(30.0)), node_pauses=never, outages=never
    )
    held = seen(dataclasses.replace(group, usual=usual, swing=0.0), session_s=60.0)
    gone = seen(dataclasses.replace(group, usual=usual, swing=0.0), session_s=20.0)
    assert held.evictions == 0
    assert held.largest_absence_s == pytest.approx(30.0, abs=2.0)
    assert gone.evictions == pytest.approx(140 * group.truth.members, rel=0.3)
    assert gone.largest_absence_s == (pytest.approx(30.0, rel=0.03) if shows else 0.0)


def test_missing_beats_show_an_absence_to_half_a_period() -> None:
    """Of 20 s the longest that shows is 1.5 s more, as the measuring of counters has it (`missing_beats`)."""
    group = group_of(Kind.LIBRDKAFKA)
    never = FailureProcess(0.0, Law.constant(1.0))
    usual = dataclasses.replace(group.usual, pauses=FailureProcess(10.0, Law.constant(20.0)), node_pauses=never)
    shown_s = seen(dataclasses.replace(group, usual=usual, swing=0.0)).largest_absence_s
    assert shown_s == pytest.approx(21.5, abs=0.8)


def test_evictions_of_kafkajs_are_values_that_outlasted_the_session() -> None:
    """Less half a period; of librdkafka no counter shows them."""
    for kind, shows in ((Kind.KAFKAJS, True), (Kind.LIBRDKAFKA, False)):
        group = group_of(kind)
        usual = dataclasses.replace(group.usual, pauses=FailureProcess(10.0, Law.constant(90.0)))
        gone = seen(dataclasses.replace(group, usual=usual, swing=0.0), session_s=30.0)
        outlasted = {bucket: n for _, name, bucket, n in gone.rows if name == measured.EVICTION and bucket >= 0}
        assert bool(outlasted) is shows
        assert all(25.0 < EDGES_S[bucket + 1] <= 30.0 for bucket in outlasted)


def test_only_some_libraries_show_gaps_between_polls() -> None:
    """Those longer than the limit show as well, and are evictions."""
    assert seen(group_of(Kind.SLOW)).largest_poll_gap_s is not None
    assert seen(group_of(Kind.KAFKAJS)).largest_poll_gap_s is None
    assert longest_s(seen(group_of(Kind.SLOW)), measured.POLL_GAP) > 300.0
    assert seen(group_of(Kind.SLOW)).evictions > 0


def test_the_oracle_keeps_bounds_and_objective_and_is_no_dearer_than_what_is_set() -> None:
    """A group whose defaults are safe already."""
    group = group_of(Kind.CLEAN)
    best = policies.oracle(group.truth)
    default = policies.outcome(group.truth, observed.settings_of(group.truth))
    assert best is not None
    assert best.within
    assert default.within
    assert best.net_per_day <= default.net_per_day
    assert best.settings.session_timeout >= timedelta(seconds=6)


def test_the_rule_of_thumb_is_half_as_much_again_and_a_third_of_it() -> None:
    """20 s were seen."""
    group = group_of(Kind.CLEAN)
    shown = dataclasses.replace(seen(group, "1h"), largest_absence_s=20.0)
    found = policies.rule_of_thumb(group.truth, shown)
    assert found.session_timeout == timedelta(seconds=30)
    assert found.heartbeat_interval == timedelta(seconds=10)
