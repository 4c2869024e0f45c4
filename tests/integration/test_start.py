"""What keeps the operator from starting on a real API server: told in one line, and over when it is repaired.

In a cluster the pod is started again by its node, and the line stands in `kubectl describe pod`. What comes up later (a
Prometheus that is not there, wrong credentials of it) ends nothing: the policies' conditions say it (tests/e2e).
"""

import contextlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK, free_ports
from sandbox.processes import Process, wait_until

pytestmark = pytest.mark.timeout(240)

CRDS = Path(__file__).parents[2] / "crds"
STRANGER = "stranger"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[ControlPlane]:
    """An API server on which nothing is installed."""
    with ControlPlane(tmp_path_factory.mktemp("bare"), binaries, users=(STRANGER,)) as started:
        yield started


class Start:
    """The operator's command, as its pod runs it.

    Args:
        folder: for its files.
        kubeconfig: what it is given.
    """

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._port, metrics_port = free_ports(2)
        config = folder / "config.yaml"
        document = {
            "prometheus": {"url": f"http://{LOOPBACK}:1"},
            "kafka": {"clusters": {"main": {"bootstrapServers": f"{LOOPBACK}:1"}}},
            "http": {"address": LOOPBACK, "port": metrics_port, "probePort": self._port},
            "leaderElection": {"namespace": "default"},
        }
        config.write_text(yaml.safe_dump(document))
        self._command = [sys.executable, "-m", "heartbeat_tuner", "run", "--config", str(config)]
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self._log = folder / "operator.log"

    def in_a_pod(self, uid: str) -> Self:
        """Have it know its pod, as the downward API tells it."""
        self._environment |= {"POD_NAME": "operator-0", "POD_NAMESPACE": "default", "POD_UID": uid}
        return self

    def refused(self) -> str:
        """Return the one line that it ends with."""
        done = subprocess.run(
            self._command, env=self._environment, capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.strip().splitlines()
        return line

    def succeeds(self) -> None:
        """Wait until it is ready, and end it."""
        process = Process("operator", self._command, log=self._log, env=self._environment)
        process.start()
        with contextlib.ExitStack() as ending:
            ending.callback(process.stop)
            wait_until(self._ready, part="operator", what="its readiness", timeout_s=90, process=process)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self._port}/readyz", timeout=10):
                return True
        except (urllib.error.URLError, OSError):
            return False


def with_token(plane: ControlPlane, folder: Path, token: str) -> Path:
    """Return the administrator's kubeconfig with another token."""
    document = yaml.safe_load(plane.kubeconfig.read_text())
    document["users"][0]["user"]["token"] = token
    found = folder / "kubeconfig"
    found.touch(mode=0o600)
    found.write_text(yaml.safe_dump(document))
    return found


def test_missing_definitions_are_told_and_recovered_from(bare: ControlPlane, tmp_path: Path) -> None:
    """The sentence names the command that installs them, which is what repairs it."""
    for name in ("consumergrouppolicies", "consumergroupmodels"):
        bare.kubectl("delete", "crd", f"{name}.heartbeat-tuner.dev", "--ignore-not-found", "--timeout=60s")
    start = Start(tmp_path, bare.kubeconfig)
    assert start.refused().endswith("install them first: kubectl apply -f crds/")
    bare.kubectl("apply", f"--filename={CRDS}")
    bare.await_definitions()
    start.succeeds()


def test_why_it_cannot_run_is_an_event_of_its_pod(bare: ControlPlane, tmp_path: Path) -> None:
    """The very line, where `kubectl describe pod` and `kubectl events` show it; where that is forbidden, it is not."""
    for name in ("consumergrouppolicies", "consumergroupmodels"):
        bare.kubectl("delete", "crd", f"{name}.heartbeat-tuner.dev", "--ignore-not-found", "--timeout=60s")
    refused = Start(tmp_path, bare.kubeconfig).in_a_pod("1").refused()
    (event,) = events(bare, "1")
    assert (event["type"], event["reason"]) == ("Warning", "CannotRun")
    assert refused == f"Error: {event['message']}"
    assert event["involvedObject"]["name"] == "operator-0"
    Start(tmp_path, bare.kubeconfig_for(STRANGER)).in_a_pod("2").refused()
    assert events(bare, "2") == []


def events(plane: ControlPlane, uid: str) -> list[dict[str, Any]]:
    """Return the Events about a pod."""
    selector = f"--field-selector=involvedObject.kind=Pod,involvedObject.uid={uid}"
    found = json.loads(plane.kubectl("get", "events", "--namespace=default", selector, "--output=json"))
    return list(found["items"])


def test_a_wrong_token_is_told_and_recovered_from(bare: ControlPlane, tmp_path: Path) -> None:
    """With the API server's own word for it."""
    bare.kubectl("apply", f"--filename={CRDS}")
    bare.await_definitions()
    report = Start(tmp_path, with_token(bare, tmp_path, "nobody-knows-me")).refused()
    assert "the API server refused GET " in report
    assert "with 401: Unauthorized" in report
    assert "nobody-knows-me" not in report
    token = yaml.safe_load(bare.kubeconfig.read_text())["users"][0]["user"]["token"]
    Start(tmp_path, with_token(bare, tmp_path, token)).succeeds()


def test_missing_rights_are_told(bare: ControlPlane, tmp_path: Path) -> None:
    """Which right, and what gives it."""
    bare.kubectl("apply", f"--filename={CRDS}")
    bare.await_definitions()
    report = Start(tmp_path, bare.kubeconfig_for(STRANGER)).refused()
    assert "may not list the ConsumerGroupPolicies of all namespaces; bind its ClusterRole" in report
