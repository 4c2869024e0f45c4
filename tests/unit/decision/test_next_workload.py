"""Which of several workloads is written next: from what was written to each, and what is seen of them."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision import between_workloads, next_workload, workload_parts
from heartbeat_tuner.decision.next_workload import NextPart
from heartbeat_tuner.domain.evidence import Holdings, Workload
from heartbeat_tuner.domain.liveness import Setting, ValueSource
from heartbeat_tuner.domain.policies import Application, Intent, Mode, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.rollouts import Rollout, Strategy
from heartbeat_tuner.domain.verifications import FollowedChange, Outcome
from tests.support import worlds
from tests.support.worlds import NOW

OLD, NEW = worlds.STORM, worlds.settings("30s", "1s", "1s")
REFS = tuple(WorkloadRef("Deployment", ObjectKey("shop", name), "app") for name in ("a", "b", "c"))
ENTRIES = {"KAFKA_SESSION_TIMEOUT_MS": "30000"}
FIRST_AT = NOW - timedelta(hours=2)


def at(number: int) -> datetime:
    """Return when a change was written to a workload: one half an hour after another."""
    return FIRST_AT + timedelta(minutes=30 * number)


def change(number: int) -> Application:
    """Return one change, as it was written to a workload."""
    begun = None if number == 0 else at(0)
    return Application(NEW, OLD, at(number), f"uid-{number}", "app", entries=ENTRIES, entries_before={}, begun=begun)


def reverted(number: int, later: int = 0) -> Application:
    """Return the write that took it back from a workload."""
    return dataclasses.replace(
        change(number),
        values=OLD,
        previous=NEW,
        at=at(3 + later),
        reverts=at(number),
        entries={},
        entries_before=ENTRIES,
    )


def part(number: int, application: Application | None, **changes: Any) -> Workload:
    """Return a workload whose pods have run with what was written to it since then."""
    pod = worlds.pod(10 * number, started=NOW - worlds.HOUR if application is None else application.at)
    workload = worlds.workload(OLD if application is None else application.values, running=[pod])
    noted = {} if application is None else {"app": application}
    ours = application is not None
    base = dataclasses.replace(workload, uid=f"uid-{number}", template=f"t{number}", is_our_template=ours)
    return dataclasses.replace(base, **{"applications": noted, **changes})


def scene(
    *written: Application | None, parts_changed: dict[int, dict[str, Any]] | None = None
) -> tuple[Policy, Workload]:
    """Return a policy and its workloads, after these writes; `parts_changed` changes workloads by number."""
    refs, changes = REFS[: len(written)], parts_changed or {}
    noted = {ref: application for ref, application in zip(refs, written, strict=True) if application is not None}
    newest = max(noted.values(), key=lambda application: application.at, default=None)
    policy = worlds.policy(workload=refs[0], workloads=refs, applications=noted, application=newest)
    parts = {
        ref: part(number, application, **changes.get(number, {}))
        for number, (ref, application) in enumerate(zip(refs, written, strict=True))
    }
    return policy, workload_parts.together(parts)


def followed(policy: Policy, outcome: Outcome = Outcome.VERIFYING) -> FollowedChange:
    """Return how far the newest change is."""
    assert policy.application is not None
    return FollowedChange(policy.application.at, outcome=outcome)


def step(policy: Policy, workload: Workload, outcome: Outcome = Outcome.VERIFYING) -> NextPart | None:
    """Return where the change goes on."""
    return next_workload.next_part(policy, workload, followed(policy, outcome), NOW)


def test_a_change_goes_from_one_to_the_next_in_the_order_of_the_policy() -> None:
    """And is over when all have it."""
    assert step(*scene(change(0), None, None)) == NextPart(REFS[1], NEW, reverts=False, is_due=True)
    assert step(*scene(change(0), change(1), None)) == NextPart(REFS[2], NEW, reverts=False, is_due=True)
    assert step(*scene(change(0), change(1), change(2))) is None


def test_nothing_goes_on_that_has_not_begun() -> None:
    """Nor for a policy of one workload."""
    policy, workload = scene(None, None)
    assert next_workload.next_part(policy, workload, None, NOW) is None
    alone, single = worlds.policy(application=change(0)), worlds.workload(NEW)
    assert next_workload.next_part(alone, single, followed(alone), NOW) is None
    assert next_workload.turned(alone, single, None, NOW) is alone


@pytest.mark.parametrize(
    "changes",
    [
        {"rolling_out": True},
        {"pods": (worlds.pod(7, started=NOW - timedelta(seconds=59)),)},
        {"pods": (dataclasses.replace(worlds.pod(7), ready_since=None),)},
        {"rollout": Rollout(wanted=2, updated=2)},
    ],
    ids=["rolling", "ready for 59 s", "not ready", "a pod is missing"],
)
def test_the_next_waits_until_the_pods_before_it_stayed_ready(changes: dict[str, Any]) -> None:
    """Of all before it, not of the last alone."""
    policy, workload = scene(change(0), None, parts_changed={0: changes})
    young = dataclasses.replace(change(0), at=NOW - timedelta(minutes=5))
    policy = dataclasses.replace(policy, application=young, applications={REFS[0]: young})
    found = step(policy, workload)
    assert found == NextPart(REFS[1], NEW, reverts=False, is_due=False)


@pytest.mark.parametrize("outcome", set(Outcome) - {Outcome.VERIFYING, Outcome.VERIFIED, Outcome.INCONCLUSIVE})
def test_what_shows_something_against_a_change_ends_it(outcome: Outcome) -> None:
    """It is not written to one more workload, whatever becomes of it where it is."""
    assert step(*scene(change(0), None), outcome) is None


def test_what_is_not_known_of_a_change_ends_it_for_now() -> None:
    """What is followed may still be the change before."""
    policy, workload = scene(change(0), None)
    assert next_workload.next_part(policy, workload, None, NOW) is None
    assert next_workload.next_part(policy, workload, FollowedChange(at(-9)), NOW) is None


def test_what_somebody_undid_in_one_workload_does_not_go_on() -> None:
    """By whatever way: its pods run with other values, and no rollout is under way."""
    assert step(*scene(change(0), None, parts_changed={0: {"current": worlds.current(OLD)}})) is None


@pytest.mark.parametrize(
    "edit",
    [
        {"bounds": worlds.bounds(sessionTimeout=(None, "29s"))},
        {"bounds": worlds.bounds(sessionTimeout=("31s", None))},
        {"objective": dataclasses.replace(worlds.policy().objective, max_detection_time=timedelta(seconds=29))},
    ],
    ids=["above", "below", "detection"],
)
def test_a_change_does_not_go_on_where_the_policy_forbids_it_by_now(edit: dict[str, Any]) -> None:
    """It was edited between two workloads."""
    policy, workload = scene(change(0), None)
    assert step(dataclasses.replace(policy, **edit), workload) is None


def test_a_change_goes_back_from_the_newest_to_the_first() -> None:
    """From those alone that have it."""
    back = NextPart(REFS[1], OLD, reverts=True, is_due=True)
    assert step(*scene(change(0), change(1), reverted(2))) == back
    last = NextPart(REFS[0], OLD, reverts=True, is_due=True)
    assert step(*scene(change(0), reverted(1, later=1), reverted(2))) == last
    assert step(*scene(reverted(0, later=2), reverted(1, later=1), reverted(2))) is None
    assert step(*scene(reverted(0), None, None)) is None


def test_the_next_goes_back_when_the_rollout_before_it_is_over_or_stuck() -> None:
    """What goes back must not wait for ever for pods that start no more."""
    rolling: dict[str, Any] = {"rolling_out": True, "rollout": Rollout(1, progressed=NOW - timedelta(minutes=1))}
    found = step(*scene(change(0), reverted(1), parts_changed={1: rolling}))
    assert found is not None
    assert not found.is_due
    stuck = {**rolling, "rollout": Rollout(1, exceeded=True)}
    found = step(*scene(change(0), reverted(1), parts_changed={1: stuck}))
    assert found is not None
    assert found.is_due


@pytest.mark.parametrize(
    "first",
    [
        dataclasses.replace(change(0), entries_before=None),
        dataclasses.replace(change(0), entries={"OLD_NAME": "1"}),
        dataclasses.replace(change(0), entries_before={"OLD_NAME": "1"}),
    ],
    ids=["not noted", "another name", "another name before"],
)
def test_what_cannot_be_written_back_to_the_letter_is_left(first: Application) -> None:
    """Under other names the values would stay where they are, and the revert be one in words alone."""
    assert step(*scene(first, reverted(1))) is None


@pytest.mark.parametrize("edit", [{"reverts": False}, {"mode": Mode.RECOMMEND}], ids=["no reverts", "Recommend"])
def test_nothing_goes_back_without_leave(edit: dict[str, Any]) -> None:
    """It was edited between two workloads."""
    policy, workload = scene(change(0), reverted(1))
    assert between_workloads.taken_back_next(policy, workload, followed(policy), NOW) is not None
    policy = dataclasses.replace(policy, **edit)
    assert between_workloads.taken_back_next(policy, workload, followed(policy), NOW) is None


def test_a_policy_is_turned_to_the_workload_that_is_written_next() -> None:
    """Where harm shows, to the one that was written last, whichever would be next."""
    policy, workload = scene(change(0), change(1), None)
    assert next_workload.turned(policy, workload, followed(policy), NOW).workload == REFS[2]
    harm = followed(policy, Outcome.ROLLOUT_FAILED)
    assert next_workload.turned(policy, workload, harm, NOW).workload == REFS[1]
    gone = dataclasses.replace(policy, applications={})  # with the workloads that it was written to
    assert next_workload.turned(gone, workload, harm, NOW).workload == REFS[0]
    done = scene(change(0), change(1), change(2))
    assert next_workload.turned(*done, followed(done[0]), NOW).workload == REFS[0]


@given(st.integers(0, 3), st.booleans(), st.booleans())
def test_at_most_one_workload_is_written_and_never_one_that_has_it(number: int, back: bool, rolls: bool) -> None:  # noqa: FBT001 - drawn
    """However many were written, whichever way the change goes."""
    written: list[Application | None] = [change(place) if place < number else None for place in range(3)]
    if back and number:
        written[number - 1] = reverted(number - 1)
    if not number:
        return
    policy, workload = scene(
        *written, parts_changed={number - 1: {"rolling_out": rolls, "rollout": Rollout(1, progressed=NOW)}}
    )
    found = step(policy, workload)
    if found is None:
        return
    assert found.target != written_values(workload, found.reference)
    assert found.is_due is not rolls


def written_values(workload: Workload, reference: WorkloadRef) -> Any:
    """Return what a workload's pods run with."""
    current = workload.parts[reference].current
    return None if current is None else current.settings


