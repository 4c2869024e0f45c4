"""Replicas of the webhook as processes, and what stands between them and an API server."""

import base64
import itertools
import json
import os
import socket
import socketserver
import ssl
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import yaml

from heartbeat_tuner.adapters.http.pages import FRESH_S
from sandbox import network
from sandbox.control_plane import ControlPlane
from sandbox.forked_commands import OwnCommand
from sandbox.network import LOOPBACK, free_ports
from sandbox.processes import wait_until

CHECKOUT: Final = Path(__file__).parents[2]
MANIFEST: Final = CHECKOUT / "docs" / "how-to" / "webhook.yaml"
USER: Final = "operator"
_PROBE_TIMEOUT_S: Final = 2.0


class Replica:
    """One process that answers the API server, and asks it through `api_port` of this machine."""

    def __init__(self, plane: ControlPlane, folder: Path, namespace: str, name: str, api_port: int) -> None:
        self.port, self.metrics_port, self.probe_port = free_ports(3)
        config = folder / f"{name}.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "admission": {"address": LOOPBACK, "port": self.port},
                    "certificate": {"namespace": namespace, "names": [LOOPBACK]},
                    "http": {"address": LOOPBACK, "port": self.metrics_port, "probePort": self.probe_port},
                    "drain": "0s",
                }
            )
        )
        kubeconfig = folder / f"{name}.kubeconfig"
        kubeconfig.touch(mode=0o600)
        own = plane.kubeconfig_for(USER).read_text()
        kubeconfig.write_text(own.replace(plane.url, f"https://{LOOPBACK}:{api_port}"))
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self.process = OwnCommand(name, ["webhook", "--config", config], log=folder / f"{name}.log", env=environment)

    def start(self) -> None:
        """Start it; it is not ready yet."""
        self.process.start()

    def await_ready(self) -> None:
        """Wait until it may be asked."""
        wait_until(lambda: bool(self.page("/readyz")), part="webhook", what="its watches", process=self.process)

    def page(self, path: str) -> str:
        """Return what a page says; empty when it is not well."""
        return network.page(self.metrics_port if path == "/metrics" else self.probe_port, path)

    def ask(self, namespace: str, pod: dict[str, Any], *, authority: str, dry_run: bool) -> dict[str, Any]:
        """Ask about a pod's creation as the API server does, and trust whom it trusts; return the response."""
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": str(uuid.uuid4()),
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "operation": "CREATE",
                "namespace": namespace,
                "object": pod,
                "dryRun": dry_run,
            },
        }
        context = ssl.create_default_context(cadata=authority)
        url = f"https://{LOOPBACK}:{self.port}/mutate-pods?timeout=2s"
        request = urllib.request.Request(url, json.dumps(review).encode())
        with urllib.request.urlopen(request, timeout=_PROBE_TIMEOUT_S, context=context) as answer:  # noqa: S310
            response: dict[str, Any] = json.load(answer)["response"]
        return response

    def count(self, outcome: str) -> int:
        """Return how many reviews have ended so by now; a page that was made before is waited out."""
        time.sleep(FRESH_S)
        start = f'heartbeat_tuner_admission_reviews_total{{outcome="{outcome}"}} '
        lines = [line for line in self.page("/metrics").splitlines() if line.startswith(start)]
        return int(float(lines[0].removeprefix(start))) if lines else 0


class Splitter:
    """Hands connections to ports in turn, as a Service does."""

    def __init__(self, ports: Sequence[int]) -> None:
        turns = itertools.cycle(ports)
        turn = threading.Lock()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with turn:
                    port = next(turns)
                with suppress(OSError), socket.create_connection((LOOPBACK, port)) as behind:
                    back = threading.Thread(target=_pump, args=(behind, self.request), daemon=True)
                    back.start()
                    _pump(self.request, behind)
                    back.join()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

        self._server = Server((LOOPBACK, 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more connections."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def documents() -> Iterator[dict[str, Any]]:
    """Yield what the documented manifest gives the webhook: its rights, here for a user, and its registration."""
    for item in yaml.safe_load_all(MANIFEST.read_text()):
        if item["kind"] in {"ClusterRole", "Role", "MutatingWebhookConfiguration"}:
            yield item
        if item["kind"] in {"ClusterRoleBinding", "RoleBinding"}:
            user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}
            yield {**item, "subjects": [user]}


def authority_of(plane: ControlPlane, namespace: str) -> str:
    """Return who signs the webhook's certificates, as its Secret says, in PEM."""
    secret = json.loads(plane.kubectl("get", "secret", "heartbeat-tuner-webhook", f"-n={namespace}", "-o=json"))
    return base64.b64decode(secret["data"]["ca.crt"]).decode()


def trusted_by(plane: ControlPlane) -> str:
    """Return whom the API server trusts to be the webhook, in PEM."""
    path = "--output=jsonpath={.webhooks[0].clientConfig.caBundle}"
    return base64.b64decode(plane.kubectl("get", "mutatingwebhookconfiguration", "heartbeat-tuner", path)).decode()


def register(plane: ControlPlane, namespace: str, port: int) -> None:
    """Register what answers at a port of this machine as the documented webhook, and give it its rights."""
    for document in documents():
        if document["kind"] == "MutatingWebhookConfiguration":
            for hook in document["webhooks"]:
                hook["clientConfig"] = {"url": f"https://{LOOPBACK}:{port}/mutate-pods"}
        plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(document))


def unregister(plane: ControlPlane) -> None:
    """Take back what `register` did outside the namespace, as far as it is there."""
    for kind in ("mutatingwebhookconfiguration", "clusterrole", "clusterrolebinding"):
        name = "heartbeat-tuner" if kind == "mutatingwebhookconfiguration" else "heartbeat-tuner-webhook"
        plane.kubectl("delete", kind, name, "--ignore-not-found")


@contextmanager
def registered(plane: ControlPlane, namespace: str, port: int) -> Iterator[None]:
    """Register the webhook for a while."""
    register(plane, namespace, port)
    try:
        yield
    finally:
        unregister(plane)
