"""What a model recommends to a calm group of the consumer protocol, and that nobody writes it."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.decision.at_broker import group_changes, group_reverts, group_savings
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import ConsumerBounds, GroupOverrides, GroupWrite
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Verdict
from heartbeat_tuner.domain.verifications import FollowedChange, Outcome
from tests.golden import cases
from tests.support import documents
from tests.support.worlds import seconds

CASE: Final[Mapping[str, Any]] = yaml.safe_load(
    (documents.CHECKOUT / "tests/golden/cases/consumer-protocol-cheaper.input.yaml").read_text()
)


def calm(**record: Any) -> DecisionInput:
    """Return a calm group with two weeks of delays whose brokers allow nearly anything."""
    return cases.input_of({**CASE, "record": {**CASE["record"], **record}})


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
