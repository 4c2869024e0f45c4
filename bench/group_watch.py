"""What does the group watcher cost? `python -m bench.group_watch --groups 1000 --members 10 --minutes 3`.

A real broker has the groups (`bench.raw_members`). One process does what the operator does with them at its usual
interval, by the operator's own parts: it describes each group, in the cycle and between cycles, compares the
descriptions with the pods, makes the points, and serves them to a scraper in another process every 15 s. The pods are
not read, since the operator reads them anyhow. The broker's log has the requests; of what it does not log, requests for
metadata, there is one a client and not one a group.

Processor time is that of the whole process, the threads of the Kafka client included. The part that is comparing is
measured around it; the rest is describing and serving. Since every group is described once a minute without a watcher
as well, its own share is the smaller part.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from bench import raw_members
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.http.pages import Pages
from heartbeat_tuner.adapters.http.policy_series import PolicySeries
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from heartbeat_tuner.reconcile.liveness.turns import Turns
from sandbox import network, progress
from sandbox.kafka import Kafka
from tests.support import worlds

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "witness.json"

INTERVAL_S: Final = 60.0
"""The operator's default."""

SCRAPE_S: Final = 15.0

MOST_OF_A_CORE: Final = 0.05
MOST_REQUESTS: Final = 2.0
"""A group and minute: what watching may cost at most, for 1,000 groups of 10 members."""

CLUSTER: Final = "main"
TOPIC: Final = "bench"

_SCRAPE: Final = """
import urllib.request
request = urllib.request.Request("http://{host}:{port}/metrics", headers={{"Accept-Encoding": "gzip"}})
print(len(urllib.request.urlopen(request, timeout=10).read()))
"""
_KIND: Final = '"requestApiKeyName":"'


@dataclasses.dataclass(frozen=True)
class Used:
    """What some cycles used.

    Attributes:
        cpu_s: processor time of this process.
        minutes: how long they took.
        logged: where the broker's log of requests ended before them, in bytes.
    """

    cpu_s: float
    minutes: float
    logged: int


class Watch:
    """The operator's parts around the watcher, and what they used.

    Args:
        groups: where groups are described.
        policies: one for each group.
        pods: of each policy's workload.
    """

    def __init__(self, groups: KafkaGroups, policies: Sequence[Policy], pods: Sequence[Pod]) -> None:
        self._policies = policies
        self._workloads: Mapping[ObjectKey, Workload] = {
            policy.key: worlds.workload(running=pods) for policy in policies
        }
        self._looks = GroupLooks(groups, SystemClock(), interval=timedelta(seconds=INTERVAL_S), sleep=asyncio.sleep)
        self._series = PolicySeries()
        self._pages = Pages(CollectorRegistry(), large=self._series)
        self.comparing_s: list[float] = []
        self.page_bytes: list[int] = []
        self.members = 0

    async def cycle(self) -> None:
        """Do once what the operator does in each cycle."""
        group_ids = [policy.group_id for policy in self._policies]
        look = await self._looks.at(CLUSTER).look(group_ids)
        found = [item.group for item in look.groups.values()]
        self.members = sum(len(group.members) for group in found if isinstance(group, Group))
        began_s = time.process_time()
        watcher = self._looks.watcher
        await watcher.catch_up(
            self._policies, self._workloads, is_proven=lambda _: True, now=datetime.now(UTC), turns=Turns()
        )
        self._series.points = {policy.key: watcher.points(policy.key) for policy in self._policies}
        self.comparing_s.append(time.process_time() - began_s)

    async def run(self, cycles: int, log: Path) -> "Used":
        """Go on for so many cycles, with a scraper; return what they used.

        Args:
            cycles: after the one that finds the coordinators, which does not count.
            log: of the broker's requests.
        """
        port, probe_port = network.free_ports(2)
        await self._pages.serve(network.LOOPBACK, port, probe_port=probe_port, unhealthy=str, unready=str)
        scraping = asyncio.create_task(self._scraped(port))
        try:
            async with self._looks.running():
                await self._cycles(1)
                self.comparing_s.clear()
                self.page_bytes.clear()
                logged, cpu_s, began_s = _size(log), time.process_time(), time.monotonic()
                await self._cycles(cycles)
                return Used(time.process_time() - cpu_s, (time.monotonic() - began_s) / 60, logged)
        finally:
            scraping.cancel()
            await asyncio.gather(scraping, return_exceptions=True)
            await self._pages.close()

    async def _cycles(self, count: int) -> None:
        for number in range(count):
            began_s = time.monotonic()
            await self.cycle()
            progress.say("watch", f"cycle {number + 1} of {count}: {self.members} members")
            await asyncio.sleep(max(0.0, began_s + INTERVAL_S - time.monotonic()))

    async def _scraped(self, port: int) -> None:
        """Have another process read the page again and again."""
        program = _SCRAPE.format(host=network.LOOPBACK, port=port)
        while True:
            await asyncio.sleep(SCRAPE_S)
            reader = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
            answer, _ = await reader.communicate()
            self.page_bytes.append(int(answer))


