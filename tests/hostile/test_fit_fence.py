"""The fence of the fit's account on a real API server: with its token no pod can be made but an executor.

Else the right to make pods in the release's namespace were worth every account and every Secret there.
"""

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import yaml

from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from tests.chart.rendering import VARIANTS
from tests.e2e.releases import NAME, NAMESPACE, Release
from tests.hostile.stolen import Thief

pytestmark = pytest.mark.timeout(300)

PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
FIT: Final = f"{NAME}-fit"
Change = Callable[[dict[str, Any]], object]


class Stage:
    """The release with executors, and who has stolen the fit's token."""

    def __init__(self, sandbox: Sandbox, release: Release) -> None:
        self.release = release
        self.thief = Thief(sandbox.control_plane, release.token(FIT))
        self.kubectl = sandbox.control_plane.kubectl

    def executor(self, name: str) -> dict[str, Any]:
        """Return the pod that Spark makes of the template: what it adds is what was seen of it on a node."""
        settings = self.release.rendered.one("ConfigMap", FIT)["data"]
        pod: dict[str, Any] = yaml.safe_load(settings["executor.yaml"])
        pod["metadata"]["name"] = name
        (container,) = pod["spec"]["containers"]
        (word,) = [line for line in settings["spark-defaults.conf"].splitlines() if "container.image " in line]
        container |= {"image": word.split()[1], "args": ["executor"]}
        container["env"] += [
            {"name": "SPARK_EXECUTOR_ID", "value": "1"},
            {"name": "SPARK_EXECUTOR_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ]
        pod["spec"] |= {"restartPolicy": "Never", "schedulingGates": [{"name": "test/never"}]}
        return pod


@pytest.fixture(scope="module")
def stage(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The chart's variant with executors."""
    values = yaml.safe_load(VARIANTS["executors"].read_text())
    with contextlib.ExitStack() as closing:
        release = closing.enter_context(
            Release(sandbox, tmp_path_factory.mktemp("fit"), {"fitting": values["fitting"]})
        )
        made = Stage(sandbox, release)
        closing.callback(made.thief.close)
        wait_until(
            lambda: made.thief.does("POST", f"{PODS}?dryRun=All", _bare()).fenced,
            part="kube-apiserver",
            what="the fence",
            poll_s=0.2,
        )
        yield made


def _bare() -> dict[str, Any]:
    return {"metadata": {"name": "bare"}, "spec": {"containers": [{"name": "a", "image": "evil:1"}]}}


def _container(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["spec"]["containers"][0]
    return found


# A privileged container the fence refuses, too; this API server does so before it is asked.
DEEDS: Final[dict[str, Change]] = {
    "the operator's account": lambda pod: pod["spec"].update(serviceAccountName=NAME),
    "another image": lambda pod: _container(pod).update(image="evil:1"),
    "another command": lambda pod: _container(pod).update(command=["sh", "-c", "evil"]),
    "no command": lambda pod: _container(pod).pop("command"),
    "one more container": lambda pod: pod["spec"]["containers"].append({"name": "evil", "image": "evil:1"}),
    "an init container": lambda pod: pod["spec"].update(initContainers=[{"name": "evil", "image": "evil:1"}]),
    "the Secret of another program": lambda pod: pod["spec"]["volumes"].append(
        {"name": "s", "secret": {"secretName": f"{NAME}-webhook"}}
    ),
    "the same, projected": lambda pod: pod["spec"]["volumes"].append(
        {"name": "s", "projected": {"sources": [{"secret": {"name": f"{NAME}-webhook"}}]}}
    ),
    "a variable from a Secret": lambda pod: _container(pod)["env"].append(
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": f"{NAME}-webhook", "key": "tls.key"}}}
    ),
    "all variables of a Secret": lambda pod: _container(pod).update(
        envFrom=[{"secretRef": {"name": f"{NAME}-webhook"}}]
    ),
    "a folder of the node": lambda pod: pod["spec"]["volumes"].append({"name": "h", "hostPath": {"path": "/"}}),
    "the history's volume": lambda pod: pod["spec"]["volumes"].append(
        {"name": "h", "persistentVolumeClaim": {"claimName": f"{NAME}-history"}}
    ),
    "the node's network": lambda pod: pod["spec"].update(hostNetwork=True),
    "the node's processes": lambda pod: pod["spec"].update(hostPID=True),
    "a node of its choice": lambda pod: (pod["spec"].pop("schedulingGates"), pod["spec"].update(nodeName="n")),
    "the labels of the webhook's pods": lambda pod: pod["metadata"]["labels"].update(
        {"app.kubernetes.io/component": "webhook"}
    ),
    "a finalizer": lambda pod: pod["metadata"].update(finalizers=["evil/finalizer"]),
}


def test_an_executor_is_made_and_deleted(stage: Stage) -> None:
    """As Spark does it: made one by one, deleted all at once."""
    assert stage.thief.does("POST", PODS, stage.executor("first")).body.get("message") is None
    assert stage.thief.does("POST", PODS, stage.executor("second")).done
    assert stage.thief.does("GET", f"{PODS}/first").done
    assert stage.thief.does("DELETE", f"{PODS}/first").forbidden
    selector = "labelSelector=app.kubernetes.io%2Fcomponent%3Dfit-executor"
    assert stage.thief.does("DELETE", f"{PODS}?{selector}").done


@pytest.mark.parametrize("deed", DEEDS)
def test_no_other_pod_is_made(stage: Stage, deed: str) -> None:
    """Each deed alone is refused by the fence."""
    pod = copy.deepcopy(stage.executor("other"))
    DEEDS[deed](pod)
    answer = stage.thief.does("POST", f"{PODS}?dryRun=All", pod)
    assert answer.fenced, answer.body.get("message")


def test_nothing_else_is_touched(stage: Stage) -> None:
    """Not the release's other pods, no pod elsewhere, no log, no shell, no Secret, no token."""
    theirs = {**_bare(), "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "theirs"}}
    theirs["spec"]["schedulingGates"] = [{"name": "test/never"}]
    stage.kubectl("create", "--filename=-", f"--namespace={NAMESPACE}", stdin=yaml.safe_dump(theirs))
    assert stage.thief.does("DELETE", PODS).fenced
    refused = [
        stage.thief.does("POST", "/api/v1/namespaces/default/pods", stage.executor("elsewhere")),
        stage.thief.does("DELETE", f"{PODS}/theirs"),
        stage.thief.does("GET", "/api/v1/pods"),
        stage.thief.does("GET", f"{PODS}/theirs/log"),
        stage.thief.does("POST", f"{PODS}/theirs/exec?command=id", None),
        stage.thief.does("POST", f"{PODS}/theirs/eviction", {}),
        stage.thief.merges(f"{PODS}/theirs", {"metadata": {"labels": {"a": "b"}}}),
        stage.thief.does("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets"),
        stage.thief.does("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps"),
        stage.thief.does("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token", {}),
    ]
    assert [answer.body for answer in refused if not answer.forbidden] == []
