"""What Leases and pods say, as the rules of slots want it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.slots.slot_leases import KubernetesSlots, seen_slot
from heartbeat_tuner.adapters.slots.slot_pods import seen_pod
from heartbeat_tuner.adapters.workloads.workload_sizes import size_of
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import GATE, MOST_SLOTS, SLOT_LABEL, TOKEN_ANNOTATION
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.standing import Sight
from heartbeat_tuner.membership.values import ContainerEnd, Deletion, GroupProtocol, SlotPool, SlotRecord, View
from tests.support.slots import FakeClock

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
UID = "0123456789abcdef"
PLACE = slot_names.place_of(UID, ObjectKey("shop", "orders-consumer"))
AT = "2026-03-02T12:00:00Z"


def lease(name: str, holder: str | None, annotations: dict[str, str] | None) -> dict[str, Any]:
    """Return a Lease."""
    metadata = {"namespace": "shop", "name": name, "uid": "l1", "resourceVersion": "7", "annotations": annotations}
    return {"metadata": metadata, "spec": {"holderIdentity": holder}}


def pod(*, metadata: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """Return a pod with slot 2."""
    return {
        "metadata": {
            "namespace": "shop",
            "name": "orders-consumer-5d4f-x",
            "uid": "p1",
            "resourceVersion": "9",
            "creationTimestamp": AT,
            "annotations": {TOKEN_ANNOTATION: "t"},
            **(metadata or {}),
        },
        "spec": {
            "nodeName": "n",
            "containers": [
                {"name": "sidecar"},
                {"name": "app", "env": [{"name": "A", "valueFrom": {}}, {"name": "B", "value": PLACE.id_of(2)}]},
            ],
            **(spec or {}),
        },
        "status": {"phase": "Running", **status},
    }


def ended(exit_code: int, **changed: Any) -> dict[str, Any]:
    """Return how a container ended."""
    return {"exitCode": exit_code, "startedAt": AT, "finishedAt": "2026-03-02T12:05:00Z", **changed}


def statuses(state: dict[str, Any], *, restarts: int = 0) -> list[dict[str, Any]]:
    """Return the statuses of both containers."""
    return [
        {"name": "app", "state": state, "restartCount": restarts},
        {"name": "sidecar", "state": {"terminated": ended(0)}},
    ]


@pytest.mark.parametrize("name", ["orders-consumer", "o" * 253])
def test_ids_are_read_as_they_were_given(name: str) -> None:
    """Whatever the Deployment's name; they fit into Kafka, and into a Lease's name."""
    place = slot_names.place_of(UID, ObjectKey("shop", name))
    assert slot_names.parse("shop", place.id_of(12)) == (place, 12)
    assert len(place.id_of(99_999)) <= 249


@pytest.mark.parametrize("text", ["", "orders", "orders-1", "orders-01234567", "orders-01234567-x", "o-0123456-1"])
def test_other_names_are_none_of_ours(text: str) -> None:
    """A hand-made id, or another Lease."""
    assert slot_names.parse("shop", text) is None


class FakeReviews:
    """An API server that is asked for rights.

    Attributes:
        asked: what for: namespace, verb, resource and subresource.
        forbidden: namespaces in which nothing is allowed; "" for a review that asks for all.
    """

    def __init__(self, *forbidden: str) -> None:
        self.asked: list[tuple[str | None, ...]] = []
        self.forbidden = forbidden

    async def write(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a review."""
        assert (method, path) == ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        wanted = body["spec"]["resourceAttributes"]
        self.asked.append(tuple(wanted.get(item) for item in ("namespace", "verb", "resource", "subresource")))
        return {"status": {"allowed": wanted.get("namespace", "") not in self.forbidden}}


def slots_in(namespaces: Sequence[str], reviews: FakeReviews) -> KubernetesSlots:
    """Return the slots of some namespaces; of all, if none is named."""
    api = cast("KubernetesApi", reviews)
    return KubernetesSlots(api, namespaces=namespaces, clock=FakeClock(), changed=lambda _place: None)


async def test_rights_are_asked_for_where_the_slots_are() -> None:
    """Everywhere, or in each of the namespaces: who has Roles there only may nothing in all of them."""
    reviews = FakeReviews()
    assert await slots_in([], reviews).may_lift()
    assert reviews.asked == [(None, "patch", "pods", None), (None, "delete", "pods", None)]
    reviews = FakeReviews("")
    assert not await slots_in([], reviews).may_lift()
    assert await slots_in(["shop", "crew"], reviews).may_lift()
    assert set(reviews.asked[2:]) == {
        (item, *right) for item in ("shop", "crew") for right in (("patch", "pods", None), ("delete", "pods", None))
    }
    assert not await slots_in(["shop", "crew"], FakeReviews("crew")).may_lift()


