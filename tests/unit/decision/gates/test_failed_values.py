"""Changes that did harm: whether they are taken back, whether they are tried again, and what waits for a verdict."""

import dataclasses
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat_tuner.decision.gates import write_gates
from heartbeat_tuner.decision.gates.write_gates import ProposedChange
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Mode, TakenBack, Window
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Prediction, Verdict
from heartbeat_tuner.domain.verifications import HARMFUL, FailedValues, FollowedChange, Outcome
from tests.support import worlds
from tests.support.pipelines import first_hold
from tests.support.worlds import NOW

SPEC = "0123456789abcdef"
SESSION = "KAFKA_SESSION_TIMEOUT_MS"
BEFORE = worlds.settings("30s", "3s", "1s")
SHORTER = worlds.settings("15s", "1s", "1s")
AT = NOW - timedelta(days=2)
FAILED = FailedValues(
    SHORTER, BEFORE, AT, Outcome.WORSE, "11 episodes of evictions", SPEC, promised_per_day=0.1, observed_per_day=0.15
)
PER_MONTH = 30.0

OURS = Application(
    SHORTER, BEFORE, AT, "workload-1", "app", entries={SESSION: "15000"}, entries_before={SESSION: "30000"}
)
HARM = FollowedChange(AT, AT, outcome=Outcome.WORSE, message="11 episodes of evictions")


def saving(target: LivenessSettings, per_day: float | None = None) -> ProposedChange:
    """Return a change that saves, and of which a model expects so many evictions a day at most."""
    new = None if per_day is None else Prediction(1.0, 1.0, 0.0, per_day * PER_MONTH, 10.0, 1.0)
    return ProposedChange(target, Answer(Verdict.CHANGE, Reason.CHEAPER, "cheaper", target=target, new=new))


def held(change: ProposedChange, *failed: FailedValues, spec: str = SPEC, now: LivenessSettings = BEFORE) -> str | None:
    """Return why a change of what is set now is held after these failures."""
    inputs = worlds.situation(now=now, policy=worlds.policy(failed=failed, spec=spec))
    finding = write_gates.values_failed_before(inputs, change)
    return None if finding is None else finding.message


@pytest.mark.parametrize(
    ("target", "is_held"),
    [
        (SHORTER, True),
        (worlds.settings("10s", "1s", "1s"), True),
        (worlds.settings("15s", "500ms", "1s"), True),
        (worlds.settings("15s", "1s", "5s"), True),
        (worlds.settings("15500ms", "1s", "1s"), True),
        (worlds.settings("20s", "1s", "1s"), False),
        (worlds.settings("10s", "2s", "1s"), False),
        (BEFORE, False),
        (worlds.settings("45s", "3s", "1s"), False),
    ],
)
def test_what_goes_as_far_as_what_failed_is_not_tried_again(target: LivenessSettings, *, is_held: bool) -> None:
    """In every setting that was moved, whatever is made of the others; half of the way may be tried."""
    assert (held(ProposedChange(target), FAILED) is not None) is is_held


def test_a_longer_session_that_failed_holds_longer_ones() -> None:
    """The direction is that of the failure: here it was up."""
    failed = dataclasses.replace(FAILED, values=BEFORE, previous=SHORTER)
    assert held(ProposedChange(worlds.settings("60s", "5s", "1s")), failed) is not None
    assert held(ProposedChange(worlds.settings("10s", "1s", "1s")), failed) is None


@pytest.mark.parametrize(
    ("current", "target", "is_held"),
    [
        (worlds.settings("5s", "1s", "1s"), worlds.settings("12s", "1s", "1s"), False),
        (worlds.settings("5s", "1s", "1s"), SHORTER, False),
        (worlds.settings("5s", "300ms", "1s"), worlds.settings("12s", "1s", "1s"), False),
        (worlds.settings("5s", "3s", "1s"), worlds.settings("12s", "1s", "1s"), False),
        (worlds.settings("5s", "1s", "1s"), worlds.settings("4s", "1s", "1s"), True),
        (worlds.settings("12s", "1s", "1s"), worlds.settings("12s", "500ms", "1s"), True),
        (worlds.settings("30s", "300ms", "1s"), SHORTER, True),
        (worlds.settings("30s", "300ms", "1s"), worlds.settings("12s", "1s", "1s"), True),
        (BEFORE, worlds.settings("12s", "1s", "1s"), True),
    ],
    ids=[
        "a longer session",
        "to what failed",
        "both back",
        "S back, H on",
        "on",
        "H on",
        "H back",
        "S on, H back",
        "as before",
    ],
)
def test_what_moves_away_from_the_harm_is_not_held(
    current: LivenessSettings, target: LivenessSettings, *, is_held: bool
) -> None:
    """The owner went further than what failed: a cure of that leads back, though it ends as far from the start."""
    assert (held(ProposedChange(target), FAILED, now=current) is not None) is is_held


