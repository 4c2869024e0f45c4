"""What an apply names where pods run with other values than their template has."""

from typing import Any, cast

import pytest

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads import field_owners, trimming
from heartbeat_tuner.adapters.workloads.workload_evidence import MOST_CONFIG_MAPS
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.api import applied
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verifications import FailedValues, Outcome
from tests.support import worlds

SESSION, BEAT, WAIT = worlds.policy().env_names.values()
IN_MAP = {SESSION: "1000", BEAT: "333", WAIT: "1000"}
OF_PODS = worlds.settings("30s", "333ms", "1s")
TARGET = worlds.settings("30s", "1s", "1s")


def _container(**literal: str) -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in literal.items()]
    return {"name": "app", "envFrom": [{"configMapRef": {"name": "settings"}}], "env": env}


class FakeApi:
    """An API server with one Deployment, one running pod of it, on the second page, and their ConfigMap.

    Attributes:
        written: the documents; they are kept, and change nothing.
        queries: what each was written with.
        asked: the paths of what was read.
    """

    def __init__(self, *, template: dict[str, Any], pod: dict[str, Any]) -> None:
        self.written: list[dict[str, Any]] = []
        self.queries: list[dict[str, str]] = []
        self.asked: list[str] = []
        deployment = {
            "metadata": {"name": "orders-consumer", "uid": "workload-1", "resourceVersion": "100", "generation": 1},
            "spec": {"replicas": 1, "selector": {}, "template": {"spec": {"containers": [template]}}},
        }
        owner = {"controller": True, "kind": "ReplicaSet", "name": "orders-consumer-1"}
        state = {"running": {"startedAt": "2026-03-02T11:00:00Z"}}
        metadata = {
            "name": "orders-0",
            "uid": "uid-0",
            "labels": {"pod-template-hash": "1"},
            "ownerReferences": [owner],
        }
        body = {
            "metadata": metadata,
            "spec": {"containers": [pod]},
            "status": {"podIP": "10.0.0.1", "containerStatuses": [{"name": "app", "state": state}]},
        }
        self._stored: dict[str, dict[str, Any]] = {
            "orders-consumer": deployment,
            "pods": {"metadata": {"continue": "more"}, "items": []},
            "more": {"metadata": {}, "items": [body]},
            "settings": {"data": IN_MAP},
        }

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return what is stored under the path's last name, or the page that is asked for."""
        self.asked.append(path)
        return self._stored[query.get("continue", path.rpartition("/")[2])]

    async def write(self, _method: str, _path: str, document: dict[str, Any], **query: str) -> dict[str, Any]:
        """Keep what is to be written."""
        self.written.append(document)
        self.queries.append(query)
        return document


async def _applied(api: FakeApi) -> tuple[Workload, dict[str, str]]:
    """Return the workload as read, and the entries that are written for the target."""
    workloads, policy = KubernetesWorkloads(cast("KubernetesApi", api)), worlds.policy()
    found = await workloads.read(policy)
    assert isinstance(found, Workload)
    entries = found.entries_after(policy, TARGET)
    await workloads.apply(policy, found, Application(TARGET, OF_PODS, worlds.NOW, found.uid, "app", entries))
    (document,) = api.written
    (container,) = document["spec"]["template"]["spec"]["containers"]
    return found, {entry["name"]: entry["value"] for entry in container["env"]}


@pytest.mark.parametrize("literal", [{}, {SESSION: "1000"}, {SESSION: "no number"}], ids=["map", "literal", "text"])
async def test_a_value_that_only_the_pods_have_is_written_with_those_that_change(literal: dict[str, str]) -> None:
    """Else the rollout would bring back what the template has: pods got the other value when they were created."""
    found, env = await _applied(FakeApi(template=_container(**literal), pod=_container(**{SESSION: "30000"})))
    assert found.current is not None
    assert found.current.settings == OF_PODS
    assert found.unlike_template == {Setting.SESSION_TIMEOUT}
    assert env == {SESSION: "30000", BEAT: "1000"}


async def test_a_value_that_the_template_has_too_is_left_to_it() -> None:
    """Only what changes is taken over."""
    same = _container(**{SESSION: "30000"})
    found, env = await _applied(FakeApi(template=same, pod=same))
    assert (found.unlike_template, env) == (frozenset(), {BEAT: "1000"})


async def test_a_changed_template_has_another_fingerprint() -> None:
    """Whatever of it changed; the pods and the workload's version are no part of it."""
    same, other = _container(**{SESSION: "30000"}), _container(**{SESSION: "30001"})
    (first, _), (again, _), (changed, _) = [
        await _applied(FakeApi(template=template, pod=pod))
        for template, pod in ((same, same), (same, other), (other, same))
    ]
    assert first.template == again.template != changed.template
    assert len(first.template) == 16


async def test_no_container_has_thousands_of_config_maps_asked_for() -> None:
    """Each would be a request, and all other policies would wait; what of ours stands there is known all the same."""
    sources = [{"configMapRef": {"name": f"map-{number}"}} for number in range(MOST_CONFIG_MAPS)]
    pod, flooded = _container(), {"name": "app", "env": [], "envFrom": sources}
    api = FakeApi(template=flooded, pod=pod)
    found = await KubernetesWorkloads(cast("KubernetesApi", api)).read(worlds.policy())
    assert isinstance(found, MissingWorkload)
    assert found.reason is Reason.SETTING_UNREADABLE
    assert f"from {MOST_CONFIG_MAPS + 1} ConfigMaps" in found.message
    assert found.holdings is not None
    assert not any("configmaps" in path for path in api.asked)


async def test_an_eviction_names_the_very_pod() -> None:
    """By its uid, so that a pod that took the name since stays; disruption budgets are asked by the API server."""
    api = FakeApi(template=_container(), pod=_container())
    await KubernetesWorkloads(cast("KubernetesApi", api)).evict("shop", "orders-0", "uid-0")
    (written,) = api.written
    assert (written["kind"], written["metadata"]) == ("Eviction", {"name": "orders-0", "namespace": "shop"})
    assert written["deleteOptions"] == {"preconditions": {"uid": "uid-0"}}


async def test_values_that_failed_are_noted_without_a_word_of_the_template() -> None:
    """By a manager of its own: our entries stay held, and nobody takes the template for one of ours by it."""
    api = FakeApi(template=_container(), pod=_container())
    workloads = KubernetesWorkloads(cast("KubernetesApi", api))
    workload = await workloads.read(worlds.policy())
    assert isinstance(workload, Workload)
    failed = FailedValues(TARGET, OF_PODS, worlds.NOW, Outcome.WORSE, "9 episodes", "spec")
    await workloads.note_failed(worlds.policy(), workload, [failed])
    (written,), (query,) = api.written, api.queries
    assert written.keys() == {"apiVersion", "kind", "metadata"}
    assert (written["metadata"]["uid"], written["metadata"]["resourceVersion"]) == ("workload-1", "100")
    assert query["fieldManager"] == "heartbeat-tuner-notes"
    noted = written["metadata"]["annotations"]["heartbeat-tuner.dev/failed"]
    assert applied.from_failed_annotation(noted, workload_uid="workload-1") == {"app": (failed,)}
    body = {**api._stored["orders-consumer"]}
    body["metadata"] = {**body["metadata"], "annotations": {"heartbeat-tuner.dev/failed": noted}}
    again = trimming.workload(body, (), us="heartbeat-tuner")
    assert field_owners.holdings_of(again, "app", kind="Deployment", us="heartbeat-tuner").failed == {"app": (failed,)}
