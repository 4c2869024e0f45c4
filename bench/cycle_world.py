"""The parts of `bench.cycle`: real ones, with thousands of policies whose pods and consumers exist on paper only.

No node takes the pods and no controller changes them: they run because they say so. The groups are known to the broker
and empty. What Prometheus knows of them was written for the past, and is scraped from `bench.cycle_exporter` now.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from bench import cycle_objects
from bench.cycle_exporter import Subject, page_count
from bench.exporters import SCRAPE_S
from heartbeat_tuner.reconcile.series import reading_plan
from sandbox import network, progress, scenario
from sandbox.environment import OPERATOR_USERS, Environment
from sandbox.processes import Process, wait_until
from tests.support import fleets

HISTORY_S: Final = reading_plan.WINDOW_S + 60
"""As much as the operator reads after a start, so that its memory is that of an hour's work from the first cycle on."""

_TOPIC: Final = "cycle"
_LOADED_TIMEOUT_S: Final = 900.0
_SCRAPED_TIMEOUT_S: Final = 120.0


class Cluster(Environment):
    """All parts on loopback but a node."""

    def __init__(self, run_dir: Path, *, users: Sequence[str] = OPERATOR_USERS) -> None:
        super().__init__(run_dir, users=users)

    def _start_node(self, *_: object) -> None:
        """Start none."""


def fill(cluster: Cluster, everybody: Sequence[Subject]) -> cycle_objects.Prototypes:
    """Put policies, Deployments, pods, ConfigMaps and groups into the parts, and end the controllers.

    Returns:
        Of what the objects are copies.
    """
    control_plane = cluster.control_plane
    scenario.install(cluster)
    namespaces = namespaces_of(everybody)
    settings = fleets.config_map(cycle_objects.CONFIG_MAP, scenario.HEALTHY)
    with contextlib.closing(fleets.Admin(control_plane)) as admin:
        for name in namespaces:
            admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
            admin.create(f"/api/v1/namespaces/{name}/configmaps", settings)
        accounts = f"/api/v1/namespaces/{namespaces[0]}/serviceaccounts"
        wait_until(lambda: bool(admin.items(accounts)), part="cycle", what="a ServiceAccount")
    prototypes = cycle_objects.prototypes(control_plane, namespaces[0])
    control_plane.stop_controllers()
    with progress.step("cycle", "writing the objects into etcd"):
        written = cycle_objects.put(control_plane.etcd_url, prototypes.copies(everybody))
    progress.say("cycle", f"{written} objects are in etcd")
    cluster.kafka.create_topic(_TOPIC)
    with progress.step("cycle", "making the groups known to the broker"):
        fleets.commit_offsets(cluster.kafka.bootstrap, _TOPIC, (subject.name for subject in everybody))
    return prototypes


@contextlib.contextmanager
def exporting(
    cluster: Cluster, everybody: Sequence[Subject], exporter_words: Sequence[str] = ("bench.cycle_exporter",)
) -> Iterator[None]:
    """Give Prometheus the past of all pods, and let it scrape their present.

    Args:
        cluster: whose Prometheus it is.
        everybody: whose pods they are.
        exporter_words: module and arguments of the exporter, which takes those of `bench.cycle_exporter` too.
    """
    (port,) = network.free_ports(1)
    prometheus_port = int(cluster.prometheus.url.rpartition(":")[2])
    exporter = Process(
        "exporter",
        [
            *(sys.executable, "-m", *exporter_words, "--port", str(port), "--policies", str(len(everybody))),
            *("--history-to", str(prometheus_port), "--history-s", str(HISTORY_S)),
        ],
        log=cluster.run_dir / "logs" / "exporter.log",
    )
    with exporter:
        wait_until(
            lambda: network.answers(port),
            part="cycle",
            what="the past",
            process=exporter,
            timeout_s=_LOADED_TIMEOUT_S,
        )
        pages = page_count(len(everybody))
        cluster.prometheus.reload(_scraping(port, pages))
        wait_until(
            lambda: _answer(prometheus_port, "sum(up)") == pages,
            part="prometheus",
            what="a scrape of every page",
            process=exporter,
            timeout_s=_SCRAPED_TIMEOUT_S,
            poll_s=1.0,
        )
        time.sleep(SCRAPE_S)
        yield


def namespaces_of(everybody: Sequence[Subject]) -> list[str]:
    """Return their namespaces, in order."""
    return sorted({subject.namespace for subject in everybody})


def _answer(port: int, query: str) -> float | None:
    """Return the value of a query that has one."""
    page = network.page(port, f"/api/v1/query?{urlencode({'query': query})}")
    found = json.loads(page)["data"]["result"] if page else []
    return float(found[0]["value"][1]) if found else None


def _scraping(port: int, pages: int) -> dict[str, Any]:
    interval = f"{SCRAPE_S:.0f}s"
    targets = [
        {
            "targets": [f"{network.LOOPBACK}:{port}"],
            "labels": {"__metrics_path__": f"/{number}", "instance": f"page-{number}"},
        }
        for number in range(pages)
    ]
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": "10s"},
        "scrape_configs": [{"job_name": "pods", "honor_labels": True, "static_configs": targets}],
    }
