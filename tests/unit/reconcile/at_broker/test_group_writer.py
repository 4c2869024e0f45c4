"""Whole cycles over a group of the consumer protocol: what is written at the broker, once, and what is not."""

import dataclasses
import math
from datetime import timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.api.followed import history_status, verification_of
from heartbeat_tuner.api.group_config_notes import REVERT_ANNOTATION, group_write_status
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.domain.errors import (
    ApiServerError,
    ClusterUnreachableError,
    GroupConfigRefusedError,
    NoTimeToWriteError,
    NotLeaderError,
)
from heartbeat_tuner.domain.kafka_groups import Group, GroupOverrides, GroupWrite
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.models.group_model import Fitted
from heartbeat_tuner.reconcile.status import reporting
from tests.golden import cases
from tests.support import worlds
from tests.support.consumer_protocol import (
    BEGINS,
    BOUNDS,
    LONG,
    LOST_EVERY_S,
    PODS,
    SHORT,
    THEIRS,
    cycles,
    modern,
    noted,
    unread,
)
from tests.support.stages import ORDERS, Stage
from tests.support.worlds import NOW, seconds


async def test_a_session_is_raised_once_and_the_workload_is_left_alone() -> None:
    """The status says what stood before: to go back is to set that again."""
    stage = modern()
    await cycles(stage, 20)
    assert stage.groups.alterations == [("orders", LONG)]
    assert stage.workloads.writes == []
    assert (noted(stage)["values"], noted(stage)["previous"]) == ({"sessionTimeout": "45s"}, {"sessionTimeout": "20s"})
    assert noted(stage)["answered"]
    assert stage.condition("Applied") == ("True", "Applied")
    assert "without a restart" in stage.message("Applied")
    assert stage.policies.status_of(ORDERS)["current"]["sessionTimeout"] == "45s"


@pytest.mark.parametrize(
    ("spec", "alters", "reason"),
    [
        ({}, False, "GroupsNotAltered"),
        ({"mode": "Recommend"}, True, "RecommendMode"),
        ({"mode": "Initial"}, True, "RecommendMode"),
        ({"suspend": True}, True, "Suspended"),
    ],
    ids=["read-only", "recommend", "initial", "suspended"],
)
async def test_without_leave_nothing_is_written_and_the_value_is_recommended(
    spec: dict[str, Any], *, alters: bool, reason: str
) -> None:
    """Read-only is the default; and no new pod is given a session that its client would refuse to start with."""
    stage = modern(alters=alters, **spec)
    await cycles(stage)
    status = stage.policies.status_of(ORDERS)
    assert not stage.groups.alterations
    assert not stage.workloads.writes
    assert status["recommendation"]["target"]["sessionTimeout"] == "45s"
    assert "initial" not in status
    assert stage.condition("Applied") == ("False", reason)


async def test_evictions_from_before_the_write_do_not_ask_for_more() -> None:
    """The record begins at the write: else three losses under 20 s would demand a session beyond 45 s, too."""
    stage = modern(rollout={"cooldown": "1s"}, until_s=(NOW + seconds(330)).timestamp())
    await cycles(stage, 30)
    assert stage.groups.alterations == [("orders", LONG)]
    assert stage.condition("Recommended")[1] == "TooEarly"  # no counter moved since
    assert stage.condition("Applied") == ("True", "Applied")


async def test_a_write_is_noted_before_it_is_done() -> None:
    """Nothing is written where that fails; and the note is of a write whose answer is open."""
    stage = modern()
    seen: list[dict[str, Any]] = []
    stage.groups.before_altering = lambda: seen.append(dict(noted(stage)))
    await cycles(stage)
    (note,) = seen
    assert (note["values"], note["answered"]) == ({"sessionTimeout": "45s"}, False)


async def test_a_person_who_is_faster_is_not_overruled() -> None:
    """What was set between the decision and the write stays; the status goes back to what it knew."""
    stage = modern()
    stage.groups.before_altering = lambda: stage.groups.override("main", "orders", THEIRS)
    await cycles(stage)
    assert stage.groups.alterations == []
    assert stage.groups.overrides("main", "orders") == THEIRS
    assert noted(stage) == {}


