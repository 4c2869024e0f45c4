"""The chart's fences on a real API server: what stolen tokens are worth, and who may write a policy.

Each deed is a plain request under a token of the chart's service accounts, with the chart's roles. What a fence is for
must be refused by the fence, and not by a role alone; what the programs do themselves passes.
"""

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from heartbeat_tuner.api.slot_names import SLOT_LABEL, TOKEN_ANNOTATION
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import MOST_WORKLOADS
from sandbox import rollout_definitions
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.chart.rendering import VARIANTS, Helm
from tests.e2e.releases import NAME, NAMESPACE, Release
from tests.e2e.teams import policy_document
from tests.hostile.stolen import Answer, Thief

pytestmark = pytest.mark.timeout(300)

NOBODY: Final = "0a1b2c3d-0000-4000-8000-000000000000"
CONTAINERS: Final = "/spec/template/spec/containers"
ENV: Final = f"{CONTAINERS}/0/env"
FOREIGN_ENV: Final = [
    {"name": "GREETING", "value": "hello"},
    {"name": "S", "value": "1000"},
    {"name": "FROM_MAP", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "x"}}},
    {"name": "LEFT_OVER"},
]


class Stage:
    """The release, who has its tokens, and a tenant's namespace.

    Attributes:
        release: the chart, installed.
        operator: who has stolen the operator's token.
        webhook: who has stolen the webhook's.
        namespace: with a workload of each kind, pods, Leases and a policy, none of which anything runs.
        uid: of the policy.
    """

    def __init__(self, control_plane: ControlPlane, release: Release, namespace: str) -> None:
        self.control_plane = control_plane
        self.release = release
        self.namespace = namespace
        self.uid = NOBODY
        self.operator = Thief(control_plane, release.token(NAME))
        self.webhook = Thief(control_plane, release.token(f"{NAME}-webhook"))

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """Do something as the administrator, in the tenant's namespace."""
        return self.control_plane.kubectl(*words, f"--namespace={self.namespace}", stdin=stdin)

    def create(self, *objects: Mapping[str, Any]) -> None:
        """Make objects as the administrator."""
        self.kubectl("create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def create_or_replace(self, manifest: Mapping[str, Any]) -> None:
        """Apply an object that is in no namespace."""
        self.control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(manifest))

    def get(self, what: str, name: str) -> dict[str, Any]:
        """Return an object."""
        found: dict[str, Any] = json.loads(self.kubectl("get", what, name, "--output=json"))
        return found

    def path(self, plural: str, name: str, *, namespace: str = "") -> str:
        """Return the path of an object in the tenant's namespace, or in another."""
        return f"{self.folder(plural, namespace=namespace)}/{name}"

    def folder(self, plural: str, *, namespace: str = "") -> str:
        """Return the path of a list."""
        groups = {
            "deployments": "apps/v1",
            "statefulsets": "apps/v1",
            "rollouts": "argoproj.io/v1alpha1",
            "leases": "coordination.k8s.io/v1",
        }
        root = f"/apis/{groups[plural]}" if plural in groups else "/api/v1"
        return f"{root}/namespaces/{namespace or self.namespace}/{plural}"


def workload(kind: str) -> dict[str, Any]:
    """Return a workload without pods whose fields are somebody else's."""
    containers = [
        {"name": "app", "image": "app:1", "command": ["run"], "env": FOREIGN_ENV},
        {"name": "sidecar", "image": "sidecar:1", "env": FOREIGN_ENV},
        {"name": "bare", "image": "bare:1"},
    ]
    template = {
        "metadata": {"labels": {"app": "orders"}, "annotations": {"theirs": "1"}},
        "spec": {
            "initContainers": [{"name": "first", "image": "first:1", "env": [{"name": "N", "value": "1"}]}],
            "containers": containers,
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "orders"}}, "template": template}
    metadata = {"name": "orders", "labels": {"team": "shop"}, "annotations": {"theirs": "1"}}
    return {
        "apiVersion": _version(kind),
        "kind": kind,
        "metadata": metadata,
        "spec": {**spec, "serviceName": "orders"} if kind == "StatefulSet" else spec,
    }


def _version(kind: str) -> str:
    return "argoproj.io/v1alpha1" if kind == "Rollout" else "apps/v1"


def pod(name: str, *, of_slot: bool, gates: tuple[str, ...] = (SLOT_LABEL,)) -> dict[str, Any]:
    """Return a pod that waits for ever, so that nothing but the test changes it."""
    marks = (
        {"labels": {SLOT_LABEL: "0"}, "annotations": {TOKEN_ANNOTATION: "t"}} if of_slot else {"labels": {"app": "x"}}
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **marks},
        "spec": {
            "schedulingGates": [{"name": gate} for gate in ("theirs/gate", *gates)],
            "containers": [{"name": "app", "image": "app:1"}],
        },
    }


