"""A whole operator on fakes: policies, their workloads, groups and metrics, and cycles to run on them."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.grants import Grant, Grants
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import WHOLE, Installation
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.reconcile.at_broker.group_writer import ValueTargets
from heartbeat_tuner.reconcile.budget import FleetLimits
from heartbeat_tuner.reconcile.cycle import Cycle, CycleReport
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.policy_store import PolicyStore, StorePart
from tests.support import counters, manifests, worlds
from tests.support.counters import Answers
from tests.support.fakes import (
    FakeClock,
    FakeFleetStops,
    FakeGroups,
    FakeModels,
    FakePolicies,
    FakePrometheus,
    FakeSlotViews,
    FakeWorkloads,
    looks_at,
)
from tests.support.told_prometheus import ToldPrometheus

ORDERS: Final = ObjectKey("shop", "orders")
CONSUMER: Final = ObjectKey("shop", "orders-consumer")
EVERYTHING: Final = {name: (Grant(("*",), ("*",)),) for name in ("main", "other")}
MINUTE: Final = timedelta(minutes=1)


class Stage:
    """The outside world and an operator in it.

    Attributes:
        clock: the time.
        prometheus: the metrics.
        groups: the Kafka clusters.
        workloads: the Deployments.
        models: the fitted models.
        store: what the operator watches.
        policies: the policies as the API server has them.
        slots: who has which static id.
        stops: where a stop of all changes is noted.
        max_rollouts: how many rollouts of its own the operator may have under way.
        grants: which namespaces may name which groups without a member in their pods; all of them unless told.
        shard: whose policies the operator looks at; it is another one's after `restart`.
        pauses: in the midst of cycles, in seconds; no time passes.
        meanwhile: what happens in such a pause.
    """

    def __init__(
        self,
        bodies: Sequence[dict[str, Any]],
        *,
        now: LivenessSettings = worlds.STORM,
        answers: Answers | None = None,
        workloads: dict[ObjectKey, Workload] | None = None,
        heartbeat_budget: float | None = None,
        max_rollouts: int = 5,
        grants: Grants = EVERYTHING,
    ) -> None:
        self.max_rollouts = max_rollouts
        self.grants = grants
        self.shard = WHOLE
        self.clock = FakeClock()
        pods = worlds.pods()
        hour_ago, in_an_hour = worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR
        series = counters.stormy(pods, hour_ago, in_an_hour) if answers is None else answers
        self.prometheus = FakePrometheus(series)
        self.groups = FakeGroups({"main": {"orders": worlds.group(rebalancing=True)}, "other": {}})
        self.workloads = FakeWorkloads({CONSUMER: worlds.workload(now)} if workloads is None else workloads)
        self.models = FakeModels()
        self.store = PolicyStore()
        self.policies = FakePolicies(self.store, bodies)
        self.slots = FakeSlotViews()
        self.stops = FakeFleetStops()
        self.installation: Installation | None = None
        self.left: set[str] = set()
        self.pauses: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.moved: Callable[[], None] = lambda: None
        self._budgets = {} if heartbeat_budget is None else {"main": heartbeat_budget}
        self.restart()

    @property
    def part(self) -> StorePart:
        """The policies of this installation: all but those in namespaces that it leaves to others."""
        return StorePart(self.store, self.shard, self.installation, lambda namespace: namespace not in self.left)

    def restart(self) -> None:
        """Start the operator again: what it had in memory is gone."""
        self.shelf = ModelShelf(self.models)
        self.operator = Cycle(
            store=self.part,
            gatherer=self.gatherer(),
            targets=ValueTargets(self.workloads, self.groups),
            policies=self.policies,
            slots=self.slots,
            stops=self.stops,
            clock=self.clock,
            limits=FleetLimits(self.max_rollouts, self._budgets),
        )

    def gatherer(self, metrics: MetricsSource | None = None) -> Gatherer:
        """Return a gatherer that has seen nothing yet, with the metrics of this stage or of another source."""
        return Gatherer(
            metrics=metrics or self.prometheus,
            groups=looks_at(self.groups, self.clock),
            workloads=self.workloads,
            models=self.shelf,
            clock=self.clock,
            sleep=self._pause,
            grants=self.grants,
            moved=self._take_note,
        )

    def _take_note(self) -> None:
        self.moved()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.meanwhile()

    async def cycle(self, after: timedelta = MINUTE) -> CycleReport:
        """Let time pass, read the models, and run one cycle."""
        self.clock.advance(after)
        await self.shelf.refresh()
        return await self.operator.run()

    async def look(self, *keys: ObjectKey, after: timedelta = timedelta(seconds=1)) -> CycleReport:
        """Let time pass, and look at edited policies before the next cycle."""
        self.clock.advance(after)
        self.store.begin_look(keys)
        return await self.operator.run(keys)

    def condition(self, kind: str, key: ObjectKey = ORDERS) -> tuple[str, str]:
        """Return status and reason of a policy's condition."""
        found = self.policies.condition(key, kind)
        return found["status"], found["reason"]

    def message(self, kind: str, key: ObjectKey = ORDERS) -> str:
        """Return the sentence of a policy's condition."""
        text: str = self.policies.condition(key, kind)["message"]
        return text


