"""Policies of one group that want different values: who is held, what each is told, and who counts."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead, Result, UnexpectedFailure
from heartbeat_tuner.reconcile.shared_groups import LONGEST_MEMORY, SharedGroups
from tests.support import manifests, sharing, worlds
from tests.support.sharing import HEALTHY, UNKNOWN, change
from tests.support.stages import Stage

SHORT, LONG = worlds.settings("30s"), worlds.settings("45s")


def compared(*outcomes: Decided) -> dict[ObjectKey, Finding | None]:
    """Return what holds each policy after a look at all of them."""
    return holds(SharedGroups(), outcomes)


def holds(groups: SharedGroups, outcomes: Sequence[Decided], now: datetime = worlds.NOW) -> dict[ObjectKey, Any]:
    """Return what holds each policy after one more look."""
    results: dict[ObjectKey, Result] = {outcome.key: outcome for outcome in outcomes}
    after = groups.compared(results, [outcome.inputs.policy for outcome in outcomes], now=now)
    return {key: result.decision.hold for key, result in after.items() if isinstance(result, Decided)}


def wants(name: str, target: LivenessSettings, namespace: str = "shop", **how: Any) -> Decided:
    """Return a policy that would write values."""
    return sharing.decided(sharing.policy(name, namespace), change(target), **how)


def keeps(name: str, values: LivenessSettings, namespace: str = "shop", **how: Any) -> Decided:
    """Return a policy with whose values all is well."""
    return sharing.decided(sharing.policy(name, namespace), HEALTHY, now=values, **how)


def test_each_is_told_which_other_policy_wants_what() -> None:
    """In one namespace by name, with both values."""
    found = compared(wants("billing", SHORT), wants("orders", LONG))
    reasons = {hold.reason for hold in found.values() if hold is not None}
    assert (len(found), reasons) == (2, {Reason.CONFLICT})
    assert found[ObjectKey("shop", "billing")] == Finding(
        Reason.CONFLICT,
        "the members of group orders should have the same session and poll limit, but this policy wants "
        "sessionTimeout 30s, policy shop/orders wants sessionTimeout 45s; nothing is written until they agree. Set the "
        "same values in the workloads, or the same spec.bounds in the policies",
    )


def test_who_is_well_wants_what_is_set() -> None:
    """Two Deployments of one group that have different sessions are in conflict before anything is recommended."""
    assert all(compared(keeps("a", SHORT), keeps("b", LONG)).values())
    assert all(compared(keeps("a", SHORT), wants("b", LONG)).values())
    assert not any(compared(keeps("a", SHORT), wants("b", SHORT)).values())


@pytest.mark.parametrize(
    ("mine", "theirs", "named"),
    [
        (worlds.java_settings("45s", poll="5m"), worlds.java_settings("45s", poll="10m"), "maxPollInterval 5m, "),
        (
            worlds.java_settings("30s", poll="5m"),
            worlds.java_settings("45s", poll="10m"),
            "sessionTimeout 30s and maxPollInterval 5m, ",
        ),
        (worlds.settings("30s"), worlds.java_settings("30s"), ""),  # a library that has no poll limit
        (worlds.settings("30s", "3s"), worlds.settings("30s", "1s"), ""),  # members may beat as they like
        (worlds.settings("30s"), worlds.settings("31s"), ""),  # no change would be made for so little
        (worlds.settings("30s"), worlds.settings("32s"), "sessionTimeout 30s, "),
    ],
)
def test_what_differs_is_named(mine: LivenessSettings, theirs: LivenessSettings, named: str) -> None:
    """And only that."""
    hold = compared(wants("a", mine), wants("b", theirs))[ObjectKey("shop", "a")]
    text = "" if hold is None else hold.message.split("this policy wants ")[1].split("policy shop/b")[0]
    assert text == named


def test_other_groups_and_clusters_are_no_concern() -> None:
    """A group is its id and its cluster."""
    other = sharing.decided(sharing.policy("b", group="billing"), change(LONG))
    elsewhere = sharing.decided(sharing.policy("c", cluster="other"), change(LONG))
    assert not any(compared(wants("a", SHORT), other, elsewhere).values())


def test_another_namespace_is_not_named_and_none_of_its_values_told() -> None:
    """Tenants learn nothing of each other but that there is somebody."""
    found = compared(wants("a", SHORT), wants("secret", LONG, "town"), wants("hidden", LONG, "town"))
    message = found[ObjectKey("shop", "a")]
    assert message is not None
    assert "a policy of another namespace wants other values; nothing" in message.message
    assert not [word for word in ("town", "secret", "hidden", "45s", "2 ") if word in message.message]
    assert all(found.values())


def test_who_only_names_a_group_holds_up_nobody_in_another_namespace() -> None:
    """However it came to be shown the group: no member of it was seen in its pods."""
    found = compared(wants("a", SHORT), wants("hostile", LONG, "town", proven=False))
    assert found[ObjectKey("shop", "a")] is None
    assert found[ObjectKey("town", "hostile")] is not None
    assert all(compared(wants("a", SHORT), wants("b", LONG, proven=False)).values())


def test_many_are_counted() -> None:
    """A sentence stays readable."""
    found = compared(wants("a", SHORT), *(wants(f"b{number}", LONG) for number in range(5)))
    hold = found[ObjectKey("shop", "a")]
    assert hold is not None
    assert "policy shop/b2 wants sessionTimeout 45s, 2 more policies want other values; nothing" in hold.message


def test_one_that_is_being_rolled_out_says_how_that_goes() -> None:
    """What failed is never hidden; its own gate holds it."""
    rolling = wants("a", SHORT, has=worlds.workload(SHORT, rolling_out=True))
    found = compared(rolling, wants("b", LONG))
    assert (found[ObjectKey("shop", "a")], bool(found[ObjectKey("shop", "b")])) == (None, True)


def unknown(name: str, **changes: Any) -> Decided:
    """Return a policy of which nothing is found out at the moment."""
    return sharing.decided(sharing.policy(name, **changes), UNKNOWN)


def test_a_wish_outlives_a_moment_without_data() -> None:
    """Else the other one would write in that moment; nothing is remembered for ever."""
    groups = SharedGroups()
    both = [keeps("a", SHORT), wants("b", LONG)]
    assert all(holds(groups, both).values())
    for minutes, reason in ((1, Reason.CONFLICT), (60, Reason.CONFLICT), (61, Reason.TOO_LITTLE_DATA), (64, None)):
        now = worlds.NOW + timedelta(minutes=minutes)
        hold = holds(groups, [unknown("a"), wants("b", LONG)], now)[ObjectKey("shop", "b")]
        assert (hold and hold.reason) == reason


def test_who_is_new_is_waited_for() -> None:
    """Two that are created together do not get their data in the same cycle; who never gets any is passed over."""
    groups, found = SharedGroups(), []
    for minutes in (0, 2, 3, 90):
        now = worlds.NOW + timedelta(minutes=minutes)
        found.append(holds(groups, [unknown("a"), wants("b", LONG), keeps("c", LONG)], now))
    assert [hold[ObjectKey("shop", "b")] for hold in found] == [
        Finding(
            Reason.TOO_LITTLE_DATA,
            "what policy shop/a needs for the same group orders is not known yet; this change waits for it, for 3m at "
            "most",
        )
    ] * 2 + [None] * 2
    assert not any(hold[key] for hold in found for key in (ObjectKey("shop", "a"), ObjectKey("shop", "c")))


def test_who_is_new_in_another_namespace_is_waited_for_and_not_named() -> None:
    """Where a member of the group was seen in its pods."""
    theirs = sharing.policy("secret", "town")
    hold = compared(wants("a", SHORT), sharing.decided(theirs, UNKNOWN))[ObjectKey("shop", "a")]
    assert hold is not None
    assert hold.message.startswith("what a policy of another namespace needs for the same group")
    assert compared(wants("a", SHORT), sharing.decided(theirs, UNKNOWN, proven=False))[ObjectKey("shop", "a")] is None


@pytest.mark.parametrize(
    ("then", "waits"),
    [
        (NotRead(), True),  # its turn comes
        (Blocked(Finding(Reason.GROUP_NOT_OWNED, "no member is seen")), True),  # in a storm they are there for moments
        (Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "it comes later")), False),
        (UnexpectedFailure(KeyError("what")), False),  # which costs one policy one cycle
    ],
)
def test_what_is_not_looked_at_may_be_waited_for(then: Result, *, waits: bool) -> None:
    """Within a namespace, where it can be the group's."""
    policy, other = sharing.policy("a"), wants("b", LONG)
    after = SharedGroups().compared({policy.key: then, other.key: other}, [policy, other.inputs.policy], now=worlds.NOW)
    outcome = after[other.key]
    assert isinstance(outcome, Decided)
    assert bool(outcome.decision.hold) is waits


