"""Which pods that fail speak against the values, and which say nothing of them."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.rollouts import Failing, Rollout, Strategy, UpdatedPod
from heartbeat_tuner.verification import rollout_blame
from tests.support import worlds
from tests.support.worlds import NOW

MINUTE = timedelta(minutes=1)
WRITTEN = NOW - 3 * MINUTE


def pod(name: str, *, started: timedelta = timedelta(hours=1), restarts: int = 0, is_ready: bool = True) -> Pod:
    """Return a running pod by its age."""
    since = NOW - started
    made = Pod(name, f"uid-of-{name}", "10.0.0.1", since, restarts)
    return dataclasses.replace(made, ready_since=since) if is_ready else made


def crashing(name: str, *, restarts: int = 3, container: str = "app", **ready: Any) -> Failing:
    """Return a pod with the new values whose container ends again and again."""
    why = f"container {container} ends again and again, with exit code 7"
    return Failing(name, why, restarts, container=container, **ready)


def settled(count: int, *, stayed: timedelta = 5 * MINUTE) -> tuple[UpdatedPod, ...]:
    """Return pods with the new values that are ready."""
    return tuple(UpdatedPod(f"new-{number}", NOW - stayed, restarts=0) for number in range(count))


def workload(rollout: Rollout, before: Sequence[Pod], **changes: Any) -> Workload:
    """Return a workload in our rollout, with the pods of the template before."""
    new = [pod(ready.pod, started=NOW - ready.ready_since) for ready in rollout.ready]
    names = {*rollout.pods, *(ready.pod for ready in rollout.ready), *(failing.pod for failing in rollout.failing)}
    made = dataclasses.replace(
        worlds.workload(mixed=True, rolling_out=True, ours=True, running=[*before, *new]),
        is_our_template=True,
        rollout=dataclasses.replace(rollout, pods=frozenset(names)),
    )
    return dataclasses.replace(made, **changes)


def blamed(seen: Workload, *, template: str = "", written: timedelta = NOW - WRITTEN) -> tuple[str, ...] | None:
    """Return which pods speak against the values, none for a lack of progress; None where nothing does."""
    rollout = rollout_blame.blamed(seen, "app", template, NOW - written, NOW)
    if rollout.crashing(NOW) is not None:
        return tuple(failing.pod for failing in rollout.failing)
    return () if rollout.is_overdue(NOW - written, NOW) else None


OLD = [pod("old-0"), pod("old-1"), pod("old-2")]
FIRST_CRASHES = Rollout(wanted=3, updated=1, failing=(crashing("new-9"),))


def test_the_first_pod_of_a_rolling_update_that_crashes_is_enough() -> None:
    """Nobody waits until the others do; those before it go on."""
    assert blamed(workload(FIRST_CRASHES, OLD)) == ("new-9",)


def test_a_pod_that_ends_soon_after_it_was_ready_crashes_too() -> None:
    """Ready again since 30 s, for the third time: five minutes would show that it stays."""
    half = NOW - timedelta(seconds=30)
    failing, ready = crashing("new-9", ready_since=half), UpdatedPod("new-9", half, restarts=3)
    rollout = Rollout(wanted=3, updated=1, failing=(failing,), ready=(ready,))
    assert blamed(workload(rollout, OLD)) == ("new-9",)
    stays = NOW - 5 * MINUTE
    failing, ready = dataclasses.replace(failing, ready_since=stays), dataclasses.replace(ready, ready_since=stays)
    assert blamed(workload(dataclasses.replace(rollout, failing=(failing,), ready=(ready,)), OLD)) is None


def test_one_pod_of_fifty_says_nothing() -> None:
    """It has a broken node; the others stay ready with the same values."""
    rollout = Rollout(wanted=50, updated=50, failing=(crashing("new-99"),), ready=settled(49))
    assert blamed(workload(rollout, [])) is None


@pytest.mark.parametrize(("crashes", "run", "are_blamed"), [(2, 1, True), (2, 2, False), (1, 2, False)])
def test_more_have_to_crash_than_to_run(crashes: int, run: int, *, are_blamed: bool) -> None:
    """Half of the pods on broken nodes are an accident of nodes, or of the values: nobody knows."""
    failing = tuple(crashing(f"new-{90 + number}") for number in range(crashes))
    rollout = Rollout(wanted=4, updated=4, failing=failing, ready=settled(run, stayed=timedelta(seconds=5)))
    assert (blamed(workload(rollout, [])) is not None) is are_blamed
    starting = dataclasses.replace(rollout, ready=(), unready=tuple(f"new-{number}" for number in range(run)))
    assert (blamed(workload(starting, [])) is not None) is are_blamed


def test_a_sidecar_says_nothing() -> None:
    """The values are in the environment of another container."""
    rollout = dataclasses.replace(FIRST_CRASHES, failing=(crashing("new-9", container="proxy"),))
    assert blamed(workload(rollout, OLD)) is None


def test_one_restart_says_nothing() -> None:
    """A node that drains, a broker that was not there: the second restart is the one that counts."""
    rollout = dataclasses.replace(FIRST_CRASHES, failing=(crashing("new-9", restarts=1),))
    assert blamed(workload(rollout, OLD)) is None


@pytest.mark.parametrize("written", [MINUTE, timedelta(hours=1)])
def test_a_deploy_of_the_owner_s_after_ours_is_the_owner_s(written: timedelta) -> None:
    """Whatever its pods do, and as long as it takes: the template is another one than our write left."""
    assert blamed(workload(FIRST_CRASHES, OLD, is_our_template=False, our_rollout=False), written=written) is None
    stuck = Rollout(wanted=3, updated=1, exceeded=True)
    assert blamed(workload(stuck, OLD, is_our_template=False, our_rollout=False), written=written) is None


def test_a_label_that_the_owner_changes_makes_no_other_template() -> None:
    """The owner's manager is the newest then, by its time; the fingerprint is still the one that our write left."""
    seen = workload(FIRST_CRASHES, OLD, is_our_template=False, template="0123456789abcdef")
    assert blamed(seen) is None
    assert blamed(seen, template="0123456789abcdef") == ("new-9",)


