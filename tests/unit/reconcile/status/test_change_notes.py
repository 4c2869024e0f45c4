"""What was proven against the values outlives the storm and the leader; an edit ends it."""

import dataclasses

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionType, ContradictedStatus, Status
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.status import change_notes, reporting
from tests.support import manifests, worlds

CURED = worlds.settings("30s", "1s", "1s")
SEEN = ContradictedStatus(reason=Reason.SETTINGS_NOT_IN_FORCE, message="first words", generation=1, template="abc")


def storming(evictions: int = 90) -> DecisionInput:
    """Return a group that storms though its values should hold."""
    of = worlds.situation(now=CURED, seen=worlds.record(evictions=evictions, span=worlds.seconds(120), beats=0))
    return dataclasses.replace(of, workload=dataclasses.replace(of.workload, template="abc"))


def decided(of: DecisionInput) -> Decided:
    """Return what is decided."""
    return Decided(of, decide(of))


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
    conditions = {one.type: one for one in status.conditions}
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
    kept = SEEN.model_dump(mode="json", by_alias=True)
    body = {**manifests.policy(), "status": {"verdict": "Marvellous", "contradicted": kept}}
    assert parsing.status_of(body).contradicted == SEEN
    body["status"] = {"verdict": "Marvellous", "contradicted": {"reason": "Marvellous"}}
    assert parsing.status_of(body).contradicted is None
