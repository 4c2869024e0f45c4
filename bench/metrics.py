"""What does a cycle cost Prometheus and the operator? `python -m bench.metrics` writes `build/bench/metrics.json`.

A real Prometheus holds 65 minutes of ten thousand consumers (remote write) and scrapes them (`bench.exporters`); the
real adapter and gatherer read it at the operator's default interval, and make the record of each group. Workloads and
groups are told, since this is about metrics.

First the backfill after a start, cycle after cycle until every record reaches back an hour; then a cycle to warm up;
then those that count. Memory is the kernel's account: the high-water mark of Prometheus' resident memory, set back just
before a cycle. Between cycles the same is noted for as long a time in which nobody asks: Prometheus' memory goes up and
down by itself.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import gc
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench.exporters import KNOWN, PAGE, SCRAPE_S, Member, members
from bench.idle import usage
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.prometheus.prometheus_access import PrometheusAccess
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Pod, Record, Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Verdict
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.gather.gathering import Gathered, Gatherer
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.series import reading_plan
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings
from sandbox import progress
from sandbox.binaries import Binaries
from sandbox.network import LOOPBACK, answers, free_ports
from sandbox.processes import Process, wait_until
from sandbox.prometheus import Prometheus
from tests.support import stages, worlds
from tests.support.fakes import FakeGroups, FakeModels, FakeWorkloads, looks_at

MEMBERS: Final = 10
SIZES: Final = {100: 2, 1000: 3}
"""Groups, and how many cycles are measured."""

INTERVAL_S: Final = 60.0
"""The operator's default."""

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "metrics.json"

_HISTORY_S: Final = reading_plan.WINDOW_S + 60
_WHOLE: Final = timedelta(minutes=59)
_LOADED_TIMEOUT_S: Final = 600.0
_MOST_CYCLES: Final = 20
_NARROWING_ROUNDS: Final = 5


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one cycle, or several together, cost.

    Attributes:
        requests: sent to Prometheus.
        samples: received from it.
        seconds: from the first request to the last record.
        own_cpu_seconds: processor time of the operator's side meanwhile.
        prometheus_cpu_seconds: processor time of Prometheus meanwhile, that of scraping included.
        memory_rise: Prometheus' peak of resident memory during it, as a fraction over what it was just before.
        memory_mib: what it was just before.
    """

    requests: int
    samples: int
    seconds: float
    own_cpu_seconds: float
    prometheus_cpu_seconds: float
    memory_rise: float
    memory_mib: float


class Memory:
    """The kernel's account of a process' resident memory."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")

    def now_mib(self) -> float:
        """Return what it has now."""
        return self._mib("VmRSS")

    def peak_mib(self) -> float:
        """Return the most it had since `begin`, or ever."""
        return self._mib("VmHWM")

    def begin(self) -> float:
        """Set the high-water mark back; return what it has now."""
        (self._folder / "clear_refs").write_text("5")
        return self.now_mib()

    def _mib(self, name: str) -> float:
        status = (self._folder / "status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:")) / 1024


