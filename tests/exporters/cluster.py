"""`python -m tests.exporters.cluster`: record what a cluster's own exporters tell of a Deployment's pods.

On the sandbox's control plane and node: KafkaJS consumers as a Deployment, rolled out, crashed, deleted and scaled.
Beside them cAdvisor as the kubelet embeds it, and the stand-in for kube-state-metrics. Their targets have the labels
that kube-prometheus-stack gives them, honor_labels among its settings. Takes five minutes; no part of CI.
"""

import datetime as dt
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import Producer

from sandbox import environment, network, progress
from sandbox.binaries import Binaries
from sandbox.kafka import VERSION
from sandbox.processes import Process
from sandbox.prometheus import Prometheus, configuration
from sandbox.scenario import PARTITIONS, ConsumerSettings, Tenant
from tests.exporters import programs, recording, replay, truth
from tests.exporters.cgroups import Cgroups
from tests.exporters.python.kube_api import PODS, KubeApi
from tests.exporters.recording import Recording

NAME: Final = "kubernetes"
DEPLOYMENT: Final = "orders"
SETTINGS: Final = ConsumerSettings(session_timeout_ms=10_000, heartbeat_interval_ms=1_000, fetch_wait_ms=1_000)
CPU_LIMIT: Final = 0.03
"""Little enough that a consumer which handles ten messages a second is throttled now and then."""

SCRAPE_INTERVAL_S: Final = 5.0
_SELECTOR: Final = f'{{namespace="{NAME}"}}'
_CHECKOUT: Final = Path(__file__).parents[2]
_LOOK_EVERY_S: Final = 0.25
_SENT_EVERY_S: Final = 0.1


