"""What a workload, its pods and ConfigMaps together say of a policy's workload: pure.

Wherever they come from, only what `trimming` leaves of them is looked at: so two looks at the same objects give the
same evidence.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import kubernetes_api
from heartbeat_tuner.adapters.workloads import (
    canary_pods,
    container_env,
    field_owners,
    manifests,
    rollout_state,
    trimming,
    workload_sizes,
)
from heartbeat_tuner.adapters.workloads.container_env import ConfigMaps, SettingUnreadableError
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say

US = kubernetes_api.FIELD_MANAGER

MOST_CONFIG_MAPS: Final = 100
"""Of one policy: each is a request when it is first named, and all other policies wait for it meanwhile."""


def not_found(policy: Policy) -> MissingWorkload:
    """Return what there is to say where the API server has no such workload."""
    return MissingWorkload(Reason.WORKLOAD_NOT_FOUND, say("{workload} does not exist", workload=policy.workload))


def not_watched(policy: Policy) -> MissingWorkload:
    """Return what there is to say of a kind that is not watched: Rollouts, unless the configuration asks for them."""
    phrase = (
        "{workload} is a Rollout, and this operator looks at none: set kubernetes.argoRollouts in its configuration "
        "(chart: operator.argoRollouts), which needs rights on rollouts of argoproj.io"
    )
    return MissingWorkload(Reason.WORKLOAD_UNSUPPORTED, say(phrase, workload=policy.workload))


def too_long(policy: Policy, most: int) -> MissingWorkload:
    """Return what there is to say of a workload of which more characters would have to be held than `most`."""
    phrase = (
        "{workload}, or one of its pods, says more of containers, variables, ConfigMaps and managers than {most} "
        "characters, which are looked at; take out of it what is not needed"
    )
    return MissingWorkload(Reason.SETTING_UNREADABLE, say(phrase, workload=policy.workload, most=most))


def config_map_keys(
    policy: Policy, workload: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]
) -> dict[str, frozenset[str]]:
    """Return the keys that the variables of the policy's container may come from, by the name of their ConfigMap."""
    names, name = trimming.names_of(policy), policy.workload.container
    keys: dict[str, frozenset[str]] = {}
    for container in (container for body in (workload, *pods) for container in trimming.containers(body)):
        if container["name"] == name:
            for source, map_keys in container_env.config_map_keys(container, names).items():
                keys[source] = keys.get(source, frozenset()) | map_keys
    return keys


def too_many_config_maps(policy: Policy, workload: Mapping[str, Any], names: Collection[str]) -> MissingWorkload | None:
    """Return why nothing is said of a workload whose container names more ConfigMaps than are asked for."""
    if len(names) <= MOST_CONFIG_MAPS:
        return None
    reference = policy.workload
    phrase = (
        "container {container} of {workload} takes variables from {count} ConfigMaps in its template and its pods; at "
        "most {most} are looked at: name fewer in envFrom"
    )
    sentence = say(phrase, container=reference.container, workload=reference, count=len(names), most=MOST_CONFIG_MAPS)
    trimmed = trimming.workload(workload, trimming.names_of(policy), us=US)
    held = field_owners.holdings_of(trimmed, reference.container, kind=reference.kind, us=US)
    return MissingWorkload(Reason.SETTING_UNREADABLE, sentence, held)


