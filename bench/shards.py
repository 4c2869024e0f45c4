"""Does a replica that leads one of three shards pay for its part alone? `python -m bench.shards --policies 1000`.

The parts of `bench.cycle`, twice: N policies and one leader, then three shards of N policies each and three replicas,
each of which leads one. Compared is what a cycle in which nothing changes costs the process: its length, CPU, memory.
Three replicas share the machine's cores with all else, so CPU tells more than length where cores are few.
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import cycle_world
from bench.cycle_exporter import POLICIES_OF_NAMESPACE, Subject
from bench.cycle_seen import Statuses, await_cycles
from bench.idle import usage
from bench.metrics import Memory
from heartbeat_tuner.domain.shards import shard_of
from sandbox import progress, scenario
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.sharded import SHARDS, USERS, rights_manifest

INTERVAL_S: Final = 60.0
SOURCE_TIMEOUT_S: Final = 10.0
"""The operator's defaults, both."""

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "shards.json"

_SETTLING: Final = 2
"""Cycles after all is known that do not count: the rest of the hour may be read in them."""

_TIMEOUT_S: Final = 1800.0

Figures = dict[str, float]


def equal_shards(policies: int, shards: int) -> list[Subject]:
    """Return so many policies for each shard, in whole namespaces of which each shard has as many as the others."""
    wanted = -(-policies // POLICIES_OF_NAMESPACE)
    by_shard: dict[int, list[Subject]] = {number: [] for number in range(shards)}
    first = 0
    while any(len(some) < wanted * POLICIES_OF_NAMESPACE for some in by_shard.values()):
        namespace = [Subject(number) for number in range(first, first + POLICIES_OF_NAMESPACE)]
        of_shard = by_shard[shard_of(namespace[0].namespace, shards)]
        if len(of_shard) < wanted * POLICIES_OF_NAMESPACE:
            of_shard += namespace
        first += POLICIES_OF_NAMESPACE
    chosen = [subject for some in by_shard.values() for subject in _evenly(some, policies, wanted)]
    return sorted(chosen, key=lambda subject: subject.number)


def _evenly(some: Sequence[Subject], policies: int, namespaces: int) -> list[Subject]:
    """Return so many of some namespaces' policies, from each about as many."""
    each = -(-policies // namespaces)
    chosen = [subject for subject in some if subject.number % POLICIES_OF_NAMESPACE < each]
    return chosen[:policies]


def measure(policies: int, *, shards: int, cycles: int, interval_s: float, run_dir: Path) -> list[Figures]:
    """Return what each replica's cycles cost with so many policies in each shard."""
    everybody = equal_shards(policies, shards)
    exported = [Subject(number) for number in range(everybody[-1].number + 1)]
    with contextlib.ExitStack() as running:
        cluster = running.enter_context(cycle_world.Cluster(run_dir, users=USERS))
        cycle_world.fill(cluster, everybody)
        cluster.control_plane.kubectl("apply", "--filename=-", stdin=rights_manifest())
        running.enter_context(cycle_world.exporting(cluster, exported))
        seen, started = Statuses(cluster.control_plane.audit_log, USERS), datetime.now(UTC)
        replicas = []
        for user in USERS[:shards]:
            operator = Operator(
                cluster,
                interval_s=interval_s,
                user=user,
                source_timeout_s=SOURCE_TIMEOUT_S,
                grants=scenario.EVERY_GROUP,
                shards=shards,
            )
            replicas.append(running.enter_context(operator))
        _await(lambda: [replica.led() for replica in replicas] == [1] * shards, "a shard for each replica")
        _await(lambda: len(seen.read().known_at) == len(everybody), "every verdict")
        known_s = (max(seen.known_at.values()) - started).total_seconds()
        progress.say("shards", f"{len(everybody)} policies in {shards} shards: all known after {known_s:.0f} s")
        return [{"first_known_s": round(known_s, 1)} | figures for figures in _steady(replicas, cycles)]


def _steady(replicas: Sequence[Operator], cycles: int) -> list[Figures]:
    """Return what cycles cost in which nothing changes, of each replica over the same stretch of time."""
    for replica in replicas:
        await_cycles(replica, await_cycles(replica, 0, timeout_s=_TIMEOUT_S).cycles + _SETTLING, timeout_s=_TIMEOUT_S)
    before = [
        (await_cycles(replica, 0, timeout_s=_TIMEOUT_S), usage(replica.process.pid, at_s=0).cpu_s)
        for replica in replicas
    ]
    found = []
    for replica, (first, cpu_s) in zip(replicas, before, strict=True):
        last = await_cycles(replica, first.cycles + cycles, timeout_s=_TIMEOUT_S)
        count = last.cycles - first.cycles
        found.append(
            {
                "cycle_s": round((last.cycles_s - first.cycles_s) / count, 2),
                "cpu_s": round((usage(replica.process.pid, at_s=0).cpu_s - cpu_s) / count, 2),
                "prometheus_requests": round((last.requests - first.requests) / count, 1),
                "rss_mib": round(Memory(replica.process.pid).now_mib(), 1),
                "rss_peak_mib": round(Memory(replica.process.pid).peak_mib(), 1),
            }
        )
    return found


def _await(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, part="shards", what=what, timeout_s=_TIMEOUT_S, poll_s=1.0)


def table_of(columns: Mapping[str, Figures]) -> str:
    """Return the figures for people, a column for each replica."""
    names = dict.fromkeys(name for figures in columns.values() for name in figures)
    lines = [f"{'':22}" + "".join(f"{column:>22}" for column in columns)]
    lines += [f"{name:22}" + "".join(f"{figures[name]:>22g}" for figures in columns.values()) for name in names]
    return "\n".join(lines)


def main() -> None:
    """Measure both, print a table and write `build/bench/shards.json` after each."""
    parser = argparse.ArgumentParser(description="What a shard's leader pays.")
    parser.add_argument("--policies", type=int, default=1000, help="of each shard")
    parser.add_argument("--cycles", type=int, default=5, help="how many count")
    parser.add_argument("--interval", type=float, default=INTERVAL_S, help="seconds from cycle to cycle")
    asked = parser.parse_args()
    columns: dict[str, Figures] = {}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    for shards in (1, SHARDS):
        with tempfile.TemporaryDirectory(prefix="bench-shards-") as run_dir:
            found = measure(
                asked.policies, shards=shards, cycles=asked.cycles, interval_s=asked.interval, run_dir=Path(run_dir)
            )
        columns |= {f"{shards} shards, replica {number}": figures for number, figures in enumerate(found)}
        REPORT.write_text(json.dumps({"policies_of_shard": asked.policies, "replicas": columns}, indent=1) + "\n")
        print(table_of(columns), flush=True)


if __name__ == "__main__":
    main()