def test_without_a_moved_session_no_setting_may_go_further() -> None:
    """A fetch wait and a heartbeat interval that failed: one goes back, the other on."""
    failed = dataclasses.replace(FAILED, values=worlds.settings("30s", "1s", "500ms"))
    now = worlds.settings("30s", "500ms", "400ms")
    assert held(ProposedChange(worlds.settings("30s", "1s", "500ms")), failed, now=now) is None
    assert held(ProposedChange(worlds.settings("30s", "1s", "300ms")), failed, now=now) is not None


def test_values_whose_pods_failed_are_held_from_wherever() -> None:
    """They fail with them whatever stood before."""
    crashed = dataclasses.replace(FAILED, outcome=Outcome.ROLLOUT_FAILED)
    shorter = worlds.settings("5s", "300ms", "1s")
    assert held(ProposedChange(SHORTER), crashed, now=shorter) is not None
    assert held(ProposedChange(worlds.settings("12s", "1s", "1s")), crashed, now=shorter) is None


def test_the_sentence_says_what_would_end_it() -> None:
    """With the evidence of then, so that nobody has to look it up."""
    message = held(ProposedChange(SHORTER), FAILED)
    assert message is not None
    assert "2026-02-28T12:00:00Z" in message
    assert "(Worse: 11 episodes of evictions)" in message
    assert "until spec.objective, spec.bounds, spec.client or spec.workloadRef is edited, or the model" in message
    assert "expects at least 0.2 evictions a day: as many as were counted, and 2 times what it promised" in message


def test_another_spec_asks_anew() -> None:
    """Who edits it may want just that."""
    assert held(ProposedChange(SHORTER), FAILED, spec="fedcba9876543210") is None


@pytest.mark.parametrize(
    ("expected", "is_held"), [(None, True), (0.1, True), (0.199, True), (0.2, False), (5.0, False)]
)
def test_a_model_that_has_learnt_may_try_again(expected: float | None, *, is_held: bool) -> None:
    """It expects twice what it had promised, and finds the values good all the same."""
    assert (held(saving(SHORTER, expected), FAILED) is not None) is is_held


@pytest.mark.parametrize("promised", [0.0, 1e-6, 0.1])
def test_a_model_has_to_expect_what_was_seen(promised: float) -> None:
    """Three times hardly anything is hardly anything: by a small promise alone every refit would have learnt."""
    failed = dataclasses.replace(FAILED, promised_per_day=promised, observed_per_day=4.0)
    assert held(saving(SHORTER, 3.9), failed) is not None
    assert held(saving(SHORTER, 4.0), failed) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.ROLLOUT_FAILED},
        {"promised_per_day": None},
        {"observed_per_day": None},
        {"observed_per_day": 0.0},
    ],
    ids=["pods failed", "no promise", "nothing noted", "nothing seen"],
)
def test_no_model_learns_from_what_it_did_not_promise(changes: dict[str, Any]) -> None:
    """Pods that crash are nothing that a model of delays knows of."""
    message = held(saving(SHORTER, 5.0), dataclasses.replace(FAILED, **changes))
    assert message is not None
    assert message.endswith(
        "They are not written again until spec.objective, spec.bounds, spec.client or spec.workloadRef is edited"
    )


def test_a_cure_is_held_too_and_asks_no_model() -> None:
    """A storm that demands values whose pods crash would have them crash again in each cycle."""
    assert held(ProposedChange(SHORTER), FAILED) is not None


def test_every_failure_counts_and_the_newest_is_named() -> None:
    """One that is forgiven does not forgive the others."""
    newer = dataclasses.replace(FAILED, at=NOW - timedelta(days=1), outcome=Outcome.ROLLOUT_FAILED, message="crashed")
    assert "crashed" in (held(ProposedChange(SHORTER), FAILED, newer) or "")
    forgiven = dataclasses.replace(newer, outcome=Outcome.WORSE)
    assert "11 episodes" in (
        held(saving(SHORTER, 0.2), dataclasses.replace(FAILED, promised_per_day=3.0), forgiven) or ""
    )


