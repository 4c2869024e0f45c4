"""What comes next with a canary, by one look at it."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api.canary_notes import canary_of, canary_status
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.input import CanaryLook
from heartbeat_tuner.domain.evidence import Record, Unknown, Workload
from heartbeat_tuner.domain.policies import Application, Mode, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import CanaryPods, Failing, Rollout, UpdatedPod
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase, Outcome, PromisedRate
from heartbeat_tuner.reconcile.canaries import canary_steps
from heartbeat_tuner.reconcile.canaries.canary_steps import CanaryStep
from heartbeat_tuner.reconcile.outcomes import Decided
from tests.support import sharing, worlds
from tests.support.worlds import NOW

MINUTE = timedelta(minutes=1)
TRIED = worlds.settings("20s")
ENTRIES = {"KAFKA_SESSION_TIMEOUT_MS": "20000"}
LANDED = Canary(
    since=NOW - 30 * MINUTE,
    until=NOW + timedelta(hours=23),
    values=TRIED,
    previous=worlds.settings(),
    entries=ENTRIES,
    pods=2,
    workload_uid="workload-1",
    template="t",
    spec="",
    ticket=2,
    replaced="uid-gone",
    replaced_at=NOW - 25 * MINUTE,
    landed=NOW - 20 * MINUTE,
    seen_until=NOW - MINUTE,
)
COMING = dataclasses.replace(LANDED, ticket=1, landed=None, seen_until=None)
HELD = Finding(Reason.CANARY_RUNNING, "a canary runs")
ASKED = dataclasses.replace(sharing.change(TRIED, Reason.CHEAPER), hold=HELD)
WELL = Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "all is well"))
UNKNOWN = Unknown(Reason.METRICS_STALE, "nobody knows")


def workload(*, tried: int = 2, unready: int = 0, wanted: int = 8, **changes: Any) -> Workload:
    """Return eight pods, of which the first ones have the values; some of those are not ready."""
    pods = worlds.pods(wanted)
    names = [pod.name for pod in pods[:tried]]
    rollout = Rollout(
        wanted=wanted,
        ready=tuple(UpdatedPod(name, NOW - worlds.HOUR, 0) for name in names[unready:]),
        unready=tuple(names[:unready]),
        pods=frozenset(names),
    )
    made = dataclasses.replace(
        worlds.workload(running=pods),
        template="t",
        canary=CanaryPods({pod.name: pod.uid for pod in pods[:tried]}, rollout, wanted),
    )
    return dataclasses.replace(made, **changes)


def record(*evicted: timedelta, unobserved: tuple[str, ...] = ()) -> Record:
    """Return an hour of record in which members were evicted so long ago."""
    seen = worlds.record(unobserved=unobserved)
    return dataclasses.replace(seen, evicted_at_s=tuple(sorted((NOW - ago).timestamp() for ago in evicted)))


def outcome(
    has: Workload | None = None,
    *,
    decision: Decision = ASKED,
    own: Record | Unknown | None = None,
    others: Record | Unknown | None = None,
    contradiction: str = "",
    **policy: Any,
) -> Decided:
    """Return what one look shows."""
    inputs = worlds.situation(policy=worlds.policy(**policy), has=has or workload(), seen=others or record())
    look = CanaryLook(own or record(), contradiction)
    return Decided(dataclasses.replace(inputs, canary=look), decision)


def step(canary: Canary, **seen: Any) -> CanaryStep:
    """Return what comes next."""
    return canary_steps.next_step(canary, outcome(**seen))


def after(canary: Canary, **seen: Any) -> Canary:
    """Return what is noted after a look."""
    noted = step(canary, **seen).canary
    assert noted is not None
    return noted


def test_time_counts_as_far_as_both_parts_were_seen() -> None:
    """From where it was seen last, or from where a record begins."""
    assert after(LANDED).exposed == MINUTE
    begun = dataclasses.replace(record(), since=NOW - timedelta(seconds=20))
    assert after(LANDED, own=begun).exposed == timedelta(seconds=20)
    assert after(LANDED, others=begun).exposed == timedelta(seconds=20)
    late = dataclasses.replace(record(), since=NOW - 2 * MINUTE, until=NOW - MINUTE)
    assert after(LANDED, own=late) == LANDED


@pytest.mark.parametrize(
    "seen",
    [
        {"own": UNKNOWN},
        {"others": UNKNOWN},
        {"own": record(unobserved=("orders-0",))},
        {"has": workload(unready=1)},
    ],
    ids=["its pods' record", "the others'", "a pod without samples", "a pod that is not ready"],
)
def test_what_could_not_be_seen_does_not_count(seen: dict[str, Any]) -> None:
    """Nor is it counted later: the time is left out."""
    noted = after(LANDED, **seen)
    assert (noted.exposed, noted.seen_until) == (timedelta(0), NOW)
    assert noted.phase is CanaryPhase.RUNNING


def test_whom_an_episode_hits_first_it_counts_for() -> None:
    """Evictions within a quarter of an hour are one; what hits both at once is not the values'."""
    own, others = record(19 * MINUTE, 2 * MINUTE, 25 * MINUTE), record(18 * MINUTE, 2 * MINUTE)
    noted = after(LANDED, own=own, others=others)
    assert noted.hits_s == ((NOW - 19 * MINUTE).timestamp(),)
    assert noted.others_s == ((NOW - 2 * MINUTE).timestamp(),)
    assert after(noted, own=own, others=others).hits_s == noted.hits_s


