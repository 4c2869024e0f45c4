"""One situation in, one decision out: the stories a user would tell."""

import pytest

from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Unknown, Workload
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Mode, Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from tests.support import worlds

NOTHING = Unknown(Reason.PROMETHEUS_UNREACHABLE, "Prometheus did not answer; tried up")


def test_the_storm_is_seen_explained_and_may_be_cured_at_once() -> None:
    """A beat every 5 s cannot hold a session of 1 s: S goes to the library's default, W down to H."""
    decision = decide(worlds.storm())
    assert decision.verdict is Verdict.CHANGE
    assert decision.finding.reason is Reason.CADENCE_EXCEEDS_SESSION
    assert decision.target == worlds.settings("30s", "1s", "1s")
    assert decision.to_apply == decision.target
    assert decision.story.message == f"{decision.finding.message}. {decision.advice}"


def test_a_group_without_evictions_is_left_alone() -> None:
    """Nothing in the record asks for a change, so none is made."""
    decision = decide(worlds.situation())
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNPROVEN, Reason.TOO_EARLY)
    assert decision.target is None
    assert decision.to_apply is None


@pytest.mark.parametrize("has", [worlds.workload(worlds.STORM), worlds.workload(mixed=True, rolling_out=True)])
def test_what_was_not_measured_leads_to_no_value(has: Workload) -> None:
    """A missing metric is unknown, whatever else is known, and its sentence is passed on."""
    decision = decide(worlds.situation(has=has, seen=NOTHING, rebalancing=True))
    assert (decision.verdict, decision.target, decision.hold) == (Verdict.UNKNOWN, None, None)
    assert decision.finding == Finding(NOTHING.reason, NOTHING.message)


def test_pods_that_differ_are_not_decided_on() -> None:
    """In the middle of a rollout there is no current value to start from."""
    decision = decide(worlds.storm(workload=worlds.workload(mixed=True, rolling_out=True)))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.ROLLOUT_IN_PROGRESS)
    assert decision.target is None


def test_a_short_record_is_no_proof_of_health() -> None:
    """Forty seconds without an eviction say nothing."""
    decision = decide(worlds.situation(seen=worlds.record(span=worlds.seconds(40), beats=20)))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA)


def test_colliding_limits_move_nothing() -> None:
    """Infeasible is an answer; the least bad value is not."""
    strict = worlds.policy(objective=Objective(worlds.seconds(2), 1.0))
    decision = decide(worlds.storm(policy=strict))
    assert (decision.verdict, decision.finding.reason) == (Verdict.INFEASIBLE, Reason.INFEASIBLE)
    assert (decision.target, decision.to_apply) == (None, None)


def test_values_that_the_rule_would_set_anyway_are_not_written_again() -> None:
    """If the cure is in force and does not help, the cause is elsewhere."""
    seen = worlds.record(rebalances=9.0, share=0.3)
    decision = decide(worlds.situation(now=worlds.settings("30s", "1s", "1s"), seen=seen))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert decision.target is None


def test_recommend_mode_shows_the_target_and_writes_nothing() -> None:
    """A recommendation is complete without being carried out."""
    decision = decide(worlds.storm(policy=worlds.policy(mode=Mode.RECOMMEND)))
    assert decision.target == worlds.settings("30s", "1s", "1s")
    assert decision.hold is not None
    assert decision.hold.reason is Reason.RECOMMEND_MODE
    assert decision.to_apply is None


def test_a_foreign_entry_of_a_setting_that_stays_is_no_hindrance() -> None:
    """Only what would change has to be ours."""
    has = worlds.workload(worlds.settings("1s", "1s", "1s"), foreign={Setting.FETCH_WAIT: "helm"})
    seen = worlds.record(evictions=9, span=worlds.seconds(120), beats=0)
    decision = decide(worlds.situation(has=has, seen=seen))
    assert decision.to_apply == worlds.settings("30s", "1s", "1s")


def test_nothing_is_decided_without_a_running_pod() -> None:
    """Between two sets of pods (strategy Recreate) the record is of the old values and the template of the new."""
    decision = decide(worlds.storm(workload=worlds.workload(worlds.STORM, running=())))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA)
    assert decision.target is None
