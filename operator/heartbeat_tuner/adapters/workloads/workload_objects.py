"""Deployments, StatefulSets, Rollouts and their pods, asked for right before a write, and written by server-side apply.

Every write carries uid and resourceVersion of what was read, names only our own entries, and is never forced; it
repeats all entries we own, since an apply that leaves one out gives it up. It carries its own record as well, so that
no write is forgotten whose answer was lost.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api, listing
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads import argo_rollouts, field_owners, manifests, workload_evidence
from heartbeat_tuner.adapters.workloads.container_env import ConfigMaps
from heartbeat_tuner.api import applied
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Workload
from heartbeat_tuner.domain.policies import Application, Policy, WorkloadRef
from heartbeat_tuner.domain.verifications import FailedValues

NOTES_MANAGER: Final = "heartbeat-tuner-notes"
"""Field manager of what is noted at a workload without a change of it: whose change its template is stays as it was."""

_RESOURCES: Final = {
    resource.kind: resource for resource in (api_paths.DEPLOYMENTS, api_paths.STATEFUL_SETS, api_paths.ROLLOUTS)
}


def _to_nobody(_stored: Mapping[str, Any]) -> None:
    """Show what is stored to nobody."""


class KubernetesWorkloads:
    """Deployments, StatefulSets and Rollouts through the API server.

    Args:
        api: the API server.
        written: called with each object as it is stored after a write.
    """

    def __init__(self, api: KubernetesApi, *, written: Callable[[Mapping[str, Any]], None] = _to_nobody) -> None:
        self._api = api
        self._written = written

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the policy's workload with what is set in it now, or what is missing.

        Raises:
            ApiServerError: the API server did not answer.
        """
        deployment = await self._read(policy.workload)
        if deployment is None:
            return workload_evidence.not_found(policy)
        if (unsupported := argo_rollouts.refused(policy.workload, deployment)) is not None:
            return unsupported
        pods = await self._pods(policy.workload, deployment)
        names = workload_evidence.config_map_keys(policy, deployment, pods)
        if (refused := workload_evidence.too_many_config_maps(policy, deployment, names)) is not None:
            return refused
        maps = await self._config_maps(policy.workload.key.namespace, names)
        template = manifests.fingerprint(deployment["spec"]["template"])
        return workload_evidence.workload_of(policy, deployment, pods, maps, template=template)

    async def apply(self, policy: Policy, workload: Workload, application: Application) -> None:
        """Write the application's values, and itself, into the workload by server-side apply, never forced.

        Raises:
            WriteConflictError: the workload changed since it was gathered, or is gone.
            FieldOwnedError: another manager owns an entry.
            ApiServerError: anything else.
        """
        reference, names = policy.workload, policy.env_names.values()
        ours = workload.kept_env.get(reference.container, {})
        # Of an entry without a text somebody else has the value: it stays as it is.
        others = {name: text for name, text in ours.items() if name not in names or not text}
        entries = {**workload.kept_env, reference.container: {**others, **application.entries}}
        applications = {**workload.applications, reference.container: application}
        version = (workload.uid, workload.resource_version)
        ordered = _in_order(workload.holdings, reference.container, entries)
        await self._hold(reference, version, ordered, applications)

    async def release(self, policy: Policy, *, empty: bool) -> Holdings | None:
        """Let go of the entries that somebody else has the value of, by an apply that names all others, never forced.

        Args:
            policy: whose workload it is.
            empty: whether to take out those too that have no value any more, with which new pods start.

        Returns:
            What was held before; None if there was nothing to let go of.

        Raises:
            WriteConflictError: the workload changed meanwhile, or is gone.
            FieldOwnedError: another manager owns an entry that is ours.
            ApiServerError: anything else.
        """
        reference = policy.workload
        body = await self._read(reference)
        held = None if body is None else _holdings(policy, body)
        if body is None or held is None or not (held.overruled or (empty and held.empty)):
            return None
        entries = {container: dict(env) for container, env in held.kept.items()}
        if not empty:
            for container, names in held.empty.items():
                entries.setdefault(container, {}).update(dict.fromkeys(names, ""))
        version = (body["metadata"]["uid"], body["metadata"]["resourceVersion"])
        left = {container: env for container, env in entries.items() if env}
        await self._hold(reference, version, _in_order(held, reference.container, left), held.applications)
        return held

    async def evict(self, namespace: str, pod: str, uid: str) -> None:
        """Have a pod replaced by its controller, as far as its PodDisruptionBudgets allow; nothing if it is gone.

        Raises:
            WriteConflictError: another pod has the name by now.
            ApiServerError: anything else, a budget's refusal too (429).
        """
        document = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        await self._api.write("POST", api_paths.item(api_paths.PODS, pod, namespace, "eviction"), document)

    async def note_failed(self, policy: Policy, workload: Workload, failed: Sequence[FailedValues]) -> None:
        """Note at the workload itself which values failed in it, by server-side apply; its template stays as it is.

        Raises:
            WriteConflictError: the workload changed since it was gathered, or is gone.
            ApiServerError: anything else.
        """
        reference, held = policy.workload, workload.holdings
        noted = {**({} if held is None else held.failed), reference.container: tuple(failed)}
        metadata = {
            "name": reference.key.name,
            "namespace": reference.key.namespace,
            "uid": workload.uid,
            "resourceVersion": workload.resource_version,
            "annotations": {applied.FAILED_ANNOTATION: applied.to_failed_annotation(noted, workload_uid=workload.uid)},
        }
        document = {"apiVersion": _resource(reference).api_version, "kind": reference.kind, "metadata": metadata}
        await self._apply(reference, document, NOTES_MANAGER)

    async def _hold(
        self,
        reference: WorkloadRef,
        version: tuple[str, str],
        entries: Mapping[str, Mapping[str, str]],
        applications: Mapping[str, Application],
    ) -> None:
        """Apply all that is ours: what is not named is let go of.

        Args:
            reference: to the workload.
            version: its uid and its resource version.
            entries: of the environment, by container and name; an empty text stands for an entry without a value. Of a
                container without entries only the name is held: the API server puts one that is let go of behind all
                others, and with another order the template would be another.
            applications: our last write to each container.

        Raises:
            WriteConflictError: the workload is not that version, or gone.
            FieldOwnedError: another manager owns an entry.
            ApiServerError: anything else.
        """
        containers = [{"name": container, **_env(env)} for container, env in entries.items()]
        uid, resource_version = version
        metadata: dict[str, Any] = {
            "name": reference.key.name,
            "namespace": reference.key.namespace,
            "uid": uid,
            "resourceVersion": resource_version,
        }
        if applications:
            metadata["annotations"] = {applied.ANNOTATION: applied.to_annotation(applications)}
        document: dict[str, Any] = {
            "apiVersion": _resource(reference).api_version,
            "kind": reference.kind,
            "metadata": metadata,
        }
        if containers:
            document["spec"] = {"template": {"spec": {"containers": containers}}}
        await self._apply(reference, document, kubernetes_api.FIELD_MANAGER)

    async def _read(self, reference: WorkloadRef) -> Mapping[str, Any] | None:
        body = await self._api.get(_path(reference))
        return None if body is None else argo_rollouts.as_deployment(body, reference.kind)

    async def _apply(self, reference: WorkloadRef, document: Mapping[str, Any], manager: str) -> None:
        stored = await self._api.write(
            "PATCH", _path(reference), document, content_type=kubernetes_api.APPLY, fieldManager=manager
        )
        if stored is None:
            raise WriteConflictError(f"{reference} is gone")
        self._written(stored)

    async def _pods(self, reference: WorkloadRef, deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        namespace = reference.key.namespace
        selector = manifests.label_selector(deployment["spec"]["selector"])
        path, pods = api_paths.collection(api_paths.PODS, namespace), list[Mapping[str, Any]]()
        async for page in listing.pages(self._api, path, limit=listing.PAGE, labelSelector=selector):
            if page is None:
                raise ApiServerError(f"namespace {namespace} has no pods resource")
            pods += [pod for pod in page["items"] if manifests.is_pod_of(pod, deployment, reference.kind)]
        return pods

    async def _config_maps(self, namespace: str, some: Iterable[str]) -> ConfigMaps:
        names = sorted(some)
        bodies = await asyncio.gather(*(self._config_map(name, namespace) for name in names))
        return {name: (body or {}).get("data") or {} for name, body in zip(names, bodies, strict=True)}

    async def _config_map(self, name: str, namespace: str) -> Mapping[str, Any] | None:
        try:
            path = api_paths.item(api_paths.CONFIG_MAPS, name, namespace)
        except api_paths.InvalidPathError:
            return None  # the author of a pod may write anything here; no ConfigMap can have such a name
        return await self._api.get(path)


def _in_order(
    held: Holdings | None, container: str, entries: Mapping[str, Mapping[str, str]]
) -> dict[str, Mapping[str, str]]:
    """Return entries by container and name in the order of the template.

    The API server puts what an apply names in the order of the apply: with another order the template would be another,
    new pods would start, and no revert would be the template that stood before.

    Args:
        held: the template's order, as far as it was read.
        container: the policy's, whose entries stand in `held` in their order.
        entries: that are ours.
    """
    standing = [] if held is None or held.standing is None else list(held.standing)
    ours = entries.get(container, {})
    ordered = {name: ours[name] for name in dict.fromkeys([*standing, *ours]) if name in ours}
    order = dict.fromkeys([*(() if held is None else held.containers), *entries])
    return {name: ordered if name == container else entries[name] for name in order if name in entries}


def _env(entries: Mapping[str, str]) -> dict[str, Any]:
    """Return entries of an environment as a container of an apply has them; nothing where there are none."""
    return (
        {"env": [{"name": name, **({"value": text} if text else {})} for name, text in entries.items()]}
        if entries
        else {}
    )


def _holdings(policy: Policy, workload: Mapping[str, Any]) -> Holdings:
    return field_owners.holdings_of(
        workload, policy.workload.container, kind=policy.workload.kind, us=kubernetes_api.FIELD_MANAGER
    )


def _resource(reference: WorkloadRef) -> api_paths.Resource:
    resource = _RESOURCES.get(reference.kind)
    if resource is None:
        raise api_paths.InvalidPathError(f"{reference} is of a kind that is not read")
    return resource


def _path(reference: WorkloadRef) -> str:
    return api_paths.item(_resource(reference), reference.key.name, reference.key.namespace)
