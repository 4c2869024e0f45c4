"""What a record shows, from the most to the least specific."""

import dataclasses

import pytest

from heartbeat_tuner.decision.evictions import assessment
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from tests.support import worlds


def assess(seen: Record, now: LivenessSettings | None = None, inputs: DecisionInput | None = None) -> Finding:
    """Assess a record under the given settings."""
    settings = now or worlds.settings()
    return assessment.assess(inputs or worlds.situation(now=settings), seen, settings)


@pytest.mark.parametrize(
    ("session", "reason"),
    [("4.999s", Reason.CADENCE_EXCEEDS_SESSION), ("5s", Reason.CADENCE_EXCEEDS_SESSION), ("5.001s", Reason.DANGER)],
)
def test_a_beat_that_comes_when_the_session_ends_comes_too_late(session: str, reason: Reason) -> None:
    """With H 3 s and W 5 s a beat comes every 5 s, and its way to the broker takes time."""
    assert assess(worlds.record(evictions=3), worlds.settings(session)).reason is reason


@pytest.mark.parametrize(("evictions", "found"), [(2, False), (3, True)])
def test_a_cadence_is_blamed_only_when_evictions_confirm_it(evictions: int, found: bool) -> None:  # noqa: FBT001
    """Theory alone moves nothing: a busy loop may beat faster than an idle one."""
    finding = assess(worlds.record(evictions=evictions), worlds.STORM)
    assert (finding.reason is Reason.CADENCE_EXCEEDS_SESSION) is found


def test_a_storm_needs_no_long_record() -> None:
    """Three evictions under an impossible cadence are enough at any time."""
    seen = worlds.record(evictions=3, span=worlds.seconds(12), beats=0)
    assert assess(seen, worlds.STORM).reason is Reason.CADENCE_EXCEEDS_SESSION


def test_accepted_beats_are_not_denied() -> None:
    """The sentence says that none was accepted only where none was."""
    seen = worlds.record(evictions=3, span=worlds.seconds(12), beats=4)
    assert "none was accepted" not in assess(seen, worlds.STORM).message


def test_several_brokers_remove_members_only_now_and_then() -> None:
    """Where only the longest period exceeds the session, not every member is removed between any two beats."""
    inputs = worlds.situation(now=worlds.settings("6s"), on=worlds.cluster(brokers=3))
    finding = assess(worlds.record(evictions=3), worlds.settings("6s"), inputs)
    assert finding.reason is Reason.CADENCE_EXCEEDS_SESSION


@pytest.mark.parametrize(
    ("share", "rebalances", "reason"),
    [
        (0.06, 3.0, Reason.UNSTABLE),
        (0.05, 3.0, Reason.HEALTHY),
        (0.90, 2.9, Reason.HEALTHY),
    ],
)
def test_instability_needs_both_share_and_count(share: float, rebalances: float, reason: Reason) -> None:
    """One long planned rebalance is no instability, nor are many short ones."""
    assert assess(worlds.record(share=share, rebalances=rebalances)).reason is reason


def test_a_group_that_rebalances_too_often_is_not_healthy_for_want_of_a_share() -> None:
    """A record too short for a share has a rate all the same."""
    seen = worlds.record(rebalances=50, span=worlds.seconds(100))
    assert assess(seen).reason is Reason.UNSTABLE


@pytest.mark.parametrize(
    ("evictions", "span_s", "reason"),
    [
        (3, 60, Reason.DANGER),
        (2, 60, Reason.HEALTHY),
        (3, 59, Reason.TOO_LITTLE_DATA),
    ],
)
def test_danger_needs_three_evictions_and_a_minute(evictions: int, span_s: int, reason: Reason) -> None:
    """Fewer are no evidence, and a shorter time is no rate."""
    assert assess(worlds.record(evictions=evictions, span=worlds.seconds(span_s))).reason is reason


@pytest.mark.parametrize(("allowed", "reason"), [(2_159, Reason.DANGER), (2_160, Reason.HEALTHY)])
def test_danger_is_measured_against_the_objective(allowed: float, reason: Reason) -> None:
    """Three evictions in an hour are 2160 a month; whoever allows that gets it."""
    inputs = worlds.situation(policy=worlds.policy(objective=Objective(worlds.seconds(60), allowed)))
    assert assess(worlds.record(evictions=3), inputs=inputs).reason is reason


def test_a_pod_that_nobody_scrapes_is_no_proof_of_health() -> None:
    """Health is said of all pods or of none."""
    finding = assess(worlds.record(unobserved=("orders-2",)))
    assert finding.reason is Reason.TOO_LITTLE_DATA


def test_evictions_count_though_a_pod_is_not_scraped() -> None:
    """What was seen was seen."""
    assert assess(worlds.record(evictions=3, unobserved=("orders-2",))).reason is Reason.DANGER


def test_no_accepted_beat_is_no_proof_of_health() -> None:
    """A silent group may be dead."""
    finding = assess(worlds.record(beats=0))
    assert finding.reason is Reason.TOO_LITTLE_DATA


def test_a_healthy_group_may_have_lost_a_member_once() -> None:
    """One eviction is told, and left."""
    finding = assess(worlds.record(evictions=1, beats=1))
    assert finding.reason is Reason.HEALTHY


@pytest.mark.parametrize(
    ("library", "gap_s", "says"),
    [
        ("java", 360.0, "320 instead of 500, the default of max.poll.records, would need 230 s"),
        ("java", 360_000.0, ""),  # not even one message is handled in time
        ("java", None, ""),
        ("rust-rdkafka", 360.0, ""),
    ],
)
def test_fewer_messages_are_advised_where_they_help(library: str, gap_s: float | None, says: str) -> None:
    """A longer limit is not the only way out; nothing is said where it is, or where nothing was measured."""
    seen = dataclasses.replace(
        worlds.record(),
        poll_gap_evictions=5,
        longest_poll_gap=None if gap_s is None else worlds.seconds(gap_s),
    )
    now = worlds.java_settings()
    finding = assess(seen, now, worlds.situation(now=now, policy=worlds.policy(library=library)))
    assert finding.reason is Reason.POLL_GAP_EXCEEDS_LIMIT
    assert says in finding.message
    assert ("fewer messages" in finding.message) is bool(says)
