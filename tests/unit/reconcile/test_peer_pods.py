"""Whose pods are no strangers to a policy's group: those of other policies, and of none that only names it."""

import dataclasses
from collections.abc import Mapping, Sequence

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.peer_pods import peer_pods
from tests.support import sharing, worlds
from tests.support.stages import Stage

OURS, THEIRS = worlds.pod(0), worlds.pod(1)
OUTSIDE = Member("m-9", "10.9.0.9", "batch")
RUNNING: Mapping[str, Sequence[Pod]] = {"a": [OURS], "b": [THEIRS]}
A, B = sharing.policy("a"), sharing.policy("b")


def peers(*others: tuple[Policy, bool], workload: Workload | Finding | None = None) -> tuple[Pod, ...]:
    """Return the peers of policy `a`, where each other policy is seen to be of the group or not."""
    policies = [A, *(policy for policy, _ in others)]
    workloads: dict[ObjectKey, Workload | Finding] = {
        policy.key: workload or worlds.workload(running=[THEIRS]) for policy in policies
    }
    workloads[A.key] = worlds.workload(running=[OURS])
    proven = {A.key, *(policy.key for policy, is_proven in others if is_proven)}
    return dict(peer_pods(policies, workloads, lambda policy: policy.key in proven)).get(A.key, ())


def test_pods_of_another_policy_of_the_group_are_known() -> None:
    """In the same namespace and cluster, of the same group."""
    assert peers((B, True)) == (THEIRS,)
    assert peers((sharing.policy("b", group="billing"), True)) == ()
    assert peers((sharing.policy("b", cluster="other"), True)) == ()
    assert peers() == ()


def test_who_only_names_a_group_hides_no_member_of_it() -> None:
    """Nor does anybody of another namespace."""
    assert peers((B, False)) == ()
    assert peers((sharing.policy("b", "town"), True)) == ()
    assert peers((B, True), workload=Finding(Reason.WORKLOAD_NOT_FOUND, "deleted")) == ()


async def strangers(*policies: Policy, running: Mapping[str, Sequence[Pod]] = RUNNING) -> set[str]:
    """Return the client ids of the members that policy `a` is told to be strangers, where nothing is granted."""
    workloads = {ObjectKey("shop", name): worlds.workload(running=pods) for name, pods in running.items()}
    stage = Stage([], workloads=workloads, grants={})
    members = [worlds.member(OURS), dataclasses.replace(worlds.member(THEIRS), client_id="of b"), OUTSIDE]
    stage.groups.groups["main"]["orders"] = worlds.group(members)
    found = (await stage.gatherer().gather(policies))[A.key]
    assert isinstance(found, DecisionInput)
    return {stranger.client_id for stranger in found.strangers}


async def test_members_in_another_policys_pods_are_no_strangers() -> None:
    """Those outside of all policies' pods are, as ever."""
    assert await strangers(A) == {"of b", "batch"}
    assert await strangers(A, B) == {"batch"}


async def test_a_policy_without_a_member_in_its_pods_changes_nothing() -> None:
    """It is shown nothing of the group itself."""
    assert await strangers(A, B, running={"a": [OURS], "b": [worlds.pod(2)]}) == {"of b", "batch"}


def test_a_group_that_peers_rebalance_is_not_rebalanced_by_others() -> None:
    """Their policy says what is wrong with them."""
    seen = worlds.record(span=worlds.seconds(914), rebalances=106.0, share=0.01)
    alone = dataclasses.replace(
        worlds.situation(seen=seen, has=worlds.workload(running=[OURS])),
        group=worlds.group([worlds.member(OURS), worlds.member(THEIRS)]),
    )
    assert decide(alone).finding.reason is Reason.REBALANCED_BY_OTHERS
    assert decide(dataclasses.replace(alone, peers=(THEIRS,))).finding.reason is Reason.UNSTABLE
