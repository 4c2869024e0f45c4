"""A release of the chart in the sandbox: its objects as Helm renders them, its programs as processes beside the node.

Each program logs in with a token of its service account, so that it has the rights of the chart's roles and no others,
and is told what the chart tells it. Images are the one thing that is not the chart's: the process node has none.
"""

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml

from sandbox import audit, network
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.forked_commands import OwnCommand
from sandbox.processes import wait_until
from tests.chart.rendering import VARIANTS, Helm, Rendered, Values

NAMESPACE: Final = audit.ACCOUNTS_NAMESPACE
NAME: Final = "released"
"""Of all objects: others in the sandbox have the usual one."""

_RIGHTS: Final = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")
_FENCES: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_CLUSTER_WIDE: Final = ("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", *_FENCES)
_FIT_TIMEOUT_S: Final = 300.0


class Program:
    """The operator or the webhook as a process.

    Args:
        name: how progress lines call it, and its log.
        command: of `heartbeat-tuner`, with what is told by a file `config`.
        config: what it is told.
        kubeconfig: who it is.
        folder: gets the file and the log.
    """

    def __init__(self, name: str, command: str, config: Mapping[str, Any], kubeconfig: Path, folder: Path) -> None:
        self._ports = config["http"]["port"], config["http"]["probePort"]
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(dict(config)))
        self.log = folder / f"{name}.log"
        self.uid = str(uuid.uuid4())
        """Of the pod that it takes itself for, of its own name."""
        pod = {"POD_NAME": name, "POD_NAMESPACE": NAMESPACE, "POD_UID": self.uid}
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), **pod}
        self.process = OwnCommand(name, [command, "--config", file], log=self.log, env=environment)

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def last_words(self) -> str:
        """Run until it ends by itself, and return what it said."""
        with self:
            wait_until(lambda: not self.process.alive(), part=self.process.name, what="its end")
        return self.log.read_text()

    def page(self, path: str) -> str:
        """Return what a page of its HTTP server says; empty when it is not well."""
        metrics, probes = self._ports
        return network.page(metrics if path == "/metrics" else probes, path)

    def await_ready(self) -> None:
        """Wait until its readiness probe would succeed."""
        wait_until(
            lambda: bool(self.page("/readyz")), part=self.process.name, what="its readiness", process=self.process
        )

    def await_lead(self) -> None:
        """Wait until it says that it leads."""
        wait_until(
            lambda: "heartbeat_tuner_leader 1.0" in self.page("/metrics"),
            part=self.process.name,
            what="its leadership",
            process=self.process,
        )


