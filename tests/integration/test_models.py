"""Models on a real API server: written, left alone, refused, read back, and read by nobody who may not."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.models import FIELD_MANAGER, KubernetesModels
from heartbeat_tuner.api import crd, models
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.ports import Written
from heartbeat_tuner.tails.group_model import Fitted, GroupModel, Unfitted, Unreadable
from heartbeat_tuner.tails.model import Reason, Rejected
from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from tests.support import fitted

pytestmark = pytest.mark.timeout(180)

CRDS = Path(__file__).parents[2] / "crds"
DEFINITION = CRDS / crd.MODEL.file_name


@contextlib.asynccontextmanager
async def connected(plane: ControlPlane, *, page: int = 2) -> AsyncIterator[KubernetesModels]:
    """Give the models, as the administrator has them, in small pages."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=20))
    try:
        yield KubernetesModels(api, page=page)
    finally:
        await api.close()


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The API server with the definition of models."""
    control_plane.kubectl("apply", f"--filename={CRDS}")
    control_plane.await_definitions()
    yield control_plane
    control_plane.kubectl("delete", f"--filename={CRDS}")


def write(plane: ControlPlane, *group: GroupModel) -> Written:
    """Write as the fit does."""

    async def run() -> Written:
        async with connected(plane) as store:
            return await store.write(group)

    return asyncio.run(run())


def read(plane: ControlPlane, namespace: str) -> dict[str, Fitted | Unreadable]:
    """Return what the operator reads of one namespace, by the group."""

    async def run() -> dict[str, Fitted | Unreadable]:
        async with connected(plane) as store:
            found = await store.read()
            assert not isinstance(found, Unfitted)
            return {
                (one.model if isinstance(one, Fitted) else one).group: one
                for one in found
                if (one.model if isinstance(one, Fitted) else one).namespace == namespace
            }

    return asyncio.run(run())


def groups(namespace: str, *names: str) -> list[GroupModel]:
    """Return a model for each group."""
    return [fitted.model(namespace=namespace, group=name) for name in names]


def test_models_are_read_back_as_they_were_written(plane: ControlPlane, namespace: str) -> None:
    """Every number comes back bit by bit, over several pages; what says the same again is not written again."""
    refused = Rejected(Reason.BAD_FIT, "Anderson-Darling 9.1")
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
        plane, *(dataclasses.replace(one, job="fit-2", fitted_at=one.fitted_at + timedelta(days=1)) for one in group)
    )
    newer = write(plane, dataclasses.replace(group[0], days=13), *group[1:])

    assert first == Written(6, 0, [])
    assert again == Written(0, 6, [])
    assert newer == Written(1, 5, [])
    back = {name: one.model for name, one in read(plane, namespace).items() if isinstance(one, Fitted)}
    assert back == {one.group: one for one in [dataclasses.replace(group[0], days=13), *group[1:]]}


def test_a_rejected_tail_does_not_take_the_last_good_one_away(plane: ControlPlane, namespace: str) -> None:
    """It stays beside the reason, with its own days."""
    good = fitted.model(namespace=namespace)
    bad = dataclasses.replace(
        good,
        until=good.until + timedelta(days=1),
        quantities={"absence": fitted.quantity(tail=Rejected(Reason.BAD_FIT, "Anderson-Darling 9.1"))},
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
    assert "NonStructuralSchema" not in {one["type"] for one in definition["status"]["conditions"]}
    assert manager == FIELD_MANAGER


BAD: dict[str, Callable[[dict[str, Any]], None]] = {
    "shape must be below 1": lambda spec: tail_of(spec).update(shape=1.0),
    "should be less than or equal to 1": lambda spec: tail_of(spec).update(share=1.5),
    "should be greater than or equal to 0": lambda spec: spec["quantities"][0].update(largestSeconds=-1.0),
    "thresholdSeconds and share must be above 0": lambda spec: tail_of(spec).update(thresholdSeconds=0.0),
    "must be a covariance": lambda spec: tail_of(spec).update(
        covariance={"shape": 1, "shapeLogScale": 2, "logScale": 1}
    ),
    "must have either a tail or the reason": lambda spec: spec["quantities"][0].pop("tail"),
    "a tail is kept only where the newest is rejected": lambda spec: spec["quantities"][0].update(
        kept={
            "since": "2026-02-01",
            "until": "2026-02-14",
            "fittedAt": "2026-02-15T00:00:00Z",
            "valuesPerDay": 1,
            "tail": tail_of(spec),
        }
    ),
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
    document = models.document_of(fitted.model(namespace=namespace))
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
    """A namespace that is gone is one failure; so is a field that somebody took, a bad group, a name that is none."""
    write(plane, *groups(namespace, "taken"))
    body = json.dumps({"spec": {"days": 3}})
    plane.kubectl(
        "patch", "cgm", "taken", f"--namespace={namespace}", "--type=merge", f"--patch={body}", "--field-manager=me"
    )
    gone = groups("gone-since-yesterday", *(f"group-{number}" for number in range(30)))

    told = write(
        plane, *gone, *groups(namespace, "orders", "taken", "bad\nname"), fitted.model(namespace="../kube-system")
    )

    assert told.written == 1
    assert told.unchanged == 0
    assert len(told.failed) == 4
    one, another, third, fourth = told.failed
    assert "'../kube-system' is no namespace" in one
    assert another == "namespace gone-since-yesterday: does not exist; 30 models not written"
    assert "control or replacement characters" in third + fourth
    assert 'conflict with "me"' in third + fourth
    assert "delete the object" in third + fourth


def test_what_cannot_be_used_is_read_as_such(plane: ControlPlane, namespace: str) -> None:
    """A model of other buckets is none, and says so."""
    write(plane, fitted.model(namespace=namespace, schema=2), *groups(namespace, "bills"))

    found = read(plane, namespace)

    assert isinstance(found["bills"], Fitted)

    assert isinstance(found["orders"], Unreadable)
    assert "histogram schema 2" in found["orders"].message


def test_without_the_definition_there_are_no_models(plane: ControlPlane) -> None:
    """The operator learns it as a fact, the fit as an error with its fix."""
    plane.kubectl("delete", f"--filename={DEFINITION}")

    async def run() -> tuple[object, str]:
        async with connected(plane) as store:
            with pytest.raises(ApiServerError) as refused:
                await store.write([fitted.model()])
            return await store.read(), str(refused.value)

    try:
        seen, told = asyncio.run(run())
    finally:
        plane.kubectl("apply", f"--filename={DEFINITION}")
        plane.await_definitions()

    assert seen == Unfitted("the API server does not know ConsumerGroupModels")
    assert "kubectl apply -f crds/" in told
