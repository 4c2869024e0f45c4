"""What does admission cost? `python -m bench.admission` writes `build/bench/admission.json`.

A real replica of the webhook with the documented rights, a real API server with 2,000 policies behind it.

- Reviews without a claim go straight to the webhook over TLS, at 200 a second on connections that stay open, as the
  API server has them: half of the pods are of Deployments that no policy names, half set an id of their own.
- Pods that get a slot are created through the API server, 20 a second. Their ReplicaSets are not there, so that the
  garbage collector deletes each of them: there are as many ends as beginnings, as in a rollout.

Beside the webhook, in blocks that take turns, the same requests go to a handler that only answers
(`bench.empty_answers`), and the same pods are created without the label that has the API server ask: what is in both is
the machine's.
"""

import argparse
import asyncio
import base64
import dataclasses
import json
import os
import platform
import ssl
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from bench import load
from bench.idle import usage
from bench.load import EMPTY_PATH, Send
from heartbeat_tuner.api.slot_names import SLOT_LABEL
from sandbox import progress
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK, answers, free_ports
from sandbox.processes import Process, wait_until
from tests.support.shops import policy
from tests.support.webhooks import CHECKOUT, Replica, authority_of, registered

POLICIES: Final = 2000
PER_NAMESPACE: Final = 100
REVIEWS_PER_S: Final = 200.0
CLAIMS_PER_S: Final = 20.0
SECONDS: Final = 60.0
"""Of each side."""

BLOCK_S: Final = 5.0
WORKLOADS: Final = 60
"""Deployments whose pods are created, in turn."""

PODS_OF_ONE: Final = 10
CONNECTIONS: Final = 25
"""The API server keeps so many open to one webhook."""

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "admission.json"

_HOME: Final = "webhook-home"
_VARIABLE: Final = "KAFKA_GROUP_INSTANCE_ID"
_AT_A_TIME: Final = 8
_BUCKET: Final = 'heartbeat_tuner_admission_duration_seconds_bucket{le="'
_OUTCOME: Final = 'heartbeat_tuner_admission_reviews_total{outcome="'


@dataclasses.dataclass(frozen=True)
class Asked:
    """How much to measure.

    Attributes:
        policies: that there are.
        seconds: of requests to each side.
    """

    policies: int = POLICIES
    seconds: float = SECONDS

    @property
    def namespaces(self) -> int:
        """That the policies are in."""
        return 1 + (self.policies - 1) // PER_NAMESPACE

    @property
    def workloads(self) -> int:
        """Deployments whose pods are created."""
        return min(WORKLOADS, self.policies)


class Api:
    """The API server, asked as the administrator."""

    def __init__(self, plane: ControlPlane, session: aiohttp.ClientSession) -> None:
        (user,) = yaml.safe_load(plane.kubeconfig.read_text())["users"]
        self._headers = {"Authorization": f"Bearer {user['user']['token']}"}
        self._url = plane.url
        self._session = session
        self._tls = ssl.create_default_context(cafile=str(plane.ca_file))

    async def create(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """Create an object and return it as stored."""
        url = f"{self._url}{path}"
        async with self._session.post(url, json=document, headers=self._headers, ssl=self._tls) as answer:
            stored: dict[str, Any] = await answer.json()
            assert answer.status == HTTPStatus.CREATED, stored
            return stored


async def populate(api: Api, asked: Asked) -> None:
    """Create the namespaces, the policies, and the Deployments of those whose pods will be created."""
    for number in range(asked.namespaces):
        await api.create("/api/v1/namespaces", {"metadata": {"name": _namespace(number * PER_NAMESPACE)}})
    left = iter(range(asked.policies))

    async def hand() -> None:
        for number in left:
            await _create_policy(api, number)

    await asyncio.gather(*(hand() for _ in range(_AT_A_TIME)))
    for number in range(asked.workloads):
        namespace = _namespace(number)
        await api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", _deployment(number))


async def _create_policy(api: Api, number: int) -> None:
    name = f"orders-{number}"
    document = policy(name=name, workloadRef={"name": name, "container": "app"})
    path = f"/apis/heartbeat-tuner.dev/v1alpha1/namespaces/{_namespace(number)}/consumergrouppolicies"
    await api.create(path, document)


def _namespace(number: int) -> str:
    return f"team-{number // PER_NAMESPACE}"


def _deployment(number: int) -> dict[str, Any]:
    """Return a Deployment that makes no pods: they are created for it."""
    name = f"orders-{number}"
    pod = pod_of(name)
    return {
        "metadata": {"name": name},
        "spec": {
            "paused": True,
            "replicas": PODS_OF_ONE,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]},
        },
    }


