"""Whether static ids are given: the advice, and what becomes of it in a status."""

import dataclasses
from typing import Any

import pytest

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import StaticIds, Status
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.policies import StaticMembership
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.domain.verdicts import Finding, StaticAdvice, Worth
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided
from heartbeat_tuner.reconcile.status import reporting, static_advice
from tests.support import worlds
from tests.support.worlds import NOW


def situation(asked: StaticMembership = StaticMembership.AUTO, *, variable: str | None = "ID") -> DecisionInput:
    """Return a group whose policy asks for static ids."""
    policy = worlds.java_policy(static_membership=asked, instance_id_env=variable)
    return dataclasses.replace(worlds.situation(), policy=policy)


def stated(*worths: Worth | None, asked: StaticMembership = StaticMembership.AUTO) -> StaticIds | None:
    """Return what is said after several cycles with such advice."""
    standing = None
    for worth in worths:
        advice = None if worth is None else StaticAdvice(worth, f"it is {worth}")
        standing = static_advice.next_static_ids(standing, situation(asked).policy, advice)
    return standing


@pytest.mark.parametrize(
    ("worths", "given"),
    [
        ([Worth.PAYS], True),
        ([Worth.CLOSE], False),
        ([Worth.COSTS], False),
        ([Worth.REFUSED], False),
        ([Worth.UNKNOWN], False),
        ([None], False),
        ([Worth.PAYS, Worth.CLOSE], True),
        ([Worth.PAYS, Worth.UNKNOWN], True),
        ([Worth.PAYS, None], True),
        ([Worth.PAYS, Worth.COSTS], False),
        ([Worth.PAYS, Worth.COSTS, Worth.CLOSE], False),
        ([Worth.COSTS, Worth.CLOSE, Worth.PAYS, Worth.CLOSE, Worth.CLOSE], True),
    ],
    ids=lambda worths: "-".join(str(each) for each in worths) if isinstance(worths, list) else "",
)
def test_in_auto_it_stays_as_it_was_where_the_advice_is_close(worths: list[Worth | None], *, given: bool) -> None:
    """So that figures which move a little switch nothing."""
    found = stated(*worths)
    assert found is not None
    assert found.given is given


def test_what_was_known_stays_while_nobody_knows() -> None:
    """With its words."""
    assert stated(Worth.PAYS, Worth.UNKNOWN) == stated(Worth.PAYS, None) == stated(Worth.PAYS)


def test_enabled_gives_ids_whatever_they_cost_and_says_what() -> None:
    """Somebody asked for them; disabled says nothing."""
    found = stated(Worth.COSTS, asked=StaticMembership.ENABLED)
    assert found == StaticIds(given=True, worth=Worth.COSTS, message="it is Costs")
    assert stated(Worth.PAYS, asked=StaticMembership.DISABLED) is None


def test_whoever_changes_to_auto_keeps_ids_until_they_cost() -> None:
    """Nothing is switched by the word alone."""
    enabled = stated(Worth.CLOSE, asked=StaticMembership.ENABLED)
    after = static_advice.next_static_ids(enabled, situation().policy, StaticAdvice(Worth.CLOSE, "close"))
    assert after is not None
    assert after.given


def test_a_long_sentence_is_cut() -> None:
    """A status has a size."""
    found = static_advice.next_static_ids(None, situation().policy, StaticAdvice(Worth.COSTS, "x" * 9_999))
    assert found is not None
    assert len(found.message) == 4096


def test_a_status_carries_it_and_keeps_it_while_the_group_cannot_be_read() -> None:
    """An unreachable broker takes nobody's id away."""
    found = situation()
    outcome = Decided(found, dataclasses.replace(decide(found), static_ids=StaticAdvice(Worth.PAYS, "it pays")))
    status = reporting.status_after(Status(), outcome, generation=1, now=NOW).status
    assert status.static_ids == StaticIds(given=True, worth=Worth.PAYS, message="it pays")
    down = Blocked(Finding(Reason.CLUSTER_UNREACHABLE, "down"))
    assert reporting.status_after(status, down, generation=1, now=NOW).status.static_ids == status.static_ids


def test_words_stay_while_only_numbers_move() -> None:
    """A member more moves the figures; the status waits for news."""
    found, status = situation(), Status()
    for cost in (100, 101):
        advice = StaticAdvice(Worth.PAYS, say("it costs {cost}", cost=Reading(cost)))
        outcome = Decided(found, dataclasses.replace(decide(found), static_ids=advice))
        status = reporting.status_after(status, outcome, generation=1, now=NOW).status
    assert status.static_ids is not None
    assert status.static_ids.message == "it costs 100"
    edited = reporting.status_after(status, outcome, generation=2, now=NOW).status
    assert edited.static_ids is not None
    assert edited.static_ids.message == "it costs 101"


def advice(**policy: Any) -> StaticAdvice | None:
    """Return what a decision says of static ids."""
    known = situation()
    return decide(dataclasses.replace(known, policy=dataclasses.replace(known.policy, **policy))).static_ids


def test_a_decision_says_nothing_where_nobody_asks() -> None:
    """It takes a while to compute."""
    assert advice(static_membership=StaticMembership.DISABLED) is None


def test_a_decision_refuses_libraries_that_make_no_good_use_of_ids() -> None:
    """Without a model, too."""
    found = advice(library="kafkajs")
    assert found is not None
    assert found.worth is Worth.REFUSED


def test_a_decision_without_a_model_says_so() -> None:
    """And nothing at all while pods differ."""
    found = advice()
    assert found is not None
    assert found.worth is Worth.UNKNOWN
    mixed = dataclasses.replace(situation(), workload=worlds.workload(mixed=True))
    assert decide(mixed).static_ids is None
