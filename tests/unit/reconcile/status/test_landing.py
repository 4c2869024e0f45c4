"""What is said of our last change, from the write until its pods have stayed up, or do not."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Application, ObjectKey, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Failing, Rollout, Strategy
from heartbeat_tuner.reconcile.status import landing
from heartbeat_tuner.reconcile.status.landing import WrittenChange
from tests.support import worlds
from tests.support.worlds import NOW, seconds

CURED = worlds.settings("30s", "1s", "1s")
APPLICATION = Application(CURED, worlds.STORM, NOW, "workload-1", "app")
CRASHING = Failing("orders-1", "container app ends again and again, with exit code 7", 4)
WAITING = Failing("orders-1", "container app waits: ImagePullBackOff", 0)


def ready(*ages_s: float | None, restarts: int = 0) -> list[Pod]:
    """Return running pods that became ready so long before `NOW`; None: they are not."""
    return [
        dataclasses.replace(
            worlds.pod(number, restarts=restarts), ready_since=None if age_s is None else NOW - seconds(age_s)
        )
        for number, age_s in enumerate(ages_s)
    ]


def change(*pods: Pod, after: timedelta = timedelta(minutes=3), wanted: int = 2, **workload: Any) -> WrittenChange:
    """Return a change that was made some time ago, whose pods run with its values, but for what is said otherwise."""
    fields = {"had_landed": False, "is_new": False, "current": CURED}
    given = {name: workload.pop(name) for name in tuple(workload) if name in fields}
    base = worlds.workload(CURED, running=pods)
    rollout = workload.pop("rollout", Rollout(wanted=wanted, updated=wanted))
    given = {**fields, **given}
    current = given.pop("current")
    return WrittenChange(
        application=dataclasses.replace(APPLICATION, at=NOW - after),
        reference=worlds.policy().workload,
        workload=dataclasses.replace(base, rollout=rollout, **workload),
        now=NOW,
        current=None if current is None else worlds.current(current),
        **given,
    )


def said(written: WrittenChange) -> tuple[ConditionStatus, Reason]:
    """Return status and reason."""
    status, finding = landing.landing_of(written)
    return status, finding.reason


DONE = (ConditionStatus.TRUE, Reason.APPLIED)
ROLLING = (ConditionStatus.FALSE, Reason.ROLLING_OUT)
FAILED = (ConditionStatus.FALSE, Reason.ROLLOUT_FAILED)
GONE = (ConditionStatus.FALSE, Reason.NOTHING_TO_APPLY)
OVERDUE = timedelta(seconds=600)
ROLLED = WorkloadRef("Rollout", ObjectKey("shop", "orders-consumer"), "app")
LONG_AGO = timedelta(hours=2)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (change(*ready(60, 60)), DONE),
        (change(*ready(60, 59)), ROLLING),
        (change(*ready(60, None)), ROLLING),
        (change(*ready(90)), ROLLING),  # of two
        (change(*ready(90, 90, 90), rolling_out=True), ROLLING),  # an old pod still ends
        (change(*ready(90, 90), is_new=True), ROLLING),
        (change(*ready(90, 90), current=None, rolling_out=True), ROLLING),
        (change(*ready(90, 90), current=worlds.STORM, rolling_out=True), ROLLING),
        # Once seen, one pod that still shows it is enough.
        (change(*ready(90, 1), had_landed=True), DONE),
        (change(*ready(90, 1), had_landed=True, rolling_out=True), DONE),
        (change(*ready(1, None), had_landed=True), ROLLING),
        (change(had_landed=True), ROLLING),
        # Likewise long after the change, when nobody knows what was seen.
        (change(*ready(90, 1), after=LONG_AGO), DONE),
        (change(*ready(90, 1), after=LONG_AGO, rollout=Rollout(2, 2, exceeded=True)), FAILED),
        (change(*ready(90, 1), after=LONG_AGO, rollout=Rollout(2, 2, failing=(CRASHING,))), FAILED),
        # Dead: crashing, or no progress until the deadline.
        (change(rollout=Rollout(2, 2, failing=(CRASHING,))), FAILED),
        (
            change(*ready(90, 90), current=worlds.STORM, rolling_out=True, rollout=Rollout(2, 1, failing=(CRASHING,))),
            FAILED,
        ),
        (change(*ready(25, 25, restarts=3), rollout=Rollout(2, 2, failing=(CRASHING,))), FAILED),
        (change(*ready(61, 61, restarts=2)), ROLLING),  # who crashed twice has to stay for longer
        (change(*ready(300, 300, restarts=2)), DONE),
        (change(rollout=Rollout(2, 1, exceeded=True), rolling_out=True), FAILED),
        (change(*ready(90), current=worlds.STORM, rollout=Rollout(2, 0, aborted=True), rolling_out=True), FAILED),
        (change(rollout=Rollout(2, 1, failing=(WAITING,)), rolling_out=True), ROLLING),
        (change(rollout=Rollout(2, 1, failing=(WAITING,)), rolling_out=True, after=OVERDUE), FAILED),
        (change(rollout=Rollout(2, 1), rolling_out=True, after=OVERDUE), FAILED),
        (change(rollout=Rollout(2, 1, progressed=NOW - seconds(599)), rolling_out=True, after=LONG_AGO), ROLLING),
        # Nobody's fault.
        (change(wanted=0), (ConditionStatus.FALSE, Reason.SCALED_TO_ZERO)),
        (
            change(*ready(90), current=worlds.STORM, rolling_out=True, paused=True),
            (ConditionStatus.FALSE, Reason.ROLLOUT_PAUSED),
        ),
        (change(*ready(90, 90), paused=True), DONE),  # it was paused after that
        (
            change(*ready(90), current=None, rolling_out=True, partition=1, after=LONG_AGO),
            (ConditionStatus.FALSE, Reason.ROLLOUT_PAUSED),
        ),
        (
            change(rolling_out=True, partition=1, rollout=Rollout(2, 1, failing=(CRASHING,))),
            FAILED,
        ),
        (change(*ready(90, 90), partition=1), DONE),
        (
            change(*ready(90), current=worlds.STORM, rolling_out=True, strategy=Strategy.ON_DELETE),
            (ConditionStatus.FALSE, Reason.AT_NEXT_RESTART),
        ),
        # Taken back.
        (change(*ready(90, 90), unlike_template=frozenset({Setting.SESSION_TIMEOUT})), GONE),
        (change(*ready(90, 90), current=worlds.settings("20s", "1s", "1s")), GONE),
        (change(current=worlds.STORM), GONE),
    ],
)
def test_what_is_said_of_a_change(written: WrittenChange, expected: tuple[ConditionStatus, Reason]) -> None:
    """Each line is a moment in the life of a change."""
    assert said(written) == expected


def test_a_setting_that_did_not_change_may_differ_from_the_template() -> None:
    """It was not written."""
    stored = dataclasses.replace(APPLICATION, previous=dataclasses.replace(CURED, session_timeout=seconds(1)))
    written = change(*ready(90, 90), unlike_template=frozenset({Setting.FETCH_WAIT}))
    assert said(dataclasses.replace(written, application=stored)) == DONE


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (
            change(rollout=Rollout(2, 2, failing=(WAITING, CRASHING))),
            "failed: pod orders-1: container app ends again and again, with exit code 7; look at its log",
        ),
        (
            change(rollout=Rollout(2, 1, failing=(WAITING,)), rolling_out=True, after=OVERDUE),
            "failed: pod orders-1: container app waits: ImagePullBackOff; look at its log",
        ),
        (
            change(rollout=Rollout(2, 1), rolling_out=True, after=OVERDUE),
            "failed: no progress for 10m, and no pod with them says why: 1 of 2 pods are of the new template",
        ),
        (
            change(*ready(90, 90, 5), wanted=3, rollout=Rollout(3, 3)),
            "3 of 3 are of the new template, 2 have stayed ready with the values for a minute",
        ),
        (
            change(rollout=Rollout(2, 0, aborted=True), rolling_out=True),
            "failed: it was aborted (status.abort), and its pods have the values before",
        ),
        (
            dataclasses.replace(change(rollout=Rollout(2, 2, failing=(CRASHING,))), reference=ROLLED),
            "look at its log; `kubectl argo rollouts undo` brings the pods before them back",
        ),
        (
            change(rolling_out=True, paused=True, pause="status.pauseConditions: CanaryPauseStep"),
            "is paused (status.pauseConditions: CanaryPauseStep): its pods do not get the values",
        ),
        (change(wanted=0), "Deployment shop/orders-consumer has 0 replicas: no pod runs with the values written at"),
        (
            change(*ready(90), current=worlds.STORM, rolling_out=True, strategy=Strategy.ON_DELETE),
            "when somebody deletes it; nothing is rolled out",
        ),
    ],
)
def test_the_sentence_names_what_is_wrong(written: WrittenChange, sentence: str) -> None:
    """And the numbers of the pods."""
    assert sentence in landing.landing_of(written)[1].message


MOMENTS = st.one_of(st.none(), st.integers(0, 1_000).map(lambda age_s: NOW - seconds(age_s)))
PODS = st.lists(st.builds(lambda at, restarts: (at, restarts), MOMENTS, st.integers(0, 5)), max_size=4)


@given(
    PODS,
    st.sampled_from([None, CURED, worlds.STORM]),
    st.fixed_dictionaries(
        {name: st.booleans() for name in ("rolling_out", "paused", "is_new", "had_landed")}
        | {
            "strategy": st.sampled_from(Strategy),
            "wanted": st.integers(0, 4),
            "unlike_template": st.sampled_from([frozenset(), frozenset({Setting.SESSION_TIMEOUT})]),
            "after": st.integers(0, 20_000).map(lambda s: timedelta(seconds=s)),
        }
    ),
)
def test_applied_is_said_of_ready_pods_alone(
    pods: list[tuple[datetime | None, int]], current: Any, fields: dict[str, Any]
) -> None:
    """Whatever else is so: there is a pod that runs with the values and has been ready for a minute."""
    running = [
        dataclasses.replace(worlds.pod(number, restarts=restarts), ready_since=since)
        for number, (since, restarts) in enumerate(pods)
    ]
    written = change(*running, current=current, **fields)
    if landing.landing_of(written)[0] is ConditionStatus.TRUE:
        assert current == CURED
        assert not written.is_new
        assert not fields["unlike_template"]
        assert any(since is not None and NOW - since >= seconds(60) for since, _ in pods)


@pytest.mark.parametrize(
    "written",
    [
        change(wanted=0),
        change(*ready(90), current=worlds.STORM, rolling_out=True, paused=True),
        change(*ready(90), current=worlds.STORM, rolling_out=True, strategy=Strategy.ON_DELETE),
    ],
    ids=["no replicas", "paused", "on delete"],
)
def test_a_change_that_nobody_brings_to_pods_is_told_with_its_facts(written: WrittenChange) -> None:
    """Which workload, when, and from what to what."""
    assert set(landing.landing_of(written)[1].facts) - {"pause"} == {"workload", "at", "changes"}