def lease(name: str, *, labels: Mapping[str, str], holder: str = "somebody") -> dict[str, Any]:
    """Return a Lease."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"holderIdentity": holder},
    }


def slot_lease(uid: str, number: int, **changes: Any) -> dict[str, Any]:
    """Return a Lease of a policy's slot as the webhook writes it, with other metadata where that is given."""
    name = f"orders-{uid[:8]}-{number}"
    owner = {
        "apiVersion": "heartbeat-tuner.dev/v1alpha1",
        "kind": "ConsumerGroupPolicy",
        "name": "slots",
        "uid": uid,
        "controller": True,
    }
    document = lease(name, labels={SLOT_LABEL: str(number)}, holder="token")
    document["metadata"] |= {"ownerReferences": [owner], "annotations": {"heartbeat-tuner.dev/since": "x"}, **changes}
    return document


@pytest.fixture(scope="module")
def stage(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The chart with everything on, and a tenant."""
    namespace = f"fenced-{uuid.uuid4().hex[:8]}"
    sandbox.control_plane.kubectl("create", "namespace", namespace)
    with contextlib.ExitStack() as closing:
        folder = tmp_path_factory.mktemp("fences")
        definition = f"--filename={rollout_definitions.definition(rollout_definitions.MERGING)}"
        sandbox.control_plane.kubectl("create", definition)
        closing.callback(sandbox.control_plane.kubectl, "delete", definition, "--wait=true")
        operator = {"evictions": True, "argoRollouts": True}
        release = closing.enter_context(Release(sandbox, folder, {"webhook": {"enabled": True}, "operator": operator}))
        made = Stage(sandbox.control_plane, release, namespace)
        for thief in (made.operator, made.webhook):
            closing.callback(thief.close)
        wait_until(lambda: _has_account(made), part="test", what="the namespace's service account", poll_s=0.2)
        made.create(
            workload("Deployment"),
            workload("StatefulSet"),
            workload("Rollout"),
            pod("theirs", of_slot=False, gates=()),
            pod("gated", of_slot=True),
            pod("to-lift", of_slot=True),
            pod("to-replace", of_slot=True),
            lease("theirs", labels={"app": "x"}),
            policy_document("slots"),
        )
        made.uid = made.get("cgp", "slots")["metadata"]["uid"]
        made.create(
            lease(f"orders-{made.uid[:8]}-7", labels={}),
            lease(f"orders-{made.uid[:8]}-8", labels={}, holder=""),
        )
        wait_until(lambda: _stands(made), part="kube-apiserver", what="the fences", poll_s=0.2)
        yield made
    sandbox.control_plane.kubectl("delete", "namespace", namespace, "--wait=false")


def _has_account(stage: Stage) -> bool:
    try:
        stage.kubectl("get", "serviceaccount", "default")
    except SandboxError:
        return False
    return True


def _stands(stage: Stage) -> bool:
    """Whether the API server has taken up the fences; it asks for none of what it has not seen."""
    dry = "?dryRun=All"
    tries = [
        stage.operator.merges(stage.path("deployments", "orders") + dry, {"metadata": {"labels": {"a": "b"}}}),
        stage.operator.does("POST", stage.folder("events") + dry, event("elsewhere", stage.namespace)),
        stage.webhook.merges(stage.path("pods", "theirs") + dry, {"metadata": {"labels": {"a": "b"}}}),
        stage.webhook.does("DELETE", stage.path("leases", "theirs") + dry),
        stage.webhook.does("POST", stage.folder("secrets", namespace=NAMESPACE) + dry, secret("other")),
    ]
    return all(try_.fenced for try_ in tries)


def event(component: str, namespace: str, kind: str = "ConsumerGroupPolicy") -> dict[str, Any]:
    """Return an Event in a namespace."""
    version = "heartbeat-tuner.dev/v1alpha1" if kind == "ConsumerGroupPolicy" else "v1"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "e.", "namespace": namespace},
        "involvedObject": {"apiVersion": version, "kind": kind, "name": "orders", "namespace": namespace},
        "reason": "R",
        "message": "m",
        "type": "Normal",
        "source": {"component": component},
    }


def secret(name: str, **fields: Any) -> dict[str, Any]:
    """Return a Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields}


def put(path: str, value: Any) -> dict[str, Any]:
    """Return an operation of a JSON patch that sets a field."""
    return {"op": "add", "path": path, "value": value}


def entry(value: str, name: str = "NEW") -> dict[str, Any]:
    """Return an operation that adds a variable."""
    return put(f"{ENV}/-", {"name": name, "value": value})


