"""Policies of one group that want different values: who is held, what each is told, and who counts."""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead, Result, UnexpectedFailure
from heartbeat_tuner.reconcile.shared_groups import LONGEST_MEMORY, SharedGroups
from tests.support import manifests, sharing, worlds
from tests.support.sharing import HEALTHY, UNKNOWN, change
from tests.support.stages import Stage

SHORT, LONG = worlds.settings("30s"), worlds.settings("45s")


def compared(*outcomes: Decided) -> dict[ObjectKey, Finding | None]:
    """Return what holds each policy after a look at all of them."""
    return holds(SharedGroups(), outcomes)


def holds(groups: SharedGroups, outcomes: Iterable[Decided], now: datetime = worlds.NOW) -> dict[ObjectKey, Any]:
    """Return what holds each policy after one more look."""
    results: dict[ObjectKey, Result] = {outcome.key: outcome for outcome in outcomes}
    after = groups.compared(results, now=now)
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
    for minutes, is_held in ((1, True), (60, True), (61, False)):
        now = worlds.NOW + timedelta(minutes=minutes)
        found = holds(groups, [unknown("a"), wants("b", LONG)], now)
        assert bool(found[ObjectKey("shop", "b")]) is is_held
    assert not any(compared(unknown("a"), wants("b", LONG)).values())


GONE = dataclasses.replace(worlds.workload(running=[]), rollout=Rollout(wanted=0))


@pytest.mark.parametrize(
    ("then", "lasts"),
    [
        (NotRead(), True),
        (UnexpectedFailure(KeyError("what")), True),
        (Blocked(Finding(Reason.CLUSTER_UNREACHABLE, "no answer")), True),
        (Blocked(Finding(Reason.WORKLOAD_NOT_FOUND, "deleted")), False),
        (Blocked(Finding(Reason.GROUP_NOT_OWNED, "no member is seen")), False),
        (unknown("a", generation=2), False),  # edited, perhaps to end this
        (unknown("a", uid="another"), False),
        (sharing.decided(sharing.policy("a"), UNKNOWN, has=GONE), False),
        (None, False),
    ],
)
def test_a_wish_ends_with_what_it_was_of(then: Result | None, *, lasts: bool) -> None:
    """What cannot be read keeps it; what was changed by a person does not."""
    groups, a, b = SharedGroups(), ObjectKey("shop", "a"), ObjectKey("shop", "b")
    holds(groups, [keeps("a", SHORT), wants("b", LONG)])
    results: dict[ObjectKey, Result] = {b: wants("b", LONG)} | ({} if then is None else {a: then})
    after = groups.compared(results, now=worlds.NOW + LONGEST_MEMORY / 2)[b]
    assert isinstance(after, Decided)
    assert bool(after.decision.hold) is lasts


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