def test_who_finds_that_nothing_is_feasible_is_not_waited_for() -> None:
    """It has spoken, and wants nothing."""
    none = sharing.decided(sharing.policy("a"), dataclasses.replace(UNKNOWN, verdict=Verdict.INFEASIBLE))
    assert not any(compared(none, wants("b", LONG)).values())


GONE = dataclasses.replace(worlds.workload(running=[]), rollout=Rollout(wanted=0))


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (NotRead(), Reason.CONFLICT),
        (UnexpectedFailure(KeyError("what")), Reason.CONFLICT),
        (Blocked(Finding(Reason.CLUSTER_UNREACHABLE, "no answer")), Reason.CONFLICT),
        (Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "deleted")), None),
        (Blocked(Finding(Reason.GROUP_NOT_OWNED, "no member is seen")), Reason.CONFLICT),
        (unknown("a", generation=2), Reason.TOO_LITTLE_DATA),  # edited, perhaps to end this
        (unknown("a", uid="another"), Reason.TOO_LITTLE_DATA),
        (sharing.decided(sharing.policy("a"), UNKNOWN, has=GONE), None),
        (None, None),
    ],
)
def test_a_wish_ends_with_what_it_was_of(then: Result | None, reason: Reason | None) -> None:
    """What cannot be read keeps it; what was changed by a person does not."""
    groups, policy, other = SharedGroups(), sharing.policy("a"), wants("b", LONG)
    holds(groups, [keeps("a", SHORT), other])
    asked = then.inputs.policy if isinstance(then, Decided) else policy
    results: dict[ObjectKey, Result] = {other.key: other} | ({} if then is None else {asked.key: then})
    policies = [other.inputs.policy, *([] if then is None else [asked])]
    after = groups.compared(results, policies, now=worlds.NOW + LONGEST_MEMORY / 2)[other.key]
    assert isinstance(after, Decided)
    hold = after.decision.hold
    assert (hold and hold.reason) == reason