def test_all_workloads_as_one_have_what_is_alike_in_all() -> None:
    """Their pods are the group's; where they differ, nothing is set."""
    _, workload = scene(change(0), change(1))
    assert [pod.name for pod in workload.pods] == ["orders-0", "orders-10"]
    assert (workload.current, workload.rollout.wanted) == (worlds.current(NEW), 2)
    _, differing = scene(change(0), None)
    assert differing.current is None
    _, unknown = scene(change(0), change(1), parts_changed={1: {"current": None}})
    assert unknown.current is None


def test_what_one_workload_does_not_show_is_assumed_for_all() -> None:
    """So that no change rests on it."""
    by_default = worlds.current(NEW, ValueSource.DEFAULT)
    _, workload = scene(change(0), change(1), parts_changed={1: {"current": by_default}})
    assert workload.current is not None
    assert Setting.SESSION_TIMEOUT in workload.current.assumed


@pytest.mark.parametrize("number", [0, 1])
def test_what_holds_one_workload_holds_all(number: int) -> None:
    """A rollout, a pause, a strategy that stops all pods at once."""
    changes: dict[str, Any] = {"paused": True, "rolling_out": True, "at_once": True, "strategy": Strategy.RECREATE}
    _, workload = scene(change(0), change(1), parts_changed={number: changes})
    assert (workload.paused, workload.rolling_out, workload.at_once) == (True, True, True)
    assert (workload.strategy, workload.our_rollout) == (Strategy.RECREATE, False)
    assert scene(change(0), change(1), parts_changed={number: {"partition": 2}})[1].partition == 2


