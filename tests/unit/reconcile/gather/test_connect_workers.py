"""Groups of Connect's workers: what their own metrics show, or the broker; a session is raised, and nothing lowered."""

import dataclasses
from collections.abc import Callable, Sequence

import pytest

from heartbeat_tuner.clients import java
from heartbeat_tuner.domain.evidence import Pod, Record
from heartbeat_tuner.domain.kafka_groups import WORKERS, Group, GroupState, Member
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.conventions.java_metrics import CONNECT_WORKER, JMX_EXPORTER
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, fitted, manifests, worlds
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage
from tests.support.told_prometheus import ToldPrometheus
from tests.support.worlds import HOUR, NOW
from tests.unit.reconcile.gather.test_clients_without_metrics import FOUR, SAID, watched
from tests.unit.reconcile.gather.test_gathering_faults import long_running

SPEC = {"client": {"library": "connect"}}
_JOINS = (Quantity.REBALANCES, Quantity.JOIN_ANSWERS, Quantity.FAILED_REBALANCES)


def client_id(pod: Pod) -> str:
    """Return what a worker calls itself, unless its configuration names it: by the address of its REST interface."""
    return f"connect-{pod.ip}:8083"


def workers() -> Group:
    """Return the group as the broker describes it."""
    members = [Member(f"{client_id(pod)}-1", pod.ip, client_id=client_id(pod)) for pod in worlds.pods()]
    return dataclasses.replace(worlds.group(members), kind=WORKERS, assignor="sessioned")


