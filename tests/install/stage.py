"""What the life of a release is played on: a cluster with consumers' namespaces, and days of history."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sandbox import images
from sandbox.backfill import backfill
from sandbox.binaries import Binaries
from sandbox.container_node import programs
from sandbox.container_node.cluster import Cluster
from sandbox.fleet import GroupTruth, fleet
from sandbox.scenario import Tenant
from tests.install.release import Release
from tests.install.stopwatch import RESULT, Stopwatch
from tests.support.documents import CHECKOUT

RUN_DIR: Final = CHECKOUT / "build" / "install"
SHOP: Final = "shop"
FITTED_DAYS: Final = 2
FITTED_GROUPS: Final = 4
INTERVAL: Final = "3s"
"""Of the operator's cycle; a production default would make a test long."""


@dataclasses.dataclass(frozen=True)
class Stage:
    """What the life of a release is played on.

    Attributes:
        cluster: all parts.
        release: the chart's.
        shop: a namespace with consumers.
        watch: what the stopwatch does.
        fitted: the groups whose days Prometheus knows.
    """

    cluster: Cluster
    release: Release
    shop: Tenant
    watch: Stopwatch
    fitted: Sequence[GroupTruth]


@contextlib.contextmanager
def staged() -> Iterator[Stage]:
    """Start everything; the release is not installed yet."""
    binaries, watch, fitted = Binaries(), Stopwatch(RESULT), fleet(FITTED_GROUPS, namespaces=1)
    with contextlib.ExitStack() as parts:
        with watch.step("boot"):
            history = days_of(RUN_DIR / "days", fitted, binaries)
            archives = [images.build(target) for target in images.TARGETS]
            cluster = parts.enter_context(Cluster(RUN_DIR, images=archives, history=history))
            shop = Tenant(cluster, SHOP)
            shop.create()
            for namespace in {item.namespace for item in fitted}:
                Tenant(cluster, namespace).create()
            provide_volume(cluster, RUN_DIR / "history")
        yield Stage(cluster, Release(cluster, binaries, _values(cluster)), shop, watch, fitted)


def days_of(folder: Path, fitted: Sequence[GroupTruth], binaries: Binaries) -> Path:
    """Make days of history; return their folder."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    # The newest day that a fit reads may be the one before yesterday: a day settles for a while.
    since, until = today - timedelta(days=FITTED_DAYS + 1), datetime.now(UTC)
    seconds = {"since_s": int(since.timestamp()), "until_s": int(until.timestamp())}
    return backfill(folder, fitted, binaries, **seconds).folder


def image_values(target: str) -> dict[str, str]:
    """Return the chart's values for one of our images, which the node has."""
    repository, _, tag = images.reference(target).rpartition(":")
    return {"repository": repository, "tag": tag, "pullPolicy": "Never"}


def _values(cluster: Cluster) -> dict[str, Any]:
    return {
        "image": image_values("operator"),
        "prometheus": {"url": cluster.prometheus.url},
        "kafka": {"clusters": {"main": {"bootstrapServers": cluster.kafka.bootstrap}}},
        "operator": {"interval": INTERVAL},
        "webhook": {"enabled": True},
        "fitting": {
            "enabled": True,
            "image": image_values("fitting"),
            "since": f"{24 * FITTED_DAYS}h",
            "cluster": "main",
        },
    }


def provide_volume(cluster: Cluster, folder: Path) -> None:
    """Have a volume that the fit's claim is bound to, as no provisioner would make one here."""
    folder.mkdir()
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [programs.NODE]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "history"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "local": {"path": str(folder)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }
    cluster.control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(volume))
