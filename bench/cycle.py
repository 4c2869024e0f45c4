"""What does one cycle of the operator cost at N policies? `python -m bench.cycle --policies 100 300 1000`.

Real parts: API server and etcd, a Prometheus that scrapes, a broker, and two replicas of the operator at the default
interval. Each policy has a Deployment with three running pods of seven series each, and a group that the broker knows
(`bench.cycle_world`). The operator is looked at from outside (`bench.cycle_seen`). Its floor is measured in the same
run: the same lists and queries by a client that does nothing else (`bench.cycle_api`).

In turn: the start until every verdict is known, cycles in which nothing changes, all policies edited at once, and
single edits spread over two intervals. At the end a client that does nothing else writes the same statuses.
`--beside 2` keeps two processors busy meanwhile, `--profile FILE` writes where the leader's time went. What was not
measured is left out of `build/bench/cycle.json`, and the table says so.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import platform
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from bench import cycle_api, cycle_world
from bench.cycle_api import Edit, Floor
from bench.cycle_exporter import PODS_OF_POLICY, Subject, subjects
from bench.cycle_seen import (
    PAGE_EVERY_S,
    PAGE_TIMEOUT_S,
    Key,
    Liveness,
    Passed,
    Statuses,
    await_cycles,
    longest_lag_s,
    losses,
)
from bench.idle import usage
from bench.metrics import Memory
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES
from sandbox import progress, scenario
from sandbox.environment import OPERATOR_USERS
from sandbox.processes import Process, wait_until
from sandbox.scenario import Operator
from tests.e2e.operators import AUDIT_LAG_S

INTERVAL_S: Final = 60.0
SOURCE_TIMEOUT_S: Final = 10.0
"""The operator's defaults, both."""

_ROOT: Final = Path(__file__).parents[1]

REPORT: Final = _ROOT / "build" / "bench" / "cycle.json"

_MIB_IN: Final = {"Mi": 1, "Gi": 1024}

_SETTLING: Final = 5
"""Cycles after all is known that do not count: the rest of the hour may be read in them."""

_ALL_BOUND_S: Final = 900
_SINGLE_BOUND_S: Final = 800
"""Bounds of a session that change nothing but the spec: it is 30 s."""

_EDITS_SPAN_S: Final = 2 * INTERVAL_S
_PHASE_TIMEOUT_S: Final = 1200.0
_SEED: Final = 21

Figures = dict[str, float]