def exported(convention: Convention, *, lost_each: int) -> list[Series]:
    """Return what the exporter of each pod shows: a beat every 3 s, and ids that the first pod lost in the last hour.

    Args:
        convention: how it is called.
        lost_each: after so many minutes an id of the first pod is lost; 0: never.
    """
    began = NOW - 2 * HOUR
    lost_s = [(NOW - began - minutes * MINUTE).total_seconds() for minutes in range(lost_each, 60, lost_each or 60)]
    answers: dict[Quantity, list[Series]] = {}
    for pod in worlds.pods():
        rejoins_s = lost_s if lost_each and pod.name == "orders-0" else []

        def joins(age_s: float, rejoins_s: Sequence[float] = rejoins_s) -> float:
            return 1.0 + sum(1 for rejoin_s in rejoins_s if rejoin_s <= age_s)

        counts: dict[Quantity, Callable[[float], float]] = dict.fromkeys(_JOINS, joins)
        counts |= {Quantity.HEARTBEATS: lambda age_s: age_s // 3, Quantity.REBALANCE_TIME: lambda _: 0.1}
        for quantity, count in counts.items():
            series = counters.counter(pod, began, NOW + HOUR, count, client_id=f'"{client_id(pod)}"')
            answers.setdefault(quantity, []).append(series)
    return counters.exported(answers, convention)


def stage_with(series: Sequence[Series], *, group: Group | None = None, session: str = "10s") -> Stage:
    """Return workers under a policy in mode Apply."""
    card = java.CONNECT.defaults
    now = dataclasses.replace(card, session_timeout=worlds.settings(session).session_timeout)
    stage = Stage([manifests.policy(spec=SPEC)], now=now)
    stage.workloads.stored[CONSUMER] = worlds.workload(now)
    long_running(stage)
    stage.groups.groups["main"]["orders"] = group or workers()
    stage.prometheus = ToldPrometheus(series)  # type: ignore[assignment]  # it answers as the fake does
    stage.restart()
    return stage


async def record_of(series: Sequence[Series]) -> Record:
    """Return the record of the workers."""
    policy = worlds.policy(library="connect", env_names=dict(java.CONNECT.env_preset))
    found = (await stage_with(series).gatherer().gather([policy]))[policy.key]
    record = getattr(found, "record", None)
    assert isinstance(record, Record)
    return record


async def test_a_workers_own_metrics_count_by_its_client_id_and_address() -> None:
    """Its id names no group; the broker shows whose it is. What the group watcher counted is not added."""
    record = await record_of([*exported(CONNECT_WORKER, lost_each=15), *watched(*FOUR)])
    assert (record.evictions, record.evicted_pods, record.as_described) == (3, ("orders-0",), False)
    assert record.accepted_beats > 0
    assert record.beat_period == worlds.seconds(3)


async def test_consumers_in_a_workers_process_are_not_the_worker() -> None:
    """Those of sink tasks are of groups of their own, even where somebody gave them the worker's client id."""
    record = await record_of([*exported(CONNECT_WORKER, lost_each=0), *exported(JMX_EXPORTER, lost_each=5)])
    assert record.evictions == 0
    described = await record_of([*exported(JMX_EXPORTER, lost_each=5), *watched(*FOUR)])
    assert (described.evictions, described.as_described) == (4, True)


@pytest.mark.parametrize("by_worker", [True, False], ids=["its own metrics", "the broker"])
async def test_evictions_raise_the_session_and_nothing_else(*, by_worker: bool) -> None:
    """As in a group of a library that exports nothing."""
    stage = stage_with(exported(CONNECT_WORKER, lost_each=12) if by_worker else watched(*FOUR))
    await stage.cycle()
    (write,) = stage.workloads.writes
    assert write.target.session_timeout > worlds.seconds(10)
    before = stage_with([]).workloads.stored[CONSUMER].current
    assert before is not None
    assert dataclasses.replace(write.target, session_timeout=worlds.seconds(10)) == before.settings
    assert (SAID in stage.message("Recommended")) is not by_worker


async def test_a_calm_group_keeps_its_values_whatever_a_model_says() -> None:
    """A shorter session saves little where tasks wait for five minutes, and what they wait is in no price."""
    stage = stage_with(exported(CONNECT_WORKER, lost_each=0), session="60s")
    stage.models.stored = [fitted.fitted(client="connect")]
    await stage.cycle()
    assert stage.workloads.writes == []
    assert stage.condition("Recommended") == ("False", Reason.TOO_EARLY)
    assert "scheduled.rebalance.max.delay.ms" in stage.policies.stored[ORDERS]["status"]["model"]["message"]


async def test_a_policy_that_names_workers_as_consumers_is_told_so() -> None:
    """Their variables are others, and so are their metrics: nothing is decided."""
    stage = stage_with(watched(*FOUR))
    stage.policies.edit(ORDERS, client={"library": "java"})
    await stage.cycle()
    assert stage.condition("Ready") == ("False", Reason.GROUP_UNREADABLE)
    assert "set spec.client.library to connect, and not java" in stage.message("Ready")
    assert stage.workloads.writes == []


async def test_workers_whose_group_is_empty_for_a_moment_are_no_consumers() -> None:
    """A group in a storm often is, and Kafka goes on to call it one of Connect."""
    stage = stage_with(watched(*FOUR), group=dataclasses.replace(workers(), members=(), state=GroupState.EMPTY))
    stage.policies.edit(ORDERS, client={"library": "java"})
    await stage.cycle()
    assert stage.condition("Ready") == ("False", Reason.GROUP_UNREADABLE)
    assert stage.workloads.writes == []


@pytest.mark.parametrize("kind", ["consumer", "share"])
async def test_a_policy_that_names_consumers_as_workers_is_told_so(kind: str) -> None:
    """The consumers of a sink connector's tasks, most likely; a group without members may be of either."""
    consumers = dataclasses.replace(workers(), kind=kind, consumer_protocol=kind != "consumer")
    stage = stage_with(watched(*FOUR), group=consumers)
    await stage.cycle()
    assert stage.condition("Ready") == ("False", Reason.GROUP_UNREADABLE)
    assert "are consumers, and no workers of Connect" in stage.message("Ready")
    assert stage.workloads.writes == []
    empty = stage_with([], group=worlds.group())
    await empty.cycle()
    assert empty.condition("Ready") == ("True", Reason.WATCHING)
