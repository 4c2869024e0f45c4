"""Models on a real API server: written, left alone, refused, read back, and read by nobody who may not."""

import asyncio
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.model_objects import FIELD_MANAGER, KubernetesModels
from heartbeat_tuner.api import crd, model_documents
from heartbeat_tuner.api.v1alpha1.fields import GROUP
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.models.group_model import Fitted, GroupModel, Unfitted, Unreadable
from heartbeat_tuner.ports.stored_models import Written
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from tests.support import fitted

pytestmark = pytest.mark.timeout(180)

CRDS = Path(__file__).parents[2] / "crds"
GOODBYE_S = 0.3
"""Time for closed connections to say goodbye; a loop that has stopped leaks their sockets."""
DEFINITION = CRDS / crd.MODEL.file_name


@contextlib.asynccontextmanager
async def connected(
    plane: ControlPlane, *, user: str = "", url: str = "", timeout_s: float = 20
) -> AsyncIterator[KubernetesModels]:
    """Give the models in small pages, as the administrator has them or another user."""
    configuration = client.Configuration()
    file = plane.kubeconfig_for(user) if user else plane.kubeconfig
    await config.load_kube_config(config_file=str(file), client_configuration=configuration)
    configuration.host = url or configuration.host
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=timeout_s))
    try:
        yield KubernetesModels(api, page=2)
    finally:
        await api.close()


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The API server with the definition of models."""
    control_plane.kubectl("apply", f"--filename={CRDS}")
    control_plane.await_definitions()
    yield control_plane
    control_plane.kubectl("delete", f"--filename={CRDS}")


def write(plane: ControlPlane, *group: GroupModel, user: str = "", url: str = "", timeout_s: float = 20) -> Written:
    """Write as the fit does."""

    async def run() -> Written:
        async with connected(plane, user=user, url=url, timeout_s=timeout_s) as store:
            return await store.write(group)

    return asyncio.run(run())


def read(plane: ControlPlane, namespace: str) -> dict[str, Fitted | Unreadable]:
    """Return what the operator reads of one namespace, by the group."""

    async def run() -> dict[str, Fitted | Unreadable]:
        async with connected(plane) as store:
            found = await store.read()
            assert not isinstance(found, Unfitted)
            return {
                (item.model if isinstance(item, Fitted) else item).group: item
                for item in found
                if (item.model if isinstance(item, Fitted) else item).namespace == namespace
            }

    return asyncio.run(run())


def groups(namespace: str, *names: str) -> list[GroupModel]:
    """Return a model for each group."""
    return [fitted.model(namespace=namespace, group=name) for name in names]


def test_models_are_read_back_as_they_were_written(plane: ControlPlane, namespace: str) -> None:
    """Every number comes back bit by bit, over several pages; what says the same again is not written again."""
    refused = Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1")
    group = groups(namespace, "orders", "Bills", "a", "b", "c")
    group.append(
        fitted.model(
            namespace=namespace,
            group="mixed",
            cluster="main",
            quantities={
                "absence": fitted.quantity(tail=fitted.tail(shape=-0.1 / 3, share=1e-7, log_scale=-2 / 3)),
                "pollGap": fitted.quantity(tail=refused, largest_s=None),
            },
        )
    )

    first = write(plane, *group)
    again = write(
        plane, *(dataclasses.replace(item, job="fit-2", fitted_at=item.fitted_at + timedelta(days=1)) for item in group)
    )
    newer = write(plane, dataclasses.replace(group[0], days=13), *group[1:])

    assert first == Written(6, 0, [])
    assert again == Written(0, 6, [])
    assert newer == Written(1, 5, [])
    back = {name: item.model for name, item in read(plane, namespace).items() if isinstance(item, Fitted)}
    assert back == {item.group: item for item in [dataclasses.replace(group[0], days=13), *group[1:]]}


def test_a_rejected_tail_does_not_take_the_last_good_one_away(plane: ControlPlane, namespace: str) -> None:
    """It stays beside the reason, with its own days."""
    good = fitted.model(namespace=namespace)
    bad = dataclasses.replace(
        good,
        until=good.until + timedelta(days=1),
        quantities={"absence": fitted.quantity(tail=Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1"))},
    )

    assert [write(plane, good).written, write(plane, bad).written, write(plane, bad).written] == [1, 1, 0]
    found = read(plane, namespace)["orders"]
    assert isinstance(found, Fitted)
    absence = found.model.quantities["absence"]

    assert isinstance(absence.tail, Rejected)
    assert absence.kept is not None
    assert (absence.kept.tail, absence.kept.until) == (fitted.TAIL, good.until)


def test_what_kubectl_shows(plane: ControlPlane, namespace: str) -> None:
    """The definition has a structural schema, and one line says what a model is."""
    write(plane, *groups(namespace, "orders"))

    shown = plane.kubectl("get", "cgm", f"--namespace={namespace}").splitlines()
    definition = json.loads(plane.kubectl("get", "crd", "consumergroupmodels.heartbeat-tuner.dev", "--output=json"))
    manager = plane.kubectl(
        "get",
        "cgm",
        "orders",
        f"--namespace={namespace}",
        "--output=jsonpath={.metadata.managedFields[*].manager}",
        "--show-managed-fields",
    )

    assert shown[0].split() == ["NAME", "GROUP", "CLIENT", "DAYS", "UNTIL", "FITTED", "REJECTED", "AGE"]
    assert shown[1].split()[:7] == ["orders", "orders", "kafkajs", "14", "2026-03-01", "1", "0"]
    assert "NonStructuralSchema" not in {condition["type"] for condition in definition["status"]["conditions"]}
    assert manager == FIELD_MANAGER


BAD: dict[str, Callable[[dict[str, Any]], None]] = {
    "shape must be below 1": lambda spec: tail_of(spec).update(shape="1"),
    "must be from 0 to 1": lambda spec: tail_of(spec).update(share="1.5"),
    "must be from 0 to [0-9.]+e?": lambda spec: spec["quantities"][0].update(largestSeconds="-1"),
    "thresholdSeconds and share must be above 0": lambda spec: tail_of(spec).update(thresholdSeconds="0"),
    "must be a covariance": lambda spec: tail_of(spec).update(
        covariance={"shape": "1", "shapeLogScale": "2", "logScale": "1"}
    ),
    "must have either a tail or the reason": lambda spec: spec["quantities"][0].pop("tail"),
    "a tail is kept only where the newest is rejected": lambda spec: spec["quantities"][0].update(
        kept={
            "since": "2026-02-01",
            "until": "2026-02-14",
            "fitTime": "2026-02-15T00:00:00Z",
            "valuesPerDay": "1",
            "tail": tail_of(spec),
        }
    ),
    "should match": lambda spec: tail_of(spec).update(shape="a tenth"),
    "since must not be after until": lambda spec: spec.update(since="2026-03-02"),
    "must be a day such as": lambda spec: spec.update(until="yesterday"),
    "must not hold control": lambda spec: spec.update(groupId="a\nb"),
}


def tail_of(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the only tail of a document."""
    found: dict[str, Any] = spec["quantities"][0]["tail"]
    return found


