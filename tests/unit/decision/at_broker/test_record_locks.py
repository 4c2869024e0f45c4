"""Handlers of a share group that outlast the locks of their records: what is said, and what goes first."""

import dataclasses
from datetime import timedelta
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.decision.at_broker import record_locks
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from tests.golden import cases
from tests.support import documents
from tests.support.worlds import seconds

CASES: Final = documents.CHECKOUT / "tests" / "golden" / "cases"


def case(name: str = "locks-outlasted", **changes: Any) -> DecisionInput:
    """Return the input of a golden case of share groups, with another record."""
    inputs = cases.input_of(yaml.safe_load((CASES / f"share-group-{name}.input.yaml").read_text()))
    assert isinstance(inputs.record, Record)
    return dataclasses.replace(inputs, record=dataclasses.replace(inputs.record, **changes))


def locked(inputs: DecisionInput, lock: timedelta | None, kind: Protocol = Protocol.SHARE) -> DecisionInput:
    """Return the same where records are locked for another time, in a group of a kind."""
    assert inputs.group.config is not None
    config = dataclasses.replace(inputs.group.config, record_lock=lock)
    return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, config=config, kind=kind))


def says(decision: Decision) -> bool:
    """Whether a decision speaks of locks."""
    return "is locked for" in decision.story.message


def test_a_gap_beyond_the_lock_names_both_and_what_follows_and_what_to_do() -> None:
    """A person reads it in one condition, and can paste what it says."""
    decision = decide(case())
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.POLL_GAP_EXCEEDS_LOCK)
    assert decision.finding.facts["longestPollGap"] == "42 s"
    for words in ("took 42 s from one poll to the next", "locked for 30s", "delivered to another member, too"):
        assert words in decision.finding.message
    assert "max.poll.records with share.acquire.mode=record_limit" in decision.advice
    assert "kafka-configs --alter --entity-type groups --entity-name orders --add-config share.r" in decision.advice
    assert "share.record.lock.duration.ms=55000; brokers accept 15s to 1m by default" in decision.advice
    assert (decision.target, decision.to_alter, decision.to_apply) == (None, None, None)


def test_a_lock_beyond_the_brokers_bounds_is_said_to_be() -> None:
    """It is not shortened to what they accept: that would not cover what was seen."""
    decision = decide(case(longest_poll_gap=seconds(70)))
    assert "duration.ms=91000; but brokers accept 15s to 1m by default" in decision.advice


@pytest.mark.parametrize("gap_s", [None, 0.2, 30.0])
def test_nothing_is_said_where_no_gap_is_known_to_exceed_the_lock(gap_s: float | None) -> None:
    """Not exported is not known."""
    decision = decide(case(longest_poll_gap=None if gap_s is None else seconds(gap_s)))
    assert decision.finding.reason is Reason.CONSUMER_PROTOCOL
    assert not says(decision)


def test_nothing_is_said_without_a_lock_or_without_a_record_or_of_another_kind_of_group() -> None:
    """A lock that is not read is not assumed."""
    inputs = case()
    unread = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, config=None))
    unknown = dataclasses.replace(inputs, record=Unknown(Reason.NO_SERIES, "nothing"))
    other = locked(inputs, seconds(30), Protocol.CONSUMER)
    for each in (locked(inputs, None), unread, unknown, other):
        assert not says(decide(each))


def test_a_danger_of_fencings_goes_first() -> None:
    """The session is raised as it would be, and the message names the locks, too."""
    inputs = case("fenced-and-locks-outlasted")
    decision, alone = decide(inputs), decide(case("fenced-and-locks-outlasted", longest_poll_gap=None))
    assert (decision.finding, decision.to_alter, decision.hold) == (alone.finding, alone.to_alter, None)
    assert decision.finding.reason is Reason.DANGER
    assert decision.to_alter is not None
    assert "Besides, a member of share group orders took 50 s" in decision.advice
    assert "share.acquire.mode" not in decision.advice  # librdkafka has no such setting


def test_a_calm_group_says_it_instead_of_calling_itself_well() -> None:
    """Its values stay, and the verdict on them; what is wrong is named."""
    inputs = locked(case("cheaper"), seconds(30))
    well = Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "the record asks for no change"))
    client = catalogue.client("confluent-kafka-python")
    assert isinstance(inputs.record, Record)
    assert record_locks.with_locks(inputs.group, inputs.record, client, well) is well
    late = dataclasses.replace(inputs.record, longest_poll_gap=seconds(31))
    decision = record_locks.with_locks(inputs.group, late, client, well)
    assert (decision.verdict, decision.finding.reason) == (Verdict.HEALTHY, Reason.POLL_GAP_EXCEEDS_LOCK)
    assert decision.finding.message.endswith("the record asks for no change")


@pytest.mark.parametrize("reason", [Reason.ABOVE_OBJECTIVE, Reason.OBJECTIVE_TOO_COSTLY, Reason.UNSOUND_SETTINGS])
def test_what_else_is_wrong_with_a_calm_group_keeps_its_reason(reason: Reason) -> None:
    """An alert on it goes on."""
    inputs = case()
    assert isinstance(inputs.record, Record)
    found = Decision(Verdict.UNPROVEN, Finding(reason, "something else"))
    decision = record_locks.with_locks(inputs.group, inputs.record, inputs.client, found)
    assert decision.finding == found.finding
    assert says(decision)


@given(
    st.one_of(st.none(), st.floats(0.0, 1e6)),
    st.one_of(st.none(), st.integers(1, 3_600)),
    st.integers(0, 9),
    st.sampled_from(["locks-outlasted", "fenced-and-locks-outlasted", "cheaper", "fenced"]),
)
def test_locks_change_no_value_and_are_told_of_if_and_only_if_they_are_seen_to_be_outlasted(
    gap_s: float | None, lock_s: int | None, evictions: int, name: str
) -> None:
    """Whatever else is seen: what is decided of S and H does not depend on it, and nothing of it is written."""
    gap, lock = None if gap_s is None else seconds(gap_s), None if lock_s is None else seconds(lock_s)
    inputs = locked(case(name, evictions=evictions, longest_poll_gap=gap), lock)
    decision, without = decide(inputs), decide(locked(case(name, evictions=evictions, longest_poll_gap=None), None))
    is_outlasted = gap is not None and lock is not None and gap > lock
    assert says(decision) is is_outlasted
    others = ("verdict", "target", "hold", "at_broker", "forecast", "proof", "outlook")
    assert all(getattr(decision, each) == getattr(without, each) for each in others)
    assert decision.finding.reason in {without.finding.reason, Reason.POLL_GAP_EXCEEDS_LOCK}
    if without.target is not None:
        assert decision.finding == without.finding


@given(st.floats(0.001, 1e9))
def test_the_lock_that_is_named_covers_the_gap_that_was_seen(gap_s: float) -> None:
    """With a margin, and in whole seconds; no gap is too long to be spoken of."""
    gap = seconds(gap_s)
    lock = record_locks.longer_lock(gap)
    assert lock.microseconds == 0
    assert lock > min(gap, timedelta(days=24))
