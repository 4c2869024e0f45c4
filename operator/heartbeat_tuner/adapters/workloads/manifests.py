"""What Deployments, pods and ConfigMaps say, as far as the tuner reads them: pure.

Which value an environment name has in a container (literal entries win over `envFrom`, later sources over earlier
ones), which manager owns an entry, whether a rollout is under way. `workload_objects` does the reading.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import rollout_state
from heartbeat_tuner.clients.formats import LONGEST_MS, Format
from heartbeat_tuner.domain.errors import ApiServerError, TunerError
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.policies import DEPLOYMENT, STATEFUL_SET

LONGEST_VALUE: Final = 256
"""Characters of a variable's value that are looked at: a duration has some ten, and tenants may write a megabyte."""

_DURATION_LIKE: Final = re.compile(r"-?[0-9.]{1,12} ?(ms|s|sec|seconds|m|min|h)?")
_REFERENCE: Final = re.compile(r"\$\([^()=\s]{1,253}\)")

_LABEL_KEY: Final = re.compile(r"([-.a-z0-9]{1,253}/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"([A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")

ConfigMaps = Mapping[str, Mapping[str, str]]
"""Data by ConfigMap name."""


class SettingUnreadableError(TunerError):
    """An environment value is no whole number of milliseconds."""


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


def config_map_keys(container: Mapping[str, Any], names: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the keys that environment variables may come from, by the name of their ConfigMap.

    Args:
        container: of a pod or a template.
        names: of the variables.
    """
    keys: dict[str, set[str]] = {}
    for entry in container.get("env", ()):
        reference = entry.get("valueFrom", {}).get("configMapKeyRef")
        if reference is not None and entry["name"] in names:
            keys.setdefault(reference["name"], set()).add(reference["key"])
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            prefix = source.get("prefix", "")
            wanted = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
            keys.setdefault(source["configMapRef"]["name"], set()).update(wanted)
    return {name: frozenset(map_keys) for name, map_keys in keys.items()}


def milliseconds(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> timedelta | None:
    """Return the duration that environment variable `name` holds; None if nothing visible sets it.

    Raises:
        SettingUnreadableError: it holds something else than a positive whole number of 32 bits.
    """
    text = value(container, name, config_maps)
    if text is None:
        return None
    remedy = "correct it, or name the right variable in spec.client.env"
    return duration(text, where=f"container {container['name']}", name=name, remedy=remedy)


def value(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> str | None:
    """Return what environment variable `name` holds; None if nothing visible sets it."""
    entry = _entry(container, name)
    if entry is not None and "valueFrom" not in entry:
        # Neither a value nor a source: the variable is empty, and what envFrom has of that name is hidden.
        literal: str = entry.get("value", "")
        return literal
    if entry is not None:
        reference = entry["valueFrom"].get("configMapKeyRef", {})
        text = config_maps.get(reference.get("name"), {}).get(reference.get("key"))
        # The kubelet passes over an optional reference that leads nowhere; what envFrom has of that name is seen then.
        if text is not None or not reference.get("optional"):
            return text
    text = None
    for source in container.get("envFrom", ()):
        prefix = source.get("prefix", "")
        if "configMapRef" in source and name.startswith(prefix):
            text = config_maps.get(source["configMapRef"]["name"], {}).get(name.removeprefix(prefix), text)
    return text


def duration(text: str, *, where: str, name: str, remedy: str) -> timedelta:
    """Return the duration that the value of an environment variable says.

    Raises:
        SettingUnreadableError: it is something else than a positive whole number of 32 bits.
    """
    try:
        return Format.MILLISECONDS.parse(text)
    except ValueError:
        raise SettingUnreadableError(
            f"{where} has {name}={shown(text)}, which is no whole number of milliseconds between 1 and {LONGEST_MS}; "
            f"{remedy}"
        ) from None


def shown(text: str) -> str:
    """Return what a sentence may show of a variable's value: the name may be any variable's, a password's too."""
    if not text:
        return '""'
    if _REFERENCE.fullmatch(text):
        return "a reference to another variable, $(NAME)"
    core = text.strip()
    if not _DURATION_LIKE.fullmatch(core):
        return f"a text of {f'more than {LONGEST_VALUE}' if len(text) > LONGEST_VALUE else len(text)} characters"
    return repr(core) if core == text else f"{core!r} with white space around it"


def missing_key(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> tuple[str, str] | None:
    """Return ConfigMap and key that `name` is to come from, if the map has no such key; the kubelet refuses that."""
    reference = (_entry(container, name) or {}).get("valueFrom", {}).get("configMapKeyRef")
    if reference is None or reference.get("optional") or reference["key"] in config_maps.get(reference["name"], ()):
        return None
    return (reference["name"], reference["key"]) if reference["name"] in config_maps else None


def is_hidden(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> bool:
    """Whether environment variable `name` may have a value that does not stand in the manifest or `config_maps`."""
    entry = _entry(container, name)
    if entry is not None:
        reference = entry.get("valueFrom", {}).get("configMapKeyRef")
        return "valueFrom" in entry and (reference is None or reference["name"] not in config_maps)
    return value(container, name, config_maps) is None and any(
        name.startswith(source.get("prefix", ""))
        and ("configMapRef" not in source or source["configMapRef"]["name"] not in config_maps)
        for source in container.get("envFrom", ())
    )


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


def is_rollout_of(deployment: Mapping[str, Any], manager: str) -> bool:
    """Whether a rollout is not finished, and the newest change of the pods' template is `manager`'s.

    Of two in one second, `manager`'s counts as the newer: what may be ours is counted as ours.
    """
    changes = [
        (entry.get("time", ""), entry.get("manager") == manager)
        for entry in deployment["metadata"].get("managedFields", ())
        if "f:template" in entry.get("fieldsV1", {}).get("f:spec", {})
    ]
    return is_rolling_out(deployment) and max(changes, default=("", False))[1]


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
    """Whether the StatefulSet, or one of the deployment's ReplicaSets, controls the pod: labels alone prove nothing.

    A ReplicaSet is called after its deployment and the template's hash, which its pods carry as a label.
    """
    return workload_of(pod) == (kind, workload["metadata"]["name"])


def workload_of(pod: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return kind and name of the Deployment or StatefulSet that a pod belongs to; None if it belongs to neither."""
    metadata = pod["metadata"]
    owner = next((reference for reference in metadata.get("ownerReferences", ()) if reference.get("controller")), None)
    if owner is None:
        return None
    if owner["kind"] == STATEFUL_SET:
        return STATEFUL_SET, owner["name"]
    suffix = f"-{metadata.get('labels', {}).get('pod-template-hash')}"
    if owner["kind"] != "ReplicaSet" or not owner["name"].endswith(suffix):
        return None
    return DEPLOYMENT, owner["name"].removesuffix(suffix)


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


def line(container: Mapping[str, Any], name: str) -> str | None:
    """Return the entry of environment variable `name` as a line of a manifest; None if there is none.

    Of a literal value only what looks like a duration is shown: the name may be any variable's.
    """
    entry = _entry(container, name)
    if entry is None:
        return None
    parts = [f"name: {name}"]
    if "valueFrom" in entry:
        parts.append(f"valueFrom: {_flow(entry['valueFrom'])}")
    elif _DURATION_LIKE.fullmatch(entry.get("value", "")):
        parts.append(f'value: "{entry["value"]}"')
    return f"{{{', '.join(parts)}}}"


def _flow(source: Any) -> str:
    if isinstance(source, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(value)}' for key, value in source.items())}}}"
    return json.dumps(source) if isinstance(source, bool) else str(source)


def _entry(container: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    # Of several entries with one name the last is the one that the container gets.
    return next((entry for entry in reversed(container.get("env", ())) if entry["name"] == name), None)