def test_failures_of_another_library_s_settings_are_no_puzzle() -> None:
    """A policy that names another library has other settings, or a forged note lacks one."""
    java = dataclasses.replace(FAILED, values=worlds.java_settings("15s"), previous=worlds.java_settings("45s"))
    assert held(ProposedChange(worlds.settings("45s", "3s", "1s")), java) is None
    mixed = dataclasses.replace(FAILED, previous=worlds.java_settings("45s"))
    assert held(ProposedChange(worlds.settings("60s", "3s", "1s")), mixed) is None
    other = dataclasses.replace(FAILED, values=worlds.java_settings("15s"))
    assert held(ProposedChange(worlds.settings("60s", "3s", "1s")), other) is None


def waiting(followed: FollowedChange | None, change: ProposedChange, *, now_after: timedelta) -> Reason | None:
    """Return whether a change waits for the verdict on the one before it, so long after that."""
    inputs = dataclasses.replace(worlds.situation(now=BEFORE), followed=followed, now=AT + now_after)
    finding = write_gates.last_change_is_being_verified(inputs, change)
    return None if finding is None else finding.reason


WEEK = timedelta(days=7)


@pytest.mark.parametrize("outcome", Outcome)
def test_a_saving_waits_while_nothing_has_shown_and_while_harm_stands(outcome: Outcome) -> None:
    """Two changes at once could not be told apart; nor is one made on top of harm."""
    followed = FollowedChange(AT, AT, outcome=outcome)
    reason = Reason(outcome.value) if outcome in {*HARMFUL, Outcome.VERIFYING} else None
    assert waiting(followed, saving(SHORTER), now_after=timedelta(days=1)) is reason
    assert waiting(followed, ProposedChange(SHORTER), now_after=timedelta(days=1)) is None


def test_no_saving_waits_for_longer_than_a_week() -> None:
    """Of a rare rate nothing shows in four."""
    followed = FollowedChange(AT)
    assert waiting(followed, saving(SHORTER), now_after=WEEK - timedelta(seconds=1)) is Reason.VERIFYING
    assert waiting(followed, saving(SHORTER), now_after=WEEK) is None
    assert waiting(None, saving(SHORTER), now_after=timedelta(0)) is None


def harmed(followed: FollowedChange | None = HARM, **changes: Any) -> DecisionInput:
    """Return a group whose last change did harm, while Prometheus is down."""
    policy = worlds.policy(**{"application": OURS, "spec": SPEC, **changes})
    down = Unknown(Reason.PROMETHEUS_UNREACHABLE, "Prometheus did not answer")
    return dataclasses.replace(worlds.situation(policy=policy, seen=down), followed=followed)


@pytest.mark.parametrize("outcome", sorted(HARMFUL))
def test_harm_is_taken_back_without_metrics(outcome: Outcome) -> None:
    """To what stood before, in the words of the verdict; pods that crash have no record."""
    decision = decide(harmed(dataclasses.replace(HARM, outcome=outcome)))
    assert (decision.reverts, decision.to_apply) == (True, BEFORE)
    assert decision.finding.reason.value == outcome.value
    assert "11 episodes of evictions" in decision.story.message
    assert "The values before it, sessionTimeout 30s, heartbeatInterval 3s, are" in decision.story.message


def is_reverted(inputs: DecisionInput) -> bool:
    """Whether the decision takes the last change back, whatever holds it."""
    return decide(inputs).reverts


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - HARMFUL))
def test_what_is_no_harm_takes_nothing_back(outcome: Outcome) -> None:
    """A wrong model, an application that ignores its values, and what nobody knows, least of all."""
    assert not is_reverted(harmed(dataclasses.replace(HARM, outcome=outcome)))


@pytest.mark.parametrize(
    "inputs",
    [
        harmed(None),
        harmed(dataclasses.replace(HARM, at=AT - worlds.HOUR)),
        harmed(application=None),
        harmed(application=dataclasses.replace(OURS, reverts=AT - worlds.HOUR)),
        harmed(application=dataclasses.replace(OURS, entries_before=None)),
        harmed(env_names={setting: f"MY_{name}" for setting, name in worlds.policy().env_names.items()}),
        harmed(taken_back=TakenBack(OURS, NOW, generation=1)),
        harmed(taken_back=TakenBack(OURS, NOW, generation=0)),
    ],
    ids=[
        "not followed",
        "another change's",
        "no change",
        "a revert",
        "unknown before",
        "other variables",
        "by a person",
        "edited since",
    ],
)
def test_a_change_is_taken_back_once_and_only_by_who_knows_what_stood_before(inputs: DecisionInput) -> None:
    """Not after a person did, not to what nobody noted, and no revert is taken back for that of another change."""
    assert not is_reverted(inputs)


def test_a_revert_waits_while_the_policy_is_suspended() -> None:
    """It is a write like any other."""
    hold = decide(harmed(suspended=True)).hold
    assert hold is not None
    assert hold.reason is Reason.SUSPENDED