def test_a_lease_is_read_with_its_record() -> None:
    """Of one that somebody edited it is not believed; another's Lease is no slot."""
    record = SlotRecord(since=NOW, holder="t")
    fields = records.fields(2, record)
    found = seen_slot(lease(PLACE.id_of(2), fields.holder_identity, dict(fields.annotations)))
    assert found is not None
    assert (found.place, found.slot.number, found.slot.version, found.slot.record) == (PLACE, 2, "7", record)
    edited = seen_slot(lease(PLACE.id_of(2), "somebody", dict(fields.annotations)))
    assert edited is not None
    assert edited.slot.record is None
    bare = seen_slot(lease(PLACE.id_of(2), None, None) | {"spec": None})
    assert bare is not None
    assert bare.slot.record is None
    assert seen_slot(lease("kube-scheduler", "x", None)) is None


def test_a_running_pod_is_read() -> None:
    """Its slot stands in its env, its claim in its annotation."""
    found = seen_pod(pod(containerStatuses=statuses({"running": {}}, restarts=1)))
    assert found is not None
    seen = found.pod
    assert (found.place, seen.slot, seen.token, seen.name, seen.uid, seen.version) == (
        *(PLACE, 2, "t", "orders-consumer-5d4f-x"),
        *("p1", "9"),
    )
    assert (seen.created_at, seen.bound, seen.gated, seen.restarted, seen.is_over) == (NOW, True, False, True, False)
    assert (seen.deletion, seen.end) == (None, None)


def test_a_pod_without_an_id_of_ours_is_of_no_interest() -> None:
    """Nor one whose id somebody made."""
    spec = {"containers": [{"name": "app", "env": [{"name": "B", "value": "orders-1"}]}]}
    assert seen_pod(pod(spec=spec)) is None


OWNED: dict[str, Any] = {
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "orders-consumer-5d4f", "controller": True}
    ],
    "labels": {"pod-template-hash": "5d4f", SLOT_LABEL: "2"},
}


@pytest.mark.parametrize(
    ("metadata", "others"),
    [
        (OWNED, ["main-1f0c2a9b-42"]),
        (OWNED, ["orders-consumer-1f0c2a9b-42"]),
        (OWNED, ["main-1f0c2a9b-2", "orders-1f0c2a9b-2", "orders-consumer-x-1f0c2a9b-2"]),
        ({**OWNED, "labels": {"pod-template-hash": "5d4f", SLOT_LABEL: "42"}}, ["main-1f0c2a9b-42"]),
        ({**OWNED, "ownerReferences": None}, ["main-1f0c2a9b-42"]),
    ],
    ids=["a version", "a version of its own name", "versions of its number", "edited label", "no owner any more"],
)
def test_what_only_looks_like_an_id_is_none(metadata: dict[str, Any], others: Sequence[str]) -> None:
    """A version with a commit and a number, in a sidecar that comes first."""
    env = [{"name": f"V{index}", "value": other} for index, other in enumerate(others)]
    app = {"name": "app", "env": [{"name": "B", "value": PLACE.id_of(2)}]}
    states = statuses({"running": {}}, restarts=1)
    spec = {"containers": [{"name": "sidecar", "env": env}, app]}
    found = seen_pod(pod(metadata=metadata, spec=spec, containerStatuses=states))
    assert found is not None
    assert (found.place, found.pod.slot, found.pod.restarted) == (PLACE, 2, True)


def test_a_gated_pod_is_read() -> None:
    """It has neither node nor status."""
    body = pod(metadata={"annotations": None}, spec={"nodeName": None, "schedulingGates": [{"name": GATE}]})
    del body["status"]
    found = seen_pod(body)
    assert found is not None
    assert (found.pod.gated, found.pod.bound, found.pod.phase, found.pod.token) == (True, False, "Pending", "")


def test_a_pod_that_ends_says_how() -> None:
    """Only where its container will not be started again."""
    state = {"terminated": ended(143)}
    running = seen_pod(pod(containerStatuses=statuses(state)))
    assert running is not None
    assert running.pod.end is None
    deleted = {"deletionTimestamp": "2026-03-02T12:00:30Z", "deletionGracePeriodSeconds": 30}
    ending = seen_pod(pod(metadata=deleted, containerStatuses=statuses(state)))
    assert ending is not None
    assert ending.pod.end == ContainerEnd(143, timedelta(minutes=5))
    assert ending.pod.deletion == Deletion(NOW + timedelta(seconds=30), timedelta(seconds=30))
    unknown = seen_pod(pod(metadata=deleted, containerStatuses=statuses({"terminated": ended(137, startedAt=None)})))
    assert unknown is not None
    assert unknown.pod.end is None


