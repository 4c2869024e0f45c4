"""What a status notes of the last change: whether it helped; and what was proven against it, whoever leads."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionType, ContradictedStatus, Status
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verifications import FailedValues, FollowedChange, Outcome
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.status import change_notes, reporting, transitions
from tests.support import manifests, worlds

CURED = worlds.settings("30s", "1s", "1s")
SEEN = ContradictedStatus(reason=Reason.SETTINGS_NOT_IN_FORCE, message="first words", generation=1, template="abc")


def storming(evictions: int = 90) -> DecisionInput:
    """Return a group that storms though its values should hold."""
    inputs = worlds.situation(now=CURED, seen=worlds.record(evictions=evictions, span=worlds.seconds(120), beats=0))
    return dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, template="abc"))


def decided(inputs: DecisionInput) -> Decided:
    """Return what is decided."""
    return Decided(inputs, decide(inputs))


def test_what_was_proven_is_remembered_in_its_first_words() -> None:
    """A status must not move while nothing happens."""
    first = change_notes.next_contradicted(None, decided(storming()))
    assert first is not None
    assert (first.reason, first.generation, first.template) == (Reason.SETTINGS_NOT_IN_FORCE, 1, "abc")
    assert change_notes.next_contradicted(first, decided(storming(95))) is first


def test_what_nobody_knows_ends_nothing() -> None:
    """Prometheus may be down, or the group calm."""
    blind = dataclasses.replace(storming(), record=Unknown(Reason.METRICS_STALE, "old"))
    calm = dataclasses.replace(storming(), record=worlds.record(beat=worlds.seconds(1)))
    assert change_notes.next_contradicted(SEEN, decided(blind)) is SEEN
    assert change_notes.next_contradicted(SEEN, decided(calm)) is SEEN


def test_an_edit_ends_it_and_a_new_proof_begins_anew() -> None:
    """Of the policy, or of the pods' template."""
    calm = dataclasses.replace(storming(), record=worlds.record(beat=worlds.seconds(1)))
    changed = dataclasses.replace(calm, workload=dataclasses.replace(calm.workload, template="def"))
    edited = dataclasses.replace(calm, policy=worlds.policy(generation=2))
    assert change_notes.next_contradicted(SEEN, decided(changed)) is None
    assert change_notes.next_contradicted(SEEN, decided(edited)) is None
    assert change_notes.next_contradicted(None, decided(calm)) is None
    again = change_notes.next_contradicted(
        SEEN, decided(dataclasses.replace(storming(), policy=worlds.policy(generation=2)))
    )
    assert again is not None
    assert again.generation == 2
    other = SEEN.model_copy(update={"reason": Reason.NO_EFFECT})
    renamed = change_notes.next_contradicted(other, decided(storming()))
    assert renamed is not None
    assert renamed.reason is Reason.SETTINGS_NOT_IN_FORCE


def test_the_status_carries_it_from_leader_to_leader() -> None:
    """Another operator reads it, says the same, and calls nothing applied."""
    outcome = decided(storming())
    status = reporting.status_after(Status(), outcome, generation=1, now=worlds.NOW).status
    conditions = {condition.type: condition for condition in status.conditions}
    assert conditions[ConditionType.RECOMMENDED].reason is Reason.SETTINGS_NOT_IN_FORCE
    assert conditions[ConditionType.APPLIED].reason is Reason.SETTINGS_NOT_IN_FORCE
    assert conditions[ConditionType.APPLIED].status == "False"
    body = {**manifests.policy(), "status": reporting.document(status)}
    read = parsing.policy_of(body).contradicted
    assert read is not None
    assert (read.reason, read.generation, read.template) == (Reason.SETTINGS_NOT_IN_FORCE, 1, "abc")
    calm = dataclasses.replace(outcome.inputs, record=worlds.record(beat=worlds.seconds(1)))
    later = dataclasses.replace(calm, policy=worlds.policy(contradicted=read))
    after = reporting.status_after(status, decided(later), generation=1, now=worlds.NOW).status
    assert after.contradicted == status.contradicted
    assert (after.verdict, after.reason, after.recommendation) == (status.verdict, status.reason, None)


def test_it_outlives_a_word_that_only_another_version_knows() -> None:
    """As the last change does."""
    model_dump = SEEN.model_dump(mode="json", by_alias=True)
    body = {**manifests.policy(), "status": {"verdict": "Marvellous", "contradicted": model_dump}}
    assert parsing.status_of(body).contradicted == SEEN
    body["status"] = {"verdict": "Marvellous", "contradicted": {"reason": "Marvellous"}}
    assert parsing.status_of(body).contradicted is None