async def test_a_value_that_somebody_sets_after_ours_is_left_alone_until_the_policy_asks_again() -> None:
    """Whatever the group's record demands, cycle after cycle and under the next leader."""
    stage = modern(rollout={"cooldown": "1s"})
    await cycles(stage)
    stage.groups.override("main", "orders", SHORT)
    await cycles(stage, 12)
    stage.restart()
    await cycles(stage, 12)
    assert stage.groups.alterations == [("orders", LONG)]
    assert stage.condition("Applied") == ("False", "GroupConfigForeign")
    assert "has sessionTimeout 20s at the broker, where the tuner wrote sessionTimeout 45s" in stage.message("Applied")
    stage.policies.edit(ORDERS, objective={"maxFalseEvictionsPerMonth": 2})
    await cycles(stage, 12)
    assert stage.groups.alterations == [("orders", LONG)] * 2


@pytest.mark.parametrize("is_done", [False, True], ids=["before-it-was-done", "after-it-was-done"])
async def test_a_lost_answer_is_found_by_the_next_leader(*, is_done: bool) -> None:
    """A write that was done is known as ours; one that was not is done again."""
    stage = modern()

    def lose() -> None:
        raise ClusterUnreachableError("no answer")

    if is_done:
        stage.groups.after_altering = lose
    else:
        stage.groups.before_altering = lose
    await cycles(stage)
    assert stage.condition("Applied") == ("False", "ClusterUnreachable")
    assert not noted(stage)["answered"]
    stage.groups.before_altering = stage.groups.after_altering = lambda: None
    stage.restart()
    await cycles(stage, 12)
    assert stage.groups.alterations == [("orders", LONG)]
    assert noted(stage)["answered"]
    assert stage.condition("Applied") == ("True", "Applied")


async def test_a_leader_that_dies_before_it_says_what_it_did_is_followed_by_one_that_knows() -> None:
    """The note of before the write is all that is left, and the broker shows the rest."""
    stage = modern()

    def fall() -> None:
        stage.policies.error = ApiServerError("down")

    stage.groups.after_altering = fall
    await cycles(stage)
    assert not noted(stage)["answered"]
    stage.policies.error = None
    stage.restart()
    await cycles(stage, 12)
    assert stage.groups.alterations == [("orders", LONG)]
    assert noted(stage)["answered"]


async def test_what_kafka_refuses_is_told_in_its_words() -> None:
    """Nothing is noted as written; it is tried again, since bounds and rights change."""
    stage = modern()

    def refuse() -> None:
        raise GroupConfigRefusedError("must be in the range 45000 to 60000 inclusive")

    stage.groups.before_altering = refuse
    await cycles(stage)
    assert stage.condition("Applied") == ("False", "GroupConfigRefused")
    assert "45000 to 60000" in stage.message("Applied")
    assert noted(stage) == {}


async def test_nothing_is_written_where_the_note_cannot_be() -> None:
    """A write that nobody would know of is worse than none."""
    stage = modern()
    await cycles(stage, 1)
    stage.policies.error = ApiServerError("down")
    await cycles(stage, 3)
    assert stage.groups.alterations == []


async def test_who_leads_no_more_writes_nothing_more() -> None:
    """The fence ends the cycle, as it does for workloads."""
    stage = modern()

    def closed() -> None:
        raise NotLeaderError("another leads")

    stage.groups.before_altering = closed
    with pytest.raises(NotLeaderError):
        await cycles(stage)
    assert stage.groups.alterations == []


async def test_a_policy_that_is_edited_in_between_is_looked_at_again() -> None:
    """Its decision may be another one."""
    stage = modern()
    await cycles(stage, 1)
    stage.policies.edit_behind_the_watch(ORDERS, objective={"maxFalseEvictionsPerMonth": 2})
    await cycles(stage, 2)
    assert stage.groups.alterations == []


