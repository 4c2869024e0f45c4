"""The chart's fit with executors as pods, beside the same fit in one pod: `make fit-k8s`.

Collected only when it is named: `test_fit_on_pods.py` runs it where a node may be made.
"""

import base64
import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from sandbox import audit, images
from sandbox.binaries import Binaries
from sandbox.container_node.cluster import Cluster
from sandbox.fleet import GroupTruth, fleet
from sandbox.processes import wait_until
from sandbox.scenario import Tenant
from tests.chart.rendering import NAME
from tests.install.release import Release
from tests.install.stage import FITTED_DAYS, FITTED_GROUPS, days_of, image_values, provide_volume
from tests.support import documents
from tests.support.documents import CHECKOUT

RUN_DIR: Final = CHECKOUT / "build" / "fit-k8s"
RESULT: Final = CHECKOUT / "build" / "fit-k8s.json"
EXECUTORS: Final = 2
PAGE: Final = "docs/how-to/fit.md"
_ADDRESS: Final = "https://kubernetes.default.svc"
_ENDS_S: Final = 900.0


@dataclasses.dataclass(frozen=True)
class Fitted:
    """What a fit left, and what was seen of it.

    Attributes:
        days: files of the history, as bytes, by name.
        models: what the models say, without who fitted them when, by namespace and group.
        executors: the pods of executors, as they last were, by name.
        seconds: from the creation of the job to its end.
    """

    days: Mapping[str, bytes]
    models: Mapping[tuple[str, str], str]
    executors: Mapping[str, Any]
    seconds: float


