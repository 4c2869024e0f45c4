"""Puts the operator together: settings in, a running loop out. The only module that knows both ports and adapters."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import structlog

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kafka_admin import KafkaGroups
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.policies import KubernetesPolicies
from heartbeat_tuner.adapters.prometheus import PrometheusSource
from heartbeat_tuner.adapters.telemetry import Telemetry
from heartbeat_tuner.adapters.workloads import KubernetesWorkloads
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.reconcile import loop
from heartbeat_tuner.reconcile.cycle import Cycle, CycleReport
from heartbeat_tuner.reconcile.gathering import Gatherer
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from heartbeat_tuner.settings import Settings

Watch = Callable[[PolicyStore, Callable[[], Awaitable[None]]], Awaitable[None]]
"""Feeds a store until the process is told to end, and awaits its second argument before it tears down the loop."""

LAST_CYCLE_S: Final = 3.0
"""How long the cycle under way may take after SIGTERM."""

_log = structlog.get_logger()


async def run_operator(settings: Settings, watch: Watch) -> None:
    """Run until `watch` ends, then let the cycle under way finish if it soon does, and close everything.

    Raises:
        ApiServerError: the API server cannot be reached at start.
        InvalidSettingsError: the CustomResourceDefinition is not installed.
    """
    store, telemetry = PolicyStore(), Telemetry(interval=settings.interval)
    async with _assembled(settings, store) as cycle:
        await telemetry.serve(settings.http.address, settings.http.port)
        _log.info("started", interval_s=settings.interval.total_seconds(), clusters=sorted(settings.kafka.clusters))
        stopped = asyncio.Event()

        def finished(report: CycleReport, duration_s: float) -> None:
            telemetry.cycle_finished(
                verdicts=report.verdicts,
                writes={
                    "workload": report.workload_writes,
                    "status": report.status_writes,
                    "failed": report.failed_writes,
                },
                duration_s=duration_s,
            )

        looping = asyncio.create_task(
            loop.run_until(stopped, cycle.run, interval=settings.interval, finished=finished), name="cycles"
        )

        async def end_cycles() -> None:
            stopped.set()
            await _ended(looping)

        try:
            await watch(store, end_cycles)
        finally:
            await end_cycles()
            await telemetry.close()
            _log.info("stopped")


async def _ended(looping: asyncio.Task[None]) -> None:
    """Wait for the cycle under way, but not for one that waits for a mute Prometheus or Kafka: that one is given up."""
    await asyncio.wait([looping], timeout=LAST_CYCLE_S)
    looping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await looping


@contextlib.asynccontextmanager
async def _assembled(settings: Settings, store: PolicyStore) -> AsyncIterator[Cycle]:
    """Give a cycle on real adapters; close their connections afterwards."""
    clock = SystemClock()
    api = await KubernetesApi.connect(request_timeout=settings.kubernetes.timeout)
    metrics = PrometheusSource(settings.prometheus.url, timeout=settings.prometheus.timeout)
    groups = KafkaGroups(
        {name: cluster.bootstrap_servers for name, cluster in settings.kafka.clusters.items()},
        timeout=settings.kafka.timeout,
    )
    workloads, policies = KubernetesWorkloads(api), KubernetesPolicies(api)
    try:
        if not await policies.served():
            raise InvalidSettingsError(
                "the API server does not know ConsumerGroupPolicies; install them first: kubectl apply -f crds/"
            )
        gatherer = Gatherer(metrics=metrics, groups=groups, workloads=workloads, clock=clock)
        yield Cycle(store=store, gatherer=gatherer, workloads=workloads, policies=policies, clock=clock)
    finally:
        metrics.close()
        await api.close()
