"""Builders of what `decide` and the layers around it are given: every one makes a world that could exist.

Each takes only what a test cares about and fills the rest with a healthy group: three pods, one broker, an hour of
record. A builder refuses a combination that no real group could show, so that no test proves something about a world
that does not exist.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.clients import catalogue, java
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Pod, Record, Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupState, Member
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Mode, Objective, ObjectKey, Policy, Range, WorkloadRef
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, Unfitted

NOW: Final = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
SETTLED_FROM: Final = timedelta(minutes=2)
"""A record shorter than this says nothing about shares of time."""


class ImpossibleWorldError(AssertionError):
    """A test asked for something that cannot be observed."""


def seconds(number: float) -> timedelta:
    """Return a duration in seconds."""
    return timedelta(seconds=number)


def settings(session: str = "30s", interval: str = "3s", wait: str = "5s") -> LivenessSettings:
    """Return S, H and W from the API's notation; KafkaJS' defaults where nothing is said."""
    return LivenessSettings(durations.parse(session), durations.parse(interval), durations.parse(wait))


def java_settings(session: str = "45s", interval: str = "3s", poll: str = "5m") -> LivenessSettings:
    """Return S, H and M from the API's notation; the Java consumer's defaults where nothing is said."""
    return LivenessSettings(
        durations.parse(session), durations.parse(interval), timedelta(milliseconds=500), durations.parse(poll)
    )


STORM: Final = settings("1s", "333ms", "5s")
"""The settings of the source article: no beat ever comes in time."""


def bounds(**sides: tuple[str | None, str | None]) -> dict[Setting, Range]:
    """Return bounds from pairs of least and greatest, by the API's names of the settings."""
    return {Setting(name): Range(_maybe(low), _maybe(high)) for name, (low, high) in sides.items()}


def policy(**changes: Any) -> Policy:
    """Return a policy in Apply mode for group `orders`, with `changes` to its fields."""
    base = Policy(
        key=ObjectKey("shop", "orders"),
        uid="policy-1",
        generation=1,
        created=NOW - timedelta(days=1),
        group_id="orders",
        cluster="main",
        workload=WorkloadRef("Deployment", ObjectKey("shop", "orders-consumer"), "app"),
        library="kafkajs",
        env_names={
            Setting.SESSION_TIMEOUT: "KAFKA_SESSION_TIMEOUT_MS",
            Setting.HEARTBEAT_INTERVAL: "KAFKA_HEARTBEAT_INTERVAL_MS",
            Setting.FETCH_WAIT: "KAFKA_MAX_WAIT_TIME_MS",
        },
        declared={},
        mode=Mode.APPLY,
        objective=Objective(seconds(60), 1.0),
        bounds={},
        cooldown=timedelta(hours=24),
        horizon=timedelta(days=14),
        suspended=False,
    )
    return dataclasses.replace(base, **changes)


def java_policy(**changes: Any) -> Policy:
    """Return a policy of the same group with Java consumers."""
    return policy(library="java", env_names=dict(java.JAVA.env_preset), **changes)


def pod(number: int = 0, *, started: datetime = NOW - HOUR, restarts: int = 0) -> Pod:
    """Return the workload's running pod of that number; its address is its own."""
    return Pod(f"orders-{number}", f"uid-{number}", f"10.0.0.{number + 1}", started, restarts, ready_since=started)


def pods(count: int = 3) -> tuple[Pod, ...]:
    """Return the workload's running pods."""
    return tuple(pod(number) for number in range(count))


def current(now: LivenessSettings, source: ValueSource = ValueSource.POD) -> CurrentSettings:
    """Return what is set now, all found in one place."""
    return CurrentSettings(now, dict.fromkeys(Setting, source))


def workload(
    now: LivenessSettings | None = None,
    *,
    mixed: bool = False,
    rolling_out: bool = False,
    ours: bool = False,
    foreign: Mapping[Setting, str] | None = None,
    running: Sequence[Pod] | None = None,
) -> Workload:
    """Return the Deployment; `mixed` pods differ in their values, a rollout may be `ours`.

    Raises:
        ImpossibleWorldError: pods differ without a reason, values are given for pods that differ, or a rollout that
            is not there is ours.
    """
    if mixed and now is not None:
        raise ImpossibleWorldError("pods that differ have no common values")
    if ours and not rolling_out:
        raise ImpossibleWorldError("there is no rollout")
    seen = pods() if running is None else tuple(running)
    return Workload(
        uid="workload-1",
        resource_version="100",
        current=None if mixed else current(now or settings()),
        rolling_out=rolling_out,
        foreign_env=dict(foreign or {}),
        kept_env={},
        applications={},
        pods=seen,
        our_rollout=ours,
        rollout=Rollout(wanted=len(seen), updated=0 if rolling_out else len(seen)),
    )


