"""Names in policies and models: those of Kubernetes pass, and nothing that could be more than a name."""

import re
from typing import Any, Final

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api import crd, names, parsing
from heartbeat_tuner.api.v1alpha1.models_v1alpha1 import ModelSpec
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.domain.errors import InvalidPolicyError
from tests.support import manifests

EVIL: Final = (
    "../../victim/deployments/payments",
    "..",
    "a/b",
    "a%2fb",
    "a b",
    "a\n",
    "a?x",
    "a#x",
    "é",
    "\u0131",
)
REFERENCE: Final = {"name": "orders-consumer", "container": "app"}


def several(changes: dict[str, str]) -> dict[str, Any]:
    """Return two workloads, the second with changes."""
    return {"workloadRef": None, "workloadRefs": [REFERENCE, {**REFERENCE, "name": "orders-batch", **changes}]}


def spec(path: str, value: str) -> dict[str, Any]:
    """Return a policy's spec with one name replaced."""
    client = {"library": "kafkajs"}
    places: dict[str, dict[str, Any]] = {
        "workloadRef.name": {"workloadRef": {**REFERENCE, "name": value}},
        "workloadRef.container": {"workloadRef": {**REFERENCE, "container": value}},
        "workloadRef.kind": {"workloadRef": {**REFERENCE, "kind": value}},
        "workloadRefs.1.name": several({"name": value}),
        "workloadRefs.1.container": several({"container": value}),
        "workloadRefs.1.kind": several({"kind": value}),
        "clusterRef": {"clusterRef": value},
        "client.library": {"client": {"library": value}},
        "client.env.sessionTimeout.name": {"client": {**client, "env": {"sessionTimeout": {"name": value}}}},
        "client.env.groupInstanceId.name": {"client": {**client, "env": {"groupInstanceId": {"name": value}}}},
        "metrics.convention": {"metrics": {"convention": value}},
    }
    return places[path]


PATHS: Final = (
    "workloadRef.name",
    "workloadRef.container",
    "workloadRef.kind",
    "workloadRefs.1.name",
    "workloadRefs.1.container",
    "workloadRefs.1.kind",
    "clusterRef",
    "client.library",
    "client.env.sessionTimeout.name",
    "client.env.groupInstanceId.name",
    "metrics.convention",
)


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path in PATHS for value in EVIL if not (value == ".." and "env" in path)]
)
def test_a_stored_policy_with_a_path_for_a_name_is_refused(path: str, value: str) -> None:
    """Whatever the definition was when it was written; the sentence has the field, and the value."""
    with pytest.raises(InvalidPolicyError) as refused:
        parsing.policy_of(manifests.policy(spec=spec(path, value)))
    assert f"spec.{path}" in str(refused.value)
    assert "must be" in str(refused.value) or "known are" in str(refused.value) or "convention" in str(refused.value)


@pytest.mark.parametrize("name", ["a", "orders-consumer", "orders.v2", "0", "x" * 253, f"{'x' * 100}.y"])
def test_names_of_workloads_pass(name: str) -> None:
    """As the API server takes them: only the whole is bounded."""
    assert parsing.policy_of(manifests.policy(spec=spec("workloadRef.name", name))).workload.key.name == name


@given(st.text(max_size=30) | st.from_regex(names.SUBDOMAIN, fullmatch=True))
def test_what_passes_is_a_segment_of_a_path(text: str) -> None:
    """Neither of the two rules lets a character through that means something in a path."""
    for pattern in (names.LABEL, names.SUBDOMAIN):
        if re.fullmatch(pattern, text, re.ASCII):
            assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
            assert text not in {".", ".."}


def test_every_name_of_the_definitions_has_a_rule() -> None:
    """A field that is added without one shows here: texts for people, and those that only we write, are named."""
    free = {
        *("spec.groupId", "spec.metrics.convention", "spec.workloadRef.kind", "spec.client.library"),
        *("model.groupId", "model.job", "model.quantities[].rejected.reason", "model.quantities[].rejected.detail"),
    }
    found = set()
    for part, kind in (("spec", crd.POLICY), ("model", crd.MODEL)):
        (version,) = crd.manifest(kind)["spec"]["versions"]
        for path, node in nodes(version["schema"]["openAPIV3Schema"]["properties"]["spec"], part):
            ruled = "pattern" in node or any(
                "matches" in validation["rule"] for validation in node.get("x-kubernetes-validations", ())
            )
            if node.get("type") == "string" and not ruled and "enum" not in node and "format" not in node:
                found.add(path)
    assert found - free == set()


def nodes(node: dict[str, Any], path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return every schema node with its path."""
    found = [(path, node)]
    for name, child in node.get("properties", {}).items():
        found += nodes(child, f"{path}.{name}")
    if "items" in node:
        found += nodes(node["items"], f"{path}[]")
    return found


def test_a_status_that_names_a_path_counts_for_nothing() -> None:
    """It is written again; what was applied is not believed either."""
    values = {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    noted = {
        "values": values,
        "previous": values,
        "changeTime": "2026-03-02T12:00:00Z",
        "workloadUid": "u",
        "container": "../a",
    }
    assert parsing.status_of({"status": {"applied": noted}}) == Status()
    assert parsing.status_of({"status": {"applied": {**noted, "container": "app", "workloadUid": "u/1"}}}) == Status()
    assert parsing.status_of({"status": {"applied": {**noted, "container": "app"}}}).applied is not None


@pytest.mark.parametrize("field", ["cluster", "client"])
def test_a_model_with_a_path_for_a_name_is_refused(field: str) -> None:
    """Also one that was stored before."""
    with pytest.raises(pydantic.ValidationError) as refused:
        ModelSpec.model_validate({field: "../x"})
    report = {error["loc"]: error["msg"] for error in refused.value.errors()}
    assert "must be a name of letters, digits" in report[(field,)]