def pod_of(workload: str, *, asked_about: bool = True, own_id: bool = False) -> dict[str, Any]:
    """Return a pod as a Deployment's ReplicaSet makes it.

    Args:
        workload: the Deployment's name.
        asked_about: whether it has the label that has the API server ask the webhook.
        own_id: whether it sets its static id itself.
    """
    labels = {"app": workload, "version": "1.2.3"} | ({"pod-template-hash": "5d4f"} if asked_about else {})
    env: list[dict[str, Any]] = [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(20)]
    if own_id:
        env.append({"name": _VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5}
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{workload}-5d4f",
        "uid": str(uuid.uuid4()),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": f"{workload}-5d4f-", "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "schedulerName": "nobody",
            "containers": [
                {"name": "sidecar", "image": "none", "resources": resources},
                {"name": "app", "image": "none", "env": env, "resources": resources, "readinessProbe": probe},
            ],
        },
    }


async def reviews(api: Api, asked: Asked) -> list[bytes]:
    """Return requests as the API server sends them, with pods as it completes them."""
    wanted = []
    for own_id in (False, True):
        path = f"/api/v1/namespaces/{_namespace(0)}/pods?dryRun=All"
        whole = await api.create(path, pod_of("template", asked_about=False, own_id=own_id))
        whole["metadata"]["labels"]["pod-template-hash"] = "5d4f"
        wanted.append(json.dumps(whole))
    bodies = []
    for number in range(asked.policies):
        name, whole_pod = (f"unknown-{number}", wanted[0]) if number % 2 else (f"orders-{number}", wanted[1])
        bodies.append(_review(_namespace(number), json.loads(whole_pod.replace("template-5d4f", f"{name}-5d4f"))))
    return bodies


def _review(namespace: str, pod: dict[str, Any]) -> bytes:
    kind, resource = {"group": "", "version": "v1", "kind": "Pod"}, {"group": "", "version": "v1", "resource": "pods"}
    creator = {
        "username": "system:serviceaccount:kube-system:replicaset-controller",
        "uid": str(uuid.uuid4()),
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }
    options = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
    request = {
        "uid": str(uuid.uuid4()),
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": creator,
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": options,
    }
    return json.dumps(
        {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}, separators=(",", ":")
    ).encode()


def asking(session: aiohttp.ClientSession, url: str, tls: ssl.SSLContext, bodies: Sequence[bytes]) -> Send:
    """Return what sends one of several requests."""
    headers = {"Content-Type": "application/json"}

    async def send(number: int) -> None:
        body = bodies[number % len(bodies)]
        async with session.post(url, data=body, headers=headers, ssl=tls) as answer:
            response = (await answer.json())["response"]
            assert response["allowed"]
            assert "patch" not in response

    return send


def creating(api: Api, asked: Asked, created: list[dict[str, Any]], *, asked_about: bool) -> Send:
    """Return what creates the pod of a number, the Deployments in turn."""

    async def send(number: int) -> None:
        workload = number % asked.workloads
        pod = pod_of(f"orders-{workload}", asked_about=asked_about)
        created.append(await api.create(f"/api/v1/namespaces/{_namespace(workload)}/pods", pod))

    return send


