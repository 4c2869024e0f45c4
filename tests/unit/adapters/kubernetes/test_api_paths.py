"""Paths of the API server: no name reaches another object than its own, whoever gave it."""

import ast
import asyncio
import inspect
import string
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

import heartbeat_tuner
from heartbeat_tuner.adapters.certificate.certificate_store import CertificateStore
from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_events
from heartbeat_tuner.adapters.kubernetes.api_paths import InvalidPathError, Resource
from heartbeat_tuner.adapters.kubernetes.installation_leases import KubernetesInstallations
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.lease_annotations import LeaseAnnotations
from heartbeat_tuner.adapters.kubernetes.leases import KubernetesLeases
from heartbeat_tuner.adapters.kubernetes.listing import WatchedKind
from heartbeat_tuner.adapters.kubernetes.model_objects import KubernetesModels
from heartbeat_tuner.adapters.kubernetes.policy_objects import KubernetesPolicies
from heartbeat_tuner.adapters.slots.slot_leases import KubernetesSlots
from heartbeat_tuner.adapters.slots.slot_pods import SeenPod, WatchedSlotPods
from heartbeat_tuner.adapters.slots.ticket_leases import KubernetesTickets
from heartbeat_tuner.adapters.workloads import workload_objects
from heartbeat_tuner.adapters.workloads.named_maps import NamedMaps
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.adapters.workloads.workload_sizes import KubernetesWorkloadSizes
from heartbeat_tuner.api.canary_notes import CanaryTicket
from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError, TunerError
from heartbeat_tuner.domain.policies import ObjectKey, WorkloadRef
from heartbeat_tuner.membership.values import Remove, SlotPod
from heartbeat_tuner.ports.fleet_stops import StopNote
from tests.support import worlds
from tests.support.fakes import FakeClock

pytestmark = pytest.mark.no_cover  # parses the whole product

PACKAGE: Final = Path(heartbeat_tuner.__file__).parent
RESOURCES: Final = [var for var in vars(api_paths).values() if isinstance(var, Resource)]
HOSTILE: Final = [
    "../../victim/deployments/payments",
    "..",
    ".",
    "",
    "%2e%2e",
    "..%2f..",
    "a/b",
    "a?watch=true",
    "a#b",
    "a%00",
    "a\n",
    "a b",
    "a\\b",
    "\ud800",
    "x" * 254,
]
names = st.sampled_from(HOSTILE) | st.text(max_size=20) | st.text("./%2eEfF?#\\a-", max_size=12)


