"""A change is followed from look to look: when it landed, what was seen, and what ends that."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, Contradicted, Policy, TakenBack
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Failing, Rollout
from heartbeat_tuner.domain.verifications import EvictingSession, EvictionHistory, FollowedChange, Outcome
from heartbeat_tuner.reconcile.following import follow
from heartbeat_tuner.reconcile.group_history import FollowMemory, GroupLook, unseen
from tests.support import worlds

NOW = worlds.NOW
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
BEFORE, AFTER = worlds.settings("45s"), worlds.settings("30s")
WRITTEN = NOW - DAY
CHANGE = Application(AFTER, BEFORE, WRITTEN, "workload-1", "app", {"S": "30000"}, {"S": "45000"})
LANDED = FollowedChange(WRITTEN, landed=WRITTEN + MINUTE)
GROUP = ("main", "orders")
BLIND = Unknown(Reason.METRICS_STALE, "old")


def nobody(_written: datetime) -> Sequence[Sequence[float]]:
    """Return no other group."""
    return ()


@dataclasses.dataclass
class Group:
    """A group that is looked at again and again, with the status that each look leaves."""

    policy: Policy
    now: datetime = NOW
    memory: FollowMemory = dataclasses.field(default_factory=FollowMemory)

    def look(
        self,
        *,
        values: LivenessSettings | None = AFTER,
        evicted: Sequence[datetime] = (),
        after: timedelta = MINUTE,
        record: Record | Unknown | None = None,
        **workload: Any,
    ) -> FollowedChange | None:
        """Look once more, with pods that run with `values`, and note what comes of it as the status does."""
        self.now += after
        seen = worlds.workload(values, mixed=values is None, rolling_out=values is None)
        seen = dataclasses.replace(seen, **{"is_our_template": True, **workload})
        times = tuple(at.timestamp() for at in evicted)
        known = dataclasses.replace(worlds.record(evictions=len(times)), evicted_at_s=times)
        look = GroupLook(self.policy, seen, record or known, self.now)
        followed, history, self.memory = follow(look, self.memory, nobody)
        self.policy = dataclasses.replace(self.policy, followed=followed, history=history)
        return followed

    @property
    def history(self) -> EvictionHistory:
        """What is noted of evictions."""
        assert self.policy.history is not None
        return self.policy.history


def group(**policy: Any) -> Group:
    """Return a group under some policy."""
    return Group(worlds.policy(**policy))


def changed(**policy: Any) -> Group:
    """Return a group whose values were changed a day ago, after two weeks without evictions."""
    history = EvictionHistory(WRITTEN - 14 * DAY, AFTER, group=GROUP)
    return group(**{"application": CHANGE, "followed": LANDED, "history": history, **policy})


def test_a_group_is_watched_before_anything_was_written() -> None:
    """It is what the first change will be compared with."""
    watched = group()
    assert watched.look(evicted=[NOW]) is None
    begins = NOW - worlds.HOUR + worlds.seconds(1)
    assert (watched.history.since, watched.history.values, watched.history.group) == (begins, AFTER, GROUP)
    watched.look(evicted=[NOW, NOW + MINUTE, NOW + 90 * worlds.seconds(1)])
    watched.look(evicted=[NOW + MINUTE, NOW + 90 * worlds.seconds(1)])
    assert watched.history.episodes_s == (NOW.timestamp(),)


def test_what_is_to_come_is_no_eviction_yet() -> None:
    """A broker's clock that is ahead would hide what really happens until then."""
    watched = group()
    watched.look()
    watched.look(evicted=[NOW + DAY])
    assert watched.history.episodes_s == ()


def test_a_change_lands_when_all_pods_stayed_ready_with_it() -> None:
    """Not while some have other values; and a look later does not move it."""
    rolling = group(application=dataclasses.replace(CHANGE, at=NOW))
    first = rolling.look(values=None, our_rollout=True)
    assert first is not None
    assert first.landed is None
    assert "not in all pods yet" in first.message
    second = rolling.look()
    assert second is not None
    assert second.landed == NOW + 2 * MINUTE
    third = rolling.look()
    assert third is not None
    assert third.landed == second.landed


def test_the_history_goes_on_through_a_change_of_ours() -> None:
    """What came before is what it is compared with."""
    watched = group(history=EvictionHistory(WRITTEN - DAY, BEFORE, (1.0,), group=GROUP), application=CHANGE)
    watched.look()
    assert (watched.history.since, watched.history.values) == (WRITTEN - DAY, AFTER)
    assert watched.history.episodes_s == (1.0,)