@pytest.mark.parametrize("grace_s", [10**13, 2**63 - 1])
def test_a_grace_without_end_bears_arithmetic(grace_s: int) -> None:
    """Whoever may delete a pod may ask for it."""
    found = seen_pod(pod(metadata={"deletionTimestamp": AT, "deletionGracePeriodSeconds": grace_s}))
    assert found is not None
    record = SlotRecord(since=NOW, holder="t")
    sight = Sight(View([], [found.pod], NOW), SlotPool(1, GroupProtocol.CLASSIC, timedelta(seconds=45)))
    assert sight.waited_for(2, record) is not None


@pytest.mark.parametrize(
    ("given_s", "grace_s"),
    [(None, 0), (0, 0), (30, 30), (10**9, 10**9), (10**15, durations.LONGEST.total_seconds()), (-(10**15), 0)],
    ids=str,
)
@pytest.mark.parametrize("due", ["2026-03-02T12:00:30Z", "1734-01-01T00:00:00Z"], ids=["near", "beyond all numbers"])
def test_a_grace_may_be_any_number(due: str, given_s: int | None, grace_s: int) -> None:
    """A tenant writes it, and the API server adds it; from when on the pod was to end can still be told."""
    found = seen_pod(pod(metadata={"deletionTimestamp": due, "deletionGracePeriodSeconds": given_s}))
    assert found is not None
    deletion = found.pod.deletion
    assert deletion == Deletion(datetime.fromisoformat(due), timedelta(seconds=grace_s))
    assert deletion.due - deletion.grace <= deletion.due


@pytest.mark.parametrize(
    ("phase", "given", "over"),
    [
        ("Failed", statuses({"terminated": ended(1)}), True),
        ("Failed", statuses({"running": {}}), False),
        ("Failed", None, True),
        ("Succeeded", statuses({"terminated": ended(0)}), True),
        ("Running", statuses({"terminated": ended(0)}), False),
    ],
    ids=["failed", "lost node", "turned away", "succeeded", "to be started again"],
)
def test_a_pod_is_over_when_all_its_containers_are(phase: str, given: Any, *, over: bool) -> None:
    """Not where the collector of lost pods only says so."""
    found = seen_pod(pod(phase=phase, containerStatuses=given))
    assert found is not None
    assert found.pod.is_over is over


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ({}, 2),
        ({"replicas": 0}, 0),
        ({"replicas": 6, "strategy": {"type": "Recreate"}}, 6),
        ({"replicas": 6, "strategy": {"rollingUpdate": {"maxSurge": 0}}}, 6),
        ({"replicas": 6, "strategy": {"rollingUpdate": {"maxSurge": 2}}}, 8),
        ({"replicas": 6, "strategy": {"rollingUpdate": {"maxSurge": "30%"}}}, 8),
        ({"replicas": 4, "strategy": {"type": "RollingUpdate", "rollingUpdate": None}}, 5),
        ({"replicas": 6, "strategy": {"rollingUpdate": {"maxSurge": "0%"}}}, 6),
        ({"replicas": 6, "strategy": {"rollingUpdate": {"maxSurge": "0" * 5000 + "30%"}}}, 8),
    ],
)
def test_a_pool_has_room_for_replicas_and_surge(spec: dict[str, Any], size: int) -> None:
    """A share is rounded up, as the Deployment's controller does."""
    assert size_of(spec) == size


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 2**31 - 1, "strategy": {"type": "Recreate"}},
        {"replicas": 2**31 - 1},
        {"strategy": {"rollingUpdate": {"maxSurge": 2**31 - 1}}},
        {"strategy": {"rollingUpdate": {"maxSurge": "1000000000%"}}},
        {"strategy": {"rollingUpdate": {"maxSurge": "9" * 5000 + "%"}}},
    ],
)
def test_a_pool_has_an_end_whatever_is_asked_for(spec: dict[str, Any]) -> None:
    """The API server takes all of these from who may edit a Deployment."""
    assert size_of(spec) == MOST_SLOTS


def test_the_last_slot_has_an_id_that_is_read() -> None:
    """Its number has no more digits than an id may have."""
    assert slot_names.parse("shop", PLACE.id_of(MOST_SLOTS - 1)) == (PLACE, MOST_SLOTS - 1)


def test_a_stateful_set_has_no_surge() -> None:
    """Its pods are replaced one by one, each after the one before it is gone."""
    assert size_of({"replicas": 6}, "StatefulSet") == 6