WORKLOAD_DEEDS: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "image": (put(f"{CONTAINERS}/0/image", "evil:1"),),
    "image of a sidecar": (put(f"{CONTAINERS}/1/image", "evil:1"),),
    "image of an init container": (put("/spec/template/spec/initContainers/0/image", "evil:1"),),
    "number in an init container": (put("/spec/template/spec/initContainers/0/env/0/value", "2"),),
    "command": (put(f"{CONTAINERS}/0/command", ["sh", "-c", "evil"]),),
    "args": (put(f"{CONTAINERS}/0/args", ["evil"]),),
    "envFrom": (put(f"{CONTAINERS}/0/envFrom", [{"secretRef": {"name": "passwords"}}]),),
    "lifecycle": (put(f"{CONTAINERS}/0/lifecycle", {"postStart": {"exec": {"command": ["evil"]}}}),),
    "security context": (put(f"{CONTAINERS}/0/securityContext", {"privileged": False}),),
    "resources": (put(f"{CONTAINERS}/0/resources", {"limits": {"cpu": "1m"}}),),
    "volume": (put("/spec/template/spec/volumes/-", {"name": "w", "hostPath": {"path": "/"}}),),
    "mounted volume": (put(f"{CONTAINERS}/0/volumeMounts", [{"name": "v", "mountPath": "/x"}]),),
    "service account": (put("/spec/template/spec/serviceAccountName", "admin"),),
    "host network": (put("/spec/template/spec/hostNetwork", True),),
    "node": (put("/spec/template/spec/nodeName", "control-plane"),),
    "one more container": (put(f"{CONTAINERS}/-", {"name": "evil", "image": "evil:1"}),),
    "one container less": ({"op": "remove", "path": f"{CONTAINERS}/2"},),
    "another name of a container": (put(f"{CONTAINERS}/2/name", "renamed"),),
    "one more init container": (put("/spec/template/spec/initContainers/-", {"name": "evil", "image": "evil:1"}),),
    "label": (put("/metadata/labels/team", "other"),),
    "label that was not there": (put("/metadata/labels/new", "x"),),
    "label of the pods": (put("/spec/template/metadata/labels/new", "x"),),
    "annotation of somebody else": (put("/metadata/annotations/theirs", "2"),),
    "annotation that was not there": (put("/metadata/annotations/new", "x"),),
    "annotation that is gone": ({"op": "remove", "path": "/metadata/annotations/theirs"},),
    "annotation of the pods": (put("/spec/template/metadata/annotations/heartbeat-tuner.dev~1x", "x"),),
    "finalizer": (put("/metadata/finalizers", ["evil/finalizer"]),),
    "owner": (
        put(
            "/metadata/ownerReferences",
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": NOBODY}],
        ),
    ),
    "replicas": (put("/spec/replicas", 3),),
    "history": (put("/spec/revisionHistoryLimit", 0),),
    "a command in a variable": (entry("$(curl evil)"),),
    "an address in a variable": (entry("evil:9092"),),
    "an option in a variable": (entry("-javaagent:/x.jar", "JAVA_TOOL_OPTIONS"),),
    "a word in a variable": (entry("true"),),
    "two lines in a variable": (entry("1\n2"),),
    "a long number": (entry("1" * 200),),
    "nothing in a new variable": (put(f"{ENV}/-", {"name": "NEW"}),),
    "a variable from a Secret": (
        put(f"{ENV}/-", {"name": "NEW", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}),
    ),
    "a number instead of a text": (put(f"{ENV}/0/value", "1"),),
    "a number behind a text of the same name": (entry("1", "GREETING"),),
    "a text that is gone": ({"op": "remove", "path": f"{ENV}/0"},),
    "a reference that is gone": ({"op": "remove", "path": f"{ENV}/2"},),
    "a number instead of a reference": (put(f"{ENV}/2", {"name": "FROM_MAP", "value": "1"}),),
    "all of a sidecar's variables": ({"op": "remove", "path": f"{CONTAINERS}/1/env"},),
}


@pytest.mark.row("Cb")
@pytest.mark.parametrize("plural", ["deployments", "statefulsets", "rollouts"])
def test_the_operators_token_changes_nothing_of_a_workload_but_numbers(stage: Stage, plural: str) -> None:
    """Each deed alone is refused by the fence; afterwards the object is what it was.

    The definition of Rollouts refuses two variables of one name before any fence is asked.
    """
    path, before = stage.path(plural, "orders"), stage.get(plural, "orders")
    passed = {
        name: answer.body.get("message", "done")
        for name, operations in WORKLOAD_DEEDS.items()
        if not (answer := stage.operator.operates(path, *operations)).fenced
        and "Duplicate value" not in str(answer.body.get("message"))
    }
    assert passed == {}
    after = stage.get(plural, "orders")
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], before["metadata"]["generation"])
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]


