"""A real Kubernetes API: etcd, kube-apiserver and kube-controller-manager on loopback, or where containers reach it.

No root, no containers, no node: objects live and controllers run, and pods stay Pending until a node (`sandbox.node`,
`sandbox.container_node`) takes them. Everyone proves themselves by a random token of this run, and RBAC decides. It can
be stopped and started again in the same run folder: ports, certificates, tokens and data stay.
"""

import http
import json
import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml

from sandbox import audit
from sandbox.api_requests import ApiRequests
from sandbox.binaries import Binaries
from sandbox.errors import SandboxError
from sandbox.network import LOOPBACK, answers, free_ports
from sandbox.pki import Pki
from sandbox.processes import Process, wait_until

ADMIN: Final = "admin"
"""The user of `ControlPlane.kubeconfig`, who may do everything."""

SERVICE_CIDR: Final = "10.96.0.0/16"
_FIRST_SERVICE: Final = "10.96.0.1"
"""Where pods reach the API server; the first address of `SERVICE_CIDR` is always its own."""

_SERVER_NAMES: Final = ("localhost", "kubernetes.default.svc", LOOPBACK, _FIRST_SERVICE)
_CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
_GARBAGE: Final = "400"
"""Go's GOGC: against 200, which saves a seventh against 100, it saves 8 % of their time, and takes 80 MB more."""

_KUBECTL_TIMEOUT_S: Final = 120.0
_KUBECTL_GARBAGE: Final = "off"
"""A kubectl ends before collecting pays: without it a start takes 35 ms of a core instead of 49 ms."""
_APPLYING: Final = "--openapi-patch=false"
"""kubectl merges by the types that it was built with, not by a schema that it would parse for 40 ms of a core."""
_PROBE_TIMEOUT_S: Final = 2.0


