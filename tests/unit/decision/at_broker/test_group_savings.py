"""What a model finds for a calm group of the consumer protocol: written where its fencings are known, else not."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.decision.at_broker import group_changes, group_reverts, group_savings
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import ConsumerBounds, GroupConfig, GroupOverrides, GroupState, GroupWrite
from heartbeat_tuner.domain.policies import Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Verdict
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange, Outcome
from heartbeat_tuner.models.group_model import NO_MODEL
from tests.golden import cases
from tests.support import documents
from tests.support.worlds import seconds

CASE: Final[Mapping[str, Any]] = yaml.safe_load(
    (documents.CHECKOUT / "tests/golden/cases/consumer-protocol-cheaper.input.yaml").read_text()
)


def calm(**record: Any) -> DecisionInput:
    """Return a calm group with two weeks of delays whose brokers allow nearly anything; its fencings are hidden."""
    return cases.input_of({**CASE, "record": {**CASE["record"], **record}})


def known(**record: Any) -> DecisionInput:
    """Return the same whose fencings are all counted."""
    return calm(**{"hiddenFencings": {}, **record})


def shortened(**record: Any) -> DecisionInput:
    """Return the same an hour after S and H were written that a model asked for."""
    inputs = known(**record)
    assert inputs.group.config is not None
    values = GroupOverrides(seconds(23), seconds(1))
    before = GroupOverrides(seconds(45), seconds(5))
    at = inputs.now - timedelta(hours=1)
    write = GroupWrite("main", "orders", values, GroupOverrides(), at, inputs.policy.spec, True, replaced=before)
    config = GroupConfig(seconds(23), seconds(1), values)
    group = dataclasses.replace(inputs.group, config=config)
    current = inputs.workload.current
    assert current is not None
    return dataclasses.replace(
        inputs,
        policy=dataclasses.replace(inputs.policy, group_write=write),
        group=group,
        workload=dataclasses.replace(inputs.workload, current=group.prescribed(current)),
    )


def evicting(episodes: int, **record: Any) -> DecisionInput:
    """Return the same group of which so many were fenced within twenty days, evenly, and none in the last hour.

    Its brokers and its objective allow sessions of up to two minutes.
    """
    inputs = known(**record)
    assert inputs.workload.current is not None
    begins = inputs.now - timedelta(days=20)
    times_s = tuple((begins + timedelta(days=19) * (number + 1) / episodes).timestamp() for number in range(episodes))
    objective = dataclasses.replace(inputs.policy.objective, max_detection_time=seconds(120))
    bounds = ConsumerBounds(seconds(6), seconds(120), seconds(1), seconds(15))
    return dataclasses.replace(
        inputs,
        policy=dataclasses.replace(inputs.policy, objective=objective),
        cluster=dataclasses.replace(inputs.cluster, consumer=bounds),
        history=EvictionHistory(begins, inputs.workload.current.settings, times_s, (), ("main", "orders")),
    )


def of_brokers(inputs: DecisionInput, bounds: ConsumerBounds | None) -> Decision:
    """Return what is decided where brokers have other bounds."""
    return decide(dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, consumer=bounds)))


def test_it_is_recommended_with_its_interval_and_never_written() -> None:
    """Though the operator may write groups, and the mode is Apply: nobody would see what it does."""
    decision = decide(calm())
    assert decision.target is not None
    assert decision.hold is not None
    assert (decision.verdict, decision.hold.reason) == (Verdict.CHANGE, Reason.CONSUMER_PROTOCOL)
    assert (decision.to_alter, decision.to_apply) == (None, None)
    assert decision.target.session_timeout < seconds(45)


def test_it_is_written_where_each_fencing_is_counted() -> None:
    """Session and interval together, in one request; the forecast is what the write is held to."""
    decision = decide(known())
    assert (decision.verdict, decision.finding.reason, decision.hold) == (Verdict.CHANGE, Reason.CHEAPER, None)
    assert decision.to_alter is not None
    assert decision.to_apply is None
    assert decision.to_alter.session_timeout < seconds(45)
    assert decision.to_alter.heartbeat_interval < seconds(5)
    assert decision.forecast is not None
    assert decision.forecast.new is not None


@pytest.mark.parametrize(
    ("record", "reason"),
    [({"watched": "29m"}, Reason.TOO_LITTLE_DATA), ({"evictions": 1}, Reason.TOO_LITTLE_DATA)],
    ids=["short", "fenced once"],
)
def test_shorter_limits_wait_for_a_record_of_half_an_hour_without_a_fencing(
    record: dict[str, Any], reason: Reason
) -> None:
    """As in any other group."""
    decision = decide(known(**record))
    assert decision.hold is not None
    assert decision.hold.reason is reason


@pytest.mark.parametrize(
    "change",
    [
        lambda inputs: dataclasses.replace(
            inputs, group=dataclasses.replace(inputs.group, state=GroupState.RECONCILING), settled=inputs.group
        ),
        lambda inputs: dataclasses.replace(
            inputs, followed=FollowedChange(inputs.now - timedelta(days=2), outcome=Outcome.VERIFYING)
        ),
    ],
    ids=["rebalancing", "being verified"],
)
def test_a_saving_at_the_broker_waits_like_any_other(change: Callable[[DecisionInput], DecisionInput]) -> None:
    """A cure does not (`test_write_holds`)."""
    decision = decide(change(known()))
    assert decision.hold is not None
    assert decision.hold.reason in {Reason.REBALANCING, Reason.VERIFYING}


@pytest.mark.parametrize("has_model", [True, False], ids=["a model that expects none", "no model"])
def test_what_weeks_show_is_cured_at_the_broker_where_each_fencing_is_counted(*, has_model: bool) -> None:
    """The rule for a record raises S: a model that expects none of these evictions is refuted."""
    inputs = evicting(4)
    decision = decide(inputs if has_model else dataclasses.replace(inputs, model=NO_MODEL))
    assert (decision.verdict, decision.finding.reason, decision.hold) == (Verdict.CHANGE, Reason.DANGER, None)
    assert "4 times live members were evicted within 20 days" in decision.finding.message
    assert decision.advice.count("at the broker") == 1
    assert decision.to_apply is None
    assert decision.to_alter is not None
    assert inputs.workload.current is not None
    was = inputs.workload.current.settings
    assert decision.to_alter.session_timeout > was.session_timeout
    assert decision.to_alter.max_poll_interval == was.max_poll_interval


def test_two_evictions_in_weeks_are_no_danger_at_the_broker() -> None:
    """As in any other group."""
    assert decide(evicting(2)).finding.reason is not Reason.DANGER


def test_weeks_of_fencings_raise_no_session_where_others_may_be_hidden() -> None:
    """Only what an hour shows does: its count is a lower bound."""
    decision = decide(evicting(4, hiddenFencings={"why": "pod orders-0 shows no rebalance listener"}))
    assert decision.finding.reason is not Reason.DANGER
    assert decision.hold is not None
    assert decision.hold.reason is Reason.CONSUMER_PROTOCOL


def test_a_session_at_the_brokers_most_is_not_called_unknown_for_weeks_of_fencings() -> None:
    """The two limits that collide are said."""
    inputs = evicting(4)
    bounds = ConsumerBounds(seconds(6), seconds(45), seconds(1), seconds(15))
    decision = of_brokers(inputs, bounds)
    assert (decision.verdict, decision.target) == (Verdict.INFEASIBLE, None)
    assert "4 times live members were evicted" in decision.finding.message


def test_a_record_of_seconds_says_nothing_even_where_no_counter_moved() -> None:
    """Neither that the group is well nor what would be better."""
    decision = decide(known(watched="30s"))
    assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)
    assert decision.finding.reason is Reason.CONSUMER_PROTOCOL


@pytest.mark.parametrize(
    ("harm", "why"),
    [("FencingsHidden", "nothing showed any more"), ("Danger", "did harm (Danger)"), ("", "as a person asked")],
)
def test_what_was_taken_back_says_why(harm: str, why: str) -> None:
    """A group whose fencings would not show was not harmed, as far as anybody knows."""
    at = known().now
    write = GroupWrite("main", "orders", GroupOverrides(), GroupOverrides(), at, "s", True, reverts=at, harm=harm)
    assert why in group_reverts.taken_back(write).message


def test_shorter_limits_go_back_at_once_where_members_are_fenced_with_them() -> None:
    """Three are enough, without statistics: to go back costs nothing. Two are not, and longer limits are no cause."""
    assert decide(shortened(evictions=2)).reverts is False
    decision = decide(shortened(evictions=3))
    assert (decision.reverts, decision.finding.reason) == (True, Reason.DANGER)
    assert decision.to_alter is not None
    assert (decision.to_alter.session_timeout, decision.to_alter.heartbeat_interval) == (seconds(45), seconds(5))
    inputs = shortened(evictions=3)
    assert inputs.policy.group_write is not None
    longer = dataclasses.replace(inputs.policy.group_write, replaced=GroupOverrides(seconds(10), seconds(1)))
    raised = dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, group_write=longer))
    assert decide(raised).reverts is False


def test_shorter_limits_go_back_where_nobody_would_see_what_they_do() -> None:
    """For good; a scrape that is missing passes."""
    hidden = {"why": "pod orders-0 shows no rebalance listener", "lasts": True}
    decision = decide(shortened(hiddenFencings=hidden))
    assert (decision.reverts, decision.finding.reason) == (True, Reason.FENCINGS_HIDDEN)
    assert decide(shortened(hiddenFencings={**hidden, "lasts": False})).reverts is False


@pytest.mark.parametrize(
    "changes",
    [{"reverts": False}, {"mode": Mode.RECOMMEND}, {"group_write": None}],
    ids=["revert-is-off", "recommend", "not ours"],
)
def test_shorter_limits_stay_where_the_policy_says_so(changes: dict[str, Any]) -> None:
    """The group is in danger then, and its cure is what it is of any group: held by the cooldown."""
    inputs = shortened(evictions=3)
    decision = decide(dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, **changes)))
    assert decision.reverts is False


def test_what_somebody_set_since_is_not_taken_back() -> None:
    """It is theirs."""
    inputs = shortened(evictions=3)
    theirs = GroupConfig(seconds(20), seconds(1), GroupOverrides(seconds(20), seconds(1)))
    assert decide(dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, config=theirs))).reverts is False


@pytest.mark.parametrize(
    ("beat", "is_in_force"), [("600ms", False), ("1s", True), ("1.3s", True), ("5s", False)], ids=str
)
def test_what_members_do_not_do_is_not_in_force(beat: str, *, is_in_force: bool) -> None:
    """The broker describes 1 s; only a calm record of a minute and more can show that."""
    decision = decide(shortened(beatEvery=beat, shareOfTimeRebalancing=0.0))
    assert (decision.finding.reason is not Reason.NO_EFFECT) is is_in_force
    assert decide(shortened(beatEvery=beat)).finding.reason is not Reason.NO_EFFECT
    rolling = shortened(beatEvery=beat, shareOfTimeRebalancing=0.0)
    rolling = dataclasses.replace(rolling, workload=dataclasses.replace(rolling.workload, rolling_out=True))
    assert decide(rolling).finding.reason is not Reason.NO_EFFECT


def test_a_value_of_somebody_elses_that_is_not_in_force_is_said_to_be_none_of_ours() -> None:
    """`NoEffect` is about what we wrote."""
    inputs = shortened(beatEvery="5s", shareOfTimeRebalancing=0.0)
    decision = decide(dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, group_write=None)))
    assert decision.finding.reason is Reason.SETTINGS_NOT_IN_FORCE


def test_what_is_the_clients_stays() -> None:
    """M and W take a rollout; and no better values beyond the policy's bounds are shown, which would move M."""
    inputs = calm()
    decision = decide(inputs)
    current = inputs.workload.current
    assert current is not None
    assert decision.target is not None
    assert decision.forecast is not None
    assert decision.target.max_poll_interval == current.settings.max_poll_interval
    assert decision.target.fetch_wait == current.settings.fetch_wait
    assert decision.forecast.uncapped is None


