"""The page and the manifest say what the code does."""

from pathlib import Path
from typing import Any

import yaml

from heartbeat_tuner.api import slot_names
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Worth
from heartbeat_tuner.settings import webhook_settings as settings
from heartbeat_tuner.webhook import server
from heartbeat_tuner.webhook.admission import enrolment
from tests.support import documents

MANIFEST = (documents.CHECKOUT / "docs" / "how-to" / "webhook.yaml").read_text()


def _kinds() -> dict[str, dict[str, Any]]:
    return {item["kind"]: item for item in yaml.safe_load_all(MANIFEST)}


def test_the_documented_policy_enrols() -> None:
    """A reader copies it."""
    (text,) = documents.code_blocks("docs/how-to/static-membership.md", "yaml")
    body = yaml.safe_load(text)
    body["metadata"] |= {"uid": "1f0c2a9b-1", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    found = enrolment.enrolment_of(body)
    assert found is not None
    assert (found.variable, found.slots.id_of(0)) == ("KAFKA_GROUP_INSTANCE_ID", "orders-consumer-1f0c2a9b-0")


def test_the_documented_deployment_fits_the_settings(tmp_path: Path) -> None:
    """Its configuration loads; ports, names and paths are the defaults'."""
    kinds = _kinds()
    path = tmp_path / "webhook.yaml"
    path.write_text(kinds["ConfigMap"]["data"]["webhook.yaml"])
    found = settings.load(path)
    assert found == settings.WebhookSettings(installation="heartbeat-tuner/heartbeat-tuner")
    pod = kinds["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["webhook", "--config", "/etc/heartbeat-tuner/webhook.yaml"]
    ports = [found.admission.port, found.http.port, found.http.probe_port]
    assert [port["containerPort"] for port in container["ports"]] == ports
    assert pod["terminationGracePeriodSeconds"] > found.drain.total_seconds()
    assert kinds["Service"]["metadata"]["name"] == found.certificate.service_name
    (rule,) = [rule for rule in kinds["Role"]["rules"] if "resourceNames" in rule]
    assert rule["resourceNames"] == [found.certificate.secret_name]
    assert kinds["MutatingWebhookConfiguration"]["metadata"]["name"] == found.configuration_name


def test_the_documented_registration_holds_nobody_up() -> None:
    """Neither a pod nor the cluster's own parts wait for us, and a dry run is one."""
    hooks = _kinds()["MutatingWebhookConfiguration"]["webhooks"]
    for hook in hooks:
        assert (hook["failurePolicy"], hook["sideEffects"]) == ("Ignore", "NoneOnDryRun")
        assert hook["clientConfig"]["service"]["path"] == server.PATH
        assert hook["timeoutSeconds"] * server.SHARE <= server.LONGEST_ANSWER.total_seconds()
        (left_out,) = hook["namespaceSelector"]["matchExpressions"]
        assert (left_out["operator"], "kube-system" in left_out["values"]) == ("NotIn", True)
    assert [hook["objectSelector"]["matchExpressions"] for hook in hooks] == [
        [{"key": "pod-template-hash", "operator": "Exists"}],
        [{"key": "statefulset.kubernetes.io/pod-name", "operator": "Exists"}],
    ]


def test_the_page_names_every_field() -> None:
    """And its default."""
    page = (documents.CHECKOUT / "docs" / "how-to" / "static-membership.md").read_text()
    for field in (
        "configurationName",
        "installation",
        "certificate.namespace",
        "secretName",
        "serviceName",
        "certificate.names",
        "drain",
    ):
        assert f"{field}`" in page


def test_the_documented_initial_policy_is_one() -> None:
    """A reader copies it, too."""
    (text,) = documents.code_blocks("docs/how-to/initial.md", "yaml")
    body = yaml.safe_load(text)
    body["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert enrolment.enrolment_of(body) is None  # nothing is recommended yet
    values = {"values": {"sessionTimeout": "30s"}, "expirationTime": "2026-01-02T00:00:00Z"}
    found = enrolment.enrolment_of({**body, "status": {"observedGeneration": 1, "initial": values}})
    assert found is not None
    assert found.values is not None
    assert not found.gives_ids


def test_the_page_tells_of_each_advice_and_of_whom_it_refuses() -> None:
    """What a status says is looked up there."""
    page = (documents.CHECKOUT / "docs" / "how-to" / "static-membership.md").read_text()
    assert all(f"| `{worth}` |" in page for worth in Worth)
    (refused,) = [line for line in page.splitlines() if line.startswith("| `Refused` |")]
    named = {"KafkaJS", "kafka-node", "kafka-go", "@platformatic/kafka", "aiokafka", "Connect"}
    titles = named | {"Kafka Streams in a group of the streams protocol", "share groups"}
    assert all(title in refused for title in titles)
    assert len(titles) == sum(not client.static_membership.holds for client in catalogue.CLIENTS.values())


def test_the_page_s_id_of_a_stateful_set_s_pod_is_its_id() -> None:
    """As the code makes it."""
    page = (documents.CHECKOUT / "docs" / "how-to" / "static-membership.md").read_text()
    assert f"`{slot_names.ordinal_id('1f0c2a9b-1', ObjectKey('shop', 'orders'), 3)}`" in page
