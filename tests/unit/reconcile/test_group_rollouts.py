"""One rollout of a group at a time: who waits for whom, for how long, and what is told of other namespaces."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout, Strategy
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile import budget, group_rollouts
from heartbeat_tuner.reconcile.budget import RolloutPlaces
from heartbeat_tuner.reconcile.group_rollouts import GroupRollout
from heartbeat_tuner.reconcile.outcomes import Decided, UnexpectedFailure
from tests.support import sharing, worlds
from tests.support.sharing import change

CURED = worlds.settings("30s", "1s", "1s")
MANY = RolloutPlaces(100)


def wants(name: str, namespace: str = "shop", group: str = "orders", *, cure: bool = True, **how: Any) -> Decided:
    """Return a policy that would write a group's values."""
    reason = Reason.DANGER if cure else Reason.CHEAPER
    return sharing.decided(sharing.policy(name, namespace, group), change(CURED, reason), **how)


def test_the_most_urgent_of_a_group_begins_and_the_others_wait() -> None:
    """Those of other groups do not."""
    saving, cure, other = wants("a", cure=False), wants("b"), wants("c", group="billing")
    assert budget.next_in_turn(budget.in_turn([saving, cure, other]), MANY) == [cure, other]
    after = MANY.taken([cure, other])
    assert budget.next_in_turn([saving], after) == []
    hold = budget.held(saving, after).decision.hold
    assert hold is not None
    assert (hold.reason, "Deployment shop/b (policy shop/b)" in hold.message) == (Reason.ROLLOUT_IN_PROGRESS, True)


def test_who_waits_for_its_group_keeps_nobody_of_its_namespace_waiting() -> None:
    """However urgent its own change is."""
    waiting = budget.in_turn([wants("a"), wants("z", group="billing", cure=False)])
    before = MANY.also_in_groups([GroupRollout(sharing.policy("b"), is_proven=True)])
    assert budget.next_in_turn(waiting, before) == waiting[1:]


def test_a_group_waits_for_another_namespace_that_is_not_named() -> None:
    """Where a member was seen in its pods."""
    hostile = wants("secret", "town", proven=False)
    assert budget.next_in_turn([wants("a")], MANY.taken([hostile])) == [wants("a")]
    after = MANY.taken([wants("secret", "town")])
    assert budget.next_in_turn([wants("a")], after) == []
    hold = budget.held(wants("a"), after).decision.hold
    assert hold is not None
    assert hold.message.startswith("a rollout of a workload of another namespace is not finished")
    assert not [word for word in ("town", "secret") if word in hold.message]
    mixed = budget.held(wants("a"), after.taken([wants("b")])).decision.hold
    assert mixed is not None
    assert "policy shop/b" in mixed.message


def test_two_containers_of_a_workload_wait_not_for_each_other() -> None:
    """Its pods are replaced once."""
    first = sharing.policy("a")
    second = dataclasses.replace(first, key=ObjectKey("shop", "b"))
    places = MANY.also_in_groups([GroupRollout(first, is_proven=True)])
    assert places.rollout_before(sharing.decided(second, change(CURED))) is None


def test_what_is_replaced_by_hand_keeps_nobody_waiting() -> None:
    """Pods that somebody deletes one day are no rollout."""
    by_hand = dataclasses.replace(worlds.workload(), strategy=Strategy.ON_DELETE)
    assert MANY.taken([wants("a", has=by_hand)]).of_groups == {}


ROLLING = worlds.workload(rolling_out=True)
SEEN = worlds.NOW - worlds.seconds(30)


def at(rollout: Rollout, **changes: Any) -> Workload:
    """Return a workload in a rollout that has come so far."""
    return dataclasses.replace(ROLLING, rollout=rollout, **changes)


@pytest.mark.parametrize(
    ("workload", "ours", "waits"),
    [
        (worlds.workload(), False, False),
        (worlds.workload(), True, True),
        (at(Rollout(progressed=SEEN)), False, True),  # somebody's deploy
        (at(Rollout(progressed=SEEN), paused=True), False, False),
        (at(Rollout(progressed=SEEN, exceeded=True)), False, False),
        (at(Rollout(progressed=SEEN, deadline=worlds.seconds(30))), False, False),
        (at(Rollout()), False, False),  # nobody knows since when
        (Finding(Reason.WORKLOAD_NOT_FOUND, "deleted"), False, False),
        (UnexpectedFailure(KeyError("what")), True, True),
    ],
)
def test_what_a_group_waits_for(workload: Workload | Finding | UnexpectedFailure, *, ours: bool, waits: bool) -> None:
    """Anybody's rollout, until its deadline; ours as the budget counts it."""
    policy = sharing.policy("a")
    holders = {("Deployment", policy.key)} if ours else set()
    found = group_rollouts.rollouts([policy], {policy.key: workload}, holders, proven={policy.key}, now=worlds.NOW)
    assert found == ([GroupRollout(policy, is_proven=True)] if waits else [])


DRAWN = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()), max_size=10)


@given(st.integers(0, 6), DRAWN, DRAWN, st.randoms(use_true_random=False))
def test_at_most_one_of_a_group_begins_in_a_cycle(
    limit: int, waiting: Sequence[tuple[str, str, bool]], rolling: Sequence[tuple[str, str, bool]], order: Any
) -> None:
    """And none while another rolls out; who begins does not depend on the order in which they were decided."""
    before = [sharing.policy(f"r{number}", namespace, group) for number, (namespace, group, _) in enumerate(rolling)]
    places = RolloutPlaces(limit, shared=True).also_in_groups(GroupRollout(policy, is_proven=True) for policy in before)
    wanting = [
        wants(f"w{number}", namespace, group, cure=cure) for number, (namespace, group, cure) in enumerate(waiting)
    ]
    begun = budget.next_in_turn(budget.in_turn(wanting), places)
    groups = [outcome.inputs.policy.group_id for outcome in begun]
    assert len(groups) == len(set(groups))
    assert not set(groups) & {policy.group_id for policy in before}
    after = places.taken(begun)
    for left in (outcome for outcome in wanting if outcome not in begun):
        assert after.rollout_before(left) is not None or not after.have_room(left)
    order.shuffle(wanting)
    assert budget.next_in_turn(budget.in_turn(wanting), places) == begun


def test_a_rollout_names_its_own_group() -> None:
    """Groups of the same name in two clusters are two."""
    policies: list[Policy] = [sharing.policy("a"), sharing.policy("b", cluster="other")]
    places = MANY.also_in_groups([GroupRollout(policies[0], is_proven=True)])
    assert places.rollout_before(sharing.decided(policies[1], change(CURED))) is None