def evicted_before() -> Group:
    """Return a group whose session rose for three evictions within a week."""
    begun = WRITTEN - 7 * DAY
    seen = EvictionHistory(begun, BEFORE, tuple((begun + n * DAY).timestamp() for n in (1, 3, 5)), group=GROUP)
    return group(history=seen, application=CHANGE, spec="asked")


def test_a_session_that_evicted_is_noted_for_longer_than_its_episodes() -> None:
    """A law that never learns of evictions would ask for it again when these are over."""
    watched = evicted_before()
    watched.look()
    noted = EvictingSession(BEFORE.session_timeout, 3, 7.0, 3, WRITTEN - 2 * DAY, "asked")
    assert watched.history.evicting == (noted,)
    watched.look(after=60 * DAY)
    assert watched.history.episodes_s == ()
    assert watched.history.evicting == (noted,)
    watched.look(values=worlds.settings("20s"))  # of a person
    assert watched.history.evicting == (noted,)
    watched.policy = dataclasses.replace(watched.policy, group_id="others")
    watched.look(values=worlds.settings("20s"))
    assert not watched.history.evicting


def test_each_time_that_a_session_was_set_counts() -> None:
    """Quiet days, too; under another spec nothing of it stands."""
    watched = evicted_before()
    watched.look()
    watched.look(values=BEFORE, after=DAY, our_rollout=False)
    watched.look(values=BEFORE, after=8 * DAY)
    watched.look()
    assert [(each.session, each.episodes, each.days) for each in watched.history.evicting] == [
        (BEFORE.session_timeout, 3, 16.0)
    ]
    watched.policy = dataclasses.replace(watched.policy, spec="another")
    watched.look(values=BEFORE, after=8 * DAY)
    assert not watched.history.evicting


def test_values_of_somebody_else_begin_another_history_and_end_the_verdict() -> None:
    """What comes of them is no work of ours."""
    watched = changed()
    followed = watched.look(values=worlds.settings("60s"))
    assert followed is not None
    assert followed.outcome is Outcome.INCONCLUSIVE
    assert (watched.history.since, watched.history.values) == (
        NOW - worlds.HOUR + worlds.seconds(1),
        worlds.settings("60s"),
    )


def test_a_second_change_is_compared_with_the_time_under_the_first() -> None:
    """Not with the time before both."""
    watched = changed()
    second = dataclasses.replace(CHANGE, values=BEFORE, previous=AFTER, at=NOW)
    watched.policy = dataclasses.replace(watched.policy, application=second)
    watched.look(values=None, our_rollout=True)
    assert watched.history.since == LANDED.landed


def test_a_history_is_trimmed_once_a_week() -> None:
    """Each time is a status to write."""
    old, evicted_s = NOW - 60 * DAY, (NOW - 50 * DAY).timestamp()
    watched = group(history=EvictionHistory(old, AFTER, (evicted_s,), group=GROUP))
    watched.look()
    first = watched.history.since
    assert first == NOW + MINUTE - 42 * DAY
    for _ in range(6):
        watched.look(after=DAY)
    assert watched.history.since == first


@pytest.mark.parametrize(
    ("days", "gaps", "kept_days"), [(60, 0, 60), (97, 0, 97), (99, 0, 91), (60, 32, 60), (60, 33, 42)]
)
def test_a_quiet_history_is_long_enough_to_show_that_it_is_quiet(days: int, gaps: int, kept_days: int) -> None:
    """Ninety days without an eviction show one a month; one with many gaps keeps its room for those that come."""
    since_s = (NOW - days * DAY).timestamp()
    hidden = tuple((since_s + 7200.0 * number, since_s + 7200.0 * number + 60.0) for number in range(gaps))
    watched = group(history=EvictionHistory(NOW - days * DAY, AFTER, (), hidden, group=GROUP))
    watched.look()
    assert watched.history.since - NOW in (-kept_days * DAY, MINUTE - kept_days * DAY)


def test_nothing_is_learnt_from_a_step_of_scale() -> None:
    """Members join and leave for it: ten minutes are left out, with the evictions in them."""
    watched = group()
    watched.look(rollout=Rollout(wanted=3, updated=3))
    watched.look(rollout=Rollout(wanted=5, updated=5), evicted=[NOW + 2 * MINUTE])
    noted = (((NOW + 2 * MINUTE).timestamp(), (NOW + 12 * MINUTE).timestamp()),)
    assert watched.history.left_out == noted  # at once: another leader would not know
    for _ in range(10):
        watched.look(rollout=Rollout(wanted=5, updated=5))
    assert watched.history.left_out == noted
    assert watched.history.episodes_s == ()


def test_the_rollout_of_a_change_itself_is_not_left_out() -> None:
    """What begins in it belongs to it."""
    rolling = group(application=CHANGE)
    for _ in range(3):
        rolling.look(values=None, our_rollout=True)
    for _ in range(12):
        rolling.look()
    assert rolling.history.left_out == ()


