"""What is put into a pod: variables, the marks by which it is known, a scheduling gate; and all of it as a JSON patch.

A pod is never changed: each function returns another one. New variables come first in their container, so that later
ones may refer to them; those that are there already keep their place.
"""

from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.webhook.admission.review import Operation

Pod = Mapping[str, Any]

_FIELDS: Final = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "schedulingGates"))


def container(pod: Pod, name: str) -> Mapping[str, Any] | None:
    """Return the container called so; None if there is none."""
    return next((container for container in pod["spec"]["containers"] if container["name"] == name), None)


def has_variable(pod: Pod, container_name: str, name: str) -> bool:
    """Whether the pod sets the variable itself."""
    pod_container = container(pod, container_name)
    return pod_container is not None and any(entry["name"] == name for entry in pod_container.get("env") or ())


def with_variables(pod: Pod, container_name: str, given: Mapping[str, str]) -> Pod:
    """Return the pod with variables set in one of its containers, whatever said there what they are."""
    containers = [
        {**container, "env": _entries(container.get("env") or (), given)}
        if container["name"] == container_name
        else container
        for container in pod["spec"]["containers"]
    ]
    return {**pod, "spec": {**pod["spec"], "containers": containers}}


def with_marks(pod: Pod, field: str, given: Mapping[str, str]) -> Pod:
    """Return the pod with more labels or annotations.

    Args:
        pod: the pod.
        field: `labels` or `annotations`.
        given: what to set.
    """
    marks = {**(pod["metadata"].get(field) or {}), **given}
    return {**pod, "metadata": {**pod["metadata"], field: marks}}


def with_gate(pod: Pod, name: str) -> Pod:
    """Return the pod so that it is not scheduled until the gate of this name is lifted."""
    gates = [*(pod["spec"].get("schedulingGates") or ()), {"name": name}]
    return {**pod, "spec": {**pod["spec"], "schedulingGates": gates}}


def patch(before: Pod, after: Pod) -> list[Operation]:
    """Return what makes one pod of another, as far as the functions above can have changed it."""
    fields = [
        (f"/{part}/{field}", after[part][field])
        for part, field in _FIELDS
        if after[part].get(field) != before[part].get(field)
    ]
    pairs = zip(before["spec"]["containers"], after["spec"]["containers"], strict=True)
    env = [
        (f"/spec/containers/{index}/env", is_now["env"])
        for index, (was, is_now) in enumerate(pairs)
        if is_now.get("env") != was.get("env")
    ]
    return [{"op": "add", "path": path, "value": value} for path, value in (*env, *fields)]


def _entries(there: Any, given: Mapping[str, str]) -> list[Mapping[str, Any]]:
    known = {entry["name"] for entry in there}
    new = [{"name": name, "value": value} for name, value in given.items() if name not in known]
    entries = [
        {"name": entry["name"], "value": given[entry["name"]]} if entry["name"] in given else entry for entry in there
    ]
    return [*new, *entries]