class Watcher:
    """Puts the processes of new containers into their control groups, and notes what became of each pod.

    Attributes:
        pods: by name: what the API said of it, times in seconds since the recording began.
    """

    def __init__(self, api: KubeApi, cgroups: Cgroups, began_s: float) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self._api = api
        self._cgroups = cgroups
        self._began_s = began_s
        self._placed: set[str] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(_LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        now_s = round(time.time() - self._began_s, 3)
        there = [pod for pod in self._api.items(PODS) if pod["metadata"]["namespace"] == NAME]
        for pod in there:
            name, metadata, status = pod["metadata"]["name"], pod["metadata"], pod.get("status", {})
            fresh = {"uid": metadata["uid"], "started_s": now_s, "told_to_end_s": None, "ended_s": None, "restarts": 0}
            known = self.pods.setdefault(name, fresh)
            known["ip"] = status.get("podIP", known.get("ip"))
            if "deletionTimestamp" in metadata and known["told_to_end_s"] is None:
                known["told_to_end_s"] = now_s
            for container in status.get("containerStatuses", ()):
                known["restarts"] = container["restartCount"]
                self._place(name, container)
        for name in self.pods.keys() - {pod["metadata"]["name"] for pod in there}:
            if self.pods[name]["ended_s"] is None:
                self.pods[name]["ended_s"] = now_s
                self._cgroups.forget(name)

    def _place(self, pod: str, container: dict[str, Any]) -> None:
        scheme, _, pid = container.get("containerID", "").partition("://")
        if scheme == "process" and "running" in container["state"] and pid not in self._placed:
            self._placed.add(pid)
            self._cgroups.put(pod, container["name"], int(pid))


class Story:
    """The parts of the story, and its clock."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._stack = ExitStack()
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            # Removed last: a group with a process in it cannot be.
            cgroups = Cgroups(NAME, cpu_limit=CPU_LIMIT)
            starting.callback(cgroups.remove)
            self._sandbox = starting.enter_context(environment.Sandbox(self._run_dir))
            kubeconfig = self._sandbox.control_plane.kubeconfig
            kube_state, cadvisor = (f"{network.LOOPBACK}:{port}" for port in network.free_ports(2))
            variables = os.environ | {"KUBECONFIG": str(kubeconfig), "ADDRESS": kube_state}
            stand_in = [sys.executable, "-m", "tests.exporters.python.kube_state"]
            logs = self._run_dir / "logs"
            starting.enter_context(
                Process("kube-state", stand_in, log=logs / "kube-state.log", env=variables, cwd=_CHECKOUT)
            )
            command = [*programs.go("cadvisor"), f"-address={cadvisor}"]
            starting.enter_context(Process("cadvisor", command, log=logs / "cadvisor.log"))
            sections = _sections(kubeconfig, kube_state, cadvisor)
            self._prometheus = Prometheus(
                self._run_dir / "recorder", Binaries(), kubeconfig=kubeconfig, sections=sections
            )
            starting.enter_context(self._prometheus)
            self._tenant = Tenant(self._sandbox, NAME)
            self._tenant.create()
            self._producer = Producer({"bootstrap.servers": self._sandbox.kafka.bootstrap, "linger.ms": 0})
            self._began_s = time.time()
            self._watcher = starting.enter_context(Watcher(KubeApi(kubeconfig), cgroups, self._began_s))
            self._stack = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def play(self) -> None:
        """Deploy, roll out, crash, delete twice, scale, and all the while send messages."""
        self._event("deployed")
        self._tenant.deploy_consumers(DEPLOYMENT, SETTINGS)
        self._tenant.await_available(DEPLOYMENT)
        self._event("available")
        self._until(45)
        self._event("rolled out")
        self._tenant.kubectl("rollout", "restart", f"deployment/{DEPLOYMENT}", f"--namespace={NAME}")
        self._tenant.await_available(DEPLOYMENT)
        self._event("available")
        self._until(110)
        crashed = self._pods()[0]
        self._event("crashed", crashed["metadata"]["name"])
        os.kill(_pid(crashed), signal.SIGKILL)
        self._until(155)
        deleted = self._pods()[1]["metadata"]["name"]
        self._event("deleted", deleted)
        self._tenant.kubectl("delete", "pod", deleted, f"--namespace={NAME}", "--wait=false")
        self._until(190)
        hung = self._pods()[0]
        self._event("hung and deleted", hung["metadata"]["name"])
        os.kill(_pid(hung), signal.SIGSTOP)  # it takes all of its grace period to end
        self._tenant.kubectl("delete", "pod", hung["metadata"]["name"], f"--namespace={NAME}", "--wait=false")
        self._until(235)
        self._event("scaled to 2")
        self._tenant.kubectl("scale", f"deployment/{DEPLOYMENT}", "--replicas=2", f"--namespace={NAME}")
        self._until(280)
        self._producer.flush(10)

    def write(self) -> Recording:
        """Write down what Prometheus holds, what the API said of each pod, and what the coordinator knew."""
        ended_s = time.time()
        series = replay.samples(self._prometheus.url, _SELECTOR, began_s=self._began_s, ended_s=ended_s)
        pods = self._watcher.pods
        kafka = self._sandbox.kafka
        with (
            kafka.request_log.open(errors="replace") as requests,
            (self._run_dir / "kafka.log").open(errors="replace") as own,
        ):
            found = truth.read(
                requests,
                own,
                group=DEPLOYMENT,
                pods={pod["ip"]: name for name, pod in pods.items()},
                told_to_end_s={
                    name: pod["told_to_end_s"] for name, pod in pods.items() if pod["told_to_end_s"] is not None
                },
                began_s=self._began_s,
                ended_s=ended_s,
            )
        meta = {
            "exporter": {
                "name": "cAdvisor's library, and a stand-in for kube-state-metrics",
                "version": "0.53.0, 2.x",
                "note": (
                    "The consumers export as those of kafkajs-sandbox. There is no kubelet: cAdvisor's labels "
                    "namespace, pod and container are ours, from the control group's path. "
                    f"Every container may use {CPU_LIMIT} cores."
                ),
            },
            "client": {"library": "kafkajs", "version": "2.2.4"},
            "broker": {"version": VERSION, "protocol": "classic"},
            "group": DEPLOYMENT,
            "topic": DEPLOYMENT,
            "partitions": PARTITIONS,
            "selector": _SELECTOR,
            "settings": {
                "session_timeout_s": SETTINGS.session_timeout_ms / 1000,
                "heartbeat_interval_s": SETTINGS.heartbeat_interval_ms / 1000,
                "max_poll_interval_s": None,
                "scrape_interval_s": SCRAPE_INTERVAL_S,
            },
            "recorded": dt.datetime.fromtimestamp(self._began_s, dt.UTC).date(),
            "began_s": round(self._began_s, 3),
            "length_s": round(ended_s - self._began_s, 3),
            "dropped": None,
            "series": len(series),
            "samples": sum(len(series_.values) for series_ in series),
            "pods": pods,
            "events": self._events,
            "truth": found.document,
        }
        return recording.write(NAME, meta, series, found.heartbeats_ms)

    def _until(self, at_s: float) -> None:
        number = 0
        while time.time() < self._began_s + at_s:
            self._producer.produce(DEPLOYMENT, b"", partition=number % PARTITIONS)
            self._producer.poll(0)
            number += 1
            time.sleep(_SENT_EVERY_S)

    def _pods(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._tenant.get("pods")["items"]
        return items

    def _event(self, what: str, pod: str | None = None) -> None:
        at_s = round(time.time() - self._began_s, 3)
        self._events.append({"at_s": at_s, "event": what, **({} if pod is None else {"pod": pod})})
        progress.say(NAME, f"{at_s:5.0f} s  {what} {pod or ''}")


def _pid(pod: dict[str, Any]) -> int:
    """Return the process of a pod's only container."""
    return int(pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2])


def _sections(kubeconfig: Path, kube_state: str, cadvisor: str) -> dict[str, Any]:
    """Return the sections of prometheus.yml: the sandbox's pods, and two targets labelled as on a cluster."""
    base = configuration(kubeconfig, SCRAPE_INTERVAL_S)
    targets = {
        "kube-state-metrics": (kube_state, "/metrics", {"container": "kube-state-metrics", "endpoint": "http"}),
        "kubelet": (cadvisor, "/metrics/cadvisor", {"endpoint": "https-metrics", "node": "process-node"}),
    }
    jobs = [
        {
            "job_name": job,
            "honor_labels": True,
            "metrics_path": path,
            "static_configs": [{"targets": [address], "labels": {**labels, "service": job, "metrics_path": path}}],
        }
        for job, (address, path, labels) in targets.items()
    ]
    return {"global": base["global"], "scrape_configs": [*base["scrape_configs"], *jobs]}


def main() -> None:
    """Record it."""
    with tempfile.TemporaryDirectory(prefix="exporters-") as folder, Story(Path(folder)) as story:
        story.play()
        written = story.write()
    size = sum(file.stat().st_size for file in written.folder.iterdir())
    progress.say(NAME, f"recorded: {written.meta['series']} series, {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