async def test_a_second_write_that_was_not_done_leaves_the_record_of_the_first() -> None:
    """What a person sets after it is still theirs, and what stood before our first write is still known."""
    stage = modern(rollout={"cooldown": "1s"}, objective={"maxDetectionTime": "5m"})
    wide = dataclasses.replace(BOUNDS, max_session=seconds(300))
    stage.groups.bounds = dataclasses.replace(stage.groups.bounds, consumer=wide)
    await cycles(stage)
    first = noted(stage)

    def lose() -> None:
        raise ClusterUnreachableError("no answer")

    stage.groups.before_altering = lose
    stage.restart()
    await cycles(stage)
    assert noted(stage)["previous"] == {"sessionTimeout": "45s"}
    assert noted(stage)["before"]["previous"] == {"sessionTimeout": "20s"}
    stage.groups.before_altering = lambda: None
    stage.restart()
    await cycles(stage, 2)
    assert noted(stage) == first
    stage.groups.override("main", "orders", THEIRS)
    await cycles(stage, 12)
    assert stage.groups.overrides("main", "orders") == THEIRS
    assert stage.condition("Applied") == ("False", "GroupConfigForeign")


@pytest.mark.parametrize("is_lost", [False, True], ids=["answered", "lost"])
async def test_a_look_from_before_the_write_says_nothing_of_it(*, is_lost: bool) -> None:
    """An early look takes the group as the last cycle saw it, and so does a cycle in a large fleet."""
    stage = modern()

    def lose() -> None:
        raise ClusterUnreachableError("no answer")

    if is_lost:
        stage.groups.after_altering = lose
    await cycles(stage)
    assert stage.groups.alterations == [("orders", LONG)]
    before = noted(stage)
    await stage.look(ORDERS, after=seconds(90))
    assert noted(stage) == before
    assert stage.condition("Applied")[1] != "GroupConfigForeign"
    await cycles(stage, 1)
    assert noted(stage)["answered"]
    assert stage.condition("Applied") == ("True", "Applied")


async def test_what_kafka_refused_is_not_tried_in_each_cycle() -> None:
    """Where the controllers' bounds are narrower it stays refused, and each try writes the status twice."""
    stage = modern()
    tries: list[int] = []

    def refuse() -> None:
        tries.append(1)
        raise GroupConfigRefusedError("must be in the range 45000 to 60000 inclusive")

    stage.groups.before_altering = refuse
    await cycles(stage, 10)
    assert len(tries) == 1
    assert stage.condition("Applied") == ("False", "GroupConfigRefused")
    await cycles(stage, 10)
    assert len(tries) == 2
    stage.groups.before_altering = lambda: None
    await cycles(stage, 11)
    assert stage.groups.alterations == [("orders", LONG)]


async def test_a_leadership_that_is_nearly_over_holds_up_no_later_cycle() -> None:
    """It is renewed as a rule, and a cure need not wait for ten minutes then."""
    stage = modern()

    def too_late() -> None:
        raise NoTimeToWriteError("too little time is left")

    stage.groups.before_altering = too_late
    await cycles(stage)
    stage.groups.before_altering = lambda: None
    await cycles(stage, 1)
    assert stage.groups.alterations == [("orders", LONG)]


def ask_back(stage: Stage, at: str = "") -> None:
    """Ask for the last write to be taken back, or for the one of another time."""
    stage.policies.annotate(ORDERS, REVERT_ANNOTATION, at or noted(stage)["changeTime"])


NOTHING = GroupOverrides()


