"""Who may be shown a group: by a member in the workload's pods, a grant, what was proven, and nothing else."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.gates import group_ownership
from heartbeat_tuner.decision.gates.group_ownership import Described, Proven
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain import sentences
from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, GroupOwnership, GroupState, Member, UnreadableGroup
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from tests.support import worlds
from tests.support.worlds import NOW

POLICY = worlds.policy()
WORKLOAD = worlds.workload()
OURS = worlds.member(worlds.pod(0))
THEIRS = Member("client-of-payments", "10.9.9.9", client_id="payments")
NOTE = GroupOwnership("main", "orders", WORKLOAD.uid, since=NOW - timedelta(days=9))
FOREIGN = (
    worlds.group([THEIRS]),
    worlds.group([THEIRS], rebalancing=True),
    dataclasses.replace(
        worlds.group([THEIRS]),
        consumer_protocol=True,
        config=GroupConfig(worlds.seconds(45), worlds.seconds(5)),
        assignor="uniform",
    ),
    worlds.group(),
    UnreadableGroup("its topics may not be described"),
    None,
)
"""What Kafka may say of a group in which this namespace has no part."""


def after(*looks: tuple[Described, float]) -> Proven | None:
    """Return what is proven after looks, each at a number of minutes from now."""
    known: Proven | None = None
    for described, minutes in looks:
        known = group_ownership.look(known, POLICY, WORKLOAD, described, now=NOW + timedelta(minutes=minutes))
    return known


def is_shown(described: Described, *, proven: Proven | None = None, granted: bool = False) -> bool:
    """Whether the policy is shown a group as it is."""
    return group_ownership.shown(POLICY, WORKLOAD, described, granted=granted, proven=proven) is described


def refusal(policy: Policy = POLICY, workload: Workload = WORKLOAD, described: Described = None) -> Finding:
    """Return why a group is not shown."""
    found = group_ownership.shown(policy, workload, described, granted=False, proven=None)
    assert isinstance(found, Finding)
    return found


def test_a_member_in_one_of_the_pods_proves_it() -> None:
    """Others' members do not change that: several workloads may share a group."""
    group = worlds.group([THEIRS, OURS])
    proven = after((group, 0))
    assert proven == Proven(POLICY.uid, GroupOwnership("main", "orders", WORKLOAD.uid, since=NOW), until=NOW)
    assert is_shown(group, proven=proven)


@pytest.mark.parametrize("described", FOREIGN)
def test_without_a_proof_nothing_depends_on_the_group(described: Described) -> None:
    """Not even the words: whether the group exists, has members or moves partitions cannot be told from them."""
    assert after((described, 0)) is None
    found = refusal(described=described)
    assert found == refusal()
    assert found.reason is Reason.GROUP_NOT_OWNED
    assert "payments" not in found.message


@pytest.mark.parametrize("described", FOREIGN)
def test_a_grant_needs_no_proof(described: Described) -> None:
    """Members behind NAT or a proxy never show a pod's address."""
    assert is_shown(described, granted=True)


def test_what_kafka_says_of_any_group_may_be_said() -> None:
    """A right that the operator lacks, or a silent coordinator: the author of the policy should know."""
    assert is_shown(UnreadableGroup("no right", tells_of_group=False))
    assert not is_shown(UnreadableGroup("no right on its topics"))


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ((), "Deployment shop/orders-consumer has no running pod that could be a member of group orders"),
        (
            (dataclasses.replace(worlds.pod(), on_host_network=True),),
            "share their nodes' addresses, which prove nothing",
        ),
        (worlds.pods(), "no member of group orders is seen to connect from a pod of Deployment shop/orders-consumer"),
    ],
)
def test_the_sentence_says_what_to_do(pods: Sequence[Pod], words: str) -> None:
    """By the workload's own pods, which the author may see; with the grant as the configuration takes it."""
    found = refusal(workload=worlds.workload(running=pods))
    assert words in found.message
    assert "If spec.groupId is right, start its consumers" in found.message
    assert found.message.endswith('kafka.clusters.main.grants: [{namespaces: [shop], groups: ["orders"]}]')


def test_a_pod_on_its_nodes_network_proves_nothing() -> None:
    """Any pod of that node on the same network connects from the same address."""
    shared = worlds.workload(running=[dataclasses.replace(worlds.pod(0), on_host_network=True)])
    assert group_ownership.look(None, POLICY, shared, worlds.group([OURS]), now=NOW) is None


@pytest.mark.parametrize("gone", FOREIGN)
def test_a_proof_outlives_a_storm(gone: Described) -> None:
    """For as long as it was seen before: members come and go in rollouts, crashes and storms."""
    mine = worlds.group([OURS])
    assert after((mine, 0), (mine, 10), (gone, 20)) is not None
    assert after((mine, 0), (mine, 10), (gone, 20.1)) is None
    assert after((mine, 0), (mine, 50), (mine, 100), (gone, 159)) is not None
    assert after((mine, 0), (mine, 50), (mine, 100), (gone, 161)) is None


def test_one_glimpse_is_not_remembered() -> None:
    """Kafka shows a dead member until its session ends, and Kubernetes may have given its address to another pod."""
    assert after((worlds.group([OURS]), 0), (worlds.group([THEIRS]), 0.1)) is None


def test_a_proof_that_ended_begins_anew() -> None:
    """What was seen long ago does not lengthen what is seen now."""
    mine = worlds.group([OURS])
    again = after((mine, 0), (mine, 10), (mine, 300))
    assert again is not None
    assert again.subject.since == NOW + timedelta(minutes=300)