class Recorder:
    """An API server's client that only notes where requests would go, and answers as told."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.answer: dict[str, Any] | None = None

    async def get(self, path: str, **_: str) -> dict[str, Any] | None:
        """Note the path."""
        self.paths.append(path)
        return self.answer

    async def write(self, _method: str, path: str, _body: object, **_: str) -> dict[str, Any] | None:
        """Note the path."""
        self.paths.append(path)
        return {"metadata": {"name": "x", "namespace": "x", "uid": "u", "resourceVersion": "1"}}


def read(path: str) -> list[str]:
    """Return the segments of a path, by the library that sends it and by the rules of servers."""
    url = URL(f"https://api.example{path}")
    assert (url.query_string, url.fragment) == ("", "")
    assert url.raw_path == URL(f"https://api.example{url.raw_path}").raw_path
    return [unquote(part) for part in url.raw_path[1:].split("/")]


@given(names, names, names, st.sampled_from(RESOURCES))
@example("../../victim/deployments/payments", "shop", "", api_paths.DEPLOYMENTS)
@example("payments", "shop/deployments/x/../../../victim", "", api_paths.DEPLOYMENTS)
def test_a_path_has_exactly_its_segments_or_is_refused(
    name: str, namespace: str, subresource: str, resource: Resource
) -> None:
    """Whatever the names are; what a client or a server would normalise never leaves."""
    try:
        path = api_paths.item(resource, name, namespace, subresource)
    except InvalidPathError:
        return
    root = ["apis" if "/" in resource.api_version else "api", *resource.api_version.split("/")]
    wanted = [*root, "namespaces", namespace, resource.plural, name, *([subresource] if subresource else [])]
    assert read(path) == wanted
    assert api_paths.checked(path) == path
    assert api_paths.intended(path) == (resource.api_version, resource.plural, namespace, name, subresource)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_object_can_be_called_is_refused(name: str) -> None:
    """By name, not by luck."""
    with pytest.raises(InvalidPathError, match="is no name of a Kubernetes object"):
        api_paths.item(api_paths.PODS, name, "shop")
    with pytest.raises(InvalidPathError):
        api_paths.in_namespace("/api/v1/pods", name)


@given(st.text("/.%2eEfF?#;\\ a\x00", max_size=20))
@example("/api/v1/namespaces/shop/../victim")
@example("/api/v1/namespaces/shop/%2E%2e/victim")
@example("/api/v1//pods")
@example("/api/v1/pods?watch=true")
@example("/api/v1/pods/a%2Fb")
def test_a_path_that_somebody_else_made_is_looked_at_again(path: str) -> None:
    """What passes is read alike by all, and as it was written."""
    try:
        passed = api_paths.checked(path)
    except InvalidPathError:
        return
    assert read(passed) == [unquote(part) for part in path[1:].split("/")]
    assert not {"", ".", ".."} & set(read(passed))


async def test_the_client_refuses_such_a_path_before_it_asks() -> None:
    """Also where an adapter forgot."""
    api = KubernetesApi(cast("Any", _Untouched()), request_timeout=timedelta(seconds=1))
    for path in ("/api/v1/namespaces/shop/pods/../../victim", "/api/v1/pods?limit=1", "/api/v1/pods/%2e%2e"):
        for request in (api.get(path), api.write("PATCH", path, {}), _first(api, path)):
            with pytest.raises(InvalidPathError, match="is refused"):
                await request


class _Untouched:
    """A client library that nobody may call."""

    class configuration:  # noqa: N801 - the library's name
        """Of the library."""

    async def param_serialize(self, *_: object, **__: object) -> None:
        """Fail: the path has passed."""
        raise AssertionError("a request was made")


async def _first(api: KubernetesApi, path: str) -> None:
    async for _ in api.lines(path, silence=timedelta(seconds=1)):
        return


def _pod(name: str) -> SlotPod:
    return SlotPod(
        name=name,
        uid="u",
        version="1",
        created_at=worlds.NOW,
        token="t",  # noqa: S106 - opens nothing
        slot=0,
        gated=True,
        bound=False,
        phase="Pending",
        containers_ended=False,
        deletion=None,
        end=None,
        restarted=False,
    )


Use = Callable[[KubernetesApi, str, str], Awaitable[object]]


def _body(name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": "u", "resourceVersion": "1", "generation": 1}
    return {"metadata": metadata, "spec": {}}


def _slots(api: KubernetesApi) -> KubernetesSlots:
    return KubernetesSlots(api, namespaces=[], clock=FakeClock(), changed=lambda _: None)


def _store(api: KubernetesApi, name: str, namespace: str) -> CertificateStore:
    return CertificateStore(
        api, namespace=namespace, secret=name, configuration=name, names=["localhost"], clock=FakeClock()
    )


async def _config_map(api: KubernetesApi, name: str, namespace: str) -> None:
    await KubernetesWorkloads(api)._config_maps(namespace, [name])


async def _workload(api: KubernetesApi, name: str, namespace: str, kind: str = "Deployment") -> None:
    await api.get(workload_objects._path(WorkloadRef(kind, ObjectKey(namespace, name), "app")))


async def _vanished(api: KubernetesApi, name: str, namespace: str) -> None:
    pods = WatchedSlotPods(api, clock=FakeClock(), changed=lambda _: None)
    seen = SeenPod(SlotPlace(namespace, "a-00000000-"), _pod(name))
    pods._doubtful[seen.place] = {"u": seen}
    await pods._ask_for("u", seen)


USES: Final[dict[str, Use]] = {
    "deployments": _workload,
    "stateful sets": lambda api, name, namespace: _workload(api, name, namespace, "StatefulSet"),
    "config maps": _config_map,
    "watched config maps": lambda api, name, namespace: NamedMaps(api, FakeClock(), []).need(
        namespace, {name: frozenset("k")}
    ),
    "sizes": lambda api, name, namespace: KubernetesWorkloadSizes(api).size("Deployment", ObjectKey(namespace, name)),
    "policies": lambda api, name, namespace: KubernetesPolicies(api).is_current(_body(name, namespace)),
    "statuses": lambda api, name, namespace: KubernetesPolicies(api).write_status(_body(name, namespace), {}),
    "events": lambda api, name, namespace: kubernetes_events.write(
        api, _body(name, namespace)["metadata"], reason="R", message="m", warning=False
    ),
    "election": lambda api, name, namespace: KubernetesLeases(
        api, namespace=namespace, name=name, clock=FakeClock()
    ).read(),
    "installations": lambda api, name, namespace: KubernetesInstallations(api).read(f"{namespace}/{name}"),
    "stops": lambda api, name, namespace: LeaseAnnotations(api, namespace=namespace, name=name).replace(
        StopNote(), StopNote(resumed_at=worlds.NOW)
    ),
    "slots": lambda api, name, namespace: _slots(api).look(SlotPlace(namespace, name), 0),
    "removed slots": lambda api, name, namespace: _slots(api).remove(SlotPlace(namespace, name), Remove(0, "1")),
    "lifted pods": lambda api, name, namespace: _slots(api).lift(SlotPlace(namespace, "a-"), _pod(name)),
    "replaced pods": lambda api, name, namespace: _slots(api).evict(SlotPlace(namespace, "a-"), _pod(name)),
    "evicted pods": lambda api, name, namespace: KubernetesWorkloads(api).evict(namespace, name, "u1"),
    "tickets": lambda api, name, namespace: KubernetesTickets(api).take(
        CanaryTicket(Owner("p", "u1"), ObjectKey(namespace, name), 1, 1), "r1"
    ),
    "vanished pods": _vanished,
    "secrets": lambda api, name, namespace: _store(api, name, namespace).current(),
    "registrations": lambda api, name, namespace: _store(api, name, namespace).trust(b"x"),
    "models": lambda api, _name, namespace: KubernetesModels(api)._stored(namespace),
    "namespaces": lambda api, _name, namespace: api.get(WatchedKind("/api/v1/pods").within(namespace).path),
}
"""Every way in which an adapter asks for what is named by somebody."""


@pytest.mark.parametrize("what", USES)
@given(name=names, namespace=names)
@example(name="../../victim/deployments/payments", namespace="shop")
@example(name="orders", namespace="../victim")
def test_no_adapter_is_led_astray(what: str, name: str, namespace: str) -> None:
    """What leaves it has the segments that it would have for a plain name, with these names in their places."""

    async def paths(name: str, namespace: str) -> list[str] | None:
        recorder = Recorder()
        try:
            await USES[what](cast("KubernetesApi", recorder), name, namespace)
        except InvalidPathError:
            return None
        except (TunerError, KeyError):
            pass  # it stumbled over the answer; the path had left
        return recorder.paths

    with asyncio.Runner() as runner:
        found, plain = (runner.run(paths(*item)) for item in ((name, namespace), ("plain", "where")))
    assert plain
    if not found:
        return  # refused, or not asked for at all
    for path, pattern in zip(found, plain, strict=True):
        wanted = [item.replace("plain", name) if "plain" in item else item for item in read(pattern)]
        assert read(path) == [namespace if item == "where" else item for item in wanted]
        assert api_paths.checked(path) == path


OBJECT: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "orders", "namespace": "shop"}}
ASKED: Final = api_paths.item(api_paths.DEPLOYMENTS, "orders", "shop")


@pytest.mark.parametrize(
    ("path", "answer", "other"),
    [
        (ASKED, OBJECT, None),
        (ASKED, {**OBJECT, "metadata": {"name": "payments", "namespace": "shop"}}, "whose name is payments"),
        (ASKED, {**OBJECT, "metadata": {"name": "orders", "namespace": "victim"}}, "whose namespace is victim"),
        (ASKED, {**OBJECT, "kind": "Secret"}, "whose kind is Secret"),
        (ASKED, {**OBJECT, "apiVersion": "v1"}, "whose apiVersion is v1"),
        (ASKED, {"kind": "Status", "metadata": {}}, None),
        (f"{ASKED}/status", {**OBJECT, "metadata": {"name": "payments"}}, "whose name is payments"),
        (f"{ASKED}/scale", {"kind": "Scale", "metadata": {"name": "x"}}, None),
        (api_paths.collection(api_paths.PODS, "shop"), {"items": [{"metadata": {"namespace": "shop"}}]}, None),
        (api_paths.collection(api_paths.PODS, "shop"), {"items": [{"metadata": {"namespace": "x"}}]}, "namespace x"),
        (api_paths.collection(api_paths.PODS, "shop"), {"items": [{}, 1, {"metadata": 1}]}, None),
        (api_paths.collection(api_paths.PODS), {"items": [{"metadata": {"namespace": "x"}}]}, None),
        (api_paths.VERSION, {"major": "1"}, None),
        ("/api/v1", {}, None),
    ],
)
def test_an_answer_about_something_else_is_not_used(path: str, answer: dict[str, Any], other: str | None) -> None:
    """Name, namespace and kind are compared with what was asked for."""
    found = api_paths.mismatch(path, answer)
    assert (found is None) if other is None else (found is not None and other in found)


def test_a_kind_that_is_not_read_has_no_path() -> None:
    """It becomes no segment either."""
    with pytest.raises(ApiServerError, match="of a kind that is not read"):
        workload_objects._path(WorkloadRef("../x", ObjectKey("shop", "orders"), "app"))


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _calls(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Yield the paths that are given to requests of an API server's client."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            holder = ast.unparse(node.func.value)
            if node.func.attr in {"get", "lines", "write"} and holder.endswith("api"):
                yield node.lineno, node.args[1] if node.func.attr == "write" and len(node.args) > 1 else node.args[0]


def test_no_path_is_made_anywhere_else() -> None:
    """Neither written out, nor put together: api_paths.py is the one place that knows how."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.name == "api_paths.py":
            continue
        tree, where = ast.parse(file.read_text()), file.relative_to(PACKAGE)
        written = [(line, text) for line, text in _texts(tree) if text.startswith("/apis/") or "/namespaces/" in text]
        written += [
            (line, text) for line, text in _texts(tree) if text.startswith("/api/") and "prometheus" not in file.name
        ]
        made = [
            (line, ast.unparse(call))
            for line, call in _calls(tree)
            if isinstance(call, ast.JoinedStr | ast.BinOp | ast.Constant)
        ]
        found += [f"{where}:{line}: {text}" for line, text in (*written, *made)]
    assert found == []


def test_every_place_that_asks_for_a_name_is_tried() -> None:
    """Who calls `item` or `collection` with names of others stands among the uses above."""
    assert set(string.ascii_lowercase) & set("".join(USES))
    callers = {
        file.stem
        for file in PACKAGE.rglob("*.py")
        if "api_paths.item(" in file.read_text() or "api_paths.collection(" in file.read_text()
    }
    tried = {
        "named_maps",
        "workload_objects",
        "workload_sizes",
        "policy_objects",
        "kubernetes_events",
        "leases",
        "lease_annotations",
        "installation_leases",
        "slot_leases",
        "slot_pods",
        "ticket_leases",
        "certificate_store",
    }
    assert callers - tried == {"live_workloads", "model_objects", "replica"}
    assert "api_paths.item" not in inspect.getsource(inspect.getmodule(WatchedKind) or ast)