@pytest.mark.parametrize(("hours", "left_out"), [(0.9, 0), (3, 2)])
def test_what_the_next_record_still_shows_was_missed_by_nobody(hours: float, left_out: float) -> None:
    """A record reaches an hour back; what was longer without metrics is left out."""
    watched = group()
    watched.look()
    watched.look(record=BLIND)
    watched.look(after=timedelta(hours=hours))
    out = sum(until - since for since, until in watched.history.left_out)
    assert out == pytest.approx(3600 * left_out, abs=61)


def test_a_storm_is_harm_and_a_new_leader_sees_it_too() -> None:
    """Four episodes within the first hour after two weeks without any."""
    watched = changed(application=dataclasses.replace(CHANGE, at=NOW), followed=FollowedChange(NOW, landed=NOW))
    for number in range(1, 5):
        watched.look(evicted=[NOW + number * 14 * MINUTE], after=14 * MINUTE)
    assert watched.policy.followed is not None
    assert watched.policy.followed.outcome is Outcome.VERIFYING  # 14 minutes are the same episode
    watched = changed(application=dataclasses.replace(CHANGE, at=NOW), followed=FollowedChange(NOW, landed=NOW))
    for number in range(1, 4):
        watched.look(evicted=[NOW + number * 16 * MINUTE], after=16 * MINUTE)
    assert watched.policy.followed is not None
    assert watched.policy.followed.is_harmful
    watched.memory = FollowMemory()
    again = watched.look()
    assert again is not None
    assert again.is_harmful


def test_what_was_counted_moves_with_an_episode_or_a_day() -> None:
    """Before and after, with Garwood's bounds: none in 14 days is at most 0.26 a day."""
    watched = changed()
    first = watched.look()
    later = watched.look(after=timedelta(hours=10))
    assert first is not None
    assert later is not None
    assert first.effect is not None
    assert first.effect is later.effect
    before = first.effect.before
    assert before is not None
    assert (before.episodes, before.days, before.lower) == (0, 14, 0)
    assert before.upper == pytest.approx(0.263, abs=0.001)
    evicted = watched.look(evicted=[watched.now])
    assert evicted is not None
    assert evicted.effect is not None
    assert evicted.effect.after.episodes == 1
    assert evicted.effect.after.days == pytest.approx(1.4, abs=0.05)


def test_when_harm_showed_does_not_move() -> None:
    """A status must not move while nothing happens."""
    failing = group(application=dataclasses.replace(CHANGE, at=NOW - 11 * MINUTE))
    crash = Rollout(wanted=3, updated=1, exceeded=True, unready=("orders-new",))
    first = failing.look(values=None, our_rollout=True, rollout=crash)
    second = failing.look(values=None, our_rollout=True, rollout=crash)
    assert first is not None
    assert first.outcome is Outcome.ROLLOUT_FAILED
    assert first == second


def test_pods_that_fail_in_an_outage_of_the_brokers_fail_by_that() -> None:
    """They crash for a while after it as well."""
    failing = group(application=dataclasses.replace(CHANGE, at=NOW - 11 * MINUTE))
    failing.memory = unseen(failing.memory, NOW, is_outage=True)
    crash = Rollout(wanted=3, updated=1, exceeded=True, unready=("orders-new",))
    during = failing.look(values=None, our_rollout=True, rollout=crash)
    assert during is not None
    assert during.outcome is Outcome.VERIFYING
    after = failing.look(values=None, our_rollout=True, rollout=crash, after=11 * MINUTE)
    assert after is not None
    assert after.outcome is Outcome.ROLLOUT_FAILED


def test_what_an_earlier_record_proved_is_no_effect() -> None:
    """It stands as long as policy and template do."""
    watched = changed(contradicted=Contradicted(Reason.NO_EFFECT, "they beat as before", 1, "abc"))
    followed = watched.look(template="abc")
    assert followed is not None
    assert (followed.outcome, followed.message) == (Outcome.NO_EFFECT, "they beat as before")
    followed = watched.look(template="def")
    assert followed is not None
    assert followed.outcome is not Outcome.NO_EFFECT


@pytest.mark.parametrize(
    "policy",
    [
        {"application": dataclasses.replace(CHANGE, reverts=WRITTEN - DAY)},
        {"taken_back": TakenBack(CHANGE, NOW, 1)},
    ],
    ids=["a revert", "taken back by a person"],
)
def test_what_went_back_is_not_judged(policy: dict[str, Any]) -> None:
    """Nor does a saving wait for a verdict that nobody gives."""
    followed = changed(**policy).look(evicted=[NOW])
    assert followed is not None
    assert followed.outcome is Outcome.INCONCLUSIVE