@pytest.mark.parametrize("own", [SHORT, NOTHING], ids=["a-value", "no-value"])
async def test_a_person_gets_back_what_the_group_had(own: GroupOverrides) -> None:
    """The value, or none; and nothing is written again, by this leader and the next, until the policy asks anew."""
    stage = modern(rollout={"cooldown": "1s"}, objective={"maxDetectionTime": "5m"})
    if own == NOTHING:
        wide = dataclasses.replace(BOUNDS, max_session=seconds(300))
        stage.groups.bounds = dataclasses.replace(stage.groups.bounds, consumer=wide)
    stage.groups.override("main", "orders", own)
    await cycles(stage)
    ((_, ours),) = stage.groups.alterations
    ask_back(stage)
    await cycles(stage, 1)
    assert stage.groups.alterations == [("orders", ours), ("orders", own)]
    assert stage.condition("Applied") == ("False", "TakenBack")
    assert "as a person asked" in stage.message("Applied")
    await cycles(stage, 12)
    stage.restart()
    await cycles(stage, 12)
    assert len(stage.groups.alterations) == 2
    assert stage.condition("Applied") == ("False", "TakenBack")
    assert stage.workloads.writes == []
    stage.policies.edit(ORDERS, objective={"maxFalseEvictionsPerMonth": 2, "maxDetectionTime": "5m"})
    await cycles(stage, 12)
    assert len(stage.groups.alterations) > 2


async def test_nothing_goes_back_over_what_somebody_set_since() -> None:
    """Not when it is asked for, and not when it is set between the decision and the write."""
    stage = modern()
    await cycles(stage)
    stage.groups.override("main", "orders", THEIRS)
    ask_back(stage)
    await cycles(stage, 3)
    assert stage.condition("Applied") == ("False", "GroupConfigForeign")
    stage = modern()
    await cycles(stage)
    stage.groups.before_altering = lambda: stage.groups.override("main", "orders", THEIRS)
    ask_back(stage)
    await cycles(stage, 3)
    assert stage.groups.alterations == [("orders", LONG)]
    assert stage.groups.overrides("main", "orders") == THEIRS


@pytest.mark.parametrize("at", ["2026-03-02T11:00:00Z", "now", "\x1b[2J", "2026-03-02T11:00:00"])
async def test_a_request_for_another_write_takes_nothing_back(at: str) -> None:
    """One that stays on the policy is about the write that it names."""
    stage = modern()
    await cycles(stage)
    ask_back(stage, at)
    await cycles(stage, 3)
    assert stage.groups.alterations == [("orders", LONG)]
    assert stage.condition("Applied") == ("True", "Applied")


@pytest.mark.parametrize("is_done", [False, True], ids=["before-it-was-done", "after-it-was-done"])
async def test_a_lost_answer_to_a_revert_is_found_by_the_next_leader(*, is_done: bool) -> None:
    """It is done once, and what was ours before is known until then."""
    stage = modern()
    await cycles(stage)

    def lose() -> None:
        raise ClusterUnreachableError("no answer")

    if is_done:
        stage.groups.after_altering = lose
    else:
        stage.groups.before_altering = lose
    ask_back(stage)
    await cycles(stage, 1)
    assert noted(stage)["before"]["values"] == {"sessionTimeout": "45s"}
    stage.groups.before_altering = stage.groups.after_altering = lambda: None
    stage.restart()
    await cycles(stage, 12)
    assert stage.groups.alterations == [("orders", LONG), ("orders", SHORT)]
    assert noted(stage)["answered"]
    assert stage.condition("Applied") == ("False", "TakenBack")


async def test_a_suspended_policy_takes_back_nothing_until_it_is_resumed() -> None:
    """Then that comes before anything else."""
    stage = modern()
    await cycles(stage)
    stage.policies.edit(ORDERS, suspend=True)
    ask_back(stage)
    await cycles(stage, 3)
    assert stage.groups.alterations == [("orders", LONG)]
    assert stage.condition("Applied") == ("False", "Suspended")
    stage.policies.edit(ORDERS, suspend=False)
    await cycles(stage, 1)
    assert stage.groups.alterations == [("orders", LONG), ("orders", SHORT)]


