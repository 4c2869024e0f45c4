"""Puts the operator together: settings in, a running loop out; only `assembly` and this know ports and adapters."""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import structlog

from heartbeat_tuner.adapters.http.telemetry import Telemetry
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.assembly import ShardParts, assembled
from heartbeat_tuner.leader_election.candidates import Candidates
from heartbeat_tuner.ports.metrics_source import Spent
from heartbeat_tuner.reconcile import loop
from heartbeat_tuner.reconcile.cycle import Cycle, CycleReport
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.liveness import garbage_collection, health, loop_lag
from heartbeat_tuner.reconcile.liveness.early_looks import EarlyLooks
from heartbeat_tuner.reconcile.liveness.garbage_collection import Collector
from heartbeat_tuner.reconcile.liveness.health import Health
from heartbeat_tuner.reconcile.liveness.pace import Pace
from heartbeat_tuner.reconcile.policy_store import PolicyStore, StorePart
from heartbeat_tuner.reconcile.relisting import Relisting
from heartbeat_tuner.settings import Settings

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
        RuntimeError: the election ended by a surprise; the process is to be started again.
        NotAllowedError: policies may not be listed where they should be.
    """
    garbage_collection.slow_down()
    store, telemetry, stopped = PolicyStore(), Telemetry(), asyncio.Event()
    async with assembled(settings) as parts:
        candidates, interval = parts.candidates, settings.interval
        relisted = Relisting(parts.policies, store)
        metrics = _CycleMetrics(telemetry, parts.metrics)
        led = [_LedShard(shard_parts, store, relisted, metrics, interval, stopped) for shard_parts in parts.shards]
        await _serve(telemetry, settings, candidates, led)
        _log.info(
            "started",
            interval_s=interval.total_seconds(),
            clusters=sorted(settings.kafka.clusters),
            prometheus=settings.prometheus.url,  # never with a password: settings refuse one
        )

        elected = parts.election_thread.elect(candidates, lambda shard: led[shard].lead(), stopped)
        election = asyncio.create_task(elected, name="election")
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


async def _serve(telemetry: Telemetry, settings: Settings, candidates: Candidates, led: Sequence["_LedShard"]) -> None:
    """Answer probes, and who reads metrics."""
    await telemetry.serve(
        settings.http.address,
        settings.http.port,
        probe_port=settings.http.probe_port,
        led=lambda: candidates.led,
        shards=len(led),
        unhealthy=lambda: health.first_complaint(shard.health.unhealthy for shard in led),
        unready=led[0].health.unready,
    )


class _LedShard:
    """Looks after one shard, whenever it is led here; what is remembered in one leadership ends with it.

    Args:
        parts: what it works with.
        store: has all policies.
        relisted: brings the store up to date.
        metrics: shows finished cycles.
        interval: of the cycles.
        stopped: set when the process ends.

    Attributes:
        health: of these cycles.
    """

    def __init__(
        self,
        parts: ShardParts,
        store: PolicyStore,
        relisted: Relisting,
        metrics: "_CycleMetrics",
        interval: timedelta,
        stopped: asyncio.Event,
    ) -> None:
        self.health = Health(parts.elector, store, interval=interval, shard=parts.shard)
        self._parts = parts
        self._back = parts.standing_back(StorePart(store, parts.shard))
        self._store = StorePart(store, parts.shard, parts.shared.installation, self._back.is_ours)
        self._shelf = ModelShelf(parts.models, asked=self._store.groups)
        self._relisted = relisted
        self._metrics = metrics
        self._pace = Pace(interval)
        self._early = EarlyLooks()
        self._collector = Collector()
        self._interval = interval
        self._stopped = stopped

    async def lead(self) -> None:
        """Run cycles until the leadership or the process ends."""
        self.health.finished()
        self._collector.began()
        self._back.forget()
        try:
            await loop.finish_or_give_up(self._cycles(), self._stopped, patience_s=LAST_CYCLE_S)
        finally:
            self._metrics.ended(self._parts.shard.number)
            self._collector.forgot()

    async def _cycles(self) -> None:
        """Look at everything with fresh eyes."""
        await self._relisted.refresh()
        await self._shelf.refresh()
        reading = asyncio.create_task(self._shelf.run_until(self._stopped), name="models")
        try:
            async with self._parts.new_cycle(self._store, self._shelf, self.health.moved) as cycle:
                await loop.run_until(
                    self._stopped,
                    functools.partial(self._run, cycle),
                    interval=self._interval,
                    finished=self._finished,
                    failed=self.health.failed,
                    look_early=functools.partial(self._look_early, cycle),
                )
        finally:
            reading.cancel()
            await asyncio.wait([reading])

    async def _run(self, cycle: Cycle) -> CycleReport:
        """Run one cycle: it looks at all that was edited before it began."""
        await self._back.look()
        self._store.begin_cycle()
        return await cycle.run()

    async def _look_early(self, cycle: Cycle) -> None:
        """Look at edited policies, if it is time."""
        began_s = time.monotonic()
        keys = self._early.due(self._store.edited(), now_s=began_s)
        if not keys:
            return
        await self._back.look()
        keys = frozenset(key for key in keys if self._back.is_ours(key.namespace))
        self._store.begin_look(keys)
        try:
            report = await cycle.run(keys)
        finally:
            ended_s = time.monotonic()
            self._early.looked(keys, ended_s - began_s, now_s=ended_s)
        self._metrics.looked_early(report, duration_s=ended_s - began_s)

    def _finished(self, report: CycleReport, duration_s: float) -> None:
        self.health.finished()
        overrun_s = self._pace.overrun_s(duration_s)
        left = {why.value: count for why, count in self._back.counts.items()}
        self._metrics.left_to_others(self._parts.shard.number, left)
        self._metrics.finished(self._parts.shard.number, report, duration_s=duration_s, overrun_s=overrun_s)
        self._collector.looked()


class _CycleMetrics:
    """Shows finished cycles, whichever shard's they are: what they cost at Prometheus is counted once."""

    def __init__(self, telemetry: Telemetry, metrics: PrometheusSource) -> None:
        self._telemetry = telemetry
        self._metrics = metrics
        self._counted = Spent()

    def left_to_others(self, shard: int, namespaces: Mapping[str, int]) -> None:
        """Show how many namespaces of a shard were left to other installations, by why."""
        self._telemetry.left_to_others(namespaces, shard=shard)

    def finished(self, shard: int, report: CycleReport, *, duration_s: float, overrun_s: float) -> None:
        """Show a finished cycle of a shard."""
        spent, counted = self._metrics.spent, self._counted
        self._telemetry.prometheus_read(
            requests=spent.requests - counted.requests, samples=spent.samples - counted.samples
        )
        counted.requests, counted.samples = spent.requests, spent.samples
        self._telemetry.cycle_finished(
            shard=shard,
            verdicts=report.verdicts,
            writes=_writes(report),
            points=report.points,
            duration_s=duration_s,
            overrun_s=overrun_s,
            oldest_look_s=report.oldest_look_s,
            fleet_stopped=report.fleet_stopped,
        )

    def looked_early(self, report: CycleReport, *, duration_s: float) -> None:
        """Count a look at edited policies; the next cycle shows what it found."""
        self._telemetry.looked_early(writes=_writes(report), duration_s=duration_s)

    def ended(self, shard: int) -> None:
        """Show nothing more of a shard: it is led here no longer."""
        self._telemetry.leadership_ended(shard)


def _writes(report: CycleReport) -> dict[str, int]:
    return {"workload": report.workload_writes, "status": report.status_writes, "failed": report.failed_writes}
