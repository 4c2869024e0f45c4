"""What is pasted does what it says."""

import shlex

import pytest
import yaml

from heartbeat_tuner.api import parsing
from heartbeat_tuner.cli.reporting.snippets import snippets
from heartbeat_tuner.domain.policies import Mode
from tests.support import reports, worlds


def test_the_values_are_entries_of_the_container_s_environment() -> None:
    """Under the names of the policy where there is one; only those that change."""
    body = reports.policy(current={"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "1s"})
    body["spec"]["client"]["env"] = {"sessionTimeout": {"name": "MY_SESSION"}}
    (member,) = reports.members(reports.sources([], [body]))
    (pasted,) = snippets(member, worlds.settings("30s", "1s", "1s"))
    assert yaml.safe_load(pasted.text) == {
        "env": [
            {"name": "MY_SESSION", "value": "30000"},
            {"name": "KAFKA_HEARTBEAT_INTERVAL_MS", "value": "1000"},
        ]
    }


@pytest.mark.parametrize("group", ["orders", "$(reboot); 'x' #", "- {a: b}\n---\n"])
def test_the_policy_is_accepted_once_its_gaps_are_filled(group: str) -> None:
    """Whatever the group is called."""
    (member,) = reports.members(reports.sources([reports.model(group, 1.0)]))
    (pasted,) = snippets(member, None)
    text = pasted.text.replace("CLUSTER", "main").replace("WORKLOAD", "orders").replace("CONTAINER", "app")
    body = yaml.safe_load(text)
    body["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if "\n" not in group:
        policy = parsing.policy_of(body)
        assert (policy.group_id, policy.library, policy.mode) == (group, "java", Mode.RECOMMEND)
    assert body["spec"]["groupId"] == group


@pytest.mark.parametrize(
    ("protocol", "library", "kind"),
    [
        ("Consumer", "java", "consumer"),
        ("Streams", "streams", "streams"),
        ("Share", "java", "share"),
        ("Share", "confluent-kafka-python", "share"),
    ],
)
def test_what_the_broker_says_is_set_at_the_broker(protocol: str, library: str, kind: str) -> None:
    """By the keys of the group's own protocol; its name is one word of the command, whatever it is."""
    body = reports.policy(groupProtocol=protocol, current=None)
    body["spec"] |= {"client": {"library": library}, "groupId": "a'; reboot"}
    (member,) = reports.members(reports.sources([], [body]))
    (pasted,) = snippets(member, worlds.java_settings(session="30s", interval="5s"))
    words = shlex.split(pasted.text)
    assert words[words.index("--entity-name") + 1] == "a'; reboot"
    assert words[-1] == f"{kind}.session.timeout.ms=30000"