@pytest.mark.row("Cb")
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Rollout"])
def test_the_operator_sets_numbers_and_lets_go_of_them(stage: Stage, kind: str) -> None:
    """By server-side apply, as it does: set, changed, taken away again, with its record beside."""
    path = stage.path(f"{kind.lower()}s", "orders")

    def apply(annotation: str, **env: Mapping[str, str]) -> Answer:
        containers = [
            {"name": name, "env": [{"name": name, "value": value} for name, value in entries.items()]}
            for name, entries in env.items()
        ]
        document = {
            "apiVersion": _version(kind),
            "kind": kind,
            "metadata": {"name": "orders", "annotations": {"heartbeat-tuner.dev/applied": annotation}},
            "spec": {"template": {"spec": {"containers": containers}}},
        }
        return stage.operator.applies(path, document, "heartbeat-tuner")

    steps = (
        apply("a", app={"T": "30000", "H": "1000"}),
        apply("b", app={"T": "45000", "H": "1s500ms"}, bare={"M": "2.5"}),
        apply("c", bare={"M": "300000"}, app={}),
        apply("", app={}, bare={}),
    )
    assert [step.body.get("message") for step in steps if not step.done] == []
    assert stage.operator.operates(path, {"op": "remove", "path": f"{ENV}/3"}).done  # the entry without a value


@pytest.mark.row("Cb")
def test_a_container_with_hundreds_of_variables_is_within_the_budget(stage: Stage) -> None:
    """The API server bounds what an expression may cost; beyond it a write would be refused."""
    document = workload("Deployment")
    document["metadata"]["name"] = "wide"
    document["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": f"V{number}", "value": f"text {number}"} for number in range(500)
    ]
    stage.create(document)
    path = stage.path("deployments", "wide")
    assert stage.operator.operates(path, entry("1000")).done
    assert stage.operator.operates(path, entry("text", "OTHER")).fenced


@pytest.mark.row("Cb")
def test_the_operators_token_makes_and_deletes_nothing(stage: Stage) -> None:
    """By fence or role: nothing of anybody's but an Event of its own about a policy, and its replicas' Lease."""
    operator, home = stage.operator, {"namespace": NAMESPACE}
    scale = {"spec": {"replicas": 3}}
    others = [
        operator.does("POST", stage.folder("deployments"), workload("Deployment")),
        operator.applies(
            stage.path("deployments", "new"), {**workload("Deployment"), "metadata": {"name": "new"}}, "x"
        ),
        operator.does("DELETE", stage.path("deployments", "orders")),
        operator.merges(f"{stage.path('deployments', 'orders')}/scale", scale),
        operator.merges(f"{stage.path('deployments', 'orders')}/status", {"status": {"replicas": 9}}),
        operator.does("POST", stage.folder("pods"), pod("new", of_slot=True)),
        operator.does("DELETE", stage.path("pods", "theirs")),
        operator.does("POST", stage.folder("secrets", **home), secret("new")),
        operator.does("GET", stage.folder("secrets", **home)),
        operator.does("POST", stage.folder("configmaps"), {"metadata": {"name": "new"}}),
        operator.does("POST", stage.folder("leases"), slot_lease(stage.uid, 0)),
        operator.does("DELETE", stage.path("leases", "theirs")),
        operator.does("DELETE", stage.path("leases", NAME, **home)),
        operator.does("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}-webhook/token", {}),
    ]
    assert [other.body for other in others if not other.forbidden] == []
    fenced = [
        operator.does("POST", stage.folder("leases", **home), lease("of-the-node", labels={})),
        operator.does("POST", stage.folder("events"), event("kubelet", stage.namespace)),
        operator.does("POST", stage.folder("events"), event("heartbeat-tuner", stage.namespace, "Pod")),
    ]
    assert [item.body for item in fenced if not item.fenced] == []
    report = event("heartbeat-tuner", stage.namespace)
    own = lease(NAME, labels={})
    allowed = [
        operator.does("POST", stage.folder("events"), report),
        made := operator.does("POST", stage.folder("leases", **home), own),
        operator.does("PUT", stage.path("leases", NAME, **home), made.body),
    ]
    assert [item.body for item in allowed if not item.done] == []


@pytest.mark.row("Cb")
def test_the_operators_token_evicts_no_pod_that_it_does_not_name_by_its_uid(stage: Stage) -> None:
    """Nor any where the webhook is not asked about pods: the release's own, and the cluster's."""

    def eviction(**options: Any) -> dict[str, Any]:
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "theirs"}, **options}

    path, named = f"{stage.path('pods', 'theirs')}/eviction", {"deleteOptions": {"preconditions": {"uid": NOBODY}}}
    fenced = [
        stage.operator.does("POST", path, eviction()),
        stage.operator.does("POST", path, eviction(deleteOptions={"gracePeriodSeconds": 0})),
        *(
            stage.operator.does("POST", f"{stage.path('pods', 'theirs', namespace=home)}/eviction", eviction(**named))
            for home in (NAMESPACE, "kube-system")
        ),
    ]
    assert [item.body for item in fenced if not item.fenced] == []
    other = stage.operator.does("POST", path, eviction(**named))
    assert "the UID in the precondition" in json.dumps(other.body), "the fence let it pass, and it was another pod"
    assert stage.get("pod", "theirs")["metadata"]["name"] == "theirs"


