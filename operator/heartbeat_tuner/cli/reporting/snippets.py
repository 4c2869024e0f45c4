"""What a person pastes: the recommended values where their library reads them, and a policy for a group without one."""

import shlex
from typing import Any

import yaml

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.cli.group.group_options import broker_key, is_brokers
from heartbeat_tuner.cli.reporting.fleet_members import FleetMember
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.report.report_data import SnippetEntry


def snippets(member: FleetMember, target: LivenessSettings | None) -> tuple[SnippetEntry, ...]:
    """Return what to paste for a group.

    Args:
        member: the group.
        target: the values recommended; None where none are.
    """
    pasted = [] if target is None else [*_environment(member, target), *_group_configuration(member, target)]
    return tuple(pasted if member.view is not None else [*pasted, _policy(member)])


def _environment(member: FleetMember, target: LivenessSettings) -> list[SnippetEntry]:
    """Return the entries of a container's environment."""
    facts = member.case.stated
    names = facts.client.env_preset if member.view is None else member.view.policy.env_names
    moved = liveness.changed(facts.current.settings, target)
    entries = [
        {"name": names[setting], "value": facts.client.format.render(target[setting])}
        for setting in moved
        if setting in names and not is_brokers(setting, facts.rebalancing)
    ]
    if not entries:
        return []
    title = "The recommended values, for the container of the consumer; the names are those its application reads:"
    return [SnippetEntry(title=title, language="yaml", text=_yaml({"env": entries}))]


def _group_configuration(member: FleetMember, target: LivenessSettings) -> list[SnippetEntry]:
    """Return the command that sets what the broker says in a group of the consumer protocol."""
    facts = member.case.stated
    given = [
        f"{broker_key(facts.kind, setting)}={durations.to_ms(target[setting])}"
        for setting in liveness.changed(facts.current.settings, target)
        if is_brokers(setting, facts.rebalancing)
    ]
    if not given:
        return []
    command = (
        f"kafka-configs.sh --bootstrap-server BROKER:9092 --alter --entity-type groups \\\n"
        f"  --entity-name {shlex.quote(facts.group)} --add-config {','.join(given)}\n"
    )
    return [SnippetEntry(title="The recommended values, at the broker:", language="shell", text=command)]


def _policy(member: FleetMember) -> SnippetEntry:
    facts = member.case.stated
    document = {
        "apiVersion": fields.API_VERSION,
        "kind": "ConsumerGroupPolicy",
        "metadata": {
            "name": model_documents.name_of(facts.group, member.cluster),
            **({"namespace": facts.namespace} if facts.namespace else {}),
        },
        "spec": {
            "groupId": facts.group,
            "clusterRef": member.cluster or "CLUSTER",
            "workloadRef": {"name": "WORKLOAD", "container": "CONTAINER"},
            "client": {"library": facts.client.name},
            "mode": "Recommend",
        },
    }
    title = "A policy that changes nothing, and recommends; fill in the words in capitals:"
    return SnippetEntry(title=title, language="yaml", text=_yaml(document))


def _yaml(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=False, width=120)