def harmed(**spec: Any) -> Stage:
    """Return a group whose session was raised eight days ago, and whose members are fenced far more often since."""
    stage = modern(until_s=BEGINS.timestamp(), **spec)
    stage.groups.override("main", "orders", LONG)
    at = NOW - timedelta(days=8)
    before = [NOW.timestamp() - day * 86_400 for day in range(22, 8, -2)]
    since = [at.timestamp() + number * 7_200 for number in range(1, 90)]
    values = worlds.java_settings("45s", "5s")
    history = EvictionHistory(NOW - timedelta(days=22), values, (*before, *since), group=("main", "orders"))
    write = GroupWrite(
        "main", "orders", LONG, SHORT, at, spec="s", answered=True, replaced=GroupOverrides(seconds(20), seconds(5))
    )
    followed = FollowedChange(at, landed=at + seconds(6))
    status = Status(
        group_config=group_write_status(write), history=history_status(history), verification=verification_of(followed)
    )
    stage.policies.have_status(ORDERS, reporting.document(status))
    return stage


async def test_what_did_harm_is_taken_back_once_with_the_reason() -> None:
    """And stays away, under the next leader too, until the policy asks for something else."""
    stage = harmed()
    await cycles(stage, 1)
    assert stage.groups.alterations == [("orders", SHORT)]
    assert noted(stage)["harm"] == "Worse"
    assert stage.condition("Verified") == ("False", "Reverted")
    assert "since it did harm (Worse)" in stage.message("Verified")
    assert stage.condition("Applied") == ("False", "Reverted")
    await cycles(stage, 3)
    stage.restart()
    await cycles(stage, 3)
    assert len(stage.groups.alterations) == 1
    assert stage.condition("Verified") == ("False", "Reverted")


@pytest.mark.parametrize(
    "spec",
    [{"rollout": {"verification": {"revert": False}}}, {"mode": "Recommend"}, {"suspend": True}],
    ids=["revert-is-off", "recommend", "suspended"],
)
async def test_what_did_harm_stays_where_the_policy_says_so(spec: dict[str, Any]) -> None:
    """The condition says what it did."""
    stage = harmed(**spec)
    await cycles(stage, 2)
    assert stage.groups.alterations == []
    assert stage.condition("Verified") == ("False", "Worse")


async def test_a_write_waits_for_its_verdict() -> None:
    """From the cycle of the write on."""
    stage = modern()
    await cycles(stage)
    assert stage.condition("Verified") == ("Unknown", "Verifying")
    assert "counting begins then" in stage.message("Verified")
    await cycles(stage, 3)
    assert stage.condition("Verified") == ("Unknown", "Verifying")
    assert "episodes of evictions in" in stage.message("Verified")
    assert stage.policies.status_of(ORDERS)["verification"]["readyTime"] > noted(stage)["changeTime"]


async def test_a_status_does_not_move_while_a_write_is_verified() -> None:
    """Each cycle would write it, and nobody could say since when it is so; a classic group has nothing to verify."""
    stage = modern(until_s=(NOW + seconds(330)).timestamp())
    await cycles(stage, 12)
    standing = stage.policies.status_of(ORDERS)
    await cycles(stage, 5)
    assert stage.condition("Verified") == ("Unknown", "Verifying")
    assert stage.policies.status_of(ORDERS) == standing
    described = stage.groups.groups["main"]["orders"]
    assert isinstance(described, Group)
    stage.groups.groups["main"]["orders"] = dataclasses.replace(described, consumer_protocol=False, config=None)
    await cycles(stage, 1)
    assert "Verified" not in {each["type"] for each in stage.policies.status_of(ORDERS)["conditions"]}


async def test_a_look_that_does_not_see_what_is_set_ends_neither_the_history_nor_the_verdict() -> None:
    """The pods' own session is not what is in force: weeks of evictions, and the revert that is due, stay."""
    stage = harmed(suspend=True)
    await cycles(stage, 1)
    before = stage.policies.status_of(ORDERS)
    described = stage.groups.groups["main"]["orders"]
    unread(stage)
    await cycles(stage, 1)
    after = stage.policies.status_of(ORDERS)
    assert (after["history"], after["current"]) == (before["history"], before["current"])
    assert stage.condition("Verified") == ("False", "Worse")
    stage.groups.groups["main"]["orders"] = described
    stage.policies.edit(ORDERS, suspend=False)
    await cycles(stage, 1)
    assert stage.groups.alterations == [("orders", SHORT)]


STEADY: Final[dict[str, Any]] = {"heartbeatInterval": {"min": "5s", "max": "5s"}}
"""These members beat every 5 s, whatever is written."""