class Run:
    """Two replicas at work, and what they cost.

    Args:
        cluster: where they work.
        everybody: their policies.
        replicas: the leader first.
        seen: what they have written since before they started.
    """

    def __init__(
        self, cluster: cycle_world.Cluster, everybody: Sequence[Subject], replicas: Sequence[Operator], seen: Statuses
    ) -> None:
        self._control_plane = cluster.control_plane
        self._everybody = everybody
        self._leader, self._follower = replicas
        self._seen = seen

    def first_known(self, started: datetime) -> Figures:
        """Return how long after the start every verdict was known."""
        everybody = len(self._everybody)
        self._await(lambda: len(self._seen.read().known_at) == everybody, "every verdict")
        return {"first_known_s": round((max(self._seen.known_at.values()) - started).total_seconds(), 1)}

    def steady(self, cycles: int) -> Figures:
        """Return what a cycle costs while nothing changes."""
        passed = self._cycles(_SETTLING)
        time.sleep(AUDIT_LAG_S)
        first, writes = passed, self._seen.read().writes.total()
        cpu_s, lengths_s = self._cpu_s(), []
        for number in range(1, cycles + 1):
            before, passed = passed, self._cycles(1)
            lengths_s.append((passed.cycles_s - before.cycles_s) / (passed.cycles - before.cycles))
            progress.say("cycle", f"steady cycle {number} of {cycles}: {lengths_s[-1]:.2f} s")
        finished = passed.cycles - first.cycles
        cpu_s = self._cpu_s() - cpu_s
        time.sleep(AUDIT_LAG_S)
        return {
            "steady_s": round(statistics.median(lengths_s), 3),
            "steady_max_s": round(max(lengths_s), 3),
            "steady_cycles": finished,
            "cpu_s": round(cpu_s / finished, 2),
            "prometheus_requests": round((passed.requests - first.requests) / finished, 2),
            "idle_writes": self._seen.read().writes.total() - writes,
            "healthy": sum(verdict in LEAVES_THE_VALUES for verdict in self._seen.verdicts.values()),
        }

    def all_changed(self) -> Figures:
        """Return how long the cycles took that followed an edit of every policy; call it when a cycle has finished."""
        before, began_s = await_cycles(self._leader, 0, timeout_s=_PHASE_TIMEOUT_S), time.monotonic()
        with progress.step("cycle", "editing every policy"):
            edits = asyncio.run(
                cycle_api.edit_all(self._control_plane, self._everybody, longest_session_s=_ALL_BOUND_S)
            )
        edited, edited_s = datetime.now(UTC), time.monotonic() - began_s
        last = max(self._followed(self._everybody, edits))
        time.sleep(PAGE_EVERY_S)  # a cycle goes on for a moment after its last status
        after = await_cycles(self._leader, before.cycles + 1, timeout_s=_PHASE_TIMEOUT_S)
        return {
            "all_changed_s": round(after.cycles_s - before.cycles_s, 2),
            "all_changed_cycles": after.cycles - before.cycles,
            "all_changed_wall_s": round((last - edited).total_seconds(), 1),
            "edits_of_all_s": round(edited_s, 2),
        }

    def single_edits(self, count: int) -> Figures:
        """Return how long a status takes to follow an edit, which may come at any moment of the interval."""
        chance = random.Random(_SEED)  # noqa: S311 - moments, no secrets
        some = chance.sample(self._everybody, min(count, len(self._everybody)))
        moments_s = sorted(chance.uniform(0, _EDITS_SPAN_S) for _ in some)
        began_s, edits = time.monotonic(), []
        with progress.step("cycle", f"editing {len(some)} policies, now and then"):
            for subject, at_s in zip(some, moments_s, strict=True):
                time.sleep(max(0.0, began_s + at_s - time.monotonic()))
                work = cycle_api.edit_all(self._control_plane, [subject], longest_session_s=_SINGLE_BOUND_S)
                edits += asyncio.run(work)
        followed = self._followed(some, edits)
        waits_s = [(at - edit.at).total_seconds() for at, edit in zip(followed, edits, strict=True)]
        return {
            "edit_to_status_p50_s": round(statistics.median(waits_s), 1),
            "edit_to_status_p95_s": round(percentile(waits_s, 0.95), 1),
            "single_edits": len(edits),
        }

    def ended(self, liveness: Liveness) -> Figures:
        """Return what only the end tells: peaks, and what broke on the way."""
        operators = (self._leader, self._follower)
        dead = sum(not operator.process.alive() for operator in operators)
        peaks_mib = [Memory(operator.process.pid).peak_mib() for operator in operators]
        killed = sum(peak_mib > limit_mib() for peak_mib in peaks_mib)
        lag_s = longest_lag_s(self._leader.page("/metrics", timeout_s=PAGE_TIMEOUT_S))
        return ({} if lag_s is None else {"loop_lag_max_s": lag_s}) | {
            "rss_peak_mib": round(peaks_mib[0], 1),
            "follower_rss_mib": round(peaks_mib[1], 1),
            "lease_losses": losses(operators),
            "restarts": dead + liveness.failed + killed,
        }

    def _cycles(self, more: int) -> Passed:
        """Wait for so many cycles more than have finished now."""
        now = await_cycles(self._leader, 0, timeout_s=_PHASE_TIMEOUT_S)
        with progress.step("cycle", f"waiting for the end of a cycle, {more} from now"):
            return await_cycles(self._leader, now.cycles + more, timeout_s=_PHASE_TIMEOUT_S)

    def _followed(self, some: Sequence[Subject], edits: Sequence[Edit]) -> list[datetime]:
        """Wait until each policy's status is about its edit; return when each was."""
        keys: list[Key] = [(subject.namespace, subject.name) for subject in some]
        awaited = [(key, edit.generation) for key, edit in zip(keys, edits, strict=True)]

        def all_followed() -> bool:
            self._seen.read()
            return all(self._seen.followed(*edit) is not None for edit in awaited)

        self._await(all_followed, f"{len(some)} statuses to follow")
        return [at for edit in awaited if (at := self._seen.followed(*edit)) is not None]

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        leader = self._leader.process
        wait_until(condition, part="cycle", what=what, timeout_s=_PHASE_TIMEOUT_S, process=leader, poll_s=1.0)

    def _cpu_s(self) -> float:
        return usage(self._leader.process.pid, at_s=0).cpu_s