@pytest.mark.parametrize(
    "changes",
    [{"uid": "policy-2"}, {"cluster": "other"}, {"group_id": "bills"}],
    ids=["another policy", "another cluster", "another group"],
)
def test_a_proof_is_of_one_policy_and_one_group(changes: dict[str, str]) -> None:
    """A policy that took another's name, or names another group, has to prove again."""
    known = after((worlds.group([OURS]), 0), (worlds.group([OURS]), 10))
    policy = worlds.policy(**changes)
    assert (
        group_ownership.look(known, policy, WORKLOAD, worlds.group([THEIRS]), now=NOW + timedelta(minutes=11)) is None
    )


def test_a_proof_is_of_one_workload() -> None:
    """A policy that is edited to name another Deployment has to prove again."""
    known = after((worlds.group([OURS]), 0), (worlds.group([OURS]), 10))
    other = dataclasses.replace(WORKLOAD, uid="workload-2")
    assert group_ownership.look(known, POLICY, other, worlds.group([THEIRS]), now=NOW + timedelta(minutes=11)) is None


@pytest.mark.parametrize("described", FOREIGN)
@pytest.mark.parametrize("by_broker", [False, True])
def test_a_workload_without_pods_keeps_its_group_by_the_note(described: Described, *, by_broker: bool) -> None:
    """As one without members, whatever Kafka says: a note that somebody forged shows nothing."""
    note = dataclasses.replace(NOTE, consumer_protocol=by_broker)
    policy, resting = worlds.policy(ownership=note), worlds.workload(running=[])
    found = group_ownership.shown(policy, resting, described, granted=False, proven=None)
    assert found == Group("orders", GroupState.EMPTY, (), consumer_protocol=by_broker)
    assert refusal(policy, WORKLOAD, described) == refusal()


def test_pods_of_which_none_is_ready_keep_it_by_the_note_and_nothing_is_decided() -> None:
    """They crash, and are members of nothing; by a note that somebody forged no group is written either."""
    crashing = worlds.workload(running=[dataclasses.replace(worlds.pod(), ready_since=None)])
    policy = worlds.policy(ownership=dataclasses.replace(NOTE, consumer_protocol=True))
    found = group_ownership.shown(policy, crashing, worlds.group([THEIRS]), granted=False, proven=None)
    assert found == Group("orders", GroupState.EMPTY, (), consumer_protocol=True)
    decision = decide(dataclasses.replace(worlds.situation(policy=policy, has=crashing), group=found))
    assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)
    assert "is ready with container app" in decision.finding.message


@pytest.mark.parametrize(
    "note",
    [
        dataclasses.replace(NOTE, cluster="other"),
        dataclasses.replace(NOTE, group_id="bills"),
        dataclasses.replace(NOTE, workload_uid="workload-2"),
    ],
    ids=["cluster", "group", "workload"],
)
def test_a_note_of_something_else_is_none(note: GroupOwnership) -> None:
    """It is about one workload in one group of one cluster."""
    assert refusal(worlds.policy(ownership=note), worlds.workload(running=[])).reason is Reason.GROUP_NOT_OWNED


@pytest.mark.parametrize(
    ("described", "words"),
    [
        (None, "the group does not exist"),
        (worlds.group(), "the group has no members"),
        (UnreadableGroup("no right on its topics"), "no right on its topics"),
        (worlds.group([THEIRS]), "of its members 1 connect from elsewhere, 0 from addresses that pods share"),
    ],
)
def test_the_log_says_why(described: Described, words: str) -> None:
    """Whoever runs the operator may know what the policy's author may not."""
    assert words in group_ownership.why(described, WORKLOAD)


def test_the_log_counts_whose_members_they_are() -> None:
    """As facts: other numbers are another reason."""
    assert sentences.facts(group_ownership.why(worlds.group([THEIRS]), WORKLOAD)) == {"outside": 1, "shared": 0}


MEMBERS = st.lists(
    st.builds(Member, st.uuids().map(str), st.sampled_from(["10.9.9.9", "10.0.0.99", "192.168.0.7", "proxy", ""])),
    max_size=5,
)


@given(
    members=MEMBERS,
    state=st.sampled_from(GroupState),
    times=st.lists(st.integers(0, 10_000), max_size=5).map(sorted),
    note=st.booleans(),
)
def test_strangers_never_see_members(members: list[Member], state: GroupState, times: list[int], *, note: bool) -> None:
    """However often they look, and whatever note they forge."""
    group = Group("orders", state, tuple(members))
    known: Proven | None = None
    for minute in times:
        known = group_ownership.look(known, POLICY, WORKLOAD, group, now=NOW + timedelta(minutes=minute))
    assert known is None
    assert refusal(worlds.policy(ownership=NOTE if note else None), described=group) == refusal()


@given(
    seen=st.lists(st.tuples(st.integers(0, 300), st.booleans()), min_size=1, max_size=12).map(
        lambda looks: sorted(looks, key=lambda look: look[0])
    )
)
def test_a_proof_lasts_an_hour_at_most(seen: list[tuple[int, bool]]) -> None:
    """Whatever came before, what is shown rests on a member seen within the last hour."""
    known: Proven | None = None
    last: datetime | None = None
    for minute, is_there in seen:
        now = NOW + timedelta(minutes=minute)
        known = group_ownership.look(known, POLICY, WORKLOAD, worlds.group([OURS if is_there else THEIRS]), now=now)
        last = now if is_there else last
        assert known is None or (last is not None and now - last <= group_ownership.LONGEST_MEMORY)
        assert known is not None or not is_there
