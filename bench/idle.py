"""What does the operator cost while there is nothing to do? `python -m bench.idle --minutes 20 --policies 200`.

One leader and one follower at production's interval and lease times, a real API server, a real broker, and policies
whose groups are well. Each policy has a Deployment with one running pod, so every cycle reads all of it: the
Deployment, its ConfigMap, its pods, its group, its metrics. What is told rather than real: the metrics, since nobody
consumes. They are as many as usual (`_SCRAPES`), from the first cycle on: memory that grew with the age of Prometheus'
data would look like a leak.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES
from sandbox import audit, progress, scenario
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.operators import AUDIT_LAG_S, cycles
from tests.support.fleets import Fleet, PodMetrics, Scrapes

INTERVAL_S: Final = 60.0
"""The operator's default."""

SAMPLE_EVERY_S: Final = 10.0
REPORT: Final = Path(__file__).parents[1] / "build" / "bench-idle.json"

_SCRAPES: Final = Scrapes(every_s=15.0, reach_s=65 * 60, from_start=False)
"""An hour and five minutes, as much as the operator asks for, of scrapes each 15 s."""

_HEALTHY_TIMEOUT_S: Final = 600.0
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Usage:
    """What one process had used at a moment.

    Attributes:
        at_s: seconds since the measurement began.
        rss_mib: resident memory.
        cpu_s: processor time since the process started.
    """

    at_s: float
    rss_mib: float
    cpu_s: float


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one replica cost over the whole time."""

    role: str
    rss_start_mib: float
    rss_end_mib: float
    rss_max_mib: float
    rss_mib_per_hour: float
    rss_mib_per_hour_second_half: float
    cpu_s_per_minute: float

    @classmethod
    def of(cls, role: str, samples: Sequence[Usage]) -> "Cost":
        """Return what samples amount to; at least four of them."""
        first, last, second_half = samples[0], samples[-1], samples[len(samples) // 2 :]
        return cls(
            role=role,
            rss_start_mib=round(first.rss_mib, 1),
            rss_end_mib=round(last.rss_mib, 1),
            rss_max_mib=round(max(sample.rss_mib for sample in samples), 1),
            rss_mib_per_hour=round(_slope_per_hour(samples), 2),
            rss_mib_per_hour_second_half=round(_slope_per_hour(second_half), 2),
            cpu_s_per_minute=round(60 * (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s), 3),
        )


def usage(pid: int, *, at_s: float) -> Usage:
    """Return what a process has used, by the kernel's account."""
    status = Path(f"/proc/{pid}/status").read_text()
    rss_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    # The second field, the name, may hold anything: what follows its bracket is numbers.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return Usage(at_s, rss_kib / 1024, (int(fields[11]) + int(fields[12])) / _TICKS_PER_S)


def _slope_per_hour(samples: Sequence[Usage]) -> float:
    """Return how fast memory grows, in MiB per hour, by least squares."""
    slope = statistics.linear_regression(
        [sample.at_s for sample in samples], [sample.rss_mib for sample in samples]
    ).slope
    return slope * 3600


def measure(minutes: float, policies: int, run_dir: Path) -> dict[str, object]:
    """Set everything up, watch it for so long, and return the report."""
    with contextlib.ExitStack() as running:
        sandbox = running.enter_context(Sandbox(run_dir))
        scenario.install(sandbox)
        fleet = running.enter_context(Fleet(sandbox, "idle", policies))
        fleet.deploy(scenario.HEALTHY)
        metrics = running.enter_context(PodMetrics([fleet], storms=lambda _: False, scrapes=_SCRAPES))
        fleet.create_policies(mode="Apply")
        replicas = []
        for user in OPERATOR_USERS:
            url = f"http://{LOOPBACK}:{metrics.port}"
            operator = Operator(
                sandbox, interval_s=INTERVAL_S, user=user, prometheus_url=url, grants=scenario.EVERY_GROUP
            )
            replicas.append(running.enter_context(operator))
            wait_until(replicas[0].leads, part=user, what="its part")
        wait_until(
            lambda: all(
                policy.get("status", {}).get("verdict") in LEAVES_THE_VALUES for policy in fleet.policies().values()
            ),
            part="idle",
            what="all policies to be left as they are",
            timeout_s=_HEALTHY_TIMEOUT_S,
            poll_s=2.0,
        )
        settled = cycles(replicas[0]) + 1
        wait_until(lambda: cycles(replicas[0]) >= settled, part="idle", what="a cycle more", timeout_s=3 * INTERVAL_S)
        return _watched(minutes, sandbox, metrics, replicas, policies)


def _watched(
    minutes: float, sandbox: Sandbox, metrics: PodMetrics, replicas: Sequence[Operator], policies: int
) -> dict[str, object]:
    leader = replicas[0]
    since, began = datetime.now(UTC), time.monotonic()
    queries, finished = metrics.queries, cycles(leader)
    samples: list[list[Usage]] = [[] for _ in replicas]
    for number in range(round(minutes * 60 / SAMPLE_EVERY_S) + 1):
        time.sleep(max(0.0, began + number * SAMPLE_EVERY_S - time.monotonic()))
        for replica, taken in zip(replicas, samples, strict=True):
            taken.append(usage(replica.process.pid, at_s=time.monotonic() - began))
        if number % 6 == 0:
            report = ", ".join(f"{taken[-1].rss_mib:.1f} MiB {taken[-1].cpu_s:.1f} s" for taken in samples)
            progress.say("idle", f"{number * SAMPLE_EVERY_S / 60:.0f} of {minutes:g} min: {report}")
    cycled = cycles(leader) - finished
    queried = metrics.queries - queries
    time.sleep(AUDIT_LAG_S)
    writes = [
        write for write in audit.writes(sandbox.control_plane.audit_log, since=since) if write.user in OPERATOR_USERS
    ]
    others = [write for write in writes if write.resource != "leases"]
    roles = ["leader" if replica.leads() else "follower" for replica in replicas]
    return {
        "minutes": minutes,
        "policies": policies,
        "interval_s": INTERVAL_S,
        "cores": os.cpu_count(),
        "replicas": [dataclasses.asdict(Cost.of(*item)) for item in zip(roles, samples, strict=True)],
        "cycles": cycled,
        "queries_per_cycle": round(queried / max(cycled, 1), 2),
        "lease_writes": len(writes) - len(others),
        "other_writes": len(others),
        "samples": {
            user: [dataclasses.asdict(item) for item in taken]
            for user, taken in zip(OPERATOR_USERS, samples, strict=True)
        },
    }


def _table(report: dict[str, object]) -> str:
    rows = report["replicas"]
    assert isinstance(rows, list)
    lines = [f"{name:30}" + "".join(f"{row[name]!s:>12}" for row in rows) for name in rows[0]]
    lines += [
        f"{name:30}{report[name]!s:>12}" for name in ("cycles", "queries_per_cycle", "lease_writes", "other_writes")
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print a table and write `build/bench-idle.json`; exit with status 1 if anything was written."""
    parser = argparse.ArgumentParser(description="What the idle operator costs.")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--policies", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-idle-") as run_dir:
        report = measure(asked.minutes, asked.policies, Path(run_dir))
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(_table(report))
    if report["other_writes"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