@dataclass(frozen=True)
class Conditions:
    """How a size is measured.

    Attributes:
        cycles: how many count while nothing changes.
        edits: how many single edits are waited for.
        beside: how many processors are kept busy by others.
        profile: where the leader writes its profile; it is slower meanwhile. None if it is not profiled.
    """

    cycles: int
    edits: int
    beside: int = 0
    profile: Path | None = None


def limit_mib() -> int:
    """Return the chart's limit of the operator's memory: who takes more is restarted by the kernel there."""
    values = yaml.safe_load((_ROOT / "charts" / "heartbeat-tuner" / "values.yaml").read_text())
    limit: str = values["operator"]["resources"]["limits"]["memory"]
    return int(limit[:-2]) * _MIB_IN[limit[-2:]]


def allocator() -> dict[str, str]:
    """Return the image's settings of the C library's memory, by name."""
    return dict(re.findall(r"\b(MALLOC_[A-Z_]+)=(\S+)", (_ROOT / "Dockerfile").read_text()))


def measure(policies: int, under: Conditions, *, run_dir: Path) -> Figures:
    """Set everything up, and return the figures of one size."""
    everybody = subjects(policies)
    with contextlib.ExitStack() as running:
        cluster = running.enter_context(cycle_world.Cluster(run_dir))
        cycle_world.fill(cluster, everybody)
        running.enter_context(cycle_world.exporting(cluster, everybody))
        floor = _floor(cluster, everybody)
        seen, started = Statuses(cluster.control_plane.audit_log), datetime.now(UTC)
        replicas = _replicas(cluster, running, under.profile)
        for number in range(under.beside):
            running.enter_context(_busy(number, run_dir))
        liveness = running.enter_context(Liveness(replicas))
        run = Run(cluster, everybody, replicas, seen)
        figures = run.first_known(started)
        progress.say("cycle", f"{policies} policies: all known after {figures['first_known_s']} s")
        figures |= run.steady(under.cycles)
        figures |= run.all_changed()
        progress.say(
            "cycle", f"all changed: {figures['all_changed_s']} s in {figures['all_changed_cycles']:.0f} cycles"
        )
        figures |= run.single_edits(under.edits) if under.edits else {}
        figures |= run.ended(liveness)
        rewritten_s = asyncio.run(cycle_api.rewrite_all(cluster.control_plane, everybody))
        figures["writes_of_all_s"] = round(rewritten_s, 2)
        floors = {
            "floor_s": round(floor.total_s, 3),
            "floor_lists_s": round(floor.lists_s, 3),
            "floor_queries_s": round(floor.queries_s, 3),
        }
        return figures | floors


def _floor(cluster: cycle_world.Cluster, everybody: Sequence[Subject]) -> Floor:
    """Check that all is there, and measure what reading it costs at least."""
    policies = len(everybody)
    found = asyncio.run(cycle_api.counts(cluster.control_plane))
    assert found == {"policies": policies, "deployments": policies, "pods": policies * PODS_OF_POLICY}, found
    namespaces = cycle_world.namespaces_of(everybody)
    work = cycle_api.floor(cluster.control_plane, cluster.prometheus.url, namespaces, interval_s=INTERVAL_S)
    floor = asyncio.run(work)
    progress.say("cycle", f"{policies} policies: lists {floor.lists_s:.2f} s, queries {floor.queries_s:.2f} s")
    return floor