class Release:
    """The chart's objects in a sandbox; a context manager that takes them away again.

    Args:
        sandbox: where; its definitions and its node are there already.
        folder: gets configurations, credentials and logs.
        values: of the chart, beside the addresses of the sandbox's parts.
    """

    def __init__(self, sandbox: Sandbox, folder: Path, values: Values) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._kubectl = sandbox.control_plane.kubectl
        (self._admission_port,) = network.free_ports(1)
        parts = {
            "fullnameOverride": NAME,
            "prometheus": {"url": sandbox.prometheus.url},
            "kafka": {"clusters": {"main": {"bootstrapServers": sandbox.kafka.bootstrap}}},
            "fitting": {"image": {"repository": "none"}, "cluster": "main"},
        }
        helm = Helm(Binaries().path("helm"), folder)
        self.rendered: Rendered = helm.render(VARIANTS["minimal"], parts, values, namespace=NAMESPACE)

    def __enter__(self) -> Self:
        self._kubectl("create", "namespace", NAMESPACE)
        try:
            self._install()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def roles(self) -> list[Mapping[str, Any]]:
        """Return the Roles and ClusterRoles."""
        return [item for item in self.rendered.objects if item["kind"] in {"ClusterRole", "Role"}]

    def operator(self, **fields: Any) -> Program:
        """Return the operator, which runs once it is entered.

        Args:
            fields: what its configuration says instead.
        """
        config = self._config(NAME, "config.yaml")
        config["leaderElection"]["namespace"] = NAMESPACE  # outside a pod it does not know it
        return Program("released-operator", "run", {**config, **fields}, self._kubeconfig(NAME), self._folder)

    def webhook(self, **fields: Any) -> Program:
        """Return the webhook, likewise."""
        name = f"{NAME}-webhook"
        config = self._config(name, "webhook.yaml")
        config["certificate"] |= {"namespace": NAMESPACE, "names": [network.LOOPBACK]}
        config |= {"admission": {"address": network.LOOPBACK, "port": self._admission_port}, "drain": "0s"}
        return Program("released-webhook", "webhook", {**config, **fields}, self._kubeconfig(name), self._folder)

    def events_of(self, program: Program) -> list[tuple[str, str]]:
        """Return reason and message of each Event about a program's pod."""
        selector = f"--field-selector=involvedObject.kind=Pod,involvedObject.uid={program.uid}"
        found = json.loads(self._kubectl("get", "events", f"--namespace={NAMESPACE}", selector, "--output=json"))
        return [(item["reason"], item["message"]) for item in found["items"]]

    def fit(self, prometheus_url: str, *, since: str) -> dict[str, Any]:
        """Run the fit's job, and return its summary.

        Args:
            prometheus_url: what it reads.
            since: how far back, as its option has it.
        """
        name = f"{NAME}-fit"
        (container,) = self.rendered.pod("CronJob", name)["spec"]["containers"]
        arguments = [*container["args"], f"--history={self._folder / 'days'}", f"--prometheus={prometheus_url}"]
        done = subprocess.run(
            [sys.executable, "-m", "heartbeat_tuner", *arguments, f"--since={since}"],
            capture_output=True,
            text=True,
            env={**os.environ, "KUBECONFIG": str(self._kubeconfig(name))},
            timeout=_FIT_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary

    def token(self, account: str) -> str:
        """Return a token of one of the release's service accounts, as its pods have them."""
        return self._kubectl("create", "token", account, f"--namespace={NAMESPACE}", "--duration=1h").strip()

    def _config(self, name: str, key: str) -> dict[str, Any]:
        """Return what the chart tells a program, and where its pages are asked for here."""
        config: dict[str, Any] = yaml.safe_load(self.rendered.one("ConfigMap", name)["data"][key])
        port, probe_port = network.free_ports(2)
        return {**config, "http": {"address": network.LOOPBACK, "port": port, "probePort": probe_port}}

    def _kubeconfig(self, account: str) -> Path:
        document = yaml.safe_load(self._sandbox.control_plane.kubeconfig.read_text())
        document["users"][0]["user"] = {"token": self.token(account)}
        path = self._folder / f"{account}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document))
        return path

    def _install(self) -> None:
        wanted = [item for item in self.rendered.objects if item["kind"] in {*_RIGHTS, *_FENCES, "ServiceAccount"}]
        for registration in self._registrations():
            for hook in registration["webhooks"]:
                hook["clientConfig"] = {"url": f"https://{network.LOOPBACK}:{self._admission_port}/mutate-pods"}
            wanted.append(registration)
        self._apply(wanted)

    def _registrations(self) -> Sequence[Any]:
        return [item for item in self.rendered.objects if item["kind"] == "MutatingWebhookConfiguration"]

    def _apply(self, objects: Sequence[Mapping[str, Any]]) -> None:
        document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self._kubectl("apply", "--filename=-", stdin=json.dumps(document))

    def _remove(self) -> None:
        with contextlib.ExitStack() as removing:
            removing.callback(self._kubectl, "delete", "namespace", NAMESPACE, "--wait=true")
            found: dict[str, list[str]] = {}
            for item in self.rendered.objects:
                metadata = item["metadata"]
                elsewhere = item["kind"] in _RIGHTS and metadata.get("namespace", NAMESPACE) != NAMESPACE
                if item["kind"] in _CLUSTER_WIDE or elsewhere:
                    where = metadata["namespace"] if elsewhere else NAMESPACE
                    found.setdefault(where, []).append(f"{item['kind']}/{metadata['name']}")
            for where, names in found.items():  # at once: each call of kubectl takes seconds on a busy machine
                removing.callback(self._kubectl, "delete", *names, "--ignore-not-found", f"--namespace={where}")
