"""What is held of Deployments, StatefulSets, pods and ConfigMaps between two looks: pure.

Of 10,000 workloads and their pods, whole objects would fill a gigabyte. So only the fields are held that evidence is
made of (`workload_evidence`), and of a container's environment only the variables that policies ask about. Trimming an
object twice changes nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import container_env, manifests, rollout_state
from heartbeat_tuner.api import applied
from heartbeat_tuner.domain.policies import Policy

_OF_METADATA: Final = ("name", "uid", "resourceVersion", "generation", "deletionTimestamp", "creationTimestamp")
_OF_SPEC: Final = ("replicas", "strategy", "updateStrategy", "paused", "progressDeadlineSeconds", "workloadRef")
_OF_STATUS: Final = ("observedGeneration", "updatedReplicas", "replicas", "abort", "pauseConditions")
_OF_CONDITION: Final = ("type", "status", "reason", "lastTransitionTime", "lastUpdateTime")
_OF_POD_STATUS: Final = ("phase", "podIP", "podIPs", "hostIP", "hostIPs")
_ANNOTATIONS: Final = (applied.ANNOTATION, applied.FAILED_ANNOTATION, rollout_state.REVISION)
_OF_MANAGER: Final = ("manager", "operation", "time")
_CONDITIONS: Final = frozenset({"Ready", "Progressing"})


def names_of(policy: Policy) -> frozenset[str]:
    """Return the environment variables that a policy asks about: its own, and those that were set for it before."""
    written = [
        policy.application,
        None if policy.intent is None else policy.intent.application,
        None if policy.taken_back is None else policy.taken_back.application,
    ]
    before = [name for application in written if application is not None for name in application.entries]
    tried = () if policy.canary is None else policy.canary.entries
    return frozenset({*policy.env_names.values(), *before, *tried})


def workload(body: Mapping[str, Any], names: Collection[str], *, us: str) -> dict[str, Any]:
    """Return what is held of a Deployment, StatefulSet or Rollout.

    Args:
        body: the object.
        names: the environment variables that policies ask about; those of ours are held besides.
        us: our field manager.
    """
    metadata, spec, status = body["metadata"], body["spec"], body.get("status", {})
    annotations = metadata.get("annotations", {})
    noted = applied.from_annotation(annotations.get(applied.ANNOTATION), workload_uid=metadata["uid"])
    asked = {*names, *(name for application in noted.values() for name in application.entries)}
    template, containers = spec["template"], []
    fields: dict[str, frozenset[str]] = {}
    for container in template["spec"]["containers"]:
        ours = manifests.names_owned(metadata.get("managedFields", ()), container["name"], us)
        fields[container["name"]] = frozenset(asked | ours)
        containers.append(_container(container, asked | ours))
    return {
        "metadata": {
            **_picked(metadata, _OF_METADATA),
            "annotations": _picked(annotations, _ANNOTATIONS),
            "managedFields": [_manager(entry, fields) for entry in metadata.get("managedFields", ())],
        },
        "spec": {**_picked(spec, _OF_SPEC), "template": {"spec": {"containers": containers}}},
        "status": {**_picked(status, _OF_STATUS), "conditions": _conditions(status)},
    }


def pod(body: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return what is held of a pod.

    Args:
        body: the object.
        names: the environment variables that policies ask about.
    """
    metadata, spec, status = body["metadata"], body["spec"], body.get("status", {})
    statuses = {
        key: [_container_status(entry) for entry in status[key]]
        for key in ("containerStatuses", "initContainerStatuses")
        if status.get(key)
    }
    containers = [_container(container, names) for container in spec.get("containers", ())]
    return {
        "metadata": _picked(metadata, _OF_METADATA),
        "spec": {**_picked(spec, ("hostNetwork",)), "containers": containers},
        "status": {**_picked(status, _OF_POD_STATUS), "conditions": _conditions(status), **statuses},
    }


def config_map(data: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """Return what is held of a ConfigMap's data: some keys, long texts cut off."""
    return {key: data[key][: container_env.LONGEST_VALUE + 1] for key in sorted(keys) if key in data}


def containers(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the containers of a pod, or of a workload's template."""
    spec = body["spec"]
    containers: Sequence[Mapping[str, Any]] = (
        spec["template"]["spec"]["containers"] if "template" in spec else spec["containers"]
    )
    return containers


def _container(container: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    env = [_entry(entry) for entry in container.get("env", ()) if entry["name"] in names]
    sources = [_picked(source, ("prefix", "configMapRef")) for source in container.get("envFrom", ())]
    return {
        "name": container["name"],
        "env": env,
        "envFrom": [source for source in sources if "configMapRef" in source],
    }


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    trimmed = _picked(entry, ("name", "value", "valueFrom"))
    if "value" in trimmed:
        trimmed["value"] = trimmed["value"][: container_env.LONGEST_VALUE + 1]
    return trimmed


def _container_status(status: Mapping[str, Any]) -> dict[str, Any]:
    trimmed = _picked(status, ("name", "restartCount"))
    for key in ("state", "lastState"):
        states = status.get(key) or {}
        trimmed[key] = {
            **({"running": _picked(states["running"], ("startedAt",))} if "running" in states else {}),
            **({"terminated": _picked(states["terminated"], ("exitCode",))} if "terminated" in states else {}),
            **({"waiting": _waiting(states["waiting"])} if "waiting" in states else {}),
        }
    return trimmed


def _waiting(waiting: Mapping[str, Any]) -> dict[str, Any]:
    trimmed = _picked(waiting, ("reason", "message"))
    if "message" in trimmed:
        trimmed["message"] = trimmed["message"][: rollout_state.MAX_NAMED]
    return trimmed


def _conditions(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_picked(entry, _OF_CONDITION) for entry in status.get("conditions", ()) if entry["type"] in _CONDITIONS]


def _manager(entry: Mapping[str, Any], names: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Return what is held of a managed-fields entry: whether it has the template, and which of these variables."""
    trimmed, fields = _picked(entry, _OF_MANAGER), entry.get("fieldsV1", {})
    if "f:template" not in fields.get("f:spec", {}):
        return trimmed
    env = {}
    for container, wanted in names.items():
        owned = {name: value for name, value in manifests.owned_entries(fields, container) if name in wanted}
        if owned:
            keys = {manifests.field_key(name): value for name, value in owned.items()}
            env[manifests.field_key(container)] = {"f:env": keys}
    is_whole = not env and manifests.owned_containers(fields) == {}
    inner: dict[str, Any] = {"f:containers": env} if env or is_whole else {}
    return {**trimmed, "fieldsV1": {"f:spec": {"f:template": {"f:spec": inner}}}}


def _picked(body: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: body[key] for key in keys if key in body}
