"""Deployments, StatefulSets and their pods: read as a `Workload`, written by server-side apply.

Every write carries uid and resourceVersion of what was read, names only our own entries, and is never forced; it
repeats all entries we own, since an apply that leaves one out gives it up. It carries its own record as well, so that
no write is forgotten whose answer was lost.
"""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from heartbeat_tuner.adapters import kubernetes_api, manifests, watching, workload_sizes
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.manifests import ConfigMaps, SettingUnreadableError
from heartbeat_tuner.api import applied
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, Source
from heartbeat_tuner.domain.policies import Application, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason


class KubernetesWorkloads:
    """Deployments and StatefulSets through the API server."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the policy's workload with what is set in it now, or what is missing.

        Raises:
            ApiServerError: the API server did not answer.
        """
        reference = policy.workload
        deployment = await self._api.get(_path(reference))
        if deployment is None:
            return MissingWorkload(Reason.WORKLOAD_NOT_FOUND, f"{reference} does not exist")
        template = manifests.container_of(deployment["spec"]["template"]["spec"], reference.container)
        if template is None:
            names = ", ".join(one["name"] for one in deployment["spec"]["template"]["spec"]["containers"])
            sentence = f"{reference} has no container {reference.container}; it has {names}"
            return MissingWorkload(Reason.CONTAINER_NOT_FOUND, sentence)
        pods = await self._pods(reference, deployment)
        try:
            current, unlike = await self._current(policy, template, pods)
        except SettingUnreadableError as error:
            return MissingWorkload(Reason.SETTING_UNREADABLE, str(error))
        return dataclasses.replace(_workload(policy, deployment, template, pods, current), unlike_template=unlike)

    async def apply(self, policy: Policy, workload: Workload, application: Application) -> None:
        """Write the application's values, and itself, into the workload by server-side apply, never forced.

        Raises:
            WriteConflictError: the workload changed since it was gathered, or is gone.
            FieldOwnedError: another manager owns an entry.
            ApiServerError: anything else.
        """
        if workload.current is None:
            raise WriteConflictError(f"{policy.workload}: its pods differ")
        reference, target = policy.workload, application.values
        needed = workload.to_write(target)
        entries = {container: dict(env) for container, env in workload.kept_env.items()}
        ours = entries.setdefault(reference.container, {})
        wanted = {one for one, name in policy.env_names.items() if one in needed or name in ours}
        ours |= policy.entries({one: target[one] for one in wanted})
        containers = [
            {"name": container, "env": [{"name": name, "value": value} for name, value in env.items()]}
            for container, env in entries.items()
        ]
        document = {
            "apiVersion": "apps/v1",
            "kind": reference.kind,
            "metadata": {
                "name": reference.key.name,
                "namespace": reference.key.namespace,
                "uid": workload.uid,
                "resourceVersion": workload.resource_version,
                "annotations": {
                    applied.ANNOTATION: applied.to_annotation(
                        {**workload.applications, reference.container: application}
                    )
                },
            },
            "spec": {"template": {"spec": {"containers": containers}}},
        }
        stored = await self._api.write(
            "PATCH",
            _path(reference),
            document,
            content_type=kubernetes_api.APPLY,
            fieldManager=kubernetes_api.FIELD_MANAGER,
        )
        if stored is None:
            raise WriteConflictError(f"{reference} is gone")

    async def _pods(self, reference: WorkloadRef, deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        namespace = reference.key.namespace
        selector = manifests.label_selector(deployment["spec"]["selector"])
        path, found = f"/api/v1/namespaces/{namespace}/pods", list[Mapping[str, Any]]()
        async for page in watching.pages(self._api, path, limit=watching.PAGE, labelSelector=selector):
            if page is None:
                raise ApiServerError(f"namespace {namespace} has no pods resource")
            found += [pod for pod in page["items"] if manifests.is_pod_of(pod, deployment, reference.kind)]
        return found

    async def _current(
        self, policy: Policy, template: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]
    ) -> tuple[CurrentSettings | None, frozenset[Setting]]:
        """Return what is set, and of which settings the running pods have another value than the template.

        Set is what the running pods have, else the template, the policy, the library; None if pods differ.
        """
        name = policy.workload.container
        running = [
            container
            for pod in pods
            if manifests.running_pod(pod, name) is not None
            and (container := manifests.container_of(pod["spec"], name)) is not None
        ]
        source = Source.POD if running else Source.TEMPLATE
        containers = running or [template]
        maps = await self._config_maps(policy.workload.key.namespace, [*containers, template])
        found = [
            {setting: manifests.milliseconds(one, env_name, maps) for setting, env_name in policy.env_names.items()}
            for one in containers
        ]
        # Compared as text: what the template holds need not be a duration as long as no pod runs with it.
        unlike = frozenset(
            setting
            for setting, env_name in policy.env_names.items()
            if manifests.value(containers[0], env_name, maps) != manifests.value(template, env_name, maps)
        )
        if any(other != found[0] for other in found):
            return None, unlike
        return _filled(policy, found[0], source), unlike

    async def _config_maps(self, namespace: str, containers: Sequence[Mapping[str, Any]]) -> ConfigMaps:
        names = sorted({name for container in containers for name in manifests.config_maps_named(container)})
        found = await asyncio.gather(
            *(self._api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}") for name in names)
        )
        return {name: (one or {}).get("data") or {} for name, one in zip(names, found, strict=True)}


def _workload(
    policy: Policy,
    deployment: Mapping[str, Any],
    template: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    current: CurrentSettings | None,
) -> Workload:
    literal = {entry["name"] for entry in template.get("env", ())}
    owners = manifests.ownership(deployment, policy.workload.container)
    us = kubernetes_api.FIELD_MANAGER
    foreign = {
        setting: owners.foreign(name, us=us) or "an unknown manager"
        for setting, name in policy.env_names.items()
        if name in literal and owners.managers.get(name, ()) != (us,)
    }
    running = [pod for raw in pods if (pod := manifests.running_pod(raw, policy.workload.container)) is not None]
    return Workload(
        uid=deployment["metadata"]["uid"],
        resource_version=deployment["metadata"]["resourceVersion"],
        current=current,
        rolling_out=manifests.is_rolling_out(deployment),
        foreign_env=foreign,
        kept_env=manifests.entries_of(deployment, us),
        applications=applied.from_annotation(
            deployment["metadata"].get("annotations", {}).get(applied.ANNOTATION),
            workload_uid=deployment["metadata"]["uid"],
        ),
        our_rollout=manifests.is_rollout_of(deployment, us),
        most_pods=workload_sizes.size_of(deployment["spec"], policy.workload.kind),
        pods=tuple(sorted(running, key=lambda pod: (pod.started, pod.name))),
    )


def _filled(policy: Policy, found: Mapping[Setting, timedelta | None], source: Source) -> CurrentSettings:
    """Return full settings: what was found, else what the policy declares, else the library's default."""
    defaults = catalogue.client(policy.library).defaults
    values: dict[Setting, timedelta] = {}
    sources: dict[Setting, Source] = {}
    for setting in policy.env_names:
        seen = found[setting]
        if seen is not None:
            values[setting], sources[setting] = seen, source
        elif setting in policy.declared:
            values[setting], sources[setting] = policy.declared[setting], Source.POLICY
        else:
            values[setting], sources[setting] = defaults[setting], Source.DEFAULT
    return CurrentSettings(LivenessSettings.of(values), sources)


def _path(reference: WorkloadRef) -> str:
    return f"/apis/apps/v1/namespaces/{reference.key.namespace}/{reference.kind.lower()}s/{reference.key.name}"