def test_after_the_horizon_the_verdict_stands() -> None:
    """The record of the time before is let go of, and would make another."""
    late = changed(followed=dataclasses.replace(LANDED, outcome=Outcome.VERIFIED, message="fewer than before"))
    followed = late.look(after=29 * DAY)
    assert followed is not None
    assert (followed.outcome, followed.message) == (Outcome.VERIFIED, "fewer than before")


def test_a_change_that_is_found_long_after_it_was_made_is_not_judged() -> None:
    """Its status was lost with a backup; what its pods do today says nothing of it."""
    lost = group(application=CHANGE)
    crash = Rollout(wanted=3, updated=3, exceeded=True, unready=("orders-0", "orders-1"))
    for _ in range(3):
        followed = lost.look(rollout=crash, rolling_out=True)
        assert followed is not None
        assert (followed.outcome, followed.landed) == (Outcome.INCONCLUSIVE, None)


def test_harm_after_somebody_s_deploy_is_said_and_not_taken_back() -> None:
    """It may be of the deploy; nobody can tell."""
    watched = changed(application=dataclasses.replace(CHANGE, at=NOW), followed=FollowedChange(NOW, landed=NOW))
    noted = {"app": dataclasses.replace(CHANGE, at=NOW)}
    watched.look(is_our_template=False, applications=noted)
    for number in range(1, 4):
        watched.look(evicted=[NOW + number * 16 * MINUTE], after=16 * MINUTE, is_our_template=True, applications=noted)
    followed = watched.policy.followed
    assert followed is not None
    assert (followed.outcome, followed.deployed) == (Outcome.WORSE, NOW + MINUTE)
    assert not followed.is_harmful


def test_a_label_of_the_owner_s_is_no_deploy() -> None:
    """The template is the one that the change left, whoever touched the workload last."""
    noted = {"app": dataclasses.replace(CHANGE, at=NOW)}
    watched = group(application=dataclasses.replace(CHANGE, at=NOW))
    watched.look(applications=noted, template="ours")
    labelled = watched.look(applications=noted, template="ours", is_our_template=False)
    assert labelled is not None
    assert (labelled.template, labelled.deployed) == ("ours", None)
    deployed = watched.look(applications=noted, template="theirs", is_our_template=False)
    assert deployed is not None
    assert deployed.deployed == watched.now


def test_a_view_from_before_the_write_shows_no_deploy() -> None:
    """The watch may lag behind."""
    rolling = group(application=dataclasses.replace(CHANGE, at=NOW))
    followed = rolling.look(values=BEFORE, is_our_template=False)
    assert followed is not None
    assert followed.deployed is None


def test_another_group_begins_another_history() -> None:
    """What `billing` did is nothing to compare `orders` with."""
    watched = changed(group_id="billing")
    watched.look()
    assert (watched.history.group, watched.history.episodes_s) == (("main", "billing"), ())
    assert watched.history.since > NOW - 2 * worlds.HOUR


def test_a_failure_that_could_not_be_taken_back_is_not_forgotten() -> None:
    """The policy was suspended when the pods began to crash, and the deadline is over."""
    crash = Rollout(wanted=1, updated=1, failing=(Failing("orders-0", "ends", 3, container="app"),))
    failed = dataclasses.replace(LANDED, outcome=Outcome.ROLLOUT_FAILED, message="they end", reached=WRITTEN)
    watched = changed(followed=failed)
    followed = watched.look(rollout=crash)
    assert followed == failed
    followed = watched.look()
    assert followed is not None
    assert followed.outcome is Outcome.VERIFYING


def test_a_step_of_scale_hides_no_crash() -> None:
    """Only an outage of the brokers explains why pods end."""
    watched = changed(application=dataclasses.replace(CHANGE, at=NOW), followed=FollowedChange(NOW, landed=NOW))
    watched.look(rollout=Rollout(wanted=3, updated=3))
    crash = Rollout(wanted=5, updated=5, failing=(Failing("orders-0", "ends", 3, container="app"),))
    followed = watched.look(rollout=crash)
    assert followed is not None
    assert followed.outcome is Outcome.ROLLOUT_FAILED


def test_looks_that_see_nothing_are_left_out() -> None:
    """For hours the group was not found: who knows what happened meanwhile."""
    watched = group()
    watched.look()
    watched.memory = unseen(watched.memory, watched.now, is_outage=False)
    watched.look(after=timedelta(hours=5))
    assert sum(until - since for since, until in watched.history.left_out) == pytest.approx(4 * 3600, abs=61)
