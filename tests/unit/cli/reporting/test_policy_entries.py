"""What a policy's status remembers becomes changes, marks, a timeline and a forecast."""

from datetime import timedelta
from typing import Any

from heartbeat_tuner.cli import report
from heartbeat_tuner.cli.reporting import policy_entries, reported_policies
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from tests.support import manifests, reports
from tests.support.worlds import NOW

AT = f"{reports.CURED - timedelta(hours=2):%Y-%m-%dT%H:%M:%SZ}"
BEFORE = {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"}
AFTER = {"sessionTimeout": "10s", "heartbeatInterval": "333ms", "fetchWait": "5s"}
APPLIED = reports.policy()["status"]["applied"]


def reported(**status: Any) -> ReportedPolicy:
    """Return the policy of the storm and its cure with other fields of status."""
    (view,), _ = reported_policies.read([reports.policy(**status)], NOW)
    return view


def test_values_that_failed_are_changes_that_were_taken_back() -> None:
    """Before the one that holds; the newest comes first."""
    failed = {
        "values": AFTER,
        "previous": BEFORE,
        "changeTime": AT,
        "outcome": "Worse",
        "message": "twice as many",
        "spec": "f",
    }
    newest, oldest = policy_entries.changes(reported(reverted=[failed]))
    assert (newest.kind, oldest.kind, oldest.outcome, oldest.message) == ("set", "taken back", "Worse", "twice as many")
    assert [(moved.name, moved.before_ms, moved.after_ms) for moved in oldest.moved] == [
        ("session timeout", 1000, 10000)
    ]
    labels = [mark.label for mark in policy_entries.marks(reported(reverted=[failed]))]
    assert labels == ["taken back: session timeout 1s → 10s", "set: session timeout 1s → 30s"]


def test_a_revert_is_named_as_one() -> None:
    """It sets back what stood before."""
    (change,) = policy_entries.changes(reported(applied={**APPLIED, "revertedChangeTime": AT}))
    assert change.kind == "set back"


def test_values_that_a_person_took_out_are_a_change_of_theirs() -> None:
    """From ours to what is set now: whoever replaces one value does not bring the earlier ones back."""
    noted = {"applied": APPLIED, "detectionTime": f"{NOW:%Y-%m-%dT%H:%M:%SZ}", "generation": 2, "by": "helm"}
    edited = {"sessionTimeout": "45s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    newest, _ = policy_entries.changes(reported(takenBack=noted, current=edited))
    assert newest.kind == "taken out by helm"
    assert [(moved.name, moved.before_ms, moved.after_ms) for moved in newest.moved] == [
        ("session timeout", 30000, 45000)
    ]
    newest, _ = policy_entries.changes(reported(takenBack={**noted, "by": None}, current=None))
    assert (newest.kind, newest.moved) == ("taken out", ())


def test_a_canary_is_a_change_in_a_part_of_the_pods() -> None:
    """With what was seen of its pods; one that is over is no change any more."""
    canary = {
        "startTime": AT,
        "deadlineTime": f"{NOW:%Y-%m-%dT%H:%M:%SZ}",
        "values": AFTER,
        "previous": BEFORE,
        "entries": {"SESSION": "10000"},
        "pods": 2,
        "workloadUid": APPLIED["workloadUid"],
        "phase": "Running",
    }
    _, tried = policy_entries.changes(reported(canary=canary))
    assert (tried.kind, tried.outcome, tried.message) == (
        "canary in 2 pods",
        "Running",
        "its pods are not all ready yet",
    )
    landed = {"readyTime": AT, "exposedSeconds": 1800.0, "hits": "60", "others": "120 3000"}
    seen = policy_entries.canary_change(reported(canary={**canary, **landed, "pods": 1}))
    assert seen is not None
    assert seen.kind == "canary in 1 pod"
    assert seen.message == "its pods were watched for 30m; episodes of evictions: 1 at them, 2 at the others"
    failed = policy_entries.canary_change(reported(canary={**canary, "phase": "Failed", "message": "they crash"}))
    assert failed is not None
    assert failed.message == "they crash"
    assert policy_entries.canary_change(reported(canary={**canary, "phase": "Over"})) is None


def test_while_nothing_shows_the_condition_has_the_words() -> None:
    """A verification of an earlier change says nothing of this one."""
    said = {
        "type": "Verified",
        "status": "Unknown",
        "reason": "Verifying",
        "message": "0 episodes yet",
        "lastTransitionTime": AT,
        "observedGeneration": 2,
    }
    followed = {**reports.policy()["status"]["verification"], "changeTime": AT}
    (change,) = policy_entries.changes(reported(verification=followed, conditions=[said]))
    assert (change.outcome, change.message, change.before, change.after) == ("", "0 episodes yet", None, None)


def test_a_rate_without_an_upper_end_has_none() -> None:
    """And a group that was not watched before has no rate before."""
    verification = reports.policy()["status"]["verification"]
    effect = {"before": None, "after": {"episodes": 0, "days": 0.0, "perDayLower": 0.0}}
    (change,) = policy_entries.changes(reported(verification={**verification, "effect": effect}))
    assert change.before is None
    assert change.after is not None
    assert change.after.per_day_upper is None


def test_a_policy_that_changed_nothing_has_no_changes() -> None:
    """Nor a timeline, nor a forecast."""
    view = reported(applied=None, verification=None, history=None)
    assert (policy_entries.changes(view), policy_entries.marks(view)) == ((), ())
    assert policy_entries.timeline(view, NOW) is None
    assert policy_entries.forecast(view) is None


def test_what_is_not_known_of_the_past_is_marked() -> None:
    """Episodes, and stretches of which nothing is known, at their times."""
    found = policy_entries.timeline(reported(), NOW)
    assert found is not None
    begin_s = (NOW - timedelta(hours=1)).timestamp()
    assert found.evictions_s == (begin_s, begin_s + 900, begin_s + 1800)
    assert found.unknown_s == ((begin_s + 2400, begin_s + 2460),)
    assert [mark.at_s for mark in found.marks] == [reports.CURED.timestamp()]


def test_the_operator_s_forecast_goes_first() -> None:
    """It knows members and partitions."""
    figures = {
        "evictionsPerMonth": 3.0,
        "evictionsPerMonthUpper": 9.0,
        "stalledPartitionSecondsPerDay": 40.0,
        "detectionSeconds": 28.0,
    }
    predicted = {
        "current": figures,
        "recommended": {**figures, "stalledPartitionSecondsPerDay": 10.0},
        "confidence": "High",
    }
    (entry,) = reports.report_of(reports.policy(predicted=predicted)).groups
    assert entry.forecast is not None
    assert entry.forecast.recommended is not None
    assert (entry.forecast.now.evictions_at_most, entry.forecast.recommended.stalled_per_day) == (9.0, 10.0)
    assert entry.forecast.confidence == "High"


def test_the_operator_s_recommendation_goes_first() -> None:
    """With its reasons, its values and its words."""
    recommendation = {"target": {**AFTER, "sessionTimeout": "20s"}}
    said = manifests.condition("Recommended", "Cheaper") | {"message": "it is cheaper. And safe"}
    status = {"verdict": "Change", "reason": "Cheaper", "recommendation": recommendation, "conditions": [said]}
    (entry,) = reports.report_of(reports.policy(**status)).groups
    assert (entry.verdict, entry.reason, entry.message) == ("Change", "Cheaper", "It is cheaper. And safe.")
    assert entry.settings[0].recommended_ms == 20000
    assert "KAFKA_SESSION_TIMEOUT_MS" in entry.snippets[0].text


def test_the_operator_s_conditions_end_the_chain() -> None:
    """What a command's options could say is no advice to who reads a page of policies."""
    said = {
        "type": "Applied",
        "status": "False",
        "reason": "OutsideWindow",
        "message": "the next window opens at 02:00",
        "lastTransitionTime": AT,
        "observedGeneration": 2,
    }
    known = reports.sources([], [reports.policy(conditions=[said])], [reports.storm_and_cure()])
    (entry,) = report.report_data(known, []).groups
    assert entry.links[-1].sentences == ("Applied is False (OutsideWindow): the next window opens at 02:00",)
    words = [sentence for link in entry.links for sentence in link.sentences]
    words += [number.note for link in entry.links for number in link.numbers]
    assert not [sentence for sentence in words if "--" in sentence or "you say" in sentence]


def test_a_policy_that_nobody_looked_at_yet_is_answered_here() -> None:
    """Without metrics and a model that is unknown."""
    body = reports.policy()
    del body["status"]
    (entry,) = reports.report_of(body).groups
    assert (entry.verdict, entry.links, entry.costs) == ("Unknown", (), None)