@pytest.mark.parametrize("asked", [{"reverts": False}, {"mode": Mode.RECOMMEND}, {"mode": Mode.INITIAL}])
def test_who_wants_no_revert_gets_every_other_decision(asked: dict[str, Any]) -> None:
    """A condition says what the change did; a group in a storm is cured all the same, and a saving waits."""
    inputs = harmed(**asked)
    assert not is_reverted(inputs)
    hold = write_gates.last_change_is_being_verified(inputs, saving(SHORTER))
    assert hold is not None
    assert hold.reason is Reason.WORSE
    assert write_gates.last_change_is_being_verified(inputs, ProposedChange(SHORTER)) is None


WINDOW = Window("0 2 * * *", timedelta(hours=1), ZoneInfo("UTC"))


@pytest.mark.parametrize(
    ("outcome", "days", "waits"), [("Worse", 2, True), ("Worse", 0.5, False), ("RolloutFailed", 2, False)]
)
def test_what_took_days_to_show_waits_for_a_window(outcome: str, days: float, *, waits: bool) -> None:
    """Nobody watches at noon; the storm after a change is watched by who opened the window for it."""
    inputs = harmed(windows=(WINDOW,))
    assert inputs.followed is not None
    landed = inputs.now - timedelta(days=days)
    followed = dataclasses.replace(inputs.followed, outcome=Outcome(outcome), landed=landed)
    hold = decide(dataclasses.replace(inputs, followed=followed)).hold
    assert (hold is not None and hold.reason is Reason.OUTSIDE_WINDOW) is waits


@pytest.mark.parametrize(("ours", "is_held"), [(True, False), (False, True)])
def test_a_revert_waits_for_the_rollouts_of_others(*, ours: bool, is_held: bool) -> None:
    """Theirs may be the cure; ours is what it ends."""
    rolling = dataclasses.replace(harmed(), workload=worlds.workload(mixed=True, rolling_out=True, ours=ours))
    assert (decide(rolling).hold is not None) is is_held
    paused = dataclasses.replace(rolling, workload=dataclasses.replace(rolling.workload, paused=True))
    hold = decide(paused).hold
    assert hold is not None
    assert hold.reason is Reason.ROLLOUT_PAUSED


def test_a_partition_does_not_hold_a_revert() -> None:
    """Only pods behind it can have got the values, and these go back."""
    rolling = dataclasses.replace(harmed(), workload=worlds.workload(mixed=True, rolling_out=True, ours=True))
    parted = dataclasses.replace(rolling, workload=dataclasses.replace(rolling.workload, partition=2))
    assert decide(parted).hold is None


CO_OWNED = {Setting.SESSION_TIMEOUT: "argocd-controller"}


def test_a_revert_of_entries_that_are_another_manager_s_is_held() -> None:
    """To leave them out of an apply takes nothing out: it would be a revert in words alone."""
    shared = dataclasses.replace(harmed(), workload=worlds.workload(SHORTER, foreign=CO_OWNED))
    hold = decide(shared).hold
    assert hold is not None
    assert hold.reason is Reason.FIELD_OWNED
    assert "argocd-controller" in hold.message
    assert '{name: KAFKA_SESSION_TIMEOUT_MS, value: "30000"}' in hold.message


def test_an_entry_that_stood_nowhere_before_the_change_is_to_be_taken_out() -> None:
    """There is no value before it that a manifest could have."""
    added = dataclasses.replace(OURS, entries_before={})
    shared = dataclasses.replace(harmed(application=added), workload=worlds.workload(SHORTER, foreign=CO_OWNED))
    hold = decide(shared).hold
    assert hold is not None
    assert "take out of the manifest's env: KAFKA_SESSION_TIMEOUT_MS" in hold.message


def test_an_entry_of_another_manager_that_the_change_did_not_write_holds_no_revert() -> None:
    """The revert leaves it as it is."""
    beside = worlds.workload(SHORTER, foreign={Setting.FETCH_WAIT: "helm"})
    assert decide(dataclasses.replace(harmed(), workload=beside)).to_apply == BEFORE


def test_a_revert_waits_for_nothing_that_a_cure_waits_for() -> None:
    """Neither the cooldown, which the change itself began, nor what failed: it is the end of what had begun in time."""
    failed = dataclasses.replace(FAILED, values=BEFORE, previous=SHORTER)
    inputs = harmed(cooldown=timedelta(days=60), failed=(failed,))
    assert decide(inputs).to_apply == BEFORE
    assert first_hold(inputs, BEFORE) is not None
