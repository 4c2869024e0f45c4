"""Decisions for Java groups: S cures silences, M cures handlers that outlast it, and neither cures the other."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import GroupConfig
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import worlds
from tests.support.worlds import java_settings, seconds

SHORT_LIMIT = java_settings("45s", "3s", "6s")


def record(*, evictions: int = 0, left: int = 0, gap_s: float | None = None, silence_s: float | None = None) -> Record:
    """Return an hour's record of a Java group."""
    return dataclasses.replace(
        worlds.record(evictions=evictions, silence=None if silence_s is None else seconds(silence_s)),
        poll_gap_evictions=left,
        longest_poll_gap=None if gap_s is None else seconds(gap_s),
    )


def group(now: LivenessSettings, seen: Record, policy: Policy | None = None) -> DecisionInput:
    """Return the situation of a Java group."""
    return worlds.situation(has=worlds.workload(now), seen=seen, policy=policy or worlds.java_policy())


def test_paused_processes_get_a_longer_session() -> None:
    """A member frozen for 8 s now and then under S = 6 s: evicted, recognised, and S is what cures it."""
    decision = decide(group(java_settings("6s", "2s"), record(evictions=5)))
    assert decision.finding.reason is Reason.DANGER
    assert decision.target == java_settings("45s", "2s")


def test_a_long_absence_asks_for_more_than_the_default() -> None:
    """Members that were silent for 33 s at least may be silent for half as long again."""
    decision = decide(group(java_settings("35s", "2s"), record(evictions=5)))
    assert decision.target == java_settings("52s", "2s")


def test_the_fetch_wait_is_left_alone() -> None:
    """A Java beat does not wait for the fetch: a shorter W would cost requests for nothing."""
    now = LivenessSettings(seconds(1), seconds(0.95), seconds(5), seconds(300))
    decision = decide(group(now, record(evictions=5)))
    assert decision.finding.reason is Reason.CADENCE_EXCEEDS_SESSION
    assert "members whose beat comes late are removed" in decision.finding.message
    assert decision.target is not None
    assert decision.target.fetch_wait == seconds(5)


def test_a_handler_that_outlasts_the_limit_is_named_as_such() -> None:
    """Poll-gap evictions are no silences: M moves, S stays."""
    decision = decide(group(SHORT_LIMIT, record(left=7, gap_s=9.2)))
    assert decision.verdict is Verdict.CHANGE
    assert decision.finding.reason is Reason.POLL_GAP_EXCEEDS_LIMIT
    assert decision.target == java_settings("45s", "3s", "5m")


def test_a_handler_longer_than_the_default_gets_more() -> None:
    """The library's default is a floor, not an answer."""
    decision = decide(group(java_settings(poll="5m"), record(left=4, gap_s=400.0)))
    assert decision.target == java_settings(poll="8m40s")


def test_without_a_measured_gap_the_limit_itself_is_the_evidence() -> None:
    """Who left under a limit of 6 min was away for 6 min at least."""
    decision = decide(group(java_settings(poll="6m"), record(left=4)))
    assert decision.target == java_settings(poll="7m50s")
    assert "; the longest was" not in decision.finding.message


def test_both_kinds_are_cured_together() -> None:
    """One rollout, not two a day apart."""
    decision = decide(group(java_settings("6s", "2s", "6s"), record(evictions=5, left=5, gap_s=9.0)))
    assert decision.target == java_settings("45s", "2s", "5m")


@pytest.mark.parametrize("left", [1, 2])
def test_one_or_two_poll_gaps_are_no_danger(left: int) -> None:
    """But they are told."""
    decision = decide(group(SHORT_LIMIT, record(left=left, gap_s=9.0)))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNPROVEN, Reason.TOO_EARLY)
    assert f"{left} left for not polling" in decision.finding.message


def test_a_bound_below_the_need_is_infeasible() -> None:
    """Nothing is moved to the least bad."""
    policy = worlds.java_policy(bounds=worlds.bounds(maxPollInterval=(None, "10s")))
    decision = decide(group(SHORT_LIMIT, record(left=7, gap_s=9.2), policy))
    assert decision.verdict is Verdict.INFEASIBLE


@pytest.mark.parametrize(("low", "high", "poll"), [(None, "2m", "2m"), ("10m", None, "10m"), ("20s", "30s", "30s")])
def test_bounds_of_the_poll_limit_hold(low: str | None, high: str | None, poll: str) -> None:
    """Default and need move within them."""
    policy = worlds.java_policy(bounds=worlds.bounds(maxPollInterval=(low, high)))
    decision = decide(group(SHORT_LIMIT, record(left=7, gap_s=9.2), policy))
    assert decision.target == java_settings("45s", "3s", poll)


def test_a_kip_848_group_whose_values_cannot_be_read_is_left_alone() -> None:
    """Its S and H are the broker's: writing them into the env would keep the consumer from starting."""
    decision = decide(_kip_848(None))
    assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)
    assert decision.finding.reason is Reason.CONSUMER_PROTOCOL


def test_nothing_of_a_kip_848_group_goes_into_the_env() -> None:
    """What its fencings ask for is the broker's to have, and nothing of it by default."""
    decision = decide(_kip_848(GroupConfig(seconds(6), seconds(2))))
    assert decision.at_broker
    assert (decision.to_apply, decision.hold and decision.hold.reason) == (None, Reason.GROUPS_NOT_ALTERED)


def _kip_848(config: GroupConfig | None) -> DecisionInput:
    situation = group(java_settings("6s", "2s"), record(evictions=9))
    theirs = dataclasses.replace(situation.group, consumer_protocol=True, config=config)
    return dataclasses.replace(situation, group=theirs)


def test_a_short_record_shows_no_poll_gaps() -> None:
    """Three at once may be one bad moment."""
    short = dataclasses.replace(record(left=7, gap_s=9.0), since=worlds.NOW - timedelta(seconds=59))
    assert decide(group(SHORT_LIMIT, short)).verdict is Verdict.UNKNOWN