def policies_of(groups: int) -> list[Policy]:
    """Return a policy for each of so many groups."""
    names = [f"group-{number}" for number in range(groups)]
    return [worlds.policy(key=ObjectKey("shop", name), group_id=name, cluster=CLUSTER) for name in names]


def pods_of(members: int) -> list[Pod]:
    """Return the pods that the members of a group connect from."""
    started = datetime.now(UTC) - timedelta(hours=1)
    numbers = range(members)
    return [
        Pod(f"pod-{n}", f"uid-{n}", raw_members.address(n), started, restarts=0, ready_since=started) for n in numbers
    ]


def _size(log: Path) -> int:
    return log.stat().st_size


def kinds(lines: Iterable[str]) -> Counter[str]:
    """Return how many requests of each kind a part of the broker's log has."""
    return Counter(line.split(_KIND, 1)[1].split('"', 1)[0] for line in lines if _KIND in line)


async def measure(kafka: Kafka, groups: int, members: int, cycles: int) -> dict[str, Any]:
    """Make the groups, and return what watching them costs."""
    policies = policies_of(groups)
    with progress.step("watch", f"making {groups} groups of {members} members"):
        await raw_members.fill(kafka.bootstrap, TOPIC, [policy.group_id for policy in policies], members=members)
    access = {CLUSTER: KafkaAccess(kafka.bootstrap)}
    with contextlib.closing(KafkaGroups(access, timeout=timedelta(seconds=20))) as adapter:
        watch = Watch(adapter, policies, pods_of(members))
        used = await watch.run(cycles, kafka.request_log)
    with kafka.request_log.open() as log:
        log.seek(used.logged)
        asked = kinds(log)
    return {
        "groups": groups,
        "members": watch.members,
        "minutes": round(used.minutes, 2),
        "cpu_s_per_minute": round(used.cpu_s / used.minutes, 3),
        "cpu_share_of_a_core": round(used.cpu_s / used.minutes / 60, 5),
        "comparing_cpu_s_per_minute": round(sum(watch.comparing_s) / used.minutes, 3),
        "requests": dict(asked),
        "requests_per_group_and_minute": round(asked.total() / groups / used.minutes, 3),
        "scrapes": len(watch.page_bytes),
        "page_bytes_gzip": max(watch.page_bytes, default=0),
    }


def main() -> None:
    """Measure, print and write the report; exit with status 1 if a bound of the issue is exceeded."""
    parser = argparse.ArgumentParser(description="What the group watcher costs.")
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--minutes", type=int, default=3)
    asked = parser.parse_args()
    delay = {"group.initial.rebalance.delay.ms": str(round(raw_members.JOIN_DELAY_S * 1000))}
    with tempfile.TemporaryDirectory(prefix="bench-watch-") as run_dir, Kafka(Path(run_dir), properties=delay) as kafka:
        kafka.create_topic(TOPIC, asked.members)
        report = asyncio.run(measure(kafka, asked.groups, asked.members, asked.minutes))
    report["machine"] = {
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "python": platform.python_version(),
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))
    if report["cpu_share_of_a_core"] > MOST_OF_A_CORE or report["requests_per_group_and_minute"] > MOST_REQUESTS:
        sys.exit(1)


if __name__ == "__main__":
    main()