AT = worlds.NOW - timedelta(days=1)
CHANGE = Application(CURED, worlds.STORM, AT, "workload-1", "app")
FAILED = FailedValues(CURED, worlds.STORM, AT, Outcome.ROLLOUT_FAILED, "pod orders-9: it crashes", "0123456789abcdef")
REVERT = dataclasses.replace(
    CHANGE, values=worlds.STORM, previous=CURED, at=worlds.NOW, reverts=AT, failed=(FAILED,), entries_before={}
)


def followed_change(followed: FollowedChange | None, change: Application | None = CHANGE) -> Decided:
    """Return a look at a healthy group some time after a change."""
    policy = worlds.policy(application=change, failed=() if change is None else change.failed)
    return decided(dataclasses.replace(worlds.situation(now=CURED, policy=policy), followed=followed))


def verified(outcome: Decided) -> tuple[str, str, str] | None:
    """Return what the condition Verified says."""
    stated = change_notes.verified(outcome)
    return None if stated is None else (stated[0].value, stated[1].reason.value, stated[1].message)


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (Outcome.VERIFYING, "Unknown"),
        (Outcome.INCONCLUSIVE, "Unknown"),
        (Outcome.VERIFIED, "True"),
        (Outcome.WORSE, "False"),
        (Outcome.WORSE_THAN_PROMISED, "False"),
        (Outcome.NO_EFFECT, "False"),
        (Outcome.ROLLOUT_FAILED, "False"),
    ],
)
def test_each_outcome_is_a_reason_of_verified(found: Outcome, status: str) -> None:
    """In its own words; what is not known is neither good nor bad."""
    followed = FollowedChange(AT, AT, outcome=found, message="7 episodes")
    assert verified(followed_change(followed)) == (status, found.value, "7 episodes")


def test_without_a_change_of_ours_nothing_is_verified() -> None:
    """And what was noted of an object that is gone goes too."""
    assert verified(followed_change(None, None)) is None
    assert change_notes.followed_fields(followed_change(None, None))["verification"] is None


def test_a_change_that_nobody_looked_at_yet_is_being_verified() -> None:
    """What is known of the change before it says nothing of this one."""
    older = FollowedChange(AT - worlds.HOUR, outcome=Outcome.WORSE, message="7 episodes")
    for followed in (None, older):
        stated = verified(followed_change(followed))
        assert stated is not None
        assert stated[:2] == ("Unknown", "Verifying")
        assert "2026-03-01T12:00:00Z are not in all pods yet" in stated[2]


def test_a_revert_says_what_it_took_back_and_why() -> None:
    """Whatever the revert itself comes to."""
    stated = verified(followed_change(FollowedChange(worlds.NOW, outcome=Outcome.VERIFYING), REVERT))
    what = "the change written at 2026-03-01T12:00:00Z was taken back at 2026-03-02T12:00:00Z"
    assert stated == ("False", "Reverted", f"{what}: RolloutFailed: pod orders-9: it crashes")
    lost = verified(followed_change(None, dataclasses.replace(REVERT, failed=())))
    assert lost is not None
    assert lost[2] == what


def test_a_change_of_this_very_cycle_leaves_what_is_noted_of_the_one_before() -> None:
    """The next look needs it: the history before this change begins where that one had landed."""
    outcome = followed_change(FollowedChange(AT, AT))
    assert "verification" in change_notes.followed_fields(outcome)
    written = dataclasses.replace(outcome, application=REVERT)
    fields = change_notes.followed_fields(written)
    assert "verification" not in fields
    (failed,) = fields["reverted"]
    assert (failed.at, failed.message) == ("2026-03-01T12:00:00Z", "pod orders-9: it crashes")


@pytest.mark.parametrize(
    ("found", "is_warning"), [(Outcome.WORSE, True), (Outcome.ROLLOUT_FAILED, True), (Outcome.VERIFIED, False)]
)
def test_what_a_change_did_is_told_by_an_event(found: Outcome, *, is_warning: bool) -> None:
    """Harm as a warning; that a change helped is good news, and news."""
    waits = FollowedChange(AT, AT, outcome=Outcome.VERIFYING, message="nothing yet")
    before = reporting.status_after(Status(), followed_change(waits), generation=1, now=worlds.NOW).status
    shown = dataclasses.replace(waits, outcome=found, message="7 episodes")
    after = reporting.status_after(before, followed_change(shown), generation=1, now=worlds.NOW).status
    events = [
        (event.reason.value, event.warning)
        for event in transitions.announcements(before, after)
        if event.type is ConditionType.VERIFIED
    ]
    assert events == [(found.value, is_warning)]