def many(count: int, *, canary: Canary = LANDED, others: int = 0, **changes: Any) -> Canary:
    """Return a canary of yesterday that was hit so often, and the other pods likewise."""
    landed = NOW - timedelta(hours=20)
    hits, rest = (tuple((landed + number * worlds.HOUR).timestamp() for number in range(n)) for n in (count, others))
    times = {"since": landed, "landed": landed, "hits_s": hits, "others_s": rest}
    return dataclasses.replace(canary, **{**times, **changes})


def test_a_status_has_room_for_the_episodes_of_a_week_of_trouble() -> None:
    """Values that passed wait for a window for eight days; a note with no room would stand in its way for ever."""
    landed = NOW - timedelta(days=8)
    others = tuple((landed + number * 15 * MINUTE).timestamp() for number in range(760))
    long = dataclasses.replace(LANDED, phase=CanaryPhase.PASSED, since=landed, landed=landed, others_s=others)
    noted = after(long, others=record(2 * MINUTE))
    assert noted.others_s[-1] == (NOW - 2 * MINUTE).timestamp()
    assert canary_of(canary_status(noted)) == noted


@pytest.mark.parametrize(("hits", "others"), [(2, 0), (3, 5), (0, 12)])
def test_episodes_as_chance_has_them_fail_nothing(hits: int, others: int) -> None:
    """It has a quarter of the pods."""
    assert step(many(hits, others=others)).failed is None


@pytest.mark.parametrize(("hits", "others"), [(3, 0), (12, 4)])
def test_episodes_at_its_pods_more_often_than_by_chance_fail_it(hits: int, others: int) -> None:
    """By whom they hit alone, whatever the rate is."""
    failed = step(many(hits, others=others)).failed
    assert failed is not None
    assert failed.outcome is Outcome.WORSE
    assert f"{hits} of {hits + others} episodes" in failed.message


def test_a_storm_in_its_first_hour_fails_it_unless_that_was_promised() -> None:
    """Three episodes beyond what chance allows."""
    at = tuple((NOW + (16 * number - 20) * MINUTE).timestamp() for number in range(3))
    stormy = dataclasses.replace(LANDED, hits_s=at, others_s=tuple(LANDED.since.timestamp() for _ in range(30)))
    failed = step(stormy).failed
    assert failed is not None
    assert "in the first hour" in failed.message
    assert step(dataclasses.replace(stormy, promise=PromisedRate(500.0))).failed is None


def test_values_that_are_not_used_fail_it() -> None:
    """The members at its pods beat as none does with them."""
    failed = step(LANDED, contradiction="there is a heartbeat every 1 s").failed
    assert failed is not None
    assert (failed.outcome, failed.spec) == (Outcome.NO_EFFECT, "")
    assert step(COMING, has=workload(tried=1), contradiction="there is a heartbeat every 1 s").failed is None


def test_a_pod_that_is_never_ready_fails_it_at_its_deadline() -> None:
    """Not one that cannot be scheduled: it does not run at all."""
    late = dataclasses.replace(COMING, replaced_at=NOW - 10 * MINUTE)
    failed = step(late, has=workload(tried=1, unready=1)).failed
    assert failed is not None
    assert (failed.outcome, "not ready after 10m: orders-0" in failed.message) == (Outcome.ROLLOUT_FAILED, True)
    pending = workload(tried=1)
    pending = dataclasses.replace(
        pending, canary=dataclasses.replace(pending.canary, rollout=Rollout(pods=frozenset({"orders-0"})))
    )
    assert step(late, has=pending).failed is None