class ControlPlane:
    """One API server with its store and its controllers; use as a context manager, or call `start` and `stop`.

    Args:
        run_dir: gets `control-plane/` and `logs/`.
        binaries: where the programs are.
        users: who may log in besides the administrator, each without any right until RBAC gives one; a kubelet's
            `system:node:NAME` is of the group of nodes.
        address: where the API server listens. On loopback no pod can reach it, and it knows no kubelets.

    Attributes:
        url: of the API server.
        kubeconfig: the administrator's.
        ca_file: who signed the API server's certificate.
        audit_log: every write, for `sandbox.audit.writes`.
    """

    def __init__(
        self, run_dir: Path, binaries: Binaries, *, users: Sequence[str] = ("operator",), address: str = LOOPBACK
    ) -> None:
        self._dir = run_dir / "control-plane"
        self._logs = run_dir / "logs"
        self._binaries = binaries
        self._etcd_port, self._etcd_peer_port, self._port = free_ports(3)
        self._tokens = {name: secrets.token_hex(16) for name in (ADMIN, _CONTROLLER_MANAGER, *users)}
        self._address = address
        self._pki = Pki.create(self._dir / "pki", sorted({*_SERVER_NAMES, address}))
        self.url = f"https://{address}:{self._port}"
        self.ca_file = self._pki.ca_cert
        self.audit_log = self._dir / "audit.log"
        self._requests = ApiRequests(address, self._port, self.ca_file, self._tokens[ADMIN])
        self._write_files()
        self.kubeconfig = self.kubeconfig_for(ADMIN)
        self._etcd = self._process("etcd", self._etcd_arguments())
        self._api_server = self._process("kube-apiserver", self._api_server_arguments())
        self._controllers = self._process("kube-controller-manager", self._controller_manager_arguments())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start all three and wait until pods can be created.

        After a stop, when everything is in the store already, the controllers may need a few seconds more.

        Raises:
            PartNotReadyError: one ended or did not answer in time; everything started is stopped again.
        """
        try:
            self._etcd.start()
            wait_until(lambda: answers(self._etcd_port), part="etcd", what="its port", process=self._etcd, poll_s=0.05)
            self._start_api_server()
            self._controllers.start()
            # A port would not do: pods are refused until the controllers have made the default ServiceAccount.
            wait_until(
                lambda: self._status("/api/v1/namespaces/default/serviceaccounts/default") == http.HTTPStatus.OK,
                part="kube-controller-manager",
                what="the default ServiceAccount",
                process=self._controllers,
            )
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all three."""
        self._requests.close()
        self._controllers.stop()
        # Asked politely it would wait up to a minute for open HTTP/1.1 watches; what it knows is in etcd anyway.
        self._api_server.kill()
        self._etcd.stop()

    def stop_controllers(self) -> None:
        """Stop the controllers alone: what is written after that stays as it is."""
        self._controllers.stop()

    def restart_api_server(self) -> None:
        """End the API server at once, as a crash would, and start it again; store and controllers go on."""
        self._api_server.kill()
        self._start_api_server()

    def _process(self, name: str, arguments: Sequence[str]) -> Process:
        return Process(name, arguments, log=self._logs / f"{name}.log", env={**os.environ, "GOGC": _GARBAGE})

    def _start_api_server(self) -> None:
        self._api_server.start()
        wait_until(
            lambda: self._status("/readyz") == http.HTTPStatus.OK,
            part="kube-apiserver",
            what="/readyz",
            process=self._api_server,
        )

    def kubeconfig_for(self, user: str) -> Path:
        """Return the kubeconfig of one of the users given to the constructor.

        Raises:
            SandboxError: no such user.
        """
        if user not in self._tokens:
            known = ", ".join(self._tokens)
            raise SandboxError(f"The control plane has no user {user!r}; its users are {known}.")
        return self._dir / f"{_file_name(user)}.kubeconfig"

    @property
    def etcd_url(self) -> str:
        """Where etcd answers. A bench writes thousands of objects there, past the API server."""
        return f"http://{LOOPBACK}:{self._etcd_port}"

    @property
    def kubectl_path(self) -> Path:
        """The kubectl that fits this API server."""
        return self._binaries.path("kubectl")

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        """Run kubectl as the administrator and return what it prints.

        Raises:
            SandboxError: kubectl failed; the message is what it said.
        """
        command = [
            str(self.kubectl_path),
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self._dir / 'kubectl-cache'}",
            *args,
            *([_APPLYING] if args[0] == "apply" else []),
        ]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_KUBECTL_TIMEOUT_S,
            check=False,
            env={**os.environ, "GOGC": _KUBECTL_GARBAGE},
        )
        if done.returncode != 0:
            raise SandboxError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def apply(self, namespace: str, *documents: Mapping[str, Any], server_side: bool = False) -> None:
        """Apply objects in a namespace, in their order, by one kubectl.

        Raises:
            SandboxError: some were refused; the message is what kubectl said.
        """
        several = {"apiVersion": "v1", "kind": "List", "items": documents}
        way = ["--server-side"] if server_side else []
        self.kubectl("apply", *way, f"--namespace={namespace}", "--filename=-", stdin=json.dumps(several))

    def create_namespace(self, name: str) -> None:
        """Create a namespace, without the start of a program.

        Raises:
            SandboxError: there is one already, or the API server does not answer; the message is what it said.
        """
        self._requests.document("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace, if it is there, without waiting for its end, and without the start of a program.

        Raises:
            SandboxError: the API server does not answer, or with an error; the message is what it said.
        """
        self._requests.document("DELETE", f"/api/v1/namespaces/{name}", accepted=(http.HTTPStatus.NOT_FOUND,))

    def await_definitions(self) -> None:
        """Wait until all CustomResourceDefinitions are served; `kubectl wait` fails on one that has no status yet."""

        def established() -> bool:
            found = self.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
            return all(
                any(
                    (condition["type"], condition["status"]) == ("Established", "True")
                    for condition in item.get("status", {}).get("conditions") or ()
                )
                for item in found
            )

        wait_until(established, part="kube-apiserver", what="its definitions", timeout_s=30)

    def get(self, path: str) -> dict[str, Any]:
        """Return what the API server answers the administrator at a path, without the start of a program.

        Raises:
            SandboxError: it does not answer, or with an error; the message is what it said.
        """
        return self._requests.document("GET", path)

    def _status(self, path: str) -> int:
        """Return the HTTP status the administrator gets, 0 when nobody answers."""
        return self._requests.answer("GET", path, timeout_s=_PROBE_TIMEOUT_S)[0]

    def _write_files(self) -> None:
        lines = [f'{token},{name},{name},"{_group(name)}"\n' for name, token in self._tokens.items()]
        self._token_file.touch(mode=0o600)
        self._token_file.write_text("".join(lines))
        self._audit_policy.write_text(json.dumps(audit.POLICY))
        for user in self._tokens:
            path = self.kubeconfig_for(user)
            path.touch(mode=0o600)
            path.write_text(yaml.safe_dump(self._kubeconfig_document(user)))

    def _kubeconfig_document(self, user: str) -> dict[str, object]:
        name = "sandbox"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": self.url, "certificate-authority": str(self.ca_file.resolve())}}
            ],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
            "current-context": name,
        }

    @property
    def _token_file(self) -> Path:
        return self._dir / "tokens.csv"

    @property
    def _audit_policy(self) -> Path:
        return self._dir / "audit-policy.json"

    def _etcd_arguments(self) -> list[str]:
        client, peer = (f"http://{LOOPBACK}:{port}" for port in (self._etcd_port, self._etcd_peer_port))
        return [
            str(self._binaries.path("etcd")),
            "--name=sandbox",
            f"--data-dir={self._dir / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=sandbox={peer}",
            "--unsafe-no-fsync",  # a run's data need not survive the machine
            "--log-level=warn",
        ]

    def _api_server_arguments(self) -> list[str]:
        return [
            str(self._binaries.path("kube-apiserver")),
            f"--etcd-servers=http://{LOOPBACK}:{self._etcd_port}",
            f"--bind-address={self._address}",
            f"--advertise-address={self._address}",  # else it asks for the machine's default route, which may not exist
            *self._about_nodes(),
            f"--secure-port={self._port}",
            f"--tls-cert-file={self._pki.server_cert}",
            f"--tls-private-key-file={self._pki.server_key}",
            f"--token-auth-file={self._token_file}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._pki.service_account_key}",
            f"--service-account-signing-key-file={self._pki.service_account_key}",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            f"--audit-policy-file={self._audit_policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=10000",  # megabytes; rotated away, writes would go uncounted
        ]

    def _about_nodes(self) -> list[str]:
        if self._address == LOOPBACK:
            # Endpoints must not be loopback addresses.
            return ["--endpoint-reconciler-type=none", "--authorization-mode=RBAC"]
        return [
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-client-certificate={self._pki.client_cert}",
            f"--kubelet-client-key={self._pki.client_key}",
            "--allow-privileged=true",
        ]

    def _controller_manager_arguments(self) -> list[str]:
        return [
            str(self._binaries.path("kube-controller-manager")),
            f"--kubeconfig={self.kubeconfig_for(_CONTROLLER_MANAGER)}",
            f"--service-account-private-key-file={self._pki.service_account_key}",
            f"--root-ca-file={self._pki.ca_cert}",
            f"--cluster-signing-cert-file={self._pki.ca_cert}",
            f"--cluster-signing-key-file={self._pki.ca_key}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",  # the defaults (20 and 30) make many rollouts at a time wait for nothing
            "--kube-api-burst=500",
        ]


def _group(user: str) -> str:
    if user == ADMIN:
        return "system:masters"
    return "system:nodes" if user.startswith("system:node:") else ""


def _file_name(user: str) -> str:
    return user.replace(":", "-")