def test_a_rollout_is_ours_where_every_one_that_goes_on_is() -> None:
    """Somebody's deploy of another workload may be the cure, or the harm."""
    ours: dict[str, Any] = {"rolling_out": True, "our_rollout": True}
    assert scene(change(0), change(1), parts_changed={1: ours})[1].our_rollout
    assert not scene(change(0), change(1), parts_changed={0: {"rolling_out": True}, 1: ours})[1].our_rollout


def test_a_change_of_any_template_makes_another_fingerprint() -> None:
    """What was proven of the values stands while all templates stay."""
    before = scene(change(0), change(1))[1].template
    assert scene(change(0), change(1))[1].template == before
    assert scene(change(0), change(1), parts_changed={1: {"template": "t9"}})[1].template != before


def test_a_change_is_in_the_templates_that_it_was_written_to() -> None:
    """Somebody's deploy of one of these counts; of a workload that has not got it yet, it does not."""
    policy, workload = scene(change(0), change(1), None)
    newest = change(1)
    seen = workload_parts.as_written(policy, newest, workload, is_first=False)
    assert (seen.uid, seen.is_our_template) == ("uid-1", True)
    deployed = scene(change(0), change(1), None, parts_changed={2: {"template": "t9", "is_our_template": False}})[1]
    assert workload_parts.as_written(policy, newest, deployed, is_first=False).template == seen.template
    deployed = scene(change(0), change(1), None, parts_changed={0: {"template": "t9", "is_our_template": False}})[1]
    other = workload_parts.as_written(policy, newest, deployed, is_first=False)
    assert (other.template == seen.template, other.is_our_template) == (False, False)
    assert workload_parts.as_written(policy, newest, deployed, is_first=True).is_our_template
    single = worlds.workload(NEW)
    assert workload_parts.as_written(worlds.policy(), newest, single, is_first=True) is single
    assert workload_parts.written(worlds.policy(), newest, single) == [(worlds.policy().workload, newest, single)]