def member(pod: Pod, number: int = 0) -> Member:
    """Return a member that the pod's consumer joined as; the number tells memberships apart."""
    return Member(f"client-{pod.name}-{number}", pod.ip)


def group(members: Sequence[Member] = (), *, rebalancing: bool = False) -> Group:
    """Return the consumer group as its coordinator describes it."""
    state = GroupState.PREPARING_REBALANCE if rebalancing else GroupState.STABLE if members else GroupState.EMPTY
    return Group("orders", state, tuple(members))


def cluster(*, brokers: int = 1, low: str = "1s", high: str = "30m") -> Cluster:
    """Return a Kafka cluster that allows sessions between `low` and `high`."""
    return Cluster(brokers, durations.parse(low), durations.parse(high))


def record(
    *,
    evictions: int = 0,
    span: timedelta = HOUR,
    rebalances: float = 0.0,
    share: float | None = None,
    beats: int = 2_160,
    silence: timedelta | None = None,
    unobserved: tuple[str, ...] = (),
    beat: timedelta = timedelta(seconds=5),
) -> Record:
    """Return a record that ends now.

    Raises:
        ImpossibleWorldError: a silence between beats that were never accepted, a share of a time too short for one,
            or time spent in rebalances that never happened.
    """
    if beats == 0 and silence is not None:
        raise ImpossibleWorldError("without accepted beats there is no silence between them")
    if share is not None and span < SETTLED_FROM:
        raise ImpossibleWorldError("so short a record has no share of time")
    if share and not rebalances:
        raise ImpossibleWorldError("time was spent in rebalances that did not happen")
    return Record(
        since=NOW - span,
        until=NOW,
        evictions=evictions,
        poll_gap_evictions=0,
        rebalances=rebalances,
        rebalancing_share=share,
        accepted_beats=beats,
        beat_period=beat if beats > 1 else None,
        longest_silence=beat if silence is None and beats > 1 else silence,
        longest_poll_gap=None,
        unobserved_pods=unobserved,
        counted_evictions=evictions,
        beats_timed_for=span if beats > 1 else timedelta(0),
    )


def situation(
    *,
    now: LivenessSettings | None = None,
    seen: Record | Unknown | None = None,
    policy: Policy | None = None,
    on: Cluster | None = None,
    has: Workload | None = None,
    rebalancing: bool = False,
    model: Fitted | Unfitted = NO_MODEL,
) -> DecisionInput:
    """Return a situation of a healthy group at KafkaJS' defaults, but for what is said.

    Args:
        now: the settings in force.
        seen: the record.
        policy: what is asked; the usual one if it is left out.
        on: the Kafka cluster.
        has: the workload, in place of one with `now`.
        rebalancing: whether the group rebalances at this moment.
        model: what history says.

    Raises:
        ImpossibleWorldError: both `now` and `has` are given.
    """
    if now is not None and has is not None:
        raise ImpossibleWorldError("the workload says what is set")
    asked, runs = _asked(policy), has or workload(now)
    return DecisionInput(
        now=NOW,
        policy=asked,
        workload=runs,
        group=group([member(pod) for pod in pods()], rebalancing=rebalancing),
        cluster=on or cluster(),
        record=seen or record(beat=usual_beat(asked, runs)),
        model=model,
    )


def _asked(stated: Policy | None) -> Policy:
    return policy() if stated is None else stated


def usual_beat(asked: Policy, runs: Workload) -> timedelta:
    """Return how often members beat that have the values in force, and nothing else to do."""
    if runs.current is None:
        return seconds(5)
    return catalogue.client(asked.library).period(runs.current.settings, Circumstances()).usual


def storm(**changes: Any) -> DecisionInput:
    """Return the source article's storm: no beat was ever accepted, the group rebalances all the time."""
    seen = record(evictions=24, span=timedelta(minutes=2), rebalances=8.0, share=0.6, beats=0)
    return dataclasses.replace(situation(now=STORM, seen=seen, rebalancing=True), **changes)


def _maybe(text: str | None) -> timedelta | None:
    return None if text is None else durations.parse(text)
