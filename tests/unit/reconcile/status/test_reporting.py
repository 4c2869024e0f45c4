"""From an outcome to a status that stands still while nothing happens, and to the Events of its transitions."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Condition, ConditionStatus, ConditionType, Status
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import GroupState
from heartbeat_tuner.domain.liveness import ValueSource
from heartbeat_tuner.domain.policies import Application, Mode, Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Failing, Rollout
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.domain.verdicts import Confidence, Decision, Finding, Forecast, Prediction, Verdict
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, Outcome
from heartbeat_tuner.reconcile.status import grounds, reporting, transitions
from tests.support import worlds
from tests.support.worlds import NOW

LATER = NOW + timedelta(minutes=1)
CURED = worlds.settings("30s", "1s", "1s")
APPLICATION = Application(CURED, worlds.STORM, NOW, "workload-1")
RECOMMEND = worlds.policy(mode=Mode.RECOMMEND)
DOWN = Unknown(Reason.PROMETHEUS_UNREACHABLE, "Prometheus did not answer; tried up")


def decided(
    inputs: DecisionInput, *, application: Application | None = None, failure: Finding | None = None
) -> Decided:
    """Return the outcome of a situation, with what came of it."""
    return Decided(inputs, decide(inputs), application, failure)


def after(*outcomes: Outcome, generation: int = 1) -> Status:
    """Return the status after several outcomes, a minute apart."""
    status = Status()
    for number, outcome in enumerate(outcomes):
        status = reporting.status_after(
            status, outcome, generation=generation, now=NOW + number * timedelta(minutes=1)
        ).status
    return status


def condition(status: Status, kind: ConditionType) -> tuple[ConditionStatus, Reason, str]:
    """Return what a condition says."""
    found = next(condition for condition in status.conditions if condition.type is kind)
    return found.status, found.reason, found.message


def storm(span: timedelta = timedelta(minutes=2), evictions: int = 24) -> DecisionInput:
    """Return the storm in Recommend mode, seen for some time."""
    seen = worlds.record(evictions=evictions, span=span, rebalances=8.0, beats=0)
    return worlds.storm(policy=RECOMMEND, record=seen)


@pytest.mark.parametrize(
    "outcome",
    [
        decided(worlds.situation()),
        decided(storm()),
        decided(worlds.situation(seen=DOWN)),
        decided(worlds.situation(has=worlds.workload(mixed=True, rolling_out=True))),
        decided(worlds.storm(policy=worlds.policy(objective=Objective(worlds.seconds(2), 1.0)))),
        decided(worlds.situation(has=worlds.workload(CURED), policy=worlds.policy(application=APPLICATION))),
        decided(worlds.storm(), failure=Finding(Reason.FIELD_OWNED, "conflict with helm")),
        Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "it does not exist")),
    ],
    ids=lambda outcome: outcome.finding.reason if isinstance(outcome, Blocked) else outcome.decision.finding.reason,
)
def test_the_same_outcome_again_is_the_same_status(outcome: Outcome) -> None:
    """A status is written only when it differs, so it must not differ by itself."""
    assert after(outcome, outcome) == after(outcome)
    assert not reporting.differs(reporting.document(after(outcome)), reporting.document(after(outcome, outcome)))


@pytest.mark.parametrize("span_s", [59, 60, 61, 125, 600, 3_599, 3_600])
def test_words_stay_while_only_numbers_move(span_s: int) -> None:
    """A record grows with each cycle, through seconds, minutes and an hour; the sentence waits for news."""
    first, grown = decided(storm(worlds.seconds(58), 9)), decided(storm(worlds.seconds(span_s), 8 + span_s))
    assert after(first, grown) == after(first)


def test_words_follow_when_values_change() -> None:
    """Numbers that belong to other values are told again."""
    first = decided(storm())
    other = decided(dataclasses.replace(storm(), workload=worlds.workload(worlds.settings("1s", "333ms", "6s"))))
    assert "beat every 6s" in condition(after(first, other), ConditionType.RECOMMENDED)[2]


def test_words_follow_when_the_policy_is_edited() -> None:
    """Who changes a number in the spec does not read the old one in the status."""
    before, edited = (
        Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, f"Deployment orders-{number} does not exist")) for number in (1, 2)
    )
    status = reporting.status_after(after(before), edited, generation=2, now=LATER).status
    assert condition(status, ConditionType.READY)[2] == "Deployment orders-2 does not exist"
    assert status.observed_generation == 2


def test_each_sentence_stands_once() -> None:
    """Who describes a policy reads what was found, and why no model was asked, in one place each."""
    status = reporting.document(after(decided(storm())))
    texts = [condition["message"] for condition in status["conditions"]] + [status["model"]["message"]]
    assert sum("No fitted model" in text for text in texts) == 1
    assert len(set(texts)) == len(texts)
    assert not [text for text in texts if any(text in other for other in texts if other != text)]


def test_words_follow_when_the_reason_changes() -> None:
    """Another reason is another sentence, at the same status since the same time."""
    missing = Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "it does not exist"))
    conflict = Blocked(Finding(Reason.CONFLICT, "it is taken"))
    (ready,) = after(missing, conflict).conditions
    assert (ready.reason, ready.message) == (Reason.CONFLICT, "it is taken")
    assert ready.last_transition_time == "2026-03-02T12:00:00Z"


def test_transition_time_moves_with_the_status() -> None:
    """As Kubernetes defines it."""
    status = after(Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "gone")), decided(worlds.situation()))
    assert status.conditions[0].last_transition_time == "2026-03-02T12:01:00Z"


def test_metrics_gone_keep_what_was_found() -> None:
    """The recommendation and the other conditions stand; only what is known now is said to be nothing."""
    before, down = after(decided(storm())), decided(dataclasses.replace(storm(), record=DOWN))
    status = reporting.status_after(before, down, generation=1, now=LATER).status
    assert (status.verdict, status.reason) == (Verdict.UNKNOWN, Reason.PROMETHEUS_UNREACHABLE)
    assert condition(status, ConditionType.METRICS_AVAILABLE) == (
        ConditionStatus.FALSE,
        Reason.PROMETHEUS_UNREACHABLE,
        "Prometheus did not answer; tried up",
    )
    for kind in (ConditionType.RECOMMENDED, ConditionType.FEASIBLE, ConditionType.APPLIED):
        assert condition(status, kind) == condition(before, kind)
    assert status.recommendation == before.recommendation
    assert status.summary == before.summary


def test_a_blocked_policy_keeps_what_was_found() -> None:
    """A broker that is down for a minute takes back no recommendation."""
    before = after(decided(storm()))
    blocked = Blocked(Finding(Reason.CLUSTER_UNREACHABLE, "it did not answer"))
    status = reporting.status_after(before, blocked, generation=1, now=LATER).status
    assert (status.verdict, status.reason) == (Verdict.UNKNOWN, Reason.CLUSTER_UNREACHABLE)
    assert condition(status, ConditionType.READY)[:2] == (ConditionStatus.FALSE, Reason.CLUSTER_UNREACHABLE)
    assert status.recommendation == before.recommendation
    for item in status.conditions[1:]:
        assert (item.status, item.reason) == (ConditionStatus.UNKNOWN, Reason.CLUSTER_UNREACHABLE)
        assert item.message == "not known while the policy is not Ready: it did not answer"


@pytest.mark.parametrize(
    ("unknown", "lasting"),
    [
        (dataclasses.replace(storm(), record=DOWN), {ConditionType.READY, ConditionType.METRICS_AVAILABLE}),
        (
            worlds.situation(policy=RECOMMEND, has=worlds.workload(mixed=True, rolling_out=True)),
            set(ConditionType)
            - {ConditionType.FEASIBLE, ConditionType.VERIFIED, ConditionType.CONSUMER_PROTOCOL_READY},
        ),
    ],
    ids=["no metrics", "pods that differ"],
)
def test_no_condition_outlives_what_made_it_unknown(unknown: DecisionInput, lasting: set[ConditionType]) -> None:
    """Of a policy that is Ready nothing says that it is not, though nothing else is known yet."""
    blocked = Blocked(Finding(Reason.CLUSTER_UNREACHABLE, "it did not answer"))
    status = after(decided(storm()), blocked, decided(unknown))
    assert condition(status, ConditionType.READY)[0] is ConditionStatus.TRUE
    assert {entry.type for entry in status.conditions} == lasting
    assert not any(entry.reason in transitions.OF_READY for entry in status.conditions)


@pytest.mark.parametrize(("share", "moves"), [(0.124, False), (0.134, True)])
def test_a_status_follows_a_digit_of_a_fact_but_not_one_that_is_rounded_away(share: float, *, moves: bool) -> None:
    """Whatever the readings beside it do."""
    first, later = (
        Blocked(Finding(Reason.GROUP_UNREADABLE, say("{share:.0%} of {count}", share=part, count=Reading(count))))
        for count, part in enumerate((0.121, share))
    )
    before = reporting.status_after(Status(), first, generation=1, now=NOW)
    status = reporting.status_after(before.status, later, generation=1, now=LATER, words=before.words).status
    assert (status != before.status) is moves


def test_a_group_that_recovered_has_no_recommendation() -> None:
    """What is no longer recommended is not shown."""
    status = after(decided(storm()), decided(worlds.situation()))
    assert status.recommendation is None
    assert condition(status, ConditionType.RECOMMENDED)[:2] == (ConditionStatus.FALSE, Reason.TOO_EARLY)
    assert status.summary is not None
    assert status.summary.session_timeout == "30s"


def test_summary_shows_now_and_then_on_one_line() -> None:
    """What `kubectl get` has room for."""
    summary = after(decided(storm())).summary
    assert summary is not None
    assert summary.model_dump(exclude_none=True) == {
        "session_timeout": "1s → 30s",
        "heartbeat_interval": "333ms → 1s",
        "fetch_wait": "5s → 1s",
    }


def test_pods_that_differ_have_no_summary_yet() -> None:
    """Nothing is shown that is not known."""
    status = after(decided(worlds.situation(has=worlds.workload(mixed=True, rolling_out=True))))
    assert status.summary is None
    assert condition(status, ConditionType.RECOMMENDED)[0] is ConditionStatus.UNKNOWN


def test_infeasible_is_told_as_such() -> None:
    """The two numbers stand in the condition, and nothing is recommended."""
    status = after(decided(worlds.storm(policy=worlds.policy(objective=Objective(worlds.seconds(2), 1.0)))))
    feasible = condition(status, ConditionType.FEASIBLE)
    assert feasible[:2] == (ConditionStatus.FALSE, Reason.INFEASIBLE)
    assert "maxDetectionTime allows at most 2s" in feasible[2]
    assert condition(status, ConditionType.RECOMMENDED)[0] is ConditionStatus.FALSE
    assert status.recommendation is None


def applied(outcome: Decided) -> tuple[ConditionStatus, Reason, str]:
    """Return what is said of the application."""
    return condition(after(outcome), ConditionType.APPLIED)


def since_change(has: Workload) -> Decided:
    """Return the outcome for a healthy workload after a change of ours."""
    return decided(worlds.situation(has=has, policy=worlds.policy(application=APPLICATION)))


def test_nothing_to_apply() -> None:
    """A healthy group that was never touched."""
    assert applied(decided(worlds.situation()))[:2] == (ConditionStatus.FALSE, Reason.NOTHING_TO_APPLY)


def test_a_hold_is_the_reason() -> None:
    """What stands between the recommendation and the pods."""
    assert applied(decided(storm()))[:2] == (ConditionStatus.FALSE, Reason.RECOMMEND_MODE)


def test_a_failure_is_the_reason() -> None:
    """A write that was due and did not happen."""
    failure = Finding(Reason.FIELD_OWNED, "conflict with helm")
    assert applied(decided(worlds.storm(), failure=failure)) == (
        ConditionStatus.FALSE,
        Reason.FIELD_OWNED,
        "conflict with helm",
    )


def test_a_write_of_this_cycle_is_rolling_out() -> None:
    """Written, and the old pods still run."""
    status, reason, message = applied(decided(worlds.storm(), application=APPLICATION))
    assert (status, reason) == (ConditionStatus.FALSE, Reason.ROLLING_OUT)
    assert "the values written at 2026-03-02T12:00:00Z" in message
    assert "0 of 3 are of the new template, 0 have stayed ready" in message


@pytest.mark.parametrize("has", [worlds.workload(rolling_out=True), worlds.workload(mixed=True, rolling_out=True)])
def test_pods_that_are_being_replaced(has: Workload) -> None:
    """As long as the rollout goes on."""
    assert applied(since_change(has))[:2] == (ConditionStatus.FALSE, Reason.ROLLING_OUT)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (Reason.REBALANCING, Reason.ROLLING_OUT),
        (Reason.ROLLOUT_IN_PROGRESS, Reason.ROLLING_OUT),
        (Reason.NOT_WORTH_RESTART, Reason.ROLLING_OUT),
        (Reason.SUSPENDED, Reason.SUSPENDED),
    ],
)
def test_what_holds_values_that_our_rollout_is_bringing_is_not_told(reason: Reason, expected: Reason) -> None:
    """The old pods still run, so that the same values are recommended again; but who suspends wants to see it."""
    outcome = since_change(worlds.workload(worlds.STORM, rolling_out=True))
    held = dataclasses.replace(outcome.decision, target=CURED, hold=Finding(reason, "so it is"))
    assert applied(dataclasses.replace(outcome, decision=held))[1] is expected


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        (
            worlds.situation(policy=worlds.policy(suspended=True)),
            "; else NothingToApply: there is no recommended change to write",
        ),
        (worlds.storm(policy=worlds.policy(suspended=True)), ""),
        (
            worlds.situation(policy=worlds.policy(suspended=True, application=APPLICATION), has=worlds.workload(CURED)),
            "; else Applied: the pods of Deployment shop/orders-consumer run with the values written at",
        ),
        (worlds.situation(policy=worlds.policy(suspended=True), seen=DOWN), "; else NothingToApply: "),
    ],
)
def test_a_suspension_is_always_seen(inputs: DecisionInput, sentence: str) -> None:
    """Whether or not there is anything to write, with what would be said else."""
    status, reason, message = applied(decided(inputs))
    assert (status, reason) == (ConditionStatus.FALSE, Reason.SUSPENDED)
    assert message.startswith(f"spec.suspend is true: nothing is written{sentence}")


def test_a_failed_rollout_is_not_hidden_by_what_holds_the_next_write() -> None:
    """Neither by the cooldown nor for want of metrics, which pods that crash do not have."""
    crashing = Rollout(3, 3, failing=(Failing("orders-0", "container app ends again and again", 5),))
    dead = dataclasses.replace(worlds.workload(CURED, running=[]), rollout=crashing)
    outcome = since_change(dead)
    held = dataclasses.replace(outcome.decision, target=worlds.settings(), hold=Finding(Reason.COOLDOWN, "too soon"))
    assert applied(dataclasses.replace(outcome, decision=held))[1] is Reason.ROLLOUT_FAILED
    blind = decided(dataclasses.replace(outcome.inputs, record=DOWN))
    assert applied(blind)[1] is Reason.ROLLOUT_FAILED
    fresh = condition(after(outcome), ConditionType.METRICS_AVAILABLE)
    assert fresh[:2] == (ConditionStatus.UNKNOWN, Reason.TOO_LITTLE_DATA)


def test_once_landed_one_pod_that_stays_is_enough() -> None:
    """Of those that come later nothing is said against the values; another change has to land again."""
    outcome = since_change(worlds.workload(CURED))
    young = dataclasses.replace(worlds.pod(1), ready_since=NOW)
    scaled = since_change(worlds.workload(CURED, running=[worlds.pod(), young]))
    assert condition(after(outcome, scaled), ConditionType.APPLIED)[:2] == (ConditionStatus.TRUE, Reason.APPLIED)
    assert condition(after(scaled), ConditionType.APPLIED)[:2] == (ConditionStatus.FALSE, Reason.ROLLING_OUT)


def test_pods_that_run_with_what_was_written() -> None:
    """The end of the story."""
    status, reason, message = applied(since_change(worlds.workload(CURED)))
    assert (status, reason) == (ConditionStatus.TRUE, Reason.APPLIED)
    assert "sessionTimeout 1s → 30s, heartbeatInterval 333ms → 1s, fetchWait 5s → 1s" in message


def test_values_that_somebody_took_back_are_not_said_to_be_rolling_out() -> None:
    """Without a rollout, pods with other values will keep them."""
    status, reason, message = applied(since_change(worlds.workload(worlds.settings("20s", "1s", "1s"))))
    assert (status, reason) == (ConditionStatus.FALSE, Reason.NOTHING_TO_APPLY)
    assert "no longer run with the values written at 2026-03-02T12:00:00Z" in message


def test_the_change_is_kept_in_the_status() -> None:
    """A restarted operator finds its cooldown there."""
    status = after(decided(worlds.storm(), application=APPLICATION))
    assert reporting.document(status)["applied"] == {
        "values": {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"},
        "previous": {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"},
        "workloadUid": "workload-1",
        "changeTime": "2026-03-02T12:00:00Z",
    }


@pytest.mark.parametrize("length", [4_096, 4_097, 100_000])
def test_a_sentence_is_cut_to_what_a_condition_holds(length: int) -> None:
    """An error of somebody else may be of any length, and must not keep the status from being written."""
    blocked = Blocked(Finding(Reason.API_SERVER_ERROR, "x" * length))
    status = after(blocked)
    assert len(status.conditions[0].message) == 4_096
    assert status.conditions[0].message.endswith("…") is (length > 4_096)
    assert after(blocked, blocked) == status


def events_of(*outcomes: Outcome) -> list[tuple[Reason, bool]]:
    """Return the Events between the last two statuses, with whether they warn."""
    before, current = after(*outcomes[:-1]), after(*outcomes)
    return [(event.reason, event.warning) for event in transitions.announcements(before, current)]


HEALTHY, SICK = decided(worlds.situation()), decided(storm())
MISSING = Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "it does not exist"))
WRITTEN = decided(worlds.storm(), application=APPLICATION)


@pytest.mark.parametrize(
    ("outcomes", "events"),
    [
        ((HEALTHY,), []),
        ((SICK,), [(Reason.CADENCE_EXCEEDS_SESSION, True)]),
        ((SICK, SICK), []),
        ((HEALTHY, SICK), [(Reason.CADENCE_EXCEEDS_SESSION, True)]),
        ((SICK, HEALTHY), [(Reason.TOO_EARLY, False)]),
        ((MISSING,), [(Reason.WORKLOAD_NOT_FOUND, True)]),
        ((MISSING, HEALTHY), [(Reason.WATCHING, False)]),
        ((HEALTHY, MISSING), [(Reason.WORKLOAD_NOT_FOUND, True)]),
        ((HEALTHY, MISSING, HEALTHY), [(Reason.WATCHING, False)]),
        ((WRITTEN,), [(Reason.CADENCE_EXCEEDS_SESSION, True), (Reason.ROLLING_OUT, False)]),
        ((WRITTEN, since_change(worlds.workload(CURED))), [(Reason.TOO_EARLY, False), (Reason.APPLIED, False)]),
        ((HEALTHY, decided(worlds.situation(seen=DOWN))), [(Reason.PROMETHEUS_UNREACHABLE, True)]),
        ((HEALTHY, decided(worlds.situation(seen=DOWN)), HEALTHY), [(Reason.METRICS_FRESH, False)]),
    ],
)
def test_events_tell_transitions_and_only_those(outcomes: tuple[Outcome, ...], events: list[object]) -> None:
    """Good news is no news on first sight, but is after bad news."""
    assert events_of(*outcomes) == events


NOW_COSTS = Prediction(123.456, 8.0, 2.3456, 4.567, 43.5, 250.0)
NEW_COSTS = Prediction(45.678, 8.0, 0.00001, 0.456, 12.49, 200.0)


def forecast(new: Prediction | None = NEW_COSTS) -> Forecast:
    """Return what a model expects; its figures have more digits than a status shows."""
    return Forecast(NOW_COSTS, new, worlds.seconds(11), worlds.seconds(20), None, Confidence.HIGH)


def foreseen(decision: Decision, *, mode: Mode = Mode.APPLY) -> Decided:
    """Return the outcome of a decision with a forecast, not yet carried out."""
    return Decided(worlds.situation(policy=worlds.policy(mode=mode)), decision)


CHEAPER = Decision(
    Verdict.CHANGE, Finding(Reason.CHEAPER, "quiet"), "Set S", CURED, outlook="a model", forecast=forecast()
)
HELD = dataclasses.replace(CHEAPER, hold=Finding(Reason.RECOMMEND_MODE, "only asked"))
LEFT = Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "quiet"), outlook="a model", forecast=forecast(None))


def test_figures_have_two_digits_so_that_they_stand_still() -> None:
    """What is hardly anything is nothing; the summary has now and then."""
    status = after(foreseen(HELD))
    assert status.predicted is not None
    assert status.predicted.recommended is not None
    assert status.predicted.current.evictions_per_month == 2.3
    assert status.predicted.current.stalled_partition_seconds_per_day == 120
    assert status.predicted.recommended.evictions_per_month == 0
    assert status.predicted.confidence is Confidence.HIGH
    assert status.summary is not None
    assert status.summary.evictions_per_month == "2.3 → 0"
    assert status.recommendation is not None
    assert (status.recommendation.lower, status.recommendation.upper) == ("11s", "20s")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.WITHIN_OBJECTIVE, ConditionStatus.TRUE),
        (Reason.LIKELY_WITHIN, ConditionStatus.UNKNOWN),
        (Reason.TOO_EARLY, ConditionStatus.UNKNOWN),
        (Reason.ABOVE_OBJECTIVE, ConditionStatus.FALSE),
    ],
)
def test_the_objective_is_met_where_that_is_shown(reason: Reason, status: ConditionStatus) -> None:
    """And missed where that is; else nobody knows, and the reason says why."""
    unproven = dataclasses.replace(LEFT, verdict=Verdict.UNPROVEN, proof=Finding(reason, "counted"))
    found = after(foreseen(unproven))
    assert condition(found, ConditionType.OBJECTIVE_MET) == (status, reason, "counted")
    assert condition(found, ConditionType.FEASIBLE)[:2] == (ConditionStatus.UNKNOWN, reason)
    assert condition(found, ConditionType.RECOMMENDED)[0] is ConditionStatus.FALSE


def test_an_objective_that_is_too_costly_is_not_infeasible() -> None:
    """Values exist: Feasible says so, and Recommended has what they cost."""
    reason = Reason.OBJECTIVE_TOO_COSTLY
    costly = dataclasses.replace(
        LEFT,
        verdict=Verdict.UNPROVEN,
        finding=Finding(reason, "evicted"),
        advice="it costs 30% more",
        proof=Finding(Reason.ABOVE_OBJECTIVE, "counted"),
    )
    found = after(foreseen(costly))
    assert condition(found, ConditionType.FEASIBLE)[:2] == (ConditionStatus.TRUE, Reason.FEASIBLE)
    assert condition(found, ConditionType.RECOMMENDED) == (ConditionStatus.FALSE, reason, "evicted. it costs 30% more")
    assert condition(found, ConditionType.OBJECTIVE_MET)[1] is Reason.ABOVE_OBJECTIVE


def test_without_data_nothing_is_said_of_the_objective() -> None:
    """Of a group of which nothing is known nothing was shown either."""
    nobody_knows = condition(after(foreseen(dataclasses.replace(LEFT, forecast=None))), ConditionType.OBJECTIVE_MET)
    assert nobody_knows[:2] == (ConditionStatus.UNKNOWN, Reason.TOO_LITTLE_DATA)


def test_figures_go_with_the_model() -> None:
    """A forecast of yesterday is none of today."""
    status = after(foreseen(LEFT), foreseen(dataclasses.replace(LEFT, forecast=None)))
    assert status.predicted is None
    assert status.summary is not None
    assert status.summary.evictions_per_month is None


@pytest.mark.parametrize("reason", sorted(transitions.OF_READY))
def test_why_a_policy_is_not_ready_is_announced_once(reason: Reason) -> None:
    """Of Ready; that nothing else is known now follows from it, and is no news of its own."""
    before = after(decided(storm()))
    blocked = reporting.status_after(before, Blocked(Finding(reason, "no")), generation=1, now=LATER).status
    (announced,) = transitions.announcements(before, blocked)
    assert (announced.type, announced.reason) == (ConditionType.READY, reason)


def test_what_two_conditions_say_is_announced_once() -> None:
    """Values that a person took out are no longer applied, and no longer verified, for the same reason."""
    before = after(decided(storm()))
    taken = [
        Condition(
            type=kind,
            status=ConditionStatus.FALSE,
            reason=Reason.TAKEN_BACK,
            message="taken back by kubectl-set",
            last_transition_time="2026-03-02T12:00:00Z",
            observed_generation=1,
        )
        for kind in (ConditionType.APPLIED, ConditionType.VERIFIED)
    ]
    (announced,) = transitions.announcements(before, before.model_copy(update={"conditions": taken}))
    assert (announced.type, announced.reason, announced.warning) == (ConditionType.APPLIED, Reason.TAKEN_BACK, True)


def test_every_reason_of_ready_is_known_as_one() -> None:
    """They come first among the reasons, after the one that all is well with."""
    reasons = list(Reason)
    assert set(reasons[1 : reasons.index(Reason.METRICS_FRESH)]) <= transitions.OF_READY


def java(*, protocol: bool, **changes: Any) -> DecisionInput:
    """Return a healthy group of Java consumers with the library's defaults, which nobody set."""
    now = worlds.workload()
    assert now.current is not None
    defaults = worlds.current(worlds.java_settings(), ValueSource.DEFAULT)
    inputs = worlds.situation(policy=worlds.java_policy(), has=dataclasses.replace(now, current=defaults))
    return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, consumer_protocol=protocol), **changes)