class Bench:
    """A gatherer of so many groups on a real Prometheus."""

    def __init__(self, prometheus: Prometheus, groups: int) -> None:
        self._pid = prometheus.pid
        self._memory = Memory(self._pid)
        settings = PrometheusSettings(url=prometheus.url)
        self._source = PrometheusSource(
            PrometheusAccess(settings.url),
            timeout=settings.timeout,
            max_answer_bytes=settings.max_answer_bytes,
            clock=SystemClock(),
        )
        everybody = members(groups * MEMBERS, MEMBERS)
        self.policies = [_policy(everybody[first]) for first in range(0, len(everybody), MEMBERS)]
        stored = {
            policy.workload.key: _workload(everybody[number * MEMBERS : (number + 1) * MEMBERS])
            for number, policy in enumerate(self.policies)
        }
        known = {
            policy.group_id: dataclasses.replace(worlds.group(), group_id=policy.group_id) for policy in self.policies
        }
        self._gatherer = Gatherer(
            metrics=self._source,
            groups=looks_at(FakeGroups({"main": {**known}}), SystemClock()),
            workloads=FakeWorkloads(stored),
            models=ModelShelf(FakeModels()),
            clock=SystemClock(),
            sleep=asyncio.sleep,
            grants=stages.EVERYTHING,
        )

    def close(self) -> None:
        """End its connections."""
        self._source.close()

    async def cycle(self) -> tuple[Cost, list[Record | str]]:
        """Run one cycle; return its cost, and the records, or why there is none."""
        spent = self._source.spent
        requests, samples = spent.requests, spent.samples
        own_s, its_s = time.process_time(), usage(self._pid, at_s=0).cpu_s
        before_mib, began_s = self._memory.begin(), time.monotonic()
        gathered = await self._gatherer.gather(self.policies)
        seconds = time.monotonic() - began_s
        peak_mib = self._memory.peak_mib()
        cost = Cost(
            requests=spent.requests - requests,
            samples=spent.samples - samples,
            seconds=round(seconds, 2),
            own_cpu_seconds=round(time.process_time() - own_s, 2),
            prometheus_cpu_seconds=round(usage(self._pid, at_s=0).cpu_s - its_s, 2),
            memory_rise=round(peak_mib / before_mib - 1, 3),
            memory_mib=round(before_mib, 1),
        )
        return cost, [_record(item) for item in gathered.values()]

    async def idle_rise(self, seconds: float) -> float:
        """Return by how much Prometheus' memory rose, as a fraction, while nobody asked for so long."""
        before_mib = self._memory.begin()
        await asyncio.sleep(seconds)
        return round(self._memory.peak_mib() / before_mib - 1, 3)

    async def narrowing(self) -> list[dict[str, Any]]:
        """Compare reading all of a namespace with reading those of its groups that have policies, by few and many."""
        by_namespace: dict[str, list[str]] = {}
        for policy in self.policies:
            by_namespace.setdefault(policy.key.namespace, []).append(policy.group_id)
        found: list[dict[str, Any]] = []
        for few, matched in itertools.product((1, 5, 20), (False, True)):
            groups = [group for several in by_namespace.values() for group in several[:few]]
            patterns = [f"consumer-{group}-.*" for group in groups] if matched else []
            found.append({"groups_of_20": few, "matched": matched, **await self._asked(by_namespace, patterns)})
        return found

    async def _asked(self, namespaces: Collection[str], patterns: Sequence[str]) -> dict[str, Any]:
        names = [KNOWN[Quantity.HEARTBEATS]]
        query = queries.raw(names, namespaces=namespaces, window=timedelta(seconds=135))
        if patterns:
            query = query.replace("}[", f",{queries.any_of('client_id', patterns)}}}[")
        seconds, rises, samples = [], [], 0
        for _ in range(_NARROWING_ROUNDS):
            before_mib, began_s = self._memory.begin(), time.monotonic()
            answer = await self._source.instant(query, at=datetime.now(UTC))
            seconds.append(time.monotonic() - began_s)
            rises.append(self._memory.peak_mib() - before_mib)
            samples = sum(len(item.samples) for item in answer)
        return {
            "seconds": round(min(seconds), 3),
            "rise_mib": round(statistics.median(rises), 1),
            "samples": samples,
            "query_bytes": len(query),
        }


async def measure(prometheus: Prometheus, groups: int, cycles: int) -> dict[str, Any]:
    """Return what the backfill and some cycles of so many groups cost."""
    bench = Bench(prometheus, groups)
    try:
        backfill, done = [], False
        while not done:
            cost, records = await bench.cycle()
            backfill.append(cost)
            spans = [record.span for record in records if isinstance(record, Record)]
            done = len(spans) == groups and min(spans) >= _WHOLE
            unknown = next((record for record in records if isinstance(record, str)), "")
            progress.say("bench", f"{groups} groups, backfill: {cost}; {len(spans)} records {unknown[:300]}")
            if len(backfill) == _MOST_CYCLES:
                raise RuntimeError(f"after {_MOST_CYCLES} cycles not all records reach back an hour: {unknown}")
        costs, idle = [], []
        for number in range(cycles + 1):
            gc.collect()
            idle.append(await bench.idle_rise(INTERVAL_S - 10))
            await asyncio.sleep(10)
            cost, records = await bench.cycle()
            progress.say("bench", f"{groups} groups, cycle {number}: {cost}; idle rise {idle[-1]}")
            assert all(
                isinstance(record, Record) and record.evictions == 0 and record.span >= _WHOLE for record in records
            )
            costs.append(cost)
        costs, idle = costs[1:], idle[1:]
        own = Memory(os.getpid())
        return {
            "groups": groups,
            "members": groups * MEMBERS,
            "requests": max(cost.requests for cost in costs),
            "samples": max(cost.samples for cost in costs),
            "seconds": statistics.median(cost.seconds for cost in costs),
            "own_cpu_seconds": statistics.median(cost.own_cpu_seconds for cost in costs),
            "prometheus_cpu_seconds": statistics.median(cost.prometheus_cpu_seconds for cost in costs),
            "memory_rise": statistics.median(cost.memory_rise for cost in costs),
            "memory_rise_most": max(cost.memory_rise for cost in costs),
            "memory_mib": costs[-1].memory_mib,
            "idle_memory_rise": statistics.median(idle),
            "own_rss_mib": round(own.now_mib(), 1),
            "own_rss_most_mib": round(own.peak_mib(), 1),
            "backfill": {
                "cycles": len(backfill),
                "requests": sum(item.requests for item in backfill),
                "samples": sum(item.samples for item in backfill),
                "seconds": round(sum(item.seconds for item in backfill), 2),
                "own_cpu_seconds": round(sum(item.own_cpu_seconds for item in backfill), 2),
                "memory_rise": max(item.memory_rise for item in backfill),
            },
            "narrowing": await bench.narrowing() if groups == max(SIZES) else [],
            "cycles": [dataclasses.asdict(cost) for cost in costs],
        }
    finally:
        bench.close()