def calm(*, fenced_from: timedelta | None = None, bounds: dict[str, Any] | None = None) -> Stage:
    """Return a calm group with its model, whose members are fenced now and then from so long after `NOW` on.

    A fencing every five minutes is a rebalance as well, and a listener shows both.
    """
    stage = modern(rollout={"cooldown": "1s"}, bounds=bounds or {})
    begun_s = math.inf if fenced_from is None else (NOW + fenced_from).timestamp()
    lost = stage.prometheus.answers[Quantity.PARTITIONS_LOST_LATENCY_MAX]
    late = [Series(each.labels, each.samples.between(begun_s - 1.0, math.inf)) for each in lost]
    moves = [
        Series.from_raw(
            each.labels,
            ((at, 1.0 if at < begun_s else 2.0 + (at - begun_s) // LOST_EVERY_S) for at in each.samples.times_s),
        )
        for each in stage.prometheus.answers[Quantity.REBALANCES]
    ]
    stage.prometheus.answers |= {
        Quantity.PARTITIONS_LOST_LATENCY_MAX: late,
        Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX: late,
        Quantity.REBALANCES: moves,
    }
    members = [dataclasses.replace(worlds.member(pod), partitions=4) for pod in PODS]
    stage.groups.groups["main"]["orders"] = worlds.group(members)
    stage.groups.override("main", "orders", LONG)
    stage.models.stored = [Fitted("orders", cases.model("java"))]
    return stage


async def test_a_calm_group_gets_shorter_limits_once_its_record_is_long_enough() -> None:
    """With what the model promised of them."""
    stage = calm(bounds=STEADY)
    await cycles(stage, 25)
    assert stage.groups.alterations == []
    assert stage.condition("Applied") == ("False", "TooLittleData")
    await cycles(stage, 10)
    ((_, values),) = stage.groups.alterations
    assert values == GroupOverrides(seconds(23))
    assert noted(stage)["previous"] == {"sessionTimeout": "45s"}
    assert float(noted(stage)["promise"]["evictionsPerDayUpper"]) > 0
    assert stage.condition("Verified")[1] == "Verifying"
    assert stage.workloads.writes == []


async def test_members_that_do_not_follow_are_seen_by_their_beats() -> None:
    """Session and interval are one write; a broker that clamps them describes what is not in force."""
    stage = calm()
    await cycles(stage, 40)
    ((_, values),) = stage.groups.alterations
    assert values == GroupOverrides(seconds(23), seconds(1))
    assert stage.condition("Recommended") == ("Unknown", "NoEffect")
    assert stage.condition("Verified") == ("False", "NoEffect")


async def test_shorter_limits_are_taken_back_at_once_by_the_operator() -> None:
    """Three members that are fenced are enough; and nothing is written again, by the next leader either."""
    stage = calm(fenced_from=timedelta(minutes=40), bounds=STEADY)
    await cycles(stage, 35)
    assert len(stage.groups.alterations) == 1
    await cycles(stage, 10)
    assert stage.groups.overrides("main", "orders") == LONG
    assert noted(stage)["harm"] == "Danger"
    assert stage.condition("Applied") == ("False", "Reverted")
    assert "since it did harm (Danger)" in stage.message("Applied")
    stage.restart()
    await cycles(stage, 45)
    assert len(stage.groups.alterations) == 2
    assert stage.condition("Applied") == ("False", "Reverted")


async def test_shorter_limits_are_taken_back_where_fencings_would_not_show() -> None:
    """The first rebalance of a member without a listener ends them."""
    stage = calm(fenced_from=timedelta(minutes=40), bounds=STEADY)
    for quantity in (Quantity.PARTITIONS_LOST_LATENCY_MAX, Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX):
        del stage.prometheus.answers[quantity]
    await cycles(stage, 45)
    assert stage.groups.overrides("main", "orders") == LONG
    assert noted(stage)["harm"] == "FencingsHidden"
    assert "since nothing showed any more whether members were fenced" in stage.message("Applied")