@pytest.mark.parametrize("least_s", [12, 20, 44])
def test_brokers_bounds_of_such_groups_hold(least_s: int) -> None:
    """Not those of classic groups, which say 6 s here."""
    decision = of_brokers(calm(), ConsumerBounds(seconds(least_s), seconds(60), seconds(2), seconds(15)))
    target = decision.target
    assert target is None or (target.session_timeout >= seconds(least_s) and target.heartbeat_interval >= seconds(2))


def test_bounds_that_cannot_be_read_are_kafkas_own() -> None:
    """45 s to 60 s, and 5 s to 15 s: nothing is better there."""
    decision = of_brokers(calm(), None)
    assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)


@pytest.mark.parametrize(
    "record",
    [
        {"watched": "30s"},
        {"evictions": 2},
        {"longestSilence": "40s"},
        {"rebalances": 40, "shareOfTimeRebalancing": 0.5},
    ],
    ids=["short", "fenced now and then", "a long silence", "unstable"],
)
def test_a_record_that_does_not_agree_is_asked_first(record: dict[str, Any]) -> None:
    """Nothing is recommended then that shortens anything; two fencings are no health."""
    decision = decide(calm(**record))
    assert decision.target is None or decision.hold is not None
    assert decision.to_alter is None
    if "evictions" not in record:
        assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)