@pytest.mark.row("Cc")
def test_the_webhooks_token_changes_nothing_of_a_pod_but_its_own_gate(stage: Stage) -> None:
    """Each deed is refused by the fence, on its own pods too; then the gate goes, and a pod with a slot is replaced."""
    image, gates = "/spec/containers/0/image", "/spec/schedulingGates"
    deeds = {
        "image": put(image, "evil:1"),
        "label": put("/metadata/labels/new", "x"),
        "annotation": put("/metadata/annotations", {"new": "x", TOKEN_ANNOTATION: "t"}),
        "another slot": put("/metadata/labels/heartbeat-tuner.dev~1slot", "5"),
        "finalizer": put("/metadata/finalizers", ["evil/finalizer"]),
        "owner": put(
            "/metadata/ownerReferences",
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": NOBODY}],
        ),
        "deadline": put("/spec/activeDeadlineSeconds", 1),
        "toleration": put("/spec/tolerations/-", {"key": "theirs", "operator": "Exists"}),
        "node selector": put("/spec/nodeSelector", {"kubernetes.io/hostname": "mine"}),
        "somebody else's gate": {"op": "remove", "path": f"{gates}/0"},
        "all gates": {"op": "remove", "path": gates},
    }
    passed = [
        (name, name_of_pod, answer.body)
        for name_of_pod in ("gated", "theirs")
        for name, operation in deeds.items()
        if not (answer := stage.webhook.operates(stage.path("pods", name_of_pod), operation)).fenced
    ]
    assert passed == []
    path = stage.path("pods", "to-lift")
    assert stage.webhook.operates(path, put(image, "evil:1"), put(gates, [{"name": "theirs/gate"}])).fenced
    lift = {"spec": {"schedulingGates": [{"$patch": "delete", "name": SLOT_LABEL}]}}
    assert stage.webhook.does("PATCH", path, lift, "application/strategic-merge-patch+json").done
    assert [gate["name"] for gate in stage.get("pod", "to-lift")["spec"]["schedulingGates"]] == ["theirs/gate"]


@pytest.mark.row("Cc")
def test_the_webhooks_token_takes_away_no_pod_but_those_with_a_slot(stage: Stage) -> None:
    """An eviction shows nobody whose pod it is about: there is no right to one; a delete does."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "theirs"}}
    path = stage.path("pods", "theirs")
    assert stage.webhook.does("DELETE", path).fenced
    others = [
        stage.webhook.does("POST", f"{path}/eviction", eviction),
        stage.webhook.does("DELETE", stage.folder("pods")),
        stage.webhook.does("POST", stage.folder("pods"), pod("new", of_slot=True)),
        stage.webhook.merges(f"{path}/status", {"status": {"phase": "Failed"}}),
        stage.webhook.does("POST", f"{path}/exec?command=sh"),
    ]
    assert [other.body for other in others if not other.forbidden] == []
    assert stage.webhook.does("DELETE", stage.path("pods", "to-replace")).done


@pytest.mark.row("Cc")
def test_the_webhooks_token_writes_no_lease_but_those_of_slots(stage: Stage) -> None:
    """Neither those of nodes and of leader elections, nor one that only looks like a slot's."""
    webhook, uid, number = stage.webhook, stage.uid, 0
    ours = slot_lease(uid, number)

    def stolen(name: str) -> dict[str, Any]:
        """Return a Lease that is there, with another holder."""
        return {**stage.get("lease", name), "spec": {"holderIdentity": "me"}}

    def taken(number: int) -> dict[str, Any]:
        """Return a slot's Lease in the place of one that is there."""
        there = stage.get("lease", f"orders-{stage.uid[:8]}-{number}")
        return slot_lease(uid, number, resourceVersion=there["metadata"]["resourceVersion"])

    name = ours["metadata"]["name"]
    owner = ours["metadata"]["ownerReferences"][0]
    fenced = {
        "foreign": webhook.does("PUT", stage.path("leases", "theirs"), stolen("theirs")),
        "foreign, deleted": webhook.does("DELETE", stage.path("leases", "theirs")),
        "foreign of a slot's name": webhook.does("PUT", stage.path("leases", f"orders-{stage.uid[:8]}-7"), taken(7)),
        "the same, deleted": webhook.does("DELETE", stage.path("leases", f"orders-{stage.uid[:8]}-7")),
        "any name": webhook.does("POST", stage.folder("leases"), lease("new", labels={SLOT_LABEL: "0"})),
        "other label": webhook.does("POST", stage.folder("leases"), slot_lease(uid, number, labels={SLOT_LABEL: "9"})),
        "more labels": webhook.does(
            "POST", stage.folder("leases"), slot_lease(uid, number, labels={SLOT_LABEL: "0", "a": "b"})
        ),
        "no owner": webhook.does("POST", stage.folder("leases"), slot_lease(uid, number, ownerReferences=[])),
        "another owner": webhook.does(
            "POST",
            stage.folder("leases"),
            slot_lease(uid, number, ownerReferences=[{**owner, "apiVersion": "v1", "kind": "Secret"}]),
        ),
        "another policy": webhook.does(
            "POST", stage.folder("leases"), slot_lease(uid, number, ownerReferences=[{**owner, "uid": "ffffffff-1"}])
        ),
        "finalizer": webhook.does("POST", stage.folder("leases"), slot_lease(uid, number, finalizers=["evil/x"])),
        "annotation": webhook.does("POST", stage.folder("leases"), slot_lease(uid, number, annotations={"a": "b"})),
        **{
            f"in {where}": webhook.does("POST", stage.folder("leases", namespace=where), slot_lease(uid, number))
            for where in ("kube-system", "kube-node-lease", NAMESPACE)
        },
    }
    assert {what: answer.body for what, answer in fenced.items() if not answer.fenced} == {}
    steps = [
        webhook.does("POST", stage.folder("leases"), ours),
        webhook.does("PUT", stage.path("leases", f"orders-{stage.uid[:8]}-8"), taken(8)),  # made by hand, empty
        webhook.does("PUT", stage.path("leases", name), taken(0)),
    ]
    assert [step.body for step in steps if not step.done] == []
    bare = taken(0)
    del bare["metadata"]["labels"]
    assert webhook.does("PUT", stage.path("leases", name), bare).fenced
    assert webhook.does("DELETE", stage.path("leases", name)).done