def test_a_wish_counts_elsewhere_as_long_as_a_member_is_seen() -> None:
    """What was the policy's group an hour ago may be another's by now."""
    groups, theirs, other = SharedGroups(), wants("secret", LONG, "town"), wants("a", SHORT)
    assert all(holds(groups, [theirs, other]).values())
    lost = Blocked(Finding(Reason.GROUP_NOT_OWNED, "no member is seen"))
    policies = [theirs.inputs.policy, other.inputs.policy]
    after = groups.compared({theirs.key: lost, other.key: other}, policies, now=worlds.NOW)[other.key]
    assert isinstance(after, Decided)
    assert after.decision.hold is None


SESSIONS = ("20s", "30s", "45s")
OUTCOMES = st.tuples(
    st.sampled_from(("shop", "town")),
    st.sampled_from(("orders", "billing")),
    st.sampled_from(SESSIONS),
    st.booleans(),
)


@given(st.lists(OUTCOMES, max_size=7), st.randoms(use_true_random=False))
def test_nothing_is_written_in_conflict_whatever_the_order(
    drawn: Sequence[tuple[str, str, str, bool]], order: Any
) -> None:
    """Of a group whose policies want different values none is written; of one whose policies agree, all may be."""
    outcomes = [
        sharing.decided(
            sharing.policy(f"p{number}", namespace, group),
            change(worlds.settings(session)) if writes else HEALTHY,
            now=worlds.settings("10s") if writes else worlds.settings(session),
        )
        for number, (namespace, group, session, writes) in enumerate(drawn)
    ]
    found = compared(*outcomes)
    for outcome, (_, group, _, _) in zip(outcomes, drawn, strict=True):
        sessions = {session for _, other, session, _ in drawn if other == group}
        assert bool(found[outcome.key]) is (len(sessions) > 1)
    order.shuffle(outcomes)
    assert compared(*outcomes) == found


def two_of_one_group(**spec: Any) -> Stage:
    """Return a storm in two Deployments of one group, each with its policy; the second one's has more in its spec."""
    names = ("one", "two")
    bodies = [
        manifests.policy(
            name,
            spec={
                "workloadRef": {"kind": "Deployment", "name": name, "container": "app"},
                **(spec if name == "two" else {}),
            },
        )
        for name in names
    ]
    storms = {ObjectKey("shop", name): worlds.workload(worlds.STORM) for name in names}
    return Stage(bodies, workloads=storms)


ONE, TWO = ObjectKey("shop", "one"), ObjectKey("shop", "two")


async def test_two_deployments_of_a_group_in_conflict_are_not_written() -> None:
    """Both conditions say so, and stand still while nothing happens; equal bounds end it."""
    stage = two_of_one_group(bounds={"sessionTimeout": {"min": "40s"}})
    await stage.cycle()
    assert {stage.condition("Applied", key) for key in (ONE, TWO)} == {("False", "Conflict")}
    assert "this policy wants sessionTimeout 30s, policy shop/two wants sessionTimeout 40s" in stage.message(
        "Applied", ONE
    )
    assert stage.condition("Recommended", ONE) == ("True", "CadenceExceedsSession")
    await stage.cycle()  # an episode of the storm is noted
    writes = stage.policies.writes
    await stage.cycle()
    assert (stage.policies.writes, stage.workloads.writes) == (writes, [])
    stage.policies.edit(ONE, bounds={"sessionTimeout": {"min": "40s"}})
    await stage.cycle()
    assert [write.key for write in stage.workloads.writes] == [ONE]
    assert stage.condition("Applied", TWO) == ("False", "RolloutInProgress")


async def test_two_deployments_of_a_group_that_agree_are_rolled_out_in_turn() -> None:
    """The second one begins when the first one's pods are there."""
    stage = two_of_one_group()
    await stage.cycle()
    await stage.cycle()
    assert [write.key for write in stage.workloads.writes] == [ONE]
    assert stage.condition("Applied", ONE) == ("False", "RollingOut")
    assert stage.condition("Applied", TWO) == ("False", "RolloutInProgress")
    assert stage.message("Applied", TWO) == (
        "a rollout of Deployment shop/one (policy shop/one) is not finished, whose pods consume in group orders, too: "
        "a group has one rollout at a time; this change waits for its turn"
    )
    stage.workloads.roll_out(ONE, stage.clock.now())
    await stage.cycle()
    assert [write.key for write in stage.workloads.writes] == [ONE, TWO]
