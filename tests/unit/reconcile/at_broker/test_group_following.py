"""A write into a group's configuration is followed: when it is in force, whether it helped, and what takes it back."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.decision.at_broker import group_changes
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import HiddenFencings
from heartbeat_tuner.domain.kafka_groups import GroupConfig, GroupOverrides, GroupWrite
from heartbeat_tuner.domain.policies import Application, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange, Outcome
from heartbeat_tuner.reconcile.following import follow
from heartbeat_tuner.reconcile.group_history import FollowMemory, GroupLook
from tests.support import worlds
from tests.support.worlds import seconds
from tests.unit.decision.at_broker.test_group_values import modern

NOW, DAY, HOUR, MINUTE = worlds.NOW, timedelta(days=1), worlds.HOUR, timedelta(minutes=1)
GROUP = ("main", "orders")
BEFORE, AFTER = worlds.java_settings("20s", "5s"), worlds.java_settings("45s", "5s")
WRITE: Final = GroupWrite(
    *GROUP,
    values=GroupOverrides(seconds(45)),
    previous=GroupOverrides(seconds(20)),
    at=NOW,
    spec="",
    answered=True,
    replaced=GroupOverrides(seconds(20), seconds(5)),
)


@dataclasses.dataclass
class Watch:
    """A group that is looked at again and again, with the status that each look leaves."""

    policy: Policy
    now: datetime = NOW
    own: GroupOverrides = WRITE.values
    template: str = "t1"
    memory: FollowMemory = dataclasses.field(default_factory=FollowMemory)
    evicted: list[datetime] = dataclasses.field(default_factory=list)
    hidden: HiddenFencings | None = None

    def look(self, after: timedelta = MINUTE, evicted: Sequence[datetime] = ()) -> FollowedChange | None:
        """Look once more."""
        self.now += after
        self.evicted += evicted
        session = self.own.session_timeout or seconds(45)
        group = dataclasses.replace(
            worlds.group(), consumer_protocol=True, config=GroupConfig(session, seconds(5), self.own)
        )
        seen = dataclasses.replace(
            worlds.workload(worlds.java_settings(f"{session.seconds}s", "5s")), template=self.template
        )
        lately = tuple(at.timestamp() for at in self.evicted if self.now - HOUR <= at <= self.now)
        record = dataclasses.replace(worlds.record(evictions=len(lately)), evicted_at_s=lately, hidden=self.hidden)
        change = group_changes.change_of(self.policy, seen, group)
        look = GroupLook(self.policy, seen, record, self.now, change)
        followed, history, self.memory = follow(look, self.memory, lambda _: ())
        self.policy = dataclasses.replace(self.policy, followed=followed, history=history)
        return followed

    def days(self, count: float, each: timedelta | None) -> FollowedChange | None:
        """Look once an hour for some days in which members are fenced so often."""
        followed, next_at = self.policy.followed, self.now
        for _ in range(round(count * 24)):
            fenced = []
            while each is not None and next_at < self.now + HOUR:
                fenced.append(next_at)
                next_at += each
            followed = self.look(HOUR, fenced)
        return followed


def written(before: timedelta | None = None, **policy: Any) -> Watch:
    """Return a group whose session was raised just now, after two weeks in which members were fenced so often."""
    since_s, until_s = (NOW - 14 * DAY).timestamp(), NOW.timestamp()
    step_s = 0.0 if before is None else before.total_seconds()
    episodes = tuple(since_s + step_s * number for number in range(int((until_s - since_s) / step_s))) if step_s else ()
    history = EvictionHistory(NOW - 14 * DAY, BEFORE, episodes, group=GROUP)
    return Watch(dataclasses.replace(worlds.java_policy(), group_write=WRITE, history=history, **policy))


def test_it_is_in_force_an_old_interval_and_a_second_after_it_was_written() -> None:
    """No pod becomes ready for it."""
    watch = written()
    first = watch.look(seconds(3))
    assert first is not None
    assert (first.at, first.landed) == (NOW, None)
    second = watch.look(seconds(3))
    assert second is not None
    assert second.landed == NOW + seconds(6)


def test_members_that_are_fenced_no_more_verify_it() -> None:
    """Against the two weeks before."""
    watch = written(before=timedelta(hours=8))
    followed = watch.days(6, None)
    assert followed is not None
    assert followed.outcome is Outcome.VERIFIED
    assert not followed.is_harmful


def test_members_that_are_fenced_more_often_show_harm_and_it_is_taken_back() -> None:
    """Exactly what was there before goes back, with the reason; not where the policy says no, nor in another mode."""
    watch = written(before=timedelta(days=2))
    followed = watch.days(8, timedelta(hours=2))
    assert followed is not None
    assert followed.outcome is Outcome.WORSE
    policy = dataclasses.replace(watch.policy, mode=Mode.APPLY)
    asked = modern(45, evictions=0)
    asked = dataclasses.replace(asked, now=watch.now, looked_at=watch.now, policy=policy, followed=followed)
    decision = decide(asked)
    assert (decision.finding.reason, decision.reverts, decision.at_broker) == (Reason.WORSE, True, True)
    assert decision.to_alter == BEFORE
    for no in ({"reverts": False}, {"mode": Mode.RECOMMEND}):
        left = dataclasses.replace(asked, policy=dataclasses.replace(policy, **no))
        assert not decide(left).reverts


def test_other_pods_end_it_since_nothing_tells_what_their_code_shows() -> None:
    """A rebalance listener is of the code; without one nothing would show, and the change would seem to help."""
    watch = written(before=timedelta(hours=8))
    watch.look()
    watch.template = "t2"
    followed = watch.days(6, None)
    assert followed is not None
    assert followed.outcome is Outcome.INCONCLUSIVE
    assert "the pods' template was changed" in followed.message


def test_a_value_that_somebody_sets_after_it_ends_it() -> None:
    """What happens then is theirs."""
    watch = written(before=timedelta(hours=8))
    watch.look()
    watch.own = GroupOverrides(seconds(30))
    followed = watch.look()
    assert followed is not None
    assert (followed.outcome, followed.message) == (
        Outcome.INCONCLUSIVE,
        "other values were set before anything had shown",
    )


def test_a_value_that_somebody_sets_at_once_ends_it_too() -> None:
    """Nobody's pods are waited for; a broker that shows the value before for a moment ends nothing."""
    watch = written(before=timedelta(hours=8))
    watch.own = WRITE.previous
    early = watch.look(seconds(3))
    watch.own = GroupOverrides(seconds(30))
    late = watch.look(MINUTE)
    assert early is not None
    assert late is not None
    assert (early.outcome, late.outcome) == (Outcome.VERIFYING, Outcome.INCONCLUSIVE)
    assert late.message == "other values were set before anything had shown"