def test_an_answer_that_expects_nothing_leaves_the_group_alone() -> None:
    """No figure is made up for it."""
    inputs = calm()
    assert isinstance(inputs.record, Record)
    answer = Answer(Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA, "the group was not watched yet")
    decision = group_savings.decided(inputs.group, inputs.record, answer, None, "")
    assert (decision.verdict, decision.advice, decision.forecast) == (Verdict.UNKNOWN, answer.message, None)
    assert decision.finding.reason is Reason.CONSUMER_PROTOCOL


def test_harm_is_taken_back_only_where_what_is_set_is_known() -> None:
    """Not while pods differ, nor where the group's configuration may not be read."""
    inputs = calm()
    write = GroupWrite("main", "orders", GroupOverrides(seconds(45)), GroupOverrides(), inputs.now, "", answered=True)
    policy = dataclasses.replace(inputs.policy, group_write=write)
    harm = FollowedChange(write.at, outcome=Outcome.WORSE, message="worse")
    group, workload = inputs.group, inputs.workload
    assert group_reverts.for_harm(policy, group, workload, harm) is not None
    assert group_reverts.for_harm(policy, dataclasses.replace(group, config=None), workload, harm) is None
    assert group_reverts.for_harm(policy, group, dataclasses.replace(workload, current=None), harm) is None
    assert group_changes.change_of(policy, dataclasses.replace(workload, current=None), group) is None
    other = dataclasses.replace(write, values=GroupOverrides(seconds(50), seconds(7)))
    change = group_changes.change_of(dataclasses.replace(policy, group_write=other), workload, group)
    assert change is not None
    assert (change.values.session_timeout, change.values.heartbeat_interval) == (seconds(50), seconds(7))