def workload_of(
    policy: Policy,
    workload: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    config_maps: ConfigMaps,
    *,
    template: str,
) -> Workload | MissingWorkload:
    """Return the policy's workload with what is set in it, or what is missing.

    Args:
        policy: whose workload it is.
        workload: the Deployment, StatefulSet or Rollout, trimmed or whole.
        pods: those that belong to it, trimmed or whole.
        config_maps: those that its containers name, as far as there are such.
        template: the fingerprint of its whole template.
    """
    names, keys = trimming.names_of(policy), config_map_keys(policy, workload, pods)
    workload = trimming.workload(workload, names, us=US)
    # A watch has pods as they came, a list by name: what is gathered must be what is read again before a write.
    pods = sorted((trimming.pod(pod, names) for pod in pods), key=lambda pod: str(pod["metadata"]["name"]))
    others, tried = canary_pods.parted(policy, workload, pods)
    config_maps = {name: trimming.config_map(data, keys.get(name, ())) for name, data in config_maps.items()}
    spec, reference = workload["spec"]["template"]["spec"], policy.workload
    container = manifests.container_of(spec, reference.container)
    held = field_owners.holdings_of(workload, reference.container, kind=reference.kind, us=US)
    if container is None:
        there = ", ".join(entry["name"] for entry in spec["containers"])
        phrase = "{workload} has no container {container}; it has {there}"
        sentence = say(phrase, workload=reference, container=reference.container, there=there)
        return MissingWorkload(Reason.CONTAINER_NOT_FOUND, sentence, held)
    try:
        current, unlike = _current(policy, container, others, config_maps)
    except SettingUnreadableError as error:
        return MissingWorkload(Reason.SETTING_UNREADABLE, str(error), held)
    foreign = _foreign(policy, workload, container)
    running = [pod for raw in pods if (pod := manifests.running_pod(raw, reference.container)) is not None]
    return Workload(
        uid=workload["metadata"]["uid"],
        resource_version=workload["metadata"]["resourceVersion"],
        current=current,
        rolling_out=manifests.is_rolling_out(workload),
        foreign_env=foreign,
        kept_env={container: dict(env) for container, env in held.kept.items()},
        applications=held.applications,
        our_rollout=manifests.is_rolling_out(workload) and manifests.is_template_of(workload, US),
        is_our_template=manifests.is_template_of(workload, US),
        template=template,
        most_pods=workload_sizes.size_of(workload["spec"], reference.kind),
        unlike_template=unlike,
        pods=tuple(sorted(running, key=lambda pod: (pod.started, pod.name))),
        holdings=held,
        strategy=rollout_state.strategy_of(workload["spec"], reference.kind),
        at_once=rollout_state.stops_all_at_once(workload["spec"], reference.kind),
        paused=rollout_state.is_paused(workload),
        pause=rollout_state.step_of(workload),
        merged_by=manifests.owners_of_all_containers(workload),
        partition=rollout_state.partition_of(workload["spec"], reference.kind),
        lines={
            setting: line for setting in foreign if (line := container_env.line(container, policy.env_names[setting]))
        },
        rollout=rollout_state.rollout_of(workload, reference.kind, _of_template(policy, container, pods)),
        canary=canary_pods.seen(workload, reference.kind, tried, len(others)),
    )


def _foreign(policy: Policy, workload: Mapping[str, Any], container: Mapping[str, Any]) -> dict[Setting, str]:
    """Return who else owns entries of the template that the policy's settings stand in."""
    literal = {entry["name"] for entry in container.get("env", ())}
    owners = manifests.ownership(workload, policy.workload.container)
    return {
        setting: owners.foreign(name, us=US) or "an unknown manager"
        for setting, name in policy.env_names.items()
        if name in literal and owners.managers.get(name, ()) != (US,)
    }


def _current(
    policy: Policy, template: Mapping[str, Any], pods: Sequence[Mapping[str, Any]], maps: ConfigMaps
) -> tuple[CurrentSettings | None, frozenset[Setting]]:
    """Return what is set, and of which settings the running pods have another value than the template.

    Set is what the running pods have, else the template, the policy, the library; None if pods differ.

    Raises:
        SettingUnreadableError: a value is no duration.
    """
    name = policy.workload.container
    running = [
        container
        for pod in pods
        if manifests.running_pod(pod, name) is not None
        and (container := manifests.container_of(pod["spec"], name)) is not None
    ]
    source, form = ValueSource.POD if running else ValueSource.TEMPLATE, catalogue.client(policy.library).format
    containers = running or [template]
    values = [
        {
            setting: container_env.duration_in(container, env_name, maps, form)
            for setting, env_name in policy.env_names.items()
        }
        for container in containers
    ]
    # Compared as text: what the template holds need not be a duration as long as no pod runs with it.
    unlike = frozenset(
        setting
        for setting, env_name in policy.env_names.items()
        if container_env.value(containers[0], env_name, maps) != container_env.value(template, env_name, maps)
    )
    if any(other != values[0] for other in values):
        return None, unlike
    return _filled(policy, values[0], source), unlike


def _of_template(
    policy: Policy, template: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the pods that have the template's values, whether they run or not, but for those being deleted or over."""
    names, matching = policy.env_names.values(), []
    for pod in pods:
        container = manifests.container_of(pod["spec"], policy.workload.container)
        if container is None or not canary_pods.is_there(pod):
            continue
        if all(container_env.line(container, name) == container_env.line(template, name) for name in names):
            matching.append(pod)
    return matching


def _filled(policy: Policy, set_values: Mapping[Setting, timedelta | None], source: ValueSource) -> CurrentSettings:
    """Return full settings: what is set, else what the policy declares, else the library's default."""
    defaults = catalogue.client(policy.library).defaults
    # A Connect worker has no fetch wait that could be set, and settings always have one.
    values: dict[Setting, timedelta] = {Setting.FETCH_WAIT: defaults.fetch_wait}
    sources: dict[Setting, ValueSource] = {}
    for setting in policy.env_names:
        seen = set_values[setting]
        if seen is not None:
            values[setting], sources[setting] = seen, source
        elif setting in policy.declared:
            values[setting], sources[setting] = policy.declared[setting], ValueSource.POLICY
        else:
            values[setting], sources[setting] = defaults[setting], ValueSource.DEFAULT
    return CurrentSettings(LivenessSettings.of(values), sources)