def test_a_sidecar_and_a_paused_deployment_say_nothing_of_the_values() -> None:
    """The values are in another container, and a person has the pods in hand."""
    crashes = Failing("orders-0", "container sidecar ends again and again", 3, container="sidecar")
    has = workload(tried=1, unready=1)
    rollout = dataclasses.replace(has.canary.rollout, unready=(), failing=(crashes,))
    has = dataclasses.replace(has, canary=dataclasses.replace(has.canary, rollout=rollout))
    assert step(COMING, has=has).failed is None
    own = dataclasses.replace(rollout, failing=(dataclasses.replace(crashes, container="app"),))
    has = dataclasses.replace(has, canary=dataclasses.replace(has.canary, rollout=own))
    assert step(COMING, has=has).failed is not None
    assert step(COMING, has=dataclasses.replace(has, paused=True)).failed is None


def test_it_passes_once_it_was_watched_for_long_enough() -> None:
    """And is told to be undone where the change is not asked for any more."""
    due = dataclasses.replace(LANDED, exposed=timedelta(minutes=59))
    passed = after(due)
    assert (passed.phase, passed.until) == (CanaryPhase.PASSED, NOW + canary_steps.PASSED_STANDS)
    assert after(due, decision=dataclasses.replace(WELL, verdict=Verdict.UNKNOWN)).phase is CanaryPhase.PASSED
    for decision, why in ((WELL, "no change"), (sharing.change(worlds.settings("40s")), "other values")):
        ended = after(due, decision=decision)
        assert (ended.phase, why in ended.message) == (CanaryPhase.ENDED, True)


def test_values_that_passed_and_can_never_be_written_are_taken_back() -> None:
    """No window opened for a week."""
    late = dataclasses.replace(LANDED, phase=CanaryPhase.PASSED, until=NOW)
    ended = after(late)
    assert (ended.phase, "nothing could be written" in ended.message) == (CanaryPhase.ENDED, True)
    assert ended.again == NOW + canary_steps.LONGEST


def test_a_group_that_went_over_to_the_consumer_protocol_has_none() -> None:
    """Its session is the broker's by now."""
    seen = outcome()
    group = dataclasses.replace(seen.inputs.group, consumer_protocol=True)
    seen = dataclasses.replace(seen, inputs=dataclasses.replace(seen.inputs, group=group))
    ended = canary_steps.next_step(LANDED, seen).canary
    assert ended is not None
    assert "KIP-848" in ended.message
    free = dataclasses.replace(seen, decision=dataclasses.replace(ASKED, hold=None))
    assert canary_steps.pods_first(free, may_evict=True) == 0


@pytest.mark.parametrize(
    ("policy", "pods"),
    [
        ({}, 2),
        ({"mode": Mode.RECOMMEND}, 0),
        ({"workload": WorkloadRef("StatefulSet", worlds.policy().workload.key, "app")}, 0),
        ({"canary": dataclasses.replace(LANDED, phase=CanaryPhase.PASSED)}, 0),
        ({"canary": dataclasses.replace(LANDED, phase=CanaryPhase.OVER)}, 2),
    ],
    ids=["a Deployment", "a mode", "a StatefulSet", "passed", "over"],
)
def test_which_changes_have_one(policy: dict[str, Any], pods: int) -> None:
    """None without the right to evict, and none for a cure or a revert."""
    free = outcome(decision=dataclasses.replace(ASKED, hold=None), **policy)
    assert canary_steps.pods_first(free, may_evict=True) == pods
    assert canary_steps.pods_first(free, may_evict=False) == 0
    for decision in (sharing.change(TRIED, Reason.DANGER), dataclasses.replace(ASKED, hold=None, reverts=True)):
        assert canary_steps.pods_first(dataclasses.replace(free, decision=decision), may_evict=True) == 0


def test_scaled_down_it_never_becomes_more_than_half_of_the_pods() -> None:
    """An autoscaler left four of sixteen, and three have the values: the last one must not get them, too."""
    coming = dataclasses.replace(COMING, pods=4, ticket=3)
    assert after(coming, has=workload(tried=3)).ticket == 4
    taken = step(coming, has=workload(tried=3, wanted=4))
    assert taken.canary is not None
    assert (taken.evicted, taken.canary.phase, taken.canary.ticket) == (None, CanaryPhase.ENDED, 3)
    assert "more than half of the 4" in taken.canary.message
    landed = dataclasses.replace(LANDED, pods=4)
    assert after(landed, has=workload(tried=3, wanted=4)).phase is CanaryPhase.ENDED
    assert after(landed, has=workload(tried=2, wanted=4)).phase is CanaryPhase.RUNNING


def test_once_the_template_was_written_there_is_none() -> None:
    """Whoever wrote it: a cure, or a leader who fell right after that."""
    written = Application(TRIED, worlds.settings(), LANDED.since, "workload-1", "app")
    assert step(LANDED, application=written).canary is None


