"""How soon does a status follow an edit, and what does the look at one policy cost? `python -m bench.react`.

The first half is on real parts: an operator at the default interval looks after a group of three KafkaJS consumers, and
`kubectl patch` edits its policy 50 times, each time when the status has followed. The second is a fleet in memory, of
10,000 healthy policies: what a steady cycle takes, and what the look at one edited policy does, with the same metrics,
groups and workloads behind the operator's ports. Nobody waits for I/O there, so its seconds are the operator's own, of
processor time, since the machine may be shared. Then a reader scrapes what that cycle found, and a page of as many
policies that have nearly all the series that a policy can have: right after a pass, when the page has to be written,
and once more.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import aiohttp
import structlog

from bench.cycle import percentile
from heartbeat_tuner.adapters.http.telemetry import Telemetry
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.metrics.raw.samples import Series
from sandbox import progress, scenario
from sandbox.environment import Sandbox
from sandbox.network import LOOPBACK, free_ports
from sandbox.scenario import Operator
from tests.e2e.operators import cycles
from tests.e2e.reactions import Reactions
from tests.e2e.replicas import await_status
from tests.e2e.teams import Team
from tests.support import counters, exposed, stages, worlds
from tests.support.stages import Stage

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "react.json"

INTERVAL_S: Final = 60.0
"""The operator's default."""

_TIMEOUT_S: Final = 2 * INTERVAL_S
_CYCLES: Final = 3
_LOOKS: Final = 10


def reacted(edits: int, run_dir: Path) -> dict[str, object]:
    """Return how long statuses took to follow edits on real parts."""
    with contextlib.ExitStack() as running:
        sandbox = running.enter_context(Sandbox(run_dir))
        scenario.install(sandbox)
        team = Team(sandbox, "edited")
        team.create()
        team.deploy(scenario.HEALTHY)
        team.apply_policy_spec(mode="Recommend")
        operator = running.enter_context(Operator(sandbox, interval_s=INTERVAL_S))
        await_status(team, timeout_s=_TIMEOUT_S)
        before, waits_s = cycles(operator), list[float]()
        for wait_s in Reactions(team).after_edits(edits, timeout_s=_TIMEOUT_S):
            waits_s.append(wait_s)
            progress.say("react", f"edit {len(waits_s)} of {edits}: {wait_s:.2f} s")
        return {
            "edits": edits,
            "interval_s": INTERVAL_S,
            "cycles": cycles(operator) - before,
            "edit_to_status_p50_s": round(statistics.median(waits_s), 2),
            "edit_to_status_p95_s": round(percentile(waits_s, 0.95), 2),
            "edit_to_status_max_s": round(max(waits_s), 2),
            "edit_to_status_s": [round(wait_s, 2) for wait_s in waits_s],
        }


def calm_fleet(count: int) -> Stage:
    """Return so many healthy groups of a pod each, with an hour of their metrics and a few minutes to come."""
    stage, pods = stages.fleet(count), worlds.pods(1)
    for key in stage.workloads.stored:
        stage.workloads.stored[key] = worlds.workload(worlds.settings(), running=pods)
    quiet = counters.quiet(pods, worlds.NOW - worlds.HOUR, worlds.NOW + 20 * stages.MINUTE)
    stage.prometheus.answers = {
        quantity: [
            Series({**series.labels, "group_id": group}, series.samples)
            for group in stage.groups.groups["main"]
            for series in several
        ]
        for quantity, several in quiet.items()
    }
    return stage