@pytest.mark.row("Cc")
def test_the_webhooks_token_makes_nothing_else(stage: Stage) -> None:
    """No Secret but its own, above all none that the controllers would fill with another account's token."""
    webhook, home = stage.webhook, {"namespace": NAMESPACE}
    name = f"{NAME}-webhook"
    token = {"type": "kubernetes.io/service-account-token"}
    minted = secret(name, **token)
    minted["metadata"]["annotations"] = {"kubernetes.io/service-account.name": NAME}
    fenced = [
        webhook.does("POST", stage.folder("secrets", **home), secret("other")),
        webhook.does("POST", stage.folder("secrets", **home), minted),
        webhook.does("POST", stage.folder("secrets", **home), secret(name, data={"other": ""})),
        webhook.does("POST", stage.folder("events", **home), event("kubelet", NAMESPACE)),
    ]
    assert [item.body for item in fenced if not item.fenced] == []
    forbidden = [
        webhook.does("POST", stage.folder("secrets"), secret(name)),
        webhook.does("GET", stage.folder("secrets", **home)),
        webhook.operates(stage.path("deployments", "orders"), put("/spec/replicas", 1)),
        webhook.does("DELETE", stage.path("deployments", "orders")),
        webhook.does("POST", stage.folder("configmaps"), {"metadata": {"name": "new"}}),
        webhook.does("DELETE", f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{NAME}"),
        webhook.does("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token", {}),
    ]
    assert [item.body for item in forbidden if not item.forbidden] == []
    assert webhook.does("POST", stage.folder("secrets", **home), secret(name, data={"tls.key": ""})).done


@pytest.mark.row("Cc")
def test_a_pinned_registration_is_not_the_webhooks_to_write(stage: Stage, tmp_path: Path) -> None:
    """No fence is shown a registration: with `webhook.caBundle` the right to write it is gone, and else it is not."""
    path = f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{NAME}"
    sent_away = [put("/webhooks/0/clientConfig/url", "https://evil.example/")]
    assert not stage.webhook.operates(f"{path}?dryRun=All", *sent_away).forbidden
    values = {"fullnameOverride": NAME, "webhook": {"enabled": True, "caBundle": "QUJD"}}
    pinned = Helm(Binaries().path("helm"), tmp_path).render(VARIANTS["minimal"], values, namespace=NAMESPACE)
    default = next(role for role in stage.release.roles() if role["metadata"]["name"] == f"{NAME}-webhook")
    try:
        stage.create_or_replace(pinned.one("ClusterRole", f"{NAME}-webhook"))
        wait_until(
            lambda: stage.webhook.operates(f"{path}?dryRun=All", *sent_away).forbidden,
            part="kube-apiserver",
            what="the narrower role",
            timeout_s=20,
        )
        assert stage.webhook.does("GET", path).done
    finally:
        stage.create_or_replace(default)


@pytest.fixture(scope="module")
def author(stage: Stage) -> Iterator[Thief]:
    """Who may write policies, and patch one Deployment, of a namespace."""
    stage.kubectl("create", "serviceaccount", "author")
    resources = ["consumergrouppolicies", "consumergrouppolicies/status"]
    rules = [{"apiGroups": ["heartbeat-tuner.dev"], "resources": resources, "verbs": ["*"]}]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    stage.create({**kind, "metadata": {"name": "policies"}, "rules": rules})
    stage.kubectl("create", "role", "mine", "--verb=patch", "--resource=deployments.apps", "--resource-name=mine")
    for role in ("policies", "mine"):
        stage.kubectl("create", "rolebinding", role, f"--role={role}", f"--serviceaccount={stage.namespace}:author")
    with contextlib.closing(Thief(stage.control_plane, stage.kubectl("create", "token", "author").strip())) as found:
        yield found


def written(author: Thief, stage: Stage, name: str, *, workload: str, **metadata: Any) -> Callable[[], Answer]:
    """Return what creates a policy."""
    document = json.loads(json.dumps(policy_document(name)))
    document["metadata"] |= metadata
    document["spec"]["workloadRef"]["name"] = workload
    folder = f"/apis/heartbeat-tuner.dev/v1alpha1/namespaces/{stage.namespace}/consumergrouppolicies"
    return lambda: author.does("POST", folder, document)


@pytest.mark.row("Ca")
def test_a_policy_needs_the_right_to_patch_its_workload(stage: Stage, author: Thief) -> None:
    """For what it asks; who only touches its metadata, as controllers do, or deletes it, needs none."""
    deadline = time.monotonic() + 20  # the authorizer learns of a role a moment after it was made
    while not (mine := written(author, stage, "mine", workload="mine")()).done and time.monotonic() < deadline:
        time.sleep(0.1)
    assert mine.done, mine.body
    refused = written(author, stage, "other", workload="orders")()
    assert refused.fenced
    assert "may not write a policy for deployments/orders: who asks for its values must be allowed to patch it" in str(
        refused.body["message"]
    )
    folder = f"/apis/heartbeat-tuner.dev/v1alpha1/namespaces/{stage.namespace}/consumergrouppolicies"
    elsewhere = {"spec": {"workloadRef": {"name": "orders"}}}
    stateful = {"spec": {"workloadRef": {"kind": "StatefulSet"}}}
    assert author.merges(f"{folder}/mine", elsewhere).fenced
    assert author.merges(f"{folder}/mine", stateful).fenced
    assert author.merges(f"{folder}/mine", {"spec": {"mode": "Apply"}}).done

    stage.control_plane.kubectl(
        "create", "--filename=-", f"--namespace={stage.namespace}", stdin=json.dumps(policy_document("orders"))
    )
    assert author.merges(f"{folder}/orders", {"spec": {"mode": "Apply"}}).fenced
    assert author.merges(f"{folder}/orders", {"metadata": {"annotations": {"heartbeat-tuner.dev/go": "1"}}}).fenced
    values = {"sessionTimeout": "6s", "heartbeatInterval": "1s"}
    forged = {"status": {"initial": {"values": values, "expirationTime": "2100-01-01T00:00:00Z"}}}
    assert author.merges(f"{folder}/orders/status", forged).fenced
    assert author.merges(f"{folder}/mine/status", forged).done
    assert author.merges(f"{folder}/orders", {"metadata": {"labels": {"team": "shop"}}}).done
    assert author.merges(f"{folder}/orders", {"metadata": {"finalizers": ["theirs/one"]}}).done
    assert author.merges(f"{folder}/orders", {"metadata": {"finalizers": None}}).done
    assert author.does("DELETE", f"{folder}/orders").done
    assert stage.operator.does("PUT", f"{folder}/mine/status", {**stage.get("cgp", "mine"), "status": {}}).done


def of_several(author: Thief, stage: Stage, name: str, *refs: Mapping[str, str]) -> Answer:
    """Return what the API server answers to who creates a policy of several workloads."""
    document = json.loads(json.dumps(policy_document(name)))
    del document["spec"]["workloadRef"]
    document["spec"]["workloadRefs"] = [{"container": "app", **ref} for ref in refs]
    folder = f"/apis/heartbeat-tuner.dev/v1alpha1/namespaces/{stage.namespace}/consumergrouppolicies"
    return author.does("POST", folder, document)


@pytest.mark.row("Ca")
def test_a_policy_of_several_workloads_needs_the_right_to_patch_each(stage: Stage, author: Thief) -> None:
    """As many as a policy may have; the refusal names the one that the author may not patch."""
    several = [f"several-{number}" for number in range(MOST_WORKLOADS)]
    names = [f"--resource-name={name}" for name in several]
    stage.kubectl("create", "role", "several", "--verb=patch", "--resource=deployments.apps", *names)
    stage.kubectl("create", "rolebinding", "several", "--role=several", f"--serviceaccount={stage.namespace}:author")
    deadline = time.monotonic() + 20  # the authorizer learns of a role a moment after it was made
    refs = [{"name": name} for name in several]
    while not (all_mine := of_several(author, stage, "all-mine", *refs)).done and time.monotonic() < deadline:
        time.sleep(0.1)
    assert all_mine.done, all_mine.body
    plurals = {"StatefulSet": "statefulsets", "Rollout": "rollouts"}
    for other in ({"name": "orders"}, *({"name": several[0], "kind": kind} for kind in plurals)):
        refused = of_several(author, stage, "not-all-mine", *refs[: MOST_WORKLOADS - 1], other)
        assert refused.fenced
        plural = plurals.get(other.get("kind", ""), "deployments")
        assert f"may not write a policy for {plural}/{other['name']}: who asks for its values" in str(
            refused.body["message"]
        )


@pytest.mark.row("Ca")
def test_a_policy_of_a_rollout_needs_the_right_to_patch_the_rollout(stage: Stage, author: Thief) -> None:
    """In Argo's own group: a right on a Deployment of the name, or on others' rollouts, is none."""
    refused = of_several(author, stage, "rolled", {"name": "mine", "kind": "Rollout"})
    assert refused.fenced
    assert "have patch on rollouts of group argoproj.io granted" in str(refused.body["message"])
    stage.kubectl("create", "role", "rolled", "--verb=patch", "--resource=rollouts.argoproj.io", "--resource-name=mine")
    stage.kubectl("create", "rolebinding", "rolled", "--role=rolled", f"--serviceaccount={stage.namespace}:author")
    deadline = time.monotonic() + 20  # the authorizer learns of a role a moment after it was made
    while not (mine := of_several(author, stage, "rolled", {"name": "mine", "kind": "Rollout"})).done:
        assert time.monotonic() < deadline, mine.body
        time.sleep(0.1)
    assert of_several(author, stage, "rolled-2", {"name": "orders", "kind": "Rollout"}).fenced


def test_the_api_server_finds_nothing_to_say_about_the_expressions(stage: Stage) -> None:
    """It checks the types of what the fences read, and writes what it doubts into their status."""
    names = [
        item["metadata"]["name"] for item in stage.release.rendered.objects if item["kind"].endswith("AdmissionPolicy")
    ]
    assert len(names) == 6

    def checked() -> dict[str, Any]:
        found = [stage.get("validatingadmissionpolicy", name) for name in names]
        return {item["metadata"]["name"]: item.get("status", {}) for item in found}

    wait_until(
        lambda: all("observedGeneration" in item for item in checked().values()),
        part="kube-controller-manager",
        what="the fences' types",
        poll_s=0.5,
    )
    doubts = {
        name: item["typeChecking"]["expressionWarnings"] for name, item in checked().items() if item["typeChecking"]
    }
    assert doubts == {}


@pytest.mark.row("Cb")
@pytest.mark.row("Cc")
def test_every_right_to_write_is_behind_a_fence(stage: Stage) -> None:
    """A rule that is added to a role has to be thought about: what is fenced, or why it need not be."""
    free = {("webhook", "mutatingwebhookconfigurations")}  # one by name; the API server shows these to no policy
    writing = {"create", "update", "patch", "delete", "deletecollection", "*"}
    fenced = {
        (item["metadata"]["labels"]["app.kubernetes.io/component"], resource)
        for item in stage.release.rendered.objects
        if item["kind"] == "ValidatingAdmissionPolicy"
        for rule in item["spec"]["matchConstraints"]["resourceRules"]
        for resource in rule["resources"]
    }
    granted = {
        (role["metadata"]["labels"]["app.kubernetes.io/component"], resource)
        for role in stage.release.roles()
        for rule in role["rules"]
        for resource in rule["resources"]
        if writing & set(rule["verbs"])
    }
    open_rights = {
        (component, resource)
        for component, resource in granted
        if component in {"operator", "webhook"}
        and (component, resource) not in fenced
        and not ("/" in resource and (component, f"{resource.partition('/')[0]}/*") in fenced)
    }
    assert open_rights == free


def test_fences_go_with_the_release(stage: Stage) -> None:
    """They stand in no namespace: each has the release's namespace in its name, so that no two releases share one."""
    for item in stage.release.rendered.objects:
        if item["kind"].startswith("ValidatingAdmissionPolicy"):
            assert item["metadata"]["name"].endswith(f".{NAMESPACE}")
            assert "namespace" not in item["metadata"]