def held(number: int, application: Application | None) -> Holdings:
    """Return what stands in a workload after a write, or before any."""
    noted = {} if application is None else {"app": application}
    standing = {} if application is None else dict(application.entries)
    return Holdings({}, {}, {}, standing, {}, noted, f"uid-{number}", 5)


def test_a_look_finds_what_was_written_to_each_workload() -> None:
    """By its own note; the newest of all is the policy's last change."""
    policy, _ = scene(None, None)
    seen = next_workload.seen(policy, {REFS[0]: held(0, change(0)), REFS[1]: held(1, change(1))}, now=NOW)
    assert seen.applications == {REFS[0]: change(0), REFS[1]: change(1)}
    assert seen.application == change(1)
    assert next_workload.seen(seen, {REFS[0]: held(0, change(0)), REFS[1]: held(1, change(1))}, now=NOW) is seen
    gone = next_workload.seen(seen, {REFS[0]: held(0, change(0))}, now=NOW)
    assert gone is seen  # what cannot be read stays as it was noted


def test_a_write_that_was_about_to_be_done_is_looked_for_in_its_own_workload() -> None:
    """Done or not; where its workload is another by now, it was not."""
    policy, _ = scene(change(0), None)
    policy = dataclasses.replace(policy, intent=Intent(change(1), 5))
    done = next_workload.seen(policy, {REFS[0]: held(0, change(0)), REFS[1]: held(1, change(1))}, now=NOW)
    assert (done.intent, done.application) == (None, change(1))
    open_still = next_workload.seen(policy, {REFS[0]: held(0, change(0)), REFS[1]: held(1, None)}, now=NOW)
    assert (open_still.intent, open_still.application) == (policy.intent, change(0))
    unread = next_workload.seen(policy, {REFS[0]: held(0, change(0))}, now=NOW)
    assert unread.intent == policy.intent
    another = dataclasses.replace(held(1, None), uid="uid-9")
    assert next_workload.seen(policy, {REFS[0]: held(0, change(0)), REFS[1]: another}, now=NOW).intent is None


@pytest.mark.parametrize("undone", [0, 1])
def test_what_is_taken_out_of_any_workload_is_taken_back(undone: int) -> None:
    """And the policy turned to that workload, whose name the sentence has."""
    policy, _ = scene(change(0), change(1))
    looks = {ref: held(number, change(number)) for number, ref in enumerate(REFS[:2])}
    looks[REFS[undone]] = held(undone, None)
    seen = next_workload.seen(dataclasses.replace(policy, observed_generation=1), looks, now=NOW)
    assert seen.forbidden is not None
    assert (seen.forbidden.application, seen.workload) == (change(undone), REFS[undone])
    looks[REFS[1 - undone]] = held(1 - undone, None)  # the other, too: one edit asks again for all
    edited = dataclasses.replace(seen, generation=2, spec="another", observed_generation=1)
    assert next_workload.seen(edited, looks, now=NOW).forbidden is None