@contextlib.contextmanager
def _running(groups: int, run_dir: Path) -> Iterator[Prometheus]:
    """Give a Prometheus with the past of so many groups, that goes on scraping them."""
    count = groups * MEMBERS
    (port,) = free_ports(1)
    names = [KNOWN[quantity] for quantity in reading_plan.READ if quantity in KNOWN]
    with Prometheus(run_dir, Binaries(), kubeconfig=None) as prometheus:
        exporters = Process(
            "exporters",
            [
                *(sys.executable, "-m", "bench.exporters", "--port", str(port), "--members", str(count)),
                *("--group-size", str(MEMBERS), "--history-to", prometheus.url.rpartition(":")[2]),
                *("--history-s", str(_HISTORY_S), "--history-names", *names),
            ],
            log=run_dir / "logs" / "exporters.log",
        )
        with exporters:
            wait_until(
                lambda: answers(port),
                part="bench",
                what="the past",
                process=exporters,
                timeout_s=_LOADED_TIMEOUT_S,
            )
            prometheus.reload(_scraping(port, count))
            time.sleep(3 * SCRAPE_S)
            yield prometheus


def _scraping(port: int, count: int) -> dict[str, Any]:
    interval = f"{SCRAPE_S:.0f}s"
    pages = [
        {"targets": [f"{LOOPBACK}:{port}"], "labels": {"__metrics_path__": f"/{number}", "instance": f"page-{number}"}}
        for number in range((count + PAGE - 1) // PAGE)
    ]
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": "10s"},
        "scrape_configs": [{"job_name": "pods", "honor_labels": True, "static_configs": pages}],
    }


def _policy(first: Member) -> Policy:
    key = ObjectKey(first.namespace, first.group)
    workload = dataclasses.replace(worlds.policy().workload, key=ObjectKey(first.namespace, f"{first.group}-consumer"))
    return worlds.java_policy(key=key, group_id=first.group, workload=workload)


def _workload(some: Sequence[Member]) -> Workload:
    started = datetime.now(UTC) - timedelta(days=1)
    pods = [
        Pod(item.pod, f"uid-{item.number}", f"10.0.{item.number >> 8}.{item.number & 255}", started, 0) for item in some
    ]
    return worlds.workload(worlds.java_settings(), running=pods)


def _record(gathered: Gathered) -> Record | str:
    if not isinstance(gathered, DecisionInput):
        return str(gathered)
    if not isinstance(gathered.record, Record):
        return gathered.record.message
    assert decide(gathered).verdict in (*LEAVES_THE_VALUES, Verdict.UNKNOWN)
    return gathered.record


def main() -> None:
    """Measure, print and write `build/bench/metrics.json`."""
    parser = argparse.ArgumentParser(description="What reading metrics costs.")
    parser.add_argument("--groups", type=int, nargs="*", default=list(SIZES), help="sizes to measure")
    asked = parser.parse_args()
    sizes = {}
    for groups in asked.groups:
        with (
            tempfile.TemporaryDirectory(prefix="bench-metrics-") as run_dir,
            _running(groups, Path(run_dir)) as running,
        ):
            sizes[str(groups)] = asyncio.run(measure(running, groups, SIZES.get(groups, 3)))
    machine = {
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "python": platform.python_version(),
    }
    report = {**sizes[str(max(asked.groups))], "sizes": sizes, "machine": machine}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