class Stage:
    """The release on a node, in a namespace where only restricted pods may run."""

    def __init__(self, cluster: Cluster, fitted: list[GroupTruth]) -> None:
        self.cluster = cluster
        self.fitted = fitted
        self._volume = RUN_DIR / "history"
        kubectl = cluster.control_plane.kubectl
        kubectl("create", "namespace", NAME)
        kubectl("label", "namespace", NAME, "pod-security.kubernetes.io/enforce=restricted")
        for namespace in {item.namespace for item in fitted}:
            Tenant(cluster, namespace).create()
        provide_volume(cluster, self._volume)
        self.release = Release(cluster, Binaries(), self._values())

    def _values(self) -> dict[str, Any]:
        return {
            "image": {"repository": "localhost/none"},
            "operator": {"replicas": 0},
            "prometheus": {"url": self.cluster.prometheus.url},
            "kafka": {"clusters": {"main": {"bootstrapServers": self.cluster.kafka.bootstrap}}},
            "fitting": {
                "enabled": True,
                "master": "local[2]",
                "image": image_values("fitting"),
                "since": f"{24 * FITTED_DAYS}h",
                "cluster": "main",
                "resources": {"requests": {"cpu": "100m"}},
                "spark": {"cpuRequest": "100m"},
            },
        }

    def type_the_page(self) -> None:
        """Turn executors on and start a job, as the page has it; pods here resolve no names."""
        (commands,) = documents.code_blocks(PAGE, "shell")
        self.release.type("page", commands.replace(_ADDRESS, self.cluster.control_plane.url))

    def ended(self, name: str) -> Fitted:
        """Await the end of a job, and take away what it leaves."""
        executors: dict[str, Any] = {}
        began = time.monotonic()

        def is_over() -> bool:
            pods = self.release.get("pods", labels="spark-role=executor")["items"]
            executors.update({pod["metadata"]["name"]: pod for pod in pods})
            status = self.release.get("jobs", name).get("status", {})
            return any(condition["type"] in {"Complete", "Failed"} for condition in status.get("conditions", ()))

        wait_until(is_over, part="fit", what="its end", timeout_s=_ENDS_S, poll_s=0.5)
        seconds = time.monotonic() - began
        said = self.release.kubectl("logs", f"job/{name}", "--tail=60")
        assert self.release.get("jobs", name)["status"].get("succeeded") == 1, said
        return Fitted(self._take_days(), self._take_models(), executors, seconds)

    def secret(self) -> str:
        """Return the text by which driver and executors know each other."""
        held = json.loads(self.release.kubectl("get", "secret", "heartbeat-tuner-spark", "--output=json"))
        return base64.b64decode(held["data"]["secret"]).decode()

    def _take_days(self) -> dict[str, bytes]:
        taken = {}
        for path in sorted(self._volume.rglob("*.parquet")):
            taken[str(path.relative_to(self._volume))] = path.read_bytes()
            path.unlink()
        return taken

    def _take_models(self) -> dict[tuple[str, str], str]:
        kubectl = self.cluster.control_plane.kubectl
        items = json.loads(kubectl("get", "consumergroupmodels", "--all-namespaces", "--output=json"))["items"]
        for namespace in {item["metadata"]["namespace"] for item in items}:
            kubectl("delete", "consumergroupmodels", "--all", f"--namespace={namespace}")
        return {
            (item["metadata"]["namespace"], item["spec"]["groupId"]): json.dumps(
                {key: value for key, value in item["spec"].items() if key not in {"fitTime", "job"}}, sort_keys=True
            )
            for item in items
        }


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A cluster whose Prometheus knows days of groups, with nothing of ours but the images."""
    fitted = list(fleet(FITTED_GROUPS, namespaces=1))
    with contextlib.ExitStack() as parts:
        history = days_of(RUN_DIR / "days", fitted, Binaries())
        archives = [images.build(target) for target in ("fitting", "pause")]
        yield Stage(parts.enter_context(Cluster(RUN_DIR, images=archives, history=history)), fitted)


@pytest.mark.timeout(2400)
def test_executors_as_pods_give_what_one_pod_gives(stage: Stage) -> None:
    """The same days and models to the byte; pods that are restricted, and gone; no right that is not used."""
    stage.release.install()
    stage.release.kubectl("create", "job", "alone", f"--from=cronjob/{NAME}-fit")
    alone = stage.ended("alone")
    assert set(alone.models) == {(item.namespace, item.group) for item in stage.fitted}
    assert len(alone.days) == FITTED_DAYS
    assert not alone.executors
    stage.type_the_page()
    shared = stage.ended("fit-now")
    identical = (alone.days, alone.models) == (shared.days, shared.models)
    RESULT.write_text(
        json.dumps(
            {
                "executors": len(shared.executors),
                "identical_models": identical,
                "seconds": round(shared.seconds, 1),
                "seconds_in_one_pod": round(alone.seconds, 1),
            },
            indent=2,
        )
        + "\n"
    )
    assert identical
    assert len(shared.executors) == EXECUTORS
    for pod in shared.executors.values():
        _check_pod(pod, stage.secret())
    wait_until(
        lambda: not stage.release.get("pods", labels="spark-role=executor")["items"],
        part="fit",
        what="its executors to be gone",
        timeout_s=60,
    )
    _check_rights(stage)


def _check_pod(pod: Mapping[str, Any], secret: str) -> None:
    """What Spark made of the template, and what it must not hold."""
    spec, (container,) = pod["spec"], pod["spec"]["containers"]
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Pod"  # the driver's: they go with it
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == (f"{NAME}-fit", False)
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"] == "2Gi"
    assert secret not in json.dumps(pod)
    assert "_SPARK_AUTH_SECRET" not in {entry["name"] for entry in container["env"]}


def _check_rights(stage: Stage) -> None:
    """Each verb of the Role was used by the fit, and nothing that it asked for was refused."""
    account = f"system:serviceaccount:{NAME}:{NAME}-fit"
    asked = [access for access in audit.accesses(stage.cluster.control_plane.audit_log) if access.user == account]
    assert [access for access in asked if access.role is None] == []
    (rule,) = json.loads(stage.release.kubectl("get", "role", f"{NAME}-fit", "--output=json"))["rules"]
    used = {access.verb for access in asked if access.role == ("Role", f"{NAME}-fit")}
    assert used == set(rule["verbs"])
