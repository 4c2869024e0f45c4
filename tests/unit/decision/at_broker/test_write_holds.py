"""May a group's configuration be written now? The first that holds is the reason."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat_tuner.decision.gates import write_gates
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import PIPELINE, decide
from heartbeat_tuner.domain.kafka_groups import GroupOverrides, GroupWrite, Member
from heartbeat_tuner.domain.policies import Application, Mode, TakenBack, Window
from heartbeat_tuner.domain.reasons import Reason
from tests.support import worlds
from tests.support.worlds import NOW, seconds
from tests.unit.decision.at_broker.test_group_values import modern

OLD = NOW - timedelta(days=2)
SHORT = GroupOverrides(seconds(20))
BACK = GroupWrite("main", "orders", SHORT, GroupOverrides(seconds(45)), OLD, spec="", reverts=OLD)
OURS = GroupWrite("main", "orders", GroupOverrides(seconds(45)), GroupOverrides(), OLD, spec="", answered=True)
NIGHTS = Window("0 2 * * *", timedelta(hours=3), ZoneInfo("UTC"))
RECENT = Application(
    values=worlds.java_settings(), previous=worlds.java_settings(), at=NOW - timedelta(hours=1), workload_uid="w"
)
STRANGER = Member("client-9", "10.9.9.9")

Change = Callable[[DecisionInput], DecisionInput]


def of_policy(**changes: Any) -> Change:
    """Return what makes the policy different."""
    return lambda inputs: dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, **changes))


def of_members(*more: Member, none: bool = False) -> Change:
    """Return what gives the group other members."""

    def changed(inputs: DecisionInput) -> DecisionInput:
        members = () if none else (*inputs.group.members, *more)
        return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, members=members))

    return changed


def of_workload(**changes: Any) -> Change:
    """Return what makes the workload different."""
    return lambda inputs: dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, **changes))


HINDRANCES: list[tuple[Reason, Change]] = [
    (Reason.SUSPENDED, of_policy(suspended=True)),
    (Reason.RECOMMEND_MODE, of_policy(mode=Mode.RECOMMEND)),
    (
        Reason.GROUPS_NOT_ALTERED,
        lambda inputs: dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, alters_groups=False)),
    ),
    (Reason.RECOMMEND_MODE, of_policy(mode=Mode.INITIAL)),
    (Reason.GROUP_NOT_OWNED, of_members(STRANGER)),
    (Reason.GROUP_CONFIG_FOREIGN, of_policy(group_write=OURS)),
    (Reason.TAKEN_BACK, lambda inputs: inputs if inputs.policy.group_write else of_policy(group_write=BACK)(inputs)),
    (Reason.TAKEN_BACK, of_policy(taken_back=TakenBack(RECENT, NOW, generation=1))),
    (Reason.ROLLOUT_IN_PROGRESS, of_workload(rolling_out=True)),
    (Reason.COOLDOWN, of_policy(application=RECENT)),
    (Reason.OUTSIDE_WINDOW, of_policy(windows=(NIGHTS,))),
]
"""In the order of the gates; each mode that is not Apply holds."""


OF_REVERTS: list[tuple[Reason, Change]] = [
    HINDRANCES[0],
    HINDRANCES[2],
    (Reason.GROUP_NOT_OWNED, of_members(STRANGER)),
    (Reason.GROUP_CONFIG_FOREIGN, lambda inputs: having(inputs, GroupOverrides(seconds(30)))),
]
"""What holds a revert, in the order of its gates."""


def having(inputs: DecisionInput, own: GroupOverrides) -> DecisionInput:
    """Return the input of a group that has these values of its own at the broker."""
    assert inputs.group.config is not None
    config = dataclasses.replace(inputs.group.config, overrides=own)
    return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, config=config))


def asked_back(inputs: DecisionInput) -> DecisionInput:
    """Return the input of a group that has what we wrote, which a person wants taken back."""
    return of_policy(group_write=OURS, revert_asked=OLD)(having(inputs, OURS.values))


def hold(inputs: DecisionInput) -> Reason | None:
    """Return what holds the write back; it is recommended all the same."""
    decision = decide(inputs)
    assert decision.target is not None
    return None if decision.hold is None else decision.hold.reason


@pytest.mark.parametrize(("reason", "change"), HINDRANCES)
def test_each_holds_alone(reason: Reason, change: Change) -> None:
    """And without any nothing does."""
    assert hold(modern()) is None
    assert hold(change(modern())) is reason


def test_of_two_the_first_is_the_reason() -> None:
    """All later ones stand behind each."""
    for place, (reason, change) in enumerate(HINDRANCES):
        inputs = change(modern())
        for _, later in HINDRANCES[place + 1 :]:
            if inputs.policy.mode is Mode.APPLY or later is not HINDRANCES[3][1]:
                assert hold(later(inputs)) is reason


def test_every_gate_is_tried_here() -> None:
    """A new one needs a row."""
    of_savings = [
        write_gates.fencings_are_not_shown,
        write_gates.data_are_too_few,
        write_gates.group_is_rebalancing,
        write_gates.last_change_is_being_verified,
    ]  # tried in test_group_savings
    gates = [gate for gate in PIPELINE.gates_at_broker if gate not in of_savings]
    assert len(gates) == len(HINDRANCES) - 4  # one gate has five reasons


@pytest.mark.parametrize(
    "change",
    [
        of_members(none=True),
        lambda inputs: dataclasses.replace(inputs, strangers=(STRANGER,)),
        lambda inputs: dataclasses.replace(inputs, peers=(worlds.pod(7),)),
        lambda inputs: of_workload(
            pods=tuple(dataclasses.replace(pod, on_host_network=True) for pod in inputs.workload.pods)
        )(inputs),
    ],
    ids=["no-members", "seen-lately", "another-policys", "on-host-network"],
)
def test_a_group_that_is_not_the_workloads_alone_is_not_written(change: Change) -> None:
    """What is set for the group is set for every member of it."""
    assert hold(change(modern())) is Reason.GROUP_NOT_OWNED


def test_who_asks_for_something_else_has_asked_again() -> None:
    """A value of somebody else's is written over once the policy's spec is another."""
    foreign = of_policy(group_write=OURS)(modern())
    assert hold(of_policy(spec="edited")(foreign)) is None


def test_a_value_that_the_broker_does_not_show_yet_is_waited_for() -> None:
    """Whatever the cooldown."""
    write = dataclasses.replace(OURS, previous=GroupOverrides(seconds(20)), at=NOW - seconds(5))
    assert hold(of_policy(group_write=write, cooldown=timedelta(0))(modern())) is Reason.ROLLING_OUT


def test_a_write_at_the_broker_is_a_change_that_cools_down() -> None:
    """As one into the workload does."""
    write = dataclasses.replace(OURS, values=GroupOverrides(seconds(20)), at=NOW - timedelta(hours=1))
    assert hold(of_policy(group_write=write)(modern())) is Reason.COOLDOWN


@pytest.mark.parametrize(("reason", "change"), OF_REVERTS)
def test_each_holds_a_revert_alone(reason: Reason, change: Change) -> None:
    """And without any nothing does; not the mode, no cooldown and no window, since a person asks for it now."""
    assert hold(asked_back(modern())) is None
    assert hold(change(asked_back(modern()))) is reason
    for passed in (of_policy(mode=Mode.RECOMMEND), of_policy(application=RECENT), of_policy(windows=(NIGHTS,))):
        assert hold(passed(asked_back(modern()))) is None


def test_a_revert_is_held_where_a_foreign_value_stands_though_the_policy_was_edited() -> None:
    """To edit the policy lets the tuner write over a value; to go back over it is no answer to that."""
    edited = of_policy(spec="another")(asked_back(modern()))
    assert hold(having(edited, GroupOverrides(seconds(30)))) is Reason.GROUP_CONFIG_FOREIGN


def test_every_gate_of_a_revert_is_in_the_table() -> None:
    """One that is added has to find its place."""
    assert len(PIPELINE.gates_of_reverts_at_broker) == len({reason for reason, _ in OF_REVERTS}) - 2


def test_a_revert_waits_until_the_groups_values_can_be_read() -> None:
    """Else it would not be known whether somebody set others."""
    inputs = asked_back(modern())
    unread = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, config=None))
    assert not decide(unread).reverts
    assert decide(inputs).reverts
