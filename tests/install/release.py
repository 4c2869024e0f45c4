"""The chart's release on the container node: what Helm is told, and what stands in the cluster for it."""

import os
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox import commands, progress, reads
from sandbox.binaries import Binaries
from sandbox.container_node.cluster import Cluster
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.chart.rendering import CHART, NAME
from tests.support import documents

LASTS_S: Final = 300
"""For Helm to wait until all pods of a release are ready."""

_PORT: Final = 8080
_PROBE_TIMEOUT_S: Final = 2.0
_PASSING: Final = frozenset({"events", "events.events.k8s.io"})


class Release:
    """The release `NAME` in the namespace of that name.

    Args:
        cluster: where it is.
        binaries: where Helm is.
        values: of the chart.
    """

    def __init__(self, cluster: Cluster, binaries: Binaries, values: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._helm = binaries.path("helm")
        self._values = cluster.run_dir / "values.yaml"
        self._values.write_text(yaml.safe_dump(dict(values)))

    def type_quick_start(self) -> str:
        """Type the quick start, from installing to a cured group; return its output.

        Raises:
            SandboxError: a command failed; the message is what all said.
        """
        (policy,) = documents.code_blocks(documents.QUICK_START, "yaml")
        (commands,) = documents.code_blocks(documents.QUICK_START, "shell")
        values = yaml.safe_load(self._values.read_text())
        given = {
            "IMAGE": values["image"]["repository"],
            "TAG": values["image"]["tag"],
            "PROMETHEUS": values["prometheus"]["url"],
            "KAFKA": values["kafka"]["clusters"]["main"]["bootstrapServers"],
        }
        return self.type("quick-start", commands, given, files={"orders.yaml": policy})

    def type(
        self,
        name: str,
        commands: str,
        given: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,
    ) -> str:
        """Type commands of a page, in a folder where they find the chart, helm and kubectl; return their output.

        Args:
            name: of the folder, and what progress lines call it.
            commands: of a shell.
            given: variables.
            files: what else is in the folder.

        Raises:
            SandboxError: a command failed; the message is what all said.
        """
        folder = self._cluster.run_dir / name
        folder.mkdir()
        for path, content in (files or {}).items():
            (folder / path).write_text(content)
        (folder / CHART.parent.name).symlink_to(CHART.parent)
        (folder / "helm").symlink_to(self._helm)
        (folder / "kubectl").symlink_to(self._cluster.control_plane.kubectl_path)
        ours = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "HOME": str(folder),
            "KUBECONFIG": str(self._cluster.control_plane.kubeconfig),
        }
        with progress.step("install", f"typing the {name}"):
            typed = subprocess.run(
                ["bash", "-ec", commands],
                cwd=folder,
                env={**os.environ, **ours, **(given or {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LASTS_S * 3,
                check=False,
            )
        if typed.returncode != 0:
            raise SandboxError(f"The {name} failed.\n{typed.stdout}")
        return typed.stdout

    def install(self) -> None:
        """Install it into its namespace, which is there, and wait until its pods are ready."""
        self._run("installing", "install", NAME, CHART, f"--values={self._values}", wait=True)

    def upgrade(self, *settings: str) -> None:
        """Upgrade it with other values, each like `operator.interval=5s`, and wait until its pods are ready."""
        given = [f"--set={setting}" for setting in settings]
        self._run("upgrading", "upgrade", NAME, CHART, f"--values={self._values}", *given, wait=True)

    def rollback(self, revision: int) -> None:
        """Roll it back and wait until its pods are ready."""
        self._run("rolling back", "rollback", NAME, str(revision), wait=True)

    def uninstall(self) -> None:
        """Uninstall it and wait until its objects are gone."""
        self._run("uninstalling", "uninstall", NAME, wait=True)

    def get(self, kind: reads.Kind, name: str = "", *, labels: str = "") -> dict[str, Any]:
        """Return an object of its namespace, or those that a selector chooses (`sandbox.reads`)."""
        return reads.read(self._cluster.control_plane, NAME, kind, name, labels=labels)

    def kubectl(self, *words: str) -> str:
        """Run kubectl in its namespace."""
        return self._cluster.control_plane.kubectl(f"--namespace={NAME}", *words)

    def pods(self, component: str) -> list[Any]:
        """Return the pods of operator or webhook that are not Terminating."""
        items = self.get("pods", labels=f"app.kubernetes.io/component={component}")["items"]
        return [item for item in items if "deletionTimestamp" not in item["metadata"]]

    def leader(self) -> str:
        """Return who holds the operator's lease."""
        return str(self.get("leases", NAME)["spec"].get("holderIdentity") or "")

    def await_leader(self) -> None:
        """Wait until one of the operator's pods leads."""

        def leads() -> bool:
            holder = self.leader()
            return any(pod["metadata"]["name"] in holder for pod in self.pods("operator"))

        wait_until(leads, part="operator", what="a leader among its pods", timeout_s=90, poll_s=0.5)

    def configuration(self) -> Any:
        """Return the operator's configuration."""
        return yaml.safe_load(self.get("configmaps", NAME)["data"]["config.yaml"])

    def counted(self, pod: Any, series: str) -> float:
        """Return the value of one of the metrics of a pod; 0 while it has none."""
        try:
            with urllib.request.urlopen(
                f"http://{pod['status']['podIP']}:{_PORT}/metrics", timeout=_PROBE_TIMEOUT_S
            ) as got:
                lines = got.read().decode().splitlines()
        except OSError:
            return 0.0
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == series)

    def _run(self, doing: str, *words: str | Path, wait: bool) -> None:
        waiting = ["--wait", f"--timeout={LASTS_S}s"] if wait else []
        where = [f"--kubeconfig={self._cluster.control_plane.kubeconfig}", f"--namespace={NAME}"]
        commands.run("helm", f"{doing} the chart", [self._helm, *words, *waiting, *where])


def standing(cluster: Cluster) -> set[str]:
    """Return kind and name of all that has no namespace, or is in the release's; but for Events, which pass."""
    kubectl = cluster.control_plane.kubectl
    found: set[str] = set()
    for namespaced in ("true", "false"):
        kinds = kubectl("api-resources", "--verbs=list", f"--namespaced={namespaced}", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if kind not in _PASSING)
        found |= set(kubectl("get", wanted, f"--namespace={NAME}", "--output=name", "--ignore-not-found").split())
    return found