@pytest.mark.parametrize("sentence", BAD)
def test_the_api_server_refuses_what_no_fit_can_say(plane: ControlPlane, namespace: str, sentence: str) -> None:
    """Whoever writes it."""
    document = model_documents.document_of(fitted.model(namespace=namespace))
    BAD[sentence](document["spec"])

    with pytest.raises(SandboxError, match=sentence):
        plane.kubectl("apply", "--filename=-", stdin=json.dumps(document))


def test_a_group_keeps_its_object(plane: ControlPlane, namespace: str) -> None:
    """A model cannot become another group's."""
    write(plane, *groups(namespace, "orders"))
    body = json.dumps({"spec": {"groupId": "bills"}})

    with pytest.raises(SandboxError, match="groupId cannot be changed"):
        plane.kubectl("patch", "cgm", "orders", f"--namespace={namespace}", "--type=merge", f"--patch={body}")


def test_failures_are_told_and_cost_no_other_model(plane: ControlPlane, namespace: str) -> None:
    """A field that somebody took, a bad group, a name that is none; a namespace that is gone is told apart."""
    write(plane, *groups(namespace, "taken"))
    body = json.dumps({"spec": {"days": 300}})
    plane.kubectl(
        "patch", "cgm", "taken", f"--namespace={namespace}", "--type=merge", f"--patch={body}", "--field-manager=me"
    )
    gone = groups("gone-since-yesterday", *(f"group-{number}" for number in range(30)))

    report = write(
        plane, *gone, *groups(namespace, "orders", "taken", "bad\nname"), fitted.model(namespace="../kube-system")
    )

    assert report.written == 1
    assert report.unchanged == 0
    assert report.gone == ("namespace gone-since-yesterday: does not exist; 30 models not written",)
    assert len(report.failed) == 3
    first, second, third = report.failed
    assert "'../kube-system' is no namespace" in first
    assert "control or replacement characters" in second + third
    assert 'conflict with "me"' in second + third
    assert "delete the object" in second + third


def test_what_cannot_be_used_is_read_as_such(plane: ControlPlane, namespace: str) -> None:
    """A model of other buckets is none, and says so."""
    write(plane, fitted.model(namespace=namespace, schema=2), *groups(namespace, "bills"))

    found = read(plane, namespace)

    assert isinstance(found["bills"], Fitted)

    assert isinstance(found["orders"], Unreadable)
    assert "histogram schema 2" in found["orders"].message


def test_a_job_writes_to_the_cluster_of_its_environment(plane: ControlPlane, namespace: str) -> None:
    """As the fit calls it, from code that is not asynchronous."""
    program = (
        "from heartbeat_tuner.adapters.kubernetes.model_objects import write_to_cluster; "
        "from tests.support import fitted; "
        f"print(write_to_cluster([fitted.model(namespace={namespace!r})]))"
    )
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=CRDS.parent, check=True, capture_output=True, text=True
    )
    assert done.stdout == "Written(written=1, unchanged=0, failed=[], gone=())\n"
    assert "orders" in read(plane, namespace)


