"""Puts the operator together: settings in, a running loop out. The only module that knows both ports and adapters."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import structlog

from heartbeat_tuner.adapters import kafka_access, kubernetes_version
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kafka_admin import KafkaGroups
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.leases import KubernetesLeases
from heartbeat_tuner.adapters.live_workloads import LiveWorkloads
from heartbeat_tuner.adapters.models import KubernetesModels
from heartbeat_tuner.adapters.policies import KubernetesPolicies
from heartbeat_tuner.adapters.prometheus import PrometheusSource
from heartbeat_tuner.adapters.slot_views import KubernetesSlotViews
from heartbeat_tuner.adapters.telemetry import Telemetry
from heartbeat_tuner.adapters.workloads import KubernetesWorkloads
from heartbeat_tuner.connections import prometheus_source
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.domain.grants import Grants
from heartbeat_tuner.ports import Spent
from heartbeat_tuner.reconcile import loop, loop_lag
from heartbeat_tuner.reconcile.cycle import Cycle, CycleReport
from heartbeat_tuner.reconcile.election_thread import ElectionThread
from heartbeat_tuner.reconcile.elector import Elector, new_identity
from heartbeat_tuner.reconcile.gathering import Gatherer
from heartbeat_tuner.reconcile.group_looks import GroupLooks
from heartbeat_tuner.reconcile.health import Health
from heartbeat_tuner.reconcile.leadership import Timing
from heartbeat_tuner.reconcile.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.pace import Pace
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from heartbeat_tuner.reconcile.progress import Moved
from heartbeat_tuner.reconcile.relisting import Relisting
from heartbeat_tuner.settings import Settings
from heartbeat_tuner.settings.kafka import KafkaClusterSettings, KafkaTlsSettings

Watch = Callable[[PolicyStore, Callable[[], Awaitable[None]], asyncio.Event], Awaitable[None]]
"""Feeds a store until the process is told to end, or its last argument is set; awaits its second argument before it
tears down the loop."""

LAST_CYCLE_S: Final = 3.0
"""How long the cycle under way may take after SIGTERM."""

END_S: Final = 25.0
"""How long the end of cycles and election is awaited: a pod is killed 30 s after SIGTERM."""

_log = structlog.get_logger()


async def run_operator(settings: Settings, watch: Watch) -> None:
    """Run until `watch` or the election ends; then let the cycle under way finish if it soon does, and close all.

    Raises:
        ApiServerError: the API server cannot be reached at start.
        InvalidSettingsError: the API server is too old, the CustomResourceDefinition is not installed, or the lease has
            no namespace.
        RuntimeError: the election ended by a surprise; the process is to be started anew.
        NotAllowedError: policies may not be listed where they should be.
    """
    store, telemetry, stopped = PolicyStore(), Telemetry(), asyncio.Event()
    async with _assembled(settings) as parts:
        elector, interval = parts.elector, settings.interval
        relisted, shelf = Relisting(parts.policies, store), ModelShelf(parts.models, asked=store.groups)
        health = Health(elector, store, interval=interval)
        await telemetry.serve(
            settings.http.address,
            settings.http.port,
            probe_port=settings.http.probe_port,
            leads=lambda: elector.leads,
            unhealthy=health.unhealthy,
            unready=health.unready,
        )
        _log.info("started", interval_s=interval.total_seconds(), clusters=sorted(settings.kafka.clusters))

        tell = _teller(telemetry, parts.metrics, interval)

        def finished(report: CycleReport, duration_s: float) -> None:
            health.finished()
            tell(report, duration_s)

        async def cycles() -> None:
            """Look at everything with fresh eyes, until the leadership or the process ends."""
            await relisted.refresh()
            await shelf.refresh()
            reading = asyncio.create_task(shelf.run_until(stopped), name="models")
            try:
                async with parts.new_cycle(store, shelf, health.moved) as cycle:
                    await loop.run_until(stopped, cycle.run, interval=interval, finished=finished, failed=health.failed)
            finally:
                reading.cancel()
                await asyncio.wait([reading])

        async def lead() -> None:
            health.finished()
            try:
                await loop.finish_or_give_up(cycles(), stopped, patience_s=LAST_CYCLE_S)
            finally:
                telemetry.leadership_ended()

        election = asyncio.create_task(parts.election_thread.elect(elector, lead, stopped), name="election")
        lists = asyncio.create_task(
            loop.finish_or_give_up(relisted.run_until(stopped), stopped, patience_s=0), name="lists"
        )
        lag = asyncio.create_task(loop_lag.watch(stopped, telemetry.loop_lagged), name="lag")
        over = asyncio.Event()
        election.add_done_callback(lambda _: over.set())  # who cannot lead any more must not seem to wait for it

        async def end_cycles() -> None:
            stopped.set()
            await asyncio.wait([election, lists, lag], timeout=END_S)

        try:
            await watch(store, end_cycles, over)
        finally:
            await end_cycles()
            await telemetry.close()
            _log.info("stopped")
        if election.done():
            election.result()


def _teller(
    telemetry: Telemetry, metrics: PrometheusSource, interval: timedelta
) -> Callable[[CycleReport, float], None]:
    """Return what tells of each finished cycle, by its report and its length in seconds."""
    counted, pace = Spent(), Pace(interval)

    def tell(report: CycleReport, duration_s: float) -> None:
        spent = metrics.spent
        telemetry.prometheus_read(requests=spent.requests - counted.requests, samples=spent.samples - counted.samples)
        counted.requests, counted.samples = spent.requests, spent.samples
        telemetry.groups_read(oldest_s=report.oldest_look_s)
        telemetry.cycle_finished(
            verdicts=report.verdicts,
            writes={
                "workload": report.workload_writes,
                "status": report.status_writes,
                "failed": report.failed_writes,
            },
            points=report.points,
            duration_s=duration_s,
            overrun_s=pace.overrun_s(duration_s),
        )

    return tell


@dataclasses.dataclass(frozen=True)
class _Parts:
    """What a running operator stands on."""

    elector: Elector
    election_thread: ElectionThread[KubernetesApi]
    api: KubernetesApi
    namespaces: Sequence[str]
    request_timeout: timedelta
    interval: timedelta
    policies: KubernetesPolicies
    workloads: KubernetesWorkloads
    slots: KubernetesSlotViews
    models: KubernetesModels
    metrics: PrometheusSource
    groups: KafkaGroups
    clock: SystemClock
    grants: Grants
    heartbeat_budgets: Mapping[str, float]
    max_rollouts: int

    @contextlib.asynccontextmanager
    async def new_cycle(self, store: PolicyStore, shelf: ModelShelf, moved: Moved) -> AsyncIterator[Cycle]:
        """Give a cycle that remembers nothing, and watch what it looks at."""
        live = LiveWorkloads(self.api, self.clock, namespaces=self.namespaces, patience=self.request_timeout)
        looks = GroupLooks(self.groups, self.clock, interval=self.interval, sleep=asyncio.sleep)
        gatherer = Gatherer(
            metrics=self.metrics,
            groups=looks,
            workloads=live,
            models=shelf,
            clock=self.clock,
            sleep=asyncio.sleep,
            grants=self.grants,
            moved=moved,
        )
        async with live.running(), looks.running():
            yield Cycle(
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
        election_thread = ElectionThread(_connected(timing.request_timeout))
        lease_api = await closing.enter_async_context(election_thread)
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
            election_thread=election_thread,
            api=api,
            namespaces=namespaces,
            request_timeout=settings.kubernetes.timeout,
            interval=settings.interval,
            policies=policies,
            workloads=workloads,
            slots=KubernetesSlotViews(api, clock, namespaces),
            models=KubernetesModels(api, namespaces=namespaces),
            metrics=metrics,
            groups=groups,
            clock=clock,
            grants={name: one.granted for name, one in clusters},
            heartbeat_budgets={
                name: one.heartbeat_budget for name, one in clusters if one.heartbeat_budget is not None
            },
            max_rollouts=settings.rollout.max_concurrent,
        )


@contextlib.asynccontextmanager
async def _connected(request_timeout: timedelta) -> AsyncIterator[KubernetesApi]:
    """Give connections of the election's own."""
    api = await KubernetesApi.connect(request_timeout=request_timeout)
    try:
        yield api
    finally:
        await api.close()


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
