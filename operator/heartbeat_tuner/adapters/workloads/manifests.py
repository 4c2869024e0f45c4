"""What Deployments, StatefulSets and their pods say, as far as the tuner reads them: pure.

Which pods are whose, which manager owns an entry of the environment, whether a rollout is under way. `container_env`
reads values from it, `workload_objects` does the reading.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import rollout_state
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.policies import DEPLOYMENT, STATEFUL_SET

_LABEL_KEY: Final = re.compile(r"([-.a-z0-9]{1,253}/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"([A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")


@dataclasses.dataclass(frozen=True, slots=True)
class EntryOwners:
    """Who owns the environment entries of one container, by entry name."""

    managers: Mapping[str, tuple[str, ...]]

    def foreign(self, name: str, *, us: str) -> str | None:
        """Return a manager of the entry that is not `us`; None if there is none."""
        return next((manager for manager in self.managers.get(name, ()) if manager != us), None)


def container_of(pod_spec: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the container called `name`; None if there is none."""
    return next((container for container in pod_spec.get("containers", ()) if container["name"] == name), None)


def ownership(deployment: Mapping[str, Any], container: str) -> EntryOwners:
    """Return who owns the environment entries of the template's container, from `managedFields`."""
    managers: dict[str, tuple[str, ...]] = {}
    for entry in deployment["metadata"].get("managedFields", ()):
        for name, _ in owned_entries(entry.get("fieldsV1", {}), container):
            managers[name] = (*managers.get(name, ()), entry.get("manager", "an unnamed manager"))
    return EntryOwners(managers)