def storm(*, answers: Answers | None = None, **spec: Any) -> Stage:
    """Return the source article's storm under one policy in Apply mode."""
    return Stage([manifests.policy(spec=spec)], answers=answers)


def calm(**spec: Any) -> Stage:
    """Return a healthy group at KafkaJS' defaults."""
    answers = counters.quiet(worlds.pods(), worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR)
    return Stage([manifests.policy(spec=spec)], now=worlds.settings(), answers=answers)


def fleet(count: int, *, max_rollouts: int = 5) -> Stage:
    """Return `count` stormy groups, each with its policy, its workload and its Kafka group."""
    names = [f"g{number}" for number in range(count)]
    bodies = [
        manifests.policy(
            name,
            spec={
                "groupId": name,
                "workloadRef": {"kind": "Deployment", "name": f"{name}-consumer", "container": "app"},
            },
        )
        for name in names
    ]
    stage = Stage(
        bodies,
        workloads={ObjectKey("shop", f"{name}-consumer"): worlds.workload() for name in names},
        max_rollouts=max_rollouts,
    )
    groups: dict[str, Group | UnreadableGroup] = {
        name: dataclasses.replace(worlds.group(), group_id=name) for name in names
    }
    stage.groups.groups = {"main": groups}
    return stage


def teams(count: int) -> tuple[Stage, ToldPrometheus]:
    """Return a healthy group in each of `count` namespaces, and the Prometheus that tells of them."""
    names = [f"team{number:02}" for number in range(count)]
    stage = Stage(
        [manifests.policy(namespace=name) for name in names],
        workloads={ObjectKey(name, "orders-consumer"): worlds.workload(running=worlds.pods(1)) for name in names},
    )
    quiet = (
        counters.quiet(worlds.pods(1), worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR, namespace=name)
        for name in names
    )
    report = ToldPrometheus(counters.exported(counters.together(*quiet), counters.KAFKAJS))
    stage.prometheus = report  # type: ignore[assignment]  # it answers likewise
    stage.restart()
    return stage, report


def storms(count: int, *, max_rollouts: int = 5) -> Stage:
    """Return a fleet in a storm, each group of one pod that has run for ten minutes, and will for 40 more."""
    stage = fleet(count, max_rollouts=max_rollouts)
    pod = worlds.pod(started=worlds.NOW - 10 * MINUTE)
    for key in stage.workloads.stored:
        stage.workloads.stored[key] = worlds.workload(worlds.STORM, running=[pod])
    series = counters.stormy([pod], pod.started, worlds.NOW + 40 * MINUTE)
    stage.prometheus.answers = {
        quantity: [
            Series({**item.labels, "group_id": group}, item.samples)
            for group in stage.groups.groups["main"]
            for item in items
        ]
        for quantity, items in series.items()
    }
    return stage