async def looked(policies: int) -> dict[str, object]:
    """Return what a cycle over a fleet in memory costs, and what the look at one policy of it does."""
    stage, key = calm_fleet(policies), ObjectKey("shop", "g7")
    with progress.step("react", f"the first cycle over {policies} policies"):
        await stage.cycle()
        await stage.cycle()
    cycles_s = []
    for _ in range(_CYCLES):
        stage.clock.advance(stages.MINUTE)
        before_s = time.process_time()
        report = await stage.operator.run()
        cycles_s.append(time.process_time() - before_s)
        progress.say("react", f"a cycle: {cycles_s[-1]:.2f} s")
    looks_s = []
    for number in range(_LOOKS):
        stage.policies.edit(key, objective={"maxDetectionTime": f"{50 + number}s"})
        looks_s.append(await _processor_s(stage.look(key, after=timedelta(seconds=1))))
    assert stage.policies.status_of(key)["observedGeneration"] == _LOOKS + 1
    cycle_s, look_s = statistics.median(cycles_s), statistics.median(looks_s)
    return {
        "policies": policies,
        "cycle_processor_s": round(cycle_s, 3),
        "look_processor_s": round(look_s, 3),
        "look_processor_max_s": round(max(looks_s), 3),
        "cycle_over_look": round(cycle_s / look_s, 1),
        "page": await scraped(report.points),
        "page_of_many_series": await scraped(_many_points(policies)),
    }


def _many_points(policies: int) -> Mapping[ObjectKey, Sequence[MetricPoint]]:
    """Return the points of so many policies: all that a model and a whole record give, and one pod that is watched."""
    points = (*exposed.points_of(exposed.cheaper()), *exposed.WATCHED)
    return {ObjectKey(f"team-{number % 50}", f"orders-{number}"): points for number in range(policies)}


async def scraped(points: Mapping[ObjectKey, Sequence[MetricPoint]]) -> dict[str, object]:
    """Return what a page of metrics costs that a reader takes compressed, over a real connection.

    Args:
        points: what a pass found of each policy.
    """
    telemetry, (port, probe_port) = Telemetry(), free_ports(2)
    await telemetry.serve(LOOPBACK, port, probe_port=probe_port, led=lambda: 1, unhealthy=str, unready=str)
    try:
        telemetry.cycle_finished(verdicts={}, writes={}, points=points, duration_s=1.0, overrun_s=0.0)
        async with aiohttp.ClientSession(f"http://{LOOPBACK}:{port}", auto_decompress=False) as session:
            began_s, before_s = time.monotonic(), time.process_time()
            compressed = await _page(session, "gzip")
            first_s, first_clock_s = time.process_time() - before_s, time.monotonic() - began_s
            again_s = await _processor_s(_page(session, "gzip"))
            plain = await _page(session, "identity")
    finally:
        await telemetry.close()
    return {
        "series_of_a_policy": round(sum(map(len, points.values())) / len(points), 1),
        "bytes": plain,
        "compressed_bytes": compressed,
        "after_a_pass_processor_s": round(first_s, 3),
        "after_a_pass_s": round(first_clock_s, 3),
        "again_processor_s": round(again_s, 3),
    }


async def _page(session: aiohttp.ClientSession, encoding: str) -> int:
    """Return how many bytes a page has that is read to its end."""
    async with session.get("/metrics", headers={"Accept-Encoding": encoding}) as answer:
        answer.raise_for_status()
        return len(await answer.read())


async def _processor_s(work: Awaitable[object]) -> float:
    """Return the processor time of some work, which has nothing beside it in this process."""
    before_s = time.process_time()
    await work
    return time.process_time() - before_s


def main() -> None:
    """Measure, print what was measured, and write it to `build/bench/react.json`."""
    parser = argparse.ArgumentParser(description="How soon a status follows an edit.")
    parser.add_argument("--edits", type=int, default=50, help="on real parts; 0 leaves them out")
    parser.add_argument("--policies", type=int, default=10_000, help="of the fleet in memory; 0 leaves it out")
    asked = parser.parse_args()
    report: dict[str, object] = {"python": platform.python_version(), "cores": os.cpu_count()}
    if asked.edits:
        with tempfile.TemporaryDirectory(prefix="bench-react-") as run_dir:
            report["real"] = reacted(asked.edits, Path(run_dir))
    if asked.policies:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        report["fleet"] = asyncio.run(looked(asked.policies))
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