def owned_entries(fields: Mapping[str, Any], container: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield name and owned fields of each environment entry of the container that a managed-fields entry covers."""
    at: Any = fields
    for step in ("f:spec", "f:template", "f:spec", "f:containers", field_key(container), "f:env"):
        at = at.get(step, {})
    for key, owned in at.items():
        if key.startswith("k:"):
            yield json.loads(key.removeprefix("k:"))["name"], owned


def field_key(name: str) -> str:
    """Return the key that `managedFields` has for the item called `name` of a list of containers or of variables."""
    return f'k:{{"name":{json.dumps(name)}}}'


def owners_of_all_containers(workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return who owns the list of the template's containers as one value, so that no apply can name a part of it.

    The API server merges containers by name only where the object's definition says so: those of Argo Rollouts do from
    version 1.9 on.
    """
    entries = workload["metadata"].get("managedFields", ())
    whole = [entry for entry in entries if owned_containers(entry.get("fieldsV1", {})) == {}]
    return tuple(dict.fromkeys(entry.get("manager", "an unnamed manager") for entry in whole))


def owned_containers(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a managed-fields entry covers of the template's containers; None if it covers nothing of them.

    It is empty where the entry covers the list as one value.
    """
    at: Any = fields
    for step in ("f:spec", "f:template", "f:spec"):
        at = at.get(step, {})
    covered: Mapping[str, Any] | None = at.get("f:containers")
    return covered


def names_owned(managed_fields: Iterable[Mapping[str, Any]], container: str, manager: str) -> frozenset[str]:
    """Return the environment variables of a container of which a manager owns anything."""
    return frozenset(
        name
        for entry in managed_fields
        if entry.get("manager") == manager
        for name, _ in owned_entries(entry.get("fieldsV1", {}), container)
    )


def is_rolling_out(deployment: Mapping[str, Any]) -> bool:
    """Whether pods of more than one template exist or the controller has not seen the newest.

    Availability is left out on purpose: the pods of a group in a storm may never become available.
    """
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    updated = status.get("updatedReplicas", 0)
    behind = status.get("observedGeneration", 0) < deployment["metadata"]["generation"]
    return bool(behind or updated < wanted or status.get("replicas", 0) > updated)


def is_template_of(deployment: Mapping[str, Any], manager: str) -> bool:
    """Whether the newest change of the pods' template is `manager`'s.

    Of two in one second, `manager`'s counts as the newer: what may be ours is counted as ours.
    """
    changes = [(entry.get("time", ""), entry.get("manager") == manager) for entry in _of_template(deployment)]
    return max(changes, default=("", False))[1]


def template_at(deployment: Mapping[str, Any]) -> datetime | None:
    """Return when the pods' template was changed last, by the API server's clock; None where that is not known."""
    times = [entry.get("time", "") for entry in _of_template(deployment)]
    return max(map(datetime.fromisoformat, times)) if times and all(times) else None


def _of_template(deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the entries of `managedFields` that have anything of the pods' template."""
    entries = deployment["metadata"].get("managedFields", ())
    return [entry for entry in entries if "f:template" in entry.get("fieldsV1", {}).get("f:spec", {})]


def fingerprint(template: Mapping[str, Any]) -> str:
    """Return what tells a pods' template from every other one, in 16 characters."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def label_selector(selector: Mapping[str, Any]) -> str:
    """Return a `metav1.LabelSelector` as the API server's `labelSelector` parameter.

    Raises:
        ApiServerError: a key or a value is none that the API server takes, and could mean something in the parameter.
    """
    labels, expressions = selector.get("matchLabels", {}), selector.get("matchExpressions", ())
    keys = [*labels, *(requirement["key"] for requirement in expressions)]
    texts = [*labels.values(), *(text for requirement in expressions for text in requirement.get("values", ()))]
    wrong = [
        *(key for key in keys if not _LABEL_KEY.fullmatch(key)),
        *(text for text in texts if not _LABEL.fullmatch(text)),
    ]
    if wrong:
        raise ApiServerError(f"{wrong[0][:64]!r} in a workload's selector is no label")
    terms = [f"{key}={value}" for key, value in labels.items()]
    for expression in expressions:
        key, values = expression["key"], ",".join(expression.get("values", ()))
        match expression["operator"]:
            case "In":
                terms.append(f"{key} in ({values})")
            case "NotIn":
                terms.append(f"{key} notin ({values})")
            case "Exists":
                terms.append(key)
            case "DoesNotExist":
                terms.append(f"!{key}")
    return ",".join(terms)


def is_pod_of(pod: Mapping[str, Any], workload: Mapping[str, Any], kind: str = DEPLOYMENT) -> bool:
    """Whether the StatefulSet, or one of the workload's ReplicaSets, controls the pod: labels alone prove nothing.

    A ReplicaSet is called after its workload and the template's hash, which its pods carry as a label.
    """
    return workload_of(pod) == (kind, workload["metadata"]["name"])


def workload_of(pod: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return kind and name of the workload that a pod belongs to; None if it belongs to none."""
    metadata = pod["metadata"]
    owner = next((reference for reference in metadata.get("ownerReferences", ()) if reference.get("controller")), None)
    if owner is None:
        return None
    if owner["kind"] == STATEFUL_SET:
        return STATEFUL_SET, owner["name"]
    if owner["kind"] != "ReplicaSet":
        return None
    for label, kind in slot_names.HASH_LABELS.items():
        suffix = f"-{metadata.get('labels', {}).get(label)}"
        if owner["name"].endswith(suffix):
            return kind, owner["name"].removesuffix(suffix)
    return None


def running_pod(pod: Mapping[str, Any], container: str) -> Pod | None:
    """Return the pod if its container runs and it is not being deleted; else None."""
    if "deletionTimestamp" in pod["metadata"]:
        return None
    status = pod.get("status", {})
    statuses = {entry["name"]: entry for entry in status.get("containerStatuses", ())}
    state: Mapping[str, Any] = statuses.get(container, {})
    started = state.get("state", {}).get("running", {}).get("startedAt")
    if started is None or "podIP" not in status:
        return None
    addresses = {address["ip"] for address in status.get("podIPs", ()) if address.get("ip")} | {status["podIP"]}
    of_node = {address["ip"] for address in status.get("hostIPs", ()) if address.get("ip")} | {status.get("hostIP")}
    return Pod(
        name=pod["metadata"]["name"],
        uid=pod["metadata"]["uid"],
        ip=status["podIP"],
        started=datetime.fromisoformat(started),
        restarts=state.get("restartCount", 0),
        more_ips=tuple(sorted(addresses - {status["podIP"]})),
        on_host_network=bool(pod["spec"].get("hostNetwork")) or not addresses.isdisjoint(of_node),
        ready_since=rollout_state.ready_since(pod, datetime.fromisoformat(started)),
    )