def _busy(number: int, run_dir: Path) -> Process:
    """Return a process that keeps a processor busy until it is stopped, an hour at most."""
    work = "import time; end = time.monotonic() + 3600\nwhile time.monotonic() < end: pass"
    return Process(f"busy-{number}", [sys.executable, "-c", work], log=run_dir / "logs" / f"busy-{number}.log")


def _replicas(cluster: cycle_world.Cluster, running: contextlib.ExitStack, profile: Path | None) -> list[Operator]:
    """Start a leader and, once it leads, a follower."""
    replicas: list[Operator] = []
    os.environ.update(allocator())
    for user in OPERATOR_USERS:
        operator = Operator(
            cluster,
            interval_s=INTERVAL_S,
            user=user,
            source_timeout_s=SOURCE_TIMEOUT_S,
            grants=scenario.EVERY_GROUP,
            profile=None if replicas else profile,
        )
        replicas.append(running.enter_context(operator))
        wait_until(replicas[0].leads, part=user, what="its part")
    return replicas


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def growth_exponent(steady_s: Mapping[int, float]) -> float:
    """Return the slope of the logarithm of a cycle's length over that of the number of policies, by least squares."""
    sizes, lengths = (list(map(math.log, values)) for values in (steady_s.keys(), steady_s.values()))
    return statistics.linear_regression(sizes, lengths).slope


def report_of(sizes: Mapping[int, Figures]) -> dict[str, Any]:
    """Return the report: the figures of each size, the floor of the largest, and the growth if there are two."""
    report: dict[str, Any] = {str(policies): figures for policies, figures in sizes.items()}
    report["floor_s"] = sizes[max(sizes)]["floor_s"]
    if len(sizes) > 1:
        lengths = {policies: figures["steady_s"] for policies, figures in sizes.items()}
        report["growth_exponent"] = round(growth_exponent(lengths), 3)
    report["machine"] = {
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "python": platform.python_version(),
    }
    return report


def sizes_of(report: str) -> dict[int, Figures]:
    """Return the figures of each size in a report that was written before."""
    return {int(name): figures for name, figures in json.loads(report).items() if name.isdecimal()}


def table_of(sizes: Mapping[int, Figures]) -> str:
    """Return the figures for people, a column for each size."""
    names = dict.fromkeys(name for figures in sizes.values() for name in figures)
    lines = [f"{'policies':24}" + "".join(f"{policies:>14}" for policies in sizes)]
    lines += [f"{name:24}" + "".join(_cell(figures.get(name)) for figures in sizes.values()) for name in names]
    exponent = report_of(sizes).get("growth_exponent")
    lines.append(f"{'growth_exponent':24}" + ("  not measured: one size" if exponent is None else _cell(exponent)))
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return f"{'not measured' if value is None else f'{value:g}':>14}"


def main() -> None:
    """Measure size by size, print a table and write `build/bench/cycle.json` after each size."""
    parser = argparse.ArgumentParser(description="What a cycle of the operator costs.")
    parser.add_argument("--policies", type=int, nargs="+", default=[1000], help="sizes to measure")
    parser.add_argument("--cycles", type=int, default=5, help="how many count while nothing changes")
    parser.add_argument("--edits", type=int, default=40, help="how many single edits are waited for; 0 leaves them out")
    parser.add_argument("--keep", action="store_true", help="leave the other sizes of the last report in it")
    parser.add_argument("--beside", type=int, default=0, help="processors to keep busy meanwhile")
    parser.add_argument("--profile", type=Path, help="where to write the leader's profile (python -m pstats reads it)")
    asked = parser.parse_args()
    under = Conditions(asked.cycles, asked.edits, asked.beside, asked.profile)
    sizes: dict[int, Figures] = {}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    for policies in sorted(set(asked.policies)):
        with tempfile.TemporaryDirectory(prefix="bench-cycle-") as run_dir:
            sizes[policies] = measure(policies, under, run_dir=Path(run_dir))
        kept_sizes = sizes_of(REPORT.read_text()) if asked.keep and REPORT.exists() else {}
        sizes = dict(sorted({**kept_sizes, **sizes}.items()))
        REPORT.write_text(json.dumps(report_of(sizes), indent=1) + "\n")
        print(table_of(sizes), flush=True)


if __name__ == "__main__":
    main()
