"""Which session a group of the consumer protocol should have at the broker."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import HiddenFencings
from heartbeat_tuner.domain.kafka_groups import ConsumerBounds, GroupConfig, GroupOverrides
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Mode, Objective, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import worlds
from tests.support.worlds import seconds

BOUNDS = ConsumerBounds(seconds(1), seconds(60), seconds(1), seconds(15))


def modern(session_s: float = 20, *, evictions: int = 9) -> DecisionInput:
    """Return the input of a Java group of the consumer protocol whose session somebody set at the broker.

    Args:
        session_s: that session, in seconds.
        evictions: members that were seen to be fenced, in an hour.
    """
    now = worlds.java_settings(f"{session_s}s", "5s")
    inputs = worlds.situation(
        policy=worlds.java_policy(),
        has=worlds.workload(now),
        seen=worlds.record(evictions=evictions),
        on=dataclasses.replace(worlds.cluster(), consumer=BOUNDS, alters_groups=True),
    )
    config = GroupConfig(seconds(session_s), seconds(5), GroupOverrides(seconds(session_s)))
    group = dataclasses.replace(inputs.group, consumer_protocol=True, config=config)
    return dataclasses.replace(inputs, group=group)


def target(inputs: DecisionInput) -> LivenessSettings:
    """Return what a decision sets at the broker."""
    decision = decide(inputs)
    assert decision.to_alter is not None
    return decision.to_alter


def test_a_session_that_fences_members_is_raised_at_the_broker_and_nowhere_else() -> None:
    """Its heartbeat and the client's own limits stay: nothing showed anything against them."""
    decision = decide(modern())
    assert (decision.verdict, decision.finding.reason, decision.hold) == (Verdict.CHANGE, Reason.DANGER, None)
    assert decision.to_alter == worlds.java_settings("45s", "5s")
    assert decision.to_apply is None


@pytest.mark.parametrize("bound", [Range(max=seconds(3)), Range(min=seconds(6))], ids=["shorter", "longer"])
def test_no_other_heartbeat_is_promised_than_the_one_that_stays(bound: Range) -> None:
    """A cure writes the session alone, and the session has to cover the beat that there is."""
    inputs = modern()
    policy = dataclasses.replace(inputs.policy, bounds={Setting.HEARTBEAT_INTERVAL: bound})
    decision = decide(dataclasses.replace(inputs, policy=policy))
    assert decision.to_alter == worlds.java_settings("45s", "5s")
    assert decision.advice == decide(inputs).advice


@pytest.mark.parametrize("evictions", [0, 1, 2])
def test_nothing_is_said_of_a_group_that_shows_too_little(evictions: int) -> None:
    """Neither health nor danger: 0 may be a consumer that never shows a loss."""
    inputs = modern(evictions=evictions)
    record = dataclasses.replace(worlds.record(evictions=evictions), hidden=HiddenFencings("no listener", lasts=True))
    decision = decide(dataclasses.replace(inputs, record=record))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.CONSUMER_PROTOCOL)
    assert decision.target is None


@pytest.mark.parametrize("evictions", [0, 1, 2])
def test_a_group_whose_fencings_are_all_counted_is_well_with_few(evictions: int) -> None:
    """Nothing else was hidden: the number is known, and too small to act on."""
    decision = decide(modern(evictions=evictions))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNPROVEN, Reason.TOO_EARLY)
    assert decision.target is None


def test_values_that_cannot_be_read_are_not_changed() -> None:
    """Whatever was seen: it is not known from where a session would be raised."""
    inputs = modern()
    unread = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, config=None))
    assert decide(unread).finding.reason is Reason.CONSUMER_PROTOCOL


def test_members_that_do_not_poll_are_no_matter_of_the_session() -> None:
    """Nothing is set at the broker for them (`test_client_poll_limit` has what is done); for fenced ones it is."""
    of_polls = dataclasses.replace(worlds.record(), poll_gap_evictions=9, longest_poll_gap=seconds(301))
    decision = decide(dataclasses.replace(modern(), record=of_polls))
    assert (decision.verdict, decision.finding.reason) == (Verdict.CHANGE, Reason.POLL_GAP_EXCEEDS_LIMIT)
    assert decision.to_alter is None
    both = decide(dataclasses.replace(modern(), record=dataclasses.replace(of_polls, evictions=9)))
    assert (both.finding.reason, both.to_alter) == (Reason.DANGER, worlds.java_settings("45s", "5s"))


def test_a_beat_that_comes_more_rarely_than_the_session_lasts_is_shown_as_it_is() -> None:
    """A longer session is no cure of every cause: what the broker has there was set by somebody."""
    decision = decide(modern(4))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.CADENCE_EXCEEDS_SESSION)
    assert decision.target is None


def test_where_the_brokers_bounds_forbid_it_they_are_named_with_where_they_belong() -> None:
    """No value is moved to the least bad."""
    asked = Objective(timedelta(minutes=10), 1.0)
    inputs = modern(45)
    decision = decide(dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, objective=asked)))
    assert (decision.verdict, decision.target) == (Verdict.INFEASIBLE, None)
    assert "the broker's group.consumer.max.session.timeout.ms allows at most 1m" in decision.advice
    for words in ("group.consumer.{min,max}.heartbeat.interval.ms", "brokers", "controllers"):
        assert words in decision.advice