def test_who_may_not_gets_no_models_and_writes_none(plane: ControlPlane, namespace: str) -> None:
    """The operator takes it as a fact; the fit tells it once for each namespace."""

    async def look() -> object:
        async with connected(plane, user="operator") as store:
            return await store.read()

    report = write(plane, *groups(namespace, "a", "b", "c"), user="operator")

    assert asyncio.run(look()) == Unfitted("the operator may not list ConsumerGroupModels")
    assert (report.written, len(report.failed)) == (0, 1)
    assert f"namespace {namespace}: the API server refused GET" in report.failed[0]
    assert "403" in report.failed[0]
    assert report.failed[0].endswith("; 3 models not written")


def test_a_quota_and_a_model_too_large_cost_what_they_refuse(plane: ControlPlane, namespace: str) -> None:
    """Each failure says what the API server said."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"count/consumergroupmodels.heartbeat-tuner.dev": "1"}},
    }
    huge = fitted.model(namespace=namespace, group="huge", job="j" * 300)
    many = fitted.model(
        namespace=namespace, group="many", quantities={f"quantity{number}": fitted.quantity() for number in range(20)}
    )

    first = write(plane, *groups(namespace, "orders"))
    plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(quota))
    report = write(plane, *groups(namespace, "orders", "bills"), huge, many)

    assert first == Written(1, 0, [])
    assert (report.written, report.unchanged) == (0, 1)
    assert sorted(sentence.split(": ")[0] for sentence in report.failed) == [
        f"group {namespace}/{name}" for name in ("bills", "huge", "many")
    ]
    assert "quota: few" in "".join(report.failed)  # exceeded, or not counted yet
    assert "is longer than the maximum length, 253" in "".join(report.failed)
    assert "spec.quantities: there are more entries than the maximum, 16" in "".join(report.failed)


async def test_an_api_server_that_falls_silent_ends_a_namespace_soon(plane: ControlPlane, namespace: str) -> None:
    """Not one wait for each of its models; the next run writes what is missing."""
    group = groups(namespace, *(f"group-{number}" for number in range(60)))
    target = urlsplit(plane.url)
    assert target.port is not None
    with FaultProxy(LOOPBACK, target.port) as wire:
        async with connected(plane, url=f"https://{LOOPBACK}:{wire.port}", timeout_s=3) as store:
            wire.delay(0.1)
            asyncio.get_running_loop().call_later(1.0, wire.black_hole)
            began = time.monotonic()
            report = await store.write(group)
            took_s = time.monotonic() - began
            wire.heal()
            again = await store.write(group)
        await asyncio.sleep(GOODBYE_S)

    assert 0 <= report.written < 60
    assert report.failed[-1].startswith(f"namespace {namespace}: the API server does not answer any more; ")
    assert took_s < 60
    assert again.failed == []
    assert again.written + again.unchanged == 60


def is_forgotten(plane: ControlPlane) -> bool:
    """Whether the API server serves models no more, which it does for a moment after their definition has gone."""
    try:
        plane.kubectl("get", "--raw", f"/apis/{GROUP}/v1alpha1/consumergroupmodels")
    except SandboxError:
        return True
    return False


def test_without_the_definition_there_are_no_models(plane: ControlPlane) -> None:
    """The operator learns it as a fact, the fit as an error with its fix."""
    plane.kubectl("delete", f"--filename={DEFINITION}")
    wait_until(lambda: is_forgotten(plane), part="kube-apiserver", what="it to forget models", timeout_s=30)

    async def run() -> tuple[object, str]:
        async with connected(plane) as store:
            with pytest.raises(ApiServerError) as refused:
                await store.write([fitted.model()])
            return await store.read(), str(refused.value)

    try:
        seen, report = asyncio.run(run())
    finally:
        plane.kubectl("apply", f"--filename={DEFINITION}")
        plane.await_definitions()

    assert seen == Unfitted("the API server does not know ConsumerGroupModels")
    assert "kubectl apply -f crds/" in report


@pytest.mark.parametrize("without", ["", "list", "create", "patch"])
def test_the_documented_role_is_what_the_fit_needs(plane: ControlPlane, namespace: str, without: str) -> None:
    """With all of it models are written, and written again; without any one verb they are not."""
    documents = list(yaml.safe_load_all((CRDS.parent / "docs" / "how-to" / "fit.yaml").read_text()))
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    (rule,) = role["rules"]
    rule["verbs"] = [verb for verb in rule["verbs"] if verb != without]
    account = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "fit"},
        "subjects": [account],
    }
    for kind, content in (("Role", {"rules": [rule]}), ("RoleBinding", binding)):
        body = {"apiVersion": role["apiVersion"], "kind": kind, "metadata": {"name": "fit"}, **content}
        plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(body))
    first, second = groups(namespace, "orders")[0], dataclasses.replace(groups(namespace, "orders")[0], days=13)

    report = [write(plane, item, user="operator") for item in (first, second)]

    if without:
        assert all("403" in item.failed[0] for item in report)
    else:
        assert report == [Written(1, 0, []), Written(1, 0, [])]