@dataclasses.dataclass(frozen=True)
class Side:
    """What is asked: the webhook, or what only answers.

    Attributes:
        url: where.
        process: its process.
    """

    url: str
    process: Process

    def cpu_s(self) -> float:
        """Return how much processor time it has used."""
        return usage(self.process.pid, at_s=0).cpu_s


class Webhook:
    """A replica, and what it says of itself."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self.side = Side(f"https://{LOOPBACK}:{replica.port}/mutate-pods?timeout=2s", replica.process)

    def outcomes(self) -> dict[str, int]:
        """Return how many reviews ended how."""
        return self._counts(_OUTCOME)

    def within(self) -> dict[str, int]:
        """Return how many reviews took at most so many seconds."""
        return self._counts(_BUCKET)

    def _counts(self, start: str) -> dict[str, int]:
        lines = (line for line in self._replica.page("/metrics").splitlines() if line.startswith(start))
        return {name: int(float(count)) for name, count in (line[len(start) :].split('"} ') for line in lines)}


async def without_a_claim(
    plane: ControlPlane, webhook: Webhook, empty: Side, authority: str, asked: Asked
) -> dict[str, Any]:
    """Return what reviews cost that need no slot."""
    both = {"webhook": webhook.side, "empty": empty}
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=90)
    tls = ssl.create_default_context(cadata=authority)
    async with aiohttp.ClientSession(connector=connector) as session:
        bodies = await reviews(Api(plane, session), asked)
        sides = {name: asking(session, side.url, tls, bodies) for name, side in both.items()}
        for send in sides.values():
            await asyncio.gather(*(send(number) for number in range(CONNECTIONS)))
        before, used = webhook.outcomes(), {name: side.cpu_s() for name, side in both.items()}
        found = await load.in_turn(sides, per_s=REVIEWS_PER_S, seconds=asked.seconds, block_s=BLOCK_S)
        used, after = {name: side.cpu_s() - used[name] for name, side in both.items()}, webhook.outcomes()
        most = {
            name: round(await load.flat_out(send, at_a_time=_AT_A_TIME, seconds=min(BLOCK_S, asked.seconds)))
            for name, send in sides.items()
        }
    report = {name: dataclasses.asdict(load.figures(blocks)) for name, blocks in found.items()}
    return {
        **report,
        "bytes": round(sum(map(len, bodies)) / len(bodies)),
        "cpu_ms_per_review": {name: round(1000 * used_s / report[name]["count"], 3) for name, used_s in used.items()},
        "most_per_s": most,
        "outcomes": _gained(before, after),
    }


async def with_a_claim(plane: ControlPlane, webhook: Webhook, asked: Asked) -> dict[str, Any]:
    """Return what creating pods costs that get a slot, beside the same pods about which nobody is asked."""
    created: dict[str, list[dict[str, Any]]] = {"webhook": [], "without": []}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=90)) as session:
        api = Api(plane, session)
        sides = {name: creating(api, asked, made, asked_about=name == "webhook") for name, made in created.items()}
        for number in range(_AT_A_TIME):
            for send in sides.values():
                await send(number)
        for made in created.values():
            made.clear()
        before, within, used = webhook.outcomes(), webhook.within(), webhook.side.cpu_s()
        found = await load.in_turn(sides, per_s=CLAIMS_PER_S, seconds=asked.seconds, block_s=BLOCK_S)
    report = {name: dataclasses.asdict(load.figures(blocks)) for name, blocks in found.items()}
    return {
        **report,
        "own_p99_at_most_ms": _at_most_ms(_gained(within, webhook.within()), 0.99),
        "cpu_ms_per_pod": round(1000 * (webhook.side.cpu_s() - used) / report["webhook"]["count"], 3),
        "outcomes": _gained(before, webhook.outcomes()),
        "with_an_id": sum(SLOT_LABEL in pod["metadata"]["labels"] for pod in created["webhook"]),
    }


def _gained(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: gained for name, count in after.items() if (gained := count - before.get(name, 0))}


def _at_most_ms(within: dict[str, int], share: float) -> float:
    """Return the least bound of a histogram under which so large a share lies."""
    bounds = sorted(within, key=float)
    bound = next(bound for bound in bounds if within[bound] >= share * within[bounds[-1]])
    return float(bound) * 1000


def measure(asked: Asked, run_dir: Path) -> dict[str, Any]:
    """Set everything up and return the report."""
    with ExitStack() as running:
        plane = running.enter_context(ControlPlane(run_dir, Binaries()))
        plane.kubectl("apply", f"--filename={CHECKOUT / 'crds'}")
        plane.await_definitions()
        plane.kubectl("create", "namespace", _HOME)
        progress.say("bench", f"{asked.policies} policies")
        asyncio.run(_populated(plane, asked))
        wait_until(lambda: _accounts(plane) > asked.namespaces, part="namespaces", what="their ServiceAccounts")
        replica = Replica(plane, run_dir, _HOME, "webhook", _port_of(plane.url))
        running.enter_context(registered(plane, _HOME, replica.port))
        running.callback(replica.process.stop)
        replica.start()
        replica.await_ready()
        empty = running.enter_context(_empty_answers(plane, run_dir))
        webhook = Webhook(replica)
        progress.say("bench", "reviews without a claim")
        straight = asyncio.run(without_a_claim(plane, webhook, empty, authority_of(plane, _HOME), asked))
        progress.say("bench", "pods that get a slot")
        claims = asyncio.run(with_a_claim(plane, webhook, asked))
        rss_mib = round(usage(replica.process.pid, at_s=0).rss_mib, 1)
    return {
        "p99_ms": straight["webhook"]["p99_ms"],
        "pods_per_s": straight["webhook"]["per_s"],
        "claim_p99_ms": claims["webhook"]["p99_ms"],
        "policies": asked.policies,
        "without_a_claim": straight,
        "with_a_claim": claims,
        "webhook_rss_mib": rss_mib,
        "machine": {
            "at": f"{datetime.now(UTC):%Y-%m-%d}",
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1),
            "python": platform.python_version(),
        },
    }


async def _populated(plane: ControlPlane, asked: Asked) -> None:
    async with aiohttp.ClientSession() as session:
        await populate(Api(plane, session), asked)


def _accounts(plane: ControlPlane) -> int:
    """Return how many namespaces let pods be created, the webhook's own among them."""
    found = plane.kubectl("get", "serviceaccounts", "-A", "--field-selector=metadata.name=default", "-o=name")
    return sum(line.endswith("/default") for line in found.splitlines())


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@contextmanager
def _empty_answers(plane: ControlPlane, run_dir: Path) -> Iterator[Side]:
    """Run what only answers, with the webhook's own certificate."""
    stored = json.loads(plane.kubectl("get", "secret", "heartbeat-tuner-webhook", f"-n={_HOME}", "-o=json"))["data"]
    pem = run_dir / "empty.pem"
    pem.touch(mode=0o600)
    pem.write_bytes(b"".join(base64.b64decode(stored[name]) for name in ("tls.crt", "tls.key")))
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "bench.empty_answers", str(port), str(pem)]
    with Process("empty", command, log=run_dir / "empty.log") as process:
        wait_until(lambda: answers(port), part="empty", what="its port", process=process)
        yield Side(f"https://{LOOPBACK}:{port}{EMPTY_PATH}", process)


def main() -> None:
    """Measure, print and write `build/bench/admission.json`."""
    parser = argparse.ArgumentParser(description="What admission costs.")
    parser.add_argument("--policies", type=int, default=POLICIES)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of requests to each side")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-admission-") as run_dir:
        report = measure(Asked(asked.policies, asked.seconds), Path(run_dir))
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