def test_a_move_to_the_consumer_protocol_is_no_question_any_more_once_it_was_made() -> None:
    """Until then a condition says what hinders it; a rebalance in between, in which no assignor is named, does not."""
    cluster = dataclasses.replace(worlds.cluster(), group_version=0)
    before = decided(java(protocol=False, cluster=cluster))
    shown = condition(after(before), ConditionType.CONSUMER_PROTOCOL_READY)
    assert shown[:2] == (ConditionStatus.FALSE, Reason.BROKERS_LACK_PROTOCOL)
    moving = dataclasses.replace(before.inputs.group, state=GroupState.PREPARING_REBALANCE)
    moved = dataclasses.replace(before.inputs, group=moving, settled=before.inputs.group)
    assert condition(after(before, decided(moved)), ConditionType.CONSUMER_PROTOCOL_READY) == shown
    there = after(before, decided(java(protocol=True)))
    assert ConditionType.CONSUMER_PROTOCOL_READY not in {condition.type for condition in there.conditions}


def test_that_a_group_could_move_is_no_news() -> None:
    """Each policy has such a condition from its first look on: no Event is written for it."""
    (*_, last) = after(decided(java(protocol=False))).conditions
    assert last.type is ConditionType.CONSUMER_PROTOCOL_READY
    before = after(decided(java(protocol=False)))
    assert not [
        event
        for event in transitions.announcements(Status(), before)
        if event.type is ConditionType.CONSUMER_PROTOCOL_READY
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"cluster": dataclasses.replace(worlds.cluster(), group_version=1)},
        {"group": dataclasses.replace(worlds.group(), assignor="ByTenant")},
        {"group": worlds.group([dataclasses.replace(worlds.member(worlds.pod()), instance_id="orders-0")])},
    ],
    ids=["group.version", "assignor", "static id"],
)
def test_a_status_is_made_again_when_what_hinders_a_move_changes(changes: dict[str, Any]) -> None:
    """What it says rests on more than the decision."""
    before = decided(java(protocol=False))
    then = dataclasses.replace(before, inputs=dataclasses.replace(before.inputs, **changes))
    grounds_before, grounds_then = (grounds.grounds_of(each, each.inputs.policy, None) for each in (before, then))
    assert grounds_before != grounds_then
