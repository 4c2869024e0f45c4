"""Puts the operator together: settings in, a running loop out. The only module that knows both ports and adapters."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

import structlog

from heartbeat_tuner.adapters import kafka_access, kubernetes_version
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kafka_admin import KafkaGroups
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.leases import KubernetesLeases
from heartbeat_tuner.adapters.models import KubernetesModels
from heartbeat_tuner.adapters.policies import KubernetesPolicies
from heartbeat_tuner.adapters.prometheus import PrometheusSource
from heartbeat_tuner.adapters.slot_views import KubernetesSlotViews
from heartbeat_tuner.adapters.telemetry import Telemetry
from heartbeat_tuner.adapters.workloads import KubernetesWorkloads
from heartbeat_tuner.connections import prometheus_source
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.ports import Spent
from heartbeat_tuner.reconcile import loop
from heartbeat_tuner.reconcile.cycle import Cycle, CycleReport
from heartbeat_tuner.reconcile.elector import Elector, new_identity
from heartbeat_tuner.reconcile.gathering import Gatherer
from heartbeat_tuner.reconcile.health import Health
from heartbeat_tuner.reconcile.leadership import Timing
from heartbeat_tuner.reconcile.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from heartbeat_tuner.reconcile.relisting import Relisting
from heartbeat_tuner.settings import Settings
from heartbeat_tuner.settings.kafka import KafkaClusterSettings, KafkaTlsSettings

Watch = Callable[[PolicyStore, Callable[[], Awaitable[None]]], Awaitable[None]]
"""Feeds a store until the process is told to end, and awaits its second argument before it tears down the loop."""

LAST_CYCLE_S: Final = 3.0
"""How long the cycle under way may take after SIGTERM."""

_log = structlog.get_logger()


async def run_operator(settings: Settings, watch: Watch) -> None:
    """Run until `watch` ends, then let the cycle under way finish if it soon does, and close everything.

    Raises:
        ApiServerError: the API server cannot be reached at start.
        InvalidSettingsError: the API server is too old, the CustomResourceDefinition is not installed, or the lease has
            no namespace.
        NotAllowedError: policies may not be listed where they should be.
    """
    store, telemetry, stopped = PolicyStore(), Telemetry(), asyncio.Event()
    async with _assembled(settings) as parts:
        elector, interval = parts.elector, settings.interval
        relisted, shelf = Relisting(parts.policies, store), ModelShelf(parts.models)
        health = Health(elector, store, interval=interval)
        await telemetry.serve(
            settings.http.address,
            settings.http.port,
            leads=lambda: elector.leads,
            unhealthy=health.unhealthy,
            unready=health.unready,
        )
        _log.info("started", interval_s=interval.total_seconds(), clusters=sorted(settings.kafka.clusters))

        counted = Spent()

        def finished(report: CycleReport, duration_s: float) -> None:
            health.moved()
            spent = parts.metrics.spent
            telemetry.prometheus_read(
                requests=spent.requests - counted.requests, samples=spent.samples - counted.samples
            )
            counted.requests, counted.samples = spent.requests, spent.samples
            telemetry.cycle_finished(
                verdicts=report.verdicts,
                writes={
                    "workload": report.workload_writes,
                    "status": report.status_writes,
                    "failed": report.failed_writes,
                },
                points=report.points,
                duration_s=duration_s,
            )

        async def cycles() -> None:
            """Look at everything with fresh eyes, until the leadership or the process ends."""
            cycle = parts.new_cycle(store, shelf)
            await relisted.refresh()
            await shelf.refresh()
            reading = asyncio.create_task(shelf.run_until(stopped), name="models")
            try:
                await loop.run_until(stopped, cycle.run, interval=interval, finished=finished)
            finally:
                reading.cancel()
                await asyncio.wait([reading])

        async def lead() -> None:
            health.moved()
            try:
                await loop.finish_or_give_up(cycles(), stopped, patience_s=LAST_CYCLE_S)
            finally:
                telemetry.leadership_ended()

        tasks = [
            asyncio.create_task(elector.run(lead, stopped), name="election"),
            asyncio.create_task(
                loop.finish_or_give_up(relisted.run_until(stopped), stopped, patience_s=0), name="lists"
            ),
        ]

        async def end_cycles() -> None:
            stopped.set()
            await asyncio.gather(*tasks)

        try:
            await watch(store, end_cycles)
        finally:
            await end_cycles()
            await telemetry.close()
            _log.info("stopped")


@dataclasses.dataclass(frozen=True)
class _Parts:
    """What a running operator stands on."""

    elector: Elector
    policies: KubernetesPolicies
    workloads: KubernetesWorkloads
    slots: KubernetesSlotViews
    models: KubernetesModels
    metrics: PrometheusSource
    groups: KafkaGroups
    clock: SystemClock
    heartbeat_budgets: Mapping[str, float]
    max_rollouts: int

    def new_cycle(self, store: PolicyStore, shelf: ModelShelf) -> Cycle:
        """Return a cycle that remembers nothing."""
        gatherer = Gatherer(
            metrics=self.metrics, groups=self.groups, workloads=self.workloads, models=shelf, clock=self.clock
        )
        return Cycle(
            store=store,
            gatherer=gatherer,
            workloads=self.workloads,
            policies=self.policies,
            slots=self.slots,
            clock=self.clock,
            heartbeat_budgets=self.heartbeat_budgets,
            max_rollouts=self.max_rollouts,
        )


@contextlib.asynccontextmanager
async def _assembled(settings: Settings) -> AsyncIterator[_Parts]:
    """Give the real adapters; close their connections afterwards."""
    election, clock = settings.leader_election, SystemClock()
    timing = Timing(election.lease_duration, election.renew_deadline, election.retry_period)
    namespace = election.where()
    async with contextlib.AsyncExitStack() as closing:
        lease_api = await KubernetesApi.connect(request_timeout=timing.request_timeout)
        closing.push_async_callback(lease_api.close)
        leases = KubernetesLeases(lease_api, namespace=namespace, name=election.lease_name, clock=clock)
        elector = Elector(leases, timing, identity=new_identity())
        api = await KubernetesApi.connect(request_timeout=settings.kubernetes.timeout, fence=elector)
        closing.push_async_callback(api.close)
        metrics = prometheus_source(settings.prometheus, clock)
        closing.callback(metrics.close)
        groups = KafkaGroups(
            {name: _access(cluster) for name, cluster in settings.kafka.clusters.items()},
            timeout=settings.kafka.timeout,
        )
        closing.callback(groups.close)
        namespaces = settings.kubernetes.namespaces
        workloads, policies = KubernetesWorkloads(api), KubernetesPolicies(api, namespaces=namespaces)
        await kubernetes_version.check(api)
        if not await policies.served():
            raise InvalidSettingsError(
                "the API server does not know ConsumerGroupPolicies; install them first: kubectl apply -f crds/"
            )
        clusters = settings.kafka.clusters.items()
        yield _Parts(
            elector=elector,
            policies=policies,
            workloads=workloads,
            slots=KubernetesSlotViews(api, clock, namespaces),
            models=KubernetesModels(api, namespaces=namespaces),
            metrics=metrics,
            groups=groups,
            clock=clock,
            heartbeat_budgets={
                name: one.heartbeat_budget for name, one in clusters if one.heartbeat_budget is not None
            },
            max_rollouts=settings.rollout.max_concurrent,
        )


def _access(cluster: KafkaClusterSettings) -> kafka_access.Access:
    sasl, tls = cluster.sasl, cluster.tls or KafkaTlsSettings()
    return kafka_access.Access(
        cluster.bootstrap_servers,
        security_protocol=cluster.security_protocol,
        mechanism=None if sasl is None else sasl.mechanism,
        username=None if sasl is None else sasl.username or sasl.username_file,
        password_file=None if sasl is None else sasl.password_file,
        ca_file=tls.ca_file,
        cert_file=tls.cert_file,
        key_file=tls.key_file,
        key_password_file=tls.key_password_file,
    )