def test_taking_back_waits_until_the_others_are_whole_but_not_for_ever() -> None:
    """Another pod that is away for a reason of its own holds it up for ten minutes."""
    ended = dataclasses.replace(LANDED, phase=CanaryPhase.ENDED, until=NOW - 10 * MINUTE, replaced_at=NOW - MINUTE)
    has = workload()
    has = dataclasses.replace(has, canary=dataclasses.replace(has.canary, total=7))
    assert step(ended, has=has).evicted is None
    late = dataclasses.replace(ended, replaced_at=NOW - 10 * MINUTE)
    assert step(late, has=has).evicted == ("orders-0", "uid-0")
    assert step(late, has=has, suspended=True).evicted is None


@pytest.mark.parametrize(
    "seen", [{}, {"contradiction": "there is a heartbeat every 1 s"}], ids=["a deploy", "a deploy as values fail"]
)
def test_a_deploy_that_ends_a_canary_loses_no_pod_beyond_those_it_replaces(seen: dict[str, Any]) -> None:
    """Its last pod was replaced long ago, which says nothing of the rollout that began just now."""
    has = workload(rolling_out=True, template="another" if not seen else "t")
    has = dataclasses.replace(has, canary=dataclasses.replace(has.canary, total=6))
    ended = after(LANDED, has=has, **seen)
    assert (ended.is_taking_back, ended.until) == (True, NOW)
    assert step(ended, has=has).evicted is None


def test_taking_back_asks_for_the_same_pod_until_it_is_gone() -> None:
    """A disruption budget refused it, or the leader fell; those that fail go first."""
    ended = dataclasses.replace(LANDED, phase=CanaryPhase.FAILED, outcome=Outcome.WORSE, replaced="uid-1")
    assert step(ended).evicted == ("orders-1", "uid-1")
    has = workload(unready=1)
    has = dataclasses.replace(has, pods=tuple(dataclasses.replace(pod) for pod in has.pods))
    assert step(dataclasses.replace(ended, replaced=""), has=has).evicted == ("orders-0", "uid-0")


@given(
    tried=st.integers(0, 4),
    unready=st.integers(0, 2),
    ticket=st.integers(0, 2),
    phase=st.sampled_from(CanaryPhase),
    replaced=st.sampled_from(["", "uid-0", "uid-5", "uid-gone"]),
    minutes=st.integers(0, 1_500),
    suspended=st.booleans(),
)
def test_no_step_evicts_more_than_it_may(
    *, tried: int, unready: int, ticket: int, phase: CanaryPhase, replaced: str, minutes: int, suspended: bool
) -> None:
    """A pod is evicted for a ticket, or since it has the values and must not; and what is noted names it."""
    canary = dataclasses.replace(
        COMING, ticket=ticket, phase=phase, replaced=replaced, replaced_at=NOW - minutes * MINUTE
    )
    has = workload(tried=tried, unready=min(unready, tried))
    taken = step(canary, has=has, suspended=suspended)
    if taken.canary is not None and taken.canary.ticket > ticket:
        assert taken.evicted is None, "the webhook has to know of a ticket first"
    if taken.canary is not None:
        assert ticket <= taken.canary.ticket <= min(ticket + 1, max(ticket, canary.pods))
    if taken.evicted is None:
        return
    assert not suspended
    assert taken.canary is not None
    name, uid = taken.evicted
    assert taken.canary.replaced == uid
    has_values = name in has.canary.uids
    assert has_values or (taken.canary.phase is CanaryPhase.RUNNING and 0 < taken.canary.ticket <= canary.pods)
    if has_values and replaced != uid:
        assert taken.canary.is_taking_back


def test_a_policy_of_several_workloads_has_none_and_takes_back_what_it_began_with_one() -> None:
    """It was edited meanwhile to name another workload too, and that one stands first."""
    first, own = (
        WorkloadRef("Deployment", dataclasses.replace(worlds.policy().key, name=name), "app") for name in "ab"
    )
    whole = workload_parts.together({first: workload(tried=0, uid="workload-0"), own: workload()})
    both: dict[str, Any] = {"workload": own, "workloads": (first, own)}
    free = outcome(whole, decision=dataclasses.replace(ASKED, hold=None), **both)
    assert canary_steps.pods_first(free, may_evict=True) == 0
    ended = after(LANDED, has=whole, spec="another", **both)
    assert ended.phase is CanaryPhase.ENDED
    assert step(ended, has=whole, spec="another", **both).evicted == ("orders-0", "uid-0")