def test_pods_that_crashed_before_too_say_nothing() -> None:
    """The application is broken: to go back would be no cure."""
    before = [pod(f"old-{number}", restarts=4, started=MINUTE) for number in range(3)]
    assert blamed(workload(FIRST_CRASHES, before)) is None
    unready = [pod(f"old-{number}", is_ready=False) for number in range(3)]
    assert blamed(workload(FIRST_CRASHES, unready)) is None


def test_one_pod_of_those_before_that_stands_is_enough() -> None:
    """Of a rolling update most may be gone."""
    before = [pod("old-0", restarts=4, started=MINUTE), pod("old-1")]
    assert blamed(workload(FIRST_CRASHES, before)) == ("new-9",)


DEADLINE = timedelta(minutes=10)
STUCK = Rollout(wanted=3, updated=1, exceeded=True, unready=("new-9",))


def test_a_pod_that_runs_and_is_never_ready_is_a_failure_at_the_deadline() -> None:
    """The controller says when; not of the rollout before, whose word stands until it has seen the new template."""
    assert blamed(workload(STUCK, OLD), written=11 * MINUTE) == ()
    assert blamed(workload(STUCK, OLD), written=DEADLINE - timedelta(seconds=1)) is None
    assert blamed(workload(dataclasses.replace(STUCK, exceeded=False), OLD), written=11 * MINUTE) is None


@pytest.mark.parametrize(
    "rollout",
    [
        Rollout(failing=(Failing("new-9", "container app waits: ImagePullBackOff", 0, container="app"),)),
        Rollout(failing=(crashing("new-9", container="istio-proxy"),)),
        Rollout(),
        Rollout(ready=settled(1, stayed=11 * MINUTE)),
        Rollout(unready=("new-9",), ready=settled(2)),
    ],
    ids=["no image", "sidecar", "no node", "minReadySeconds", "most run"],
)
def test_a_deadline_that_ends_for_another_reason_says_nothing(rollout: Rollout) -> None:
    """Values that no container has read yet, or that most run with, keep no pod from being ready."""
    stuck = dataclasses.replace(rollout, wanted=3, updated=1, exceeded=True)
    assert blamed(workload(stuck, OLD), written=11 * MINUTE) is None


@pytest.mark.parametrize("replicas", [1, 3])
def test_pods_that_are_never_ready_are_not_those_before(replicas: int) -> None:
    """With the strategy Recreate no old pod is left to stand."""
    names = tuple(f"new-{number}" for number in range(replicas))
    rollout = Rollout(wanted=replicas, updated=replicas, exceeded=True, pods=frozenset(names), unready=names)
    running = [pod(name, started=11 * MINUTE, is_ready=False) for name in names]
    assert blamed(workload(rollout, running), written=11 * MINUTE) == ()


def test_the_only_broken_pod_of_a_stateful_set_is_enough() -> None:
    """It replaces one after the other, and waits for the first for ever; each pod keeps its name."""
    rollout = Rollout(wanted=3, updated=1, failing=(crashing("orders-2"),))
    assert blamed(workload(rollout, [pod("orders-0"), pod("orders-1")])) == ("orders-2",)


@pytest.mark.parametrize("changes", [{"paused": True}, {"strategy": Strategy.ON_DELETE}], ids=["paused", "OnDelete"])
@pytest.mark.parametrize("rollout", [FIRST_CRASHES, STUCK], ids=["crashes", "stuck"])
def test_what_is_in_a_person_s_hands_is_left_there(rollout: Rollout, changes: dict[str, Any]) -> None:
    """Who pauses a rollout, or deletes pods by hand, watches them; and a revert would reach no pod."""
    assert blamed(workload(rollout, OLD, **changes), written=11 * MINUTE) is None


def test_who_aborts_our_rollout_says_no_to_its_template() -> None:
    """Argo has brought the pods before back; an abort of the owner's template, or one that stays paused, is theirs."""
    aborted = workload(Rollout(wanted=3, updated=0, aborted=True), OLD)
    assert blamed(aborted) == ()
    assert blamed(dataclasses.replace(aborted, is_our_template=False)) is None
    assert blamed(dataclasses.replace(aborted, paused=True)) is None


def test_a_rollout_without_trouble_is_calm() -> None:
    """While it goes on, and when it is through."""
    going = Rollout(wanted=3, updated=2, progressed=NOW - MINUTE, ready=settled(1))
    assert blamed(workload(going, OLD[:2])) is None
    through = Rollout(wanted=3, updated=3, progressed=NOW - timedelta(days=1), ready=settled(3))
    assert blamed(workload(through, [], rolling_out=False, our_rollout=False), written=timedelta(days=1)) is None