def test_a_limit_of_the_policys_own_is_no_matter_of_brokers() -> None:
    """Then nobody is sent to their properties."""
    asked = Objective(seconds(21), 1.0)
    inputs = modern()
    decision = decide(dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, objective=asked)))
    assert decision.verdict is Verdict.INFEASIBLE
    assert "objective.maxDetectionTime" in decision.advice
    assert "controllers" not in decision.advice


def test_bounds_that_cannot_be_read_are_assumed_and_said_to_be() -> None:
    """Kafka's own: S of 45 s at least. The request that only validates has the last word."""
    inputs = modern()
    assumed = dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, consumer=None))
    assert target(assumed).session_timeout == seconds(45)
    assert "group.consumer.min.session.timeout.ms (assumed)" in decide(assumed).advice


@given(
    st.integers(4, 60),
    st.integers(0, 40),
    st.tuples(st.integers(1, 45), st.integers(45, 1_800)),
    st.sampled_from([Mode.APPLY, Mode.RECOMMEND]),
)
def test_a_session_is_never_lowered_and_never_outside_the_brokers_bounds(
    session_s: int, evictions: int, bounds_s: tuple[int, int], mode: Mode
) -> None:
    """Whatever is set and seen; and H is never touched."""
    low, high = map(seconds, bounds_s)
    inputs = modern(session_s, evictions=evictions)
    bounds = dataclasses.replace(BOUNDS, min_session=low, max_session=high)
    cluster = dataclasses.replace(inputs.cluster, consumer=bounds)
    inputs = dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, mode=mode), cluster=cluster)
    decision = decide(inputs)
    assert decision.to_apply is None
    if decision.target is not None:
        assert low <= decision.target.session_timeout <= high
        assert decision.target == dataclasses.replace(
            worlds.java_settings(f"{session_s}s", "5s"), session_timeout=decision.target.session_timeout
        )
        assert decision.target.session_timeout > seconds(session_s)
    assert decision.to_alter is None or mode is Mode.APPLY


def of_kind(kind: str, library: str = "streams") -> DecisionInput:
    """Return the same of a group of another kind, whose policy names a library."""
    inputs = modern()
    cluster = dataclasses.replace(inputs.cluster, consumer=None, streams=BOUNDS)
    policy, group = dataclasses.replace(inputs.policy, library=library), dataclasses.replace(inputs.group, kind=kind)
    return dataclasses.replace(inputs, policy=policy, group=group, cluster=cluster)


def test_a_streams_group_is_raised_within_its_own_bounds_and_by_its_own_keys() -> None:
    """Those of the consumer protocol are not read here: Kafka's own would allow 45 s to 60 s alone."""
    inputs = of_kind("streams")
    decision = decide(inputs)
    assert decision.to_alter == worlds.java_settings("45s", "5s")
    assert "It is streams.session.timeout.ms of group" in decision.advice
    assert "consumer." not in decision.advice
    asked = dataclasses.replace(inputs.policy, objective=Objective(timedelta(minutes=10), 1.0))
    current = dataclasses.replace(of_kind("streams"), policy=asked)
    narrow = dataclasses.replace(current.cluster, streams=dataclasses.replace(BOUNDS, max_session=seconds(20)))
    refused = decide(dataclasses.replace(current, cluster=narrow))
    assert refused.verdict is Verdict.INFEASIBLE
    assert "the broker's group.streams.max.session.timeout.ms allows at most 20s" in refused.advice
    assert "group.streams.{min,max}.heartbeat.interval.ms of the brokers" in refused.advice


def test_what_shows_no_fencing_of_a_streams_group_raises_nothing() -> None:
    """Whatever a consumer beside it in the pod lost: it was no member of this group."""
    decision = decide(of_kind("streams", "java"))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.CONSUMER_PROTOCOL)
    assert decision.target is None
    assert "read where spec.client.library is streams, and not java: they are left alone" in decision.finding.message


def test_a_policy_of_streams_raises_no_share_group() -> None:
    """What the operator counts of its members is not read for that library."""
    decision = decide(of_kind("share", "streams"))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.CONSUMER_PROTOCOL)
    assert "names the library of its consumers, such as java, and not streams" in decision.finding.message


def test_a_share_group_is_called_well_only_where_its_record_proves_it() -> None:
    """Its clients show no fencing: where a member joined again, it may have been fenced."""
    inputs = of_kind("share", "confluent-kafka-python")
    proven = dataclasses.replace(inputs, record=worlds.record())
    hidden = dataclasses.replace(
        proven, record=dataclasses.replace(worlds.record(), hidden=HiddenFencings("orders-0 joined", lasts=True))
    )
    assert [decide(each).verdict for each in (proven, hidden)] == [Verdict.UNPROVEN, Verdict.UNKNOWN]
    assert decide(hidden).to_alter is None


def test_a_share_group_is_raised_within_its_own_bounds_and_by_its_own_keys() -> None:
    """As one of Kafka Streams' protocol is; nothing but the broker's descriptions shows its fencings."""
    inputs = of_kind("share", "java")
    inputs = dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, share=BOUNDS))
    decision = decide(inputs)
    assert decision.to_alter == worlds.java_settings("45s", "5s")
    assert "It is share.session.timeout.ms of group" in decision.advice
    unread = decide(of_kind("share", "java"))
    assert unread.to_alter == worlds.java_settings("45s", "5s")  # by Kafka's own bounds