def test_who_finds_a_write_an_hour_later_with_nothing_noted_does_not_judge_it() -> None:
    """Its status was lost."""
    watch = written()
    followed = watch.look(timedelta(hours=2))
    assert followed is not None
    assert (followed.outcome, followed.landed) == (Outcome.INCONCLUSIVE, None)
    assert "nobody watched" in followed.message


@pytest.mark.parametrize(
    "change", [{"answered": False}, {"reverts": NOW - DAY}], ids=["its answer is open", "it took one back"]
)
def test_what_is_not_known_to_be_done_or_is_a_revert_is_not_judged(change: dict[str, Any]) -> None:
    """A revert is not reverted."""
    watch = written(before=timedelta(days=3))
    watch.policy = dataclasses.replace(watch.policy, group_write=dataclasses.replace(WRITE, **change))
    followed = watch.days(4, timedelta(hours=3))
    assert followed is None or not followed.is_harmful


def test_a_later_write_to_the_workload_is_the_change_that_is_followed() -> None:
    """The newest of the two."""
    application = Application(AFTER, BEFORE, NOW + HOUR, "workload-1", "app")
    policy = dataclasses.replace(worlds.java_policy(), group_write=WRITE, application=application)
    group = modern(45).group
    seen = worlds.workload(AFTER)
    change = group_changes.change_of(policy, seen, group)
    assert change is not None
    look = GroupLook(policy, seen, worlds.record(), NOW, change)
    assert look.change is application
    assert GroupLook(dataclasses.replace(policy, application=None), seen, worlds.record(), NOW, change).change is change


def test_a_group_that_cannot_be_read_for_a_while_does_not_lose_its_verification() -> None:
    """Nor is an older change of the workload taken for the one that is followed."""
    application = Application(AFTER, BEFORE, NOW - 9 * DAY, "workload-1", "app")
    watch = written(before=timedelta(hours=8), application=application)
    watch.look()
    known = watch.policy.followed
    assert known is not None
    look = GroupLook(watch.policy, worlds.workload(AFTER), worlds.record(), watch.now, None)
    followed, _, _ = follow(look, watch.memory, lambda _: ())
    assert (look.change, followed) == (None, None)
    after = watch.look(HOUR)
    assert after is not None
    assert (after.at, after.landed) == (NOW, known.landed)


@pytest.mark.parametrize("hidden_each", [None, 10 * DAY], ids=["each of them shows", "some may be hidden"])
def test_months_in_which_fencings_may_have_been_hidden_are_not_called_quiet(hidden_each: timedelta | None) -> None:
    """A member without a listener shows none: what proves that an hour was quiet proves nothing of the hours before."""
    watch = Watch(worlds.java_policy(), own=GroupOverrides())
    for number in range(2 * 95):
        is_hidden = hidden_each is not None and number % (hidden_each / (DAY / 2)) == 0
        watch.hidden = HiddenFencings("no listener", lasts=True) if is_hidden else None
        watch.look(DAY / 2)
    record = dataclasses.replace(worlds.record(evictions=0), since=watch.now - HOUR, until=watch.now)
    asked = modern(45, evictions=0)
    config = GroupConfig(seconds(45), seconds(5))
    asked = dataclasses.replace(
        asked,
        now=watch.now,
        looked_at=watch.now,
        record=record,
        policy=watch.policy,
        history=watch.policy.history,
        group=dataclasses.replace(asked.group, config=config),
    )
    found = decide(asked)
    expected = Reason.WITHIN_OBJECTIVE if hidden_each is None else Reason.TOO_EARLY
    assert found.proof is not None
    assert found.proof.reason is expected, found.proof.message
