"""templates/webhook: off unless asked for; then what webhook.yaml has."""

from pathlib import Path

from heartbeat_tuner.settings import webhook_settings
from tests.chart import documented
from tests.chart.rendering import NAME, VARIANTS, Helm, Rendered
from tests.support import yaml_texts

_NAME = f"{NAME}-webhook"


def loaded(rendered: Rendered, folder: Path, name: str = _NAME) -> webhook_settings.WebhookSettings:
    """Load the rendered configuration."""
    path = folder / "webhook.yaml"
    path.write_text(rendered.one("ConfigMap", name)["data"]["webhook.yaml"])
    return webhook_settings.load(path)


def test_it_is_off_unless_asked_for(minimal: Rendered) -> None:
    """No object of it is there: the API server asks nobody about pods."""
    assert "MutatingWebhookConfiguration" not in minimal.kinds()
    assert not [item for item in minimal.objects if item["metadata"]["name"].endswith("-webhook")]


def test_it_runs_as_the_documented_deployment_does(helm: Helm) -> None:
    """Command, probes, security, resources, volumes and the time to end are those of webhook.yaml."""
    rendered, by_hand = (
        helm.render(VARIANTS["minimal"], {"webhook": {"enabled": True}}),
        documented.manifest(documented.WEBHOOK),
    )
    deployment, pod = rendered.one("Deployment", _NAME), rendered.pod("Deployment", _NAME)
    assert documented.substance(pod) == documented.substance(by_hand.pod("Deployment", _NAME))
    assert deployment["spec"]["replicas"] == by_hand.one("Deployment", _NAME)["spec"]["replicas"]
    for selector in (
        deployment["spec"]["selector"]["matchLabels"],
        rendered.one("PodDisruptionBudget", _NAME)["spec"]["selector"]["matchLabels"],
        rendered.one("Service", _NAME)["spec"]["selector"],
    ):
        assert documented.selects(selector, pod)
        assert not documented.selects(selector, rendered.pod("Deployment"))
    service = by_hand.one("Service", _NAME)["spec"]["ports"]
    assert rendered.one("Service", _NAME)["spec"]["ports"] == service


def test_its_rights_are_the_documented_ones(full: Rendered) -> None:
    """No more and no less."""
    assert documented.rights(full, _NAME) == documented.rights(documented.manifest(documented.WEBHOOK), _NAME)
    documented.bound(full, _NAME, NAME)


def test_the_api_server_asks_as_documented(full: Rendered) -> None:
    """About the same pods, of the same Service, with the same patience."""
    found, by_hand = (
        item.one("MutatingWebhookConfiguration")["webhooks"] for item in (full, documented.manifest(documented.WEBHOOK))
    )
    assert found == by_hand


def test_its_configuration_names_what_is_there(helm: Helm, tmp_path: Path) -> None:
    """Whatever the release and its namespace are called, and its rights are about the same objects."""
    rendered = helm.render(VARIANTS["minimal"], {"webhook": {"enabled": True}}, release="tuner", namespace="kafka")
    name = "tuner-heartbeat-tuner-webhook"
    found = loaded(rendered, tmp_path, name)
    hook = rendered.one("MutatingWebhookConfiguration", found.configuration_name)["webhooks"][0]
    service = hook["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == (found.certificate.service_name, "kafka")
    assert rendered.one("Service", service["name"])["metadata"]["namespace"] == "kafka"
    (excluded,) = hook["namespaceSelector"]["matchExpressions"]
    assert "kafka" in excluded["values"]
    operator = yaml_texts.document(rendered.one("ConfigMap", "tuner-heartbeat-tuner")["data"]["config.yaml"])
    assert found.installation == f"kafka/{operator['leaderElection']['leaseName']}"
    rights = documented.rights(rendered, name)
    assert [found.configuration_name] in [rule.get("resourceNames") for rule in rights["ClusterRole"]]
    assert [found.certificate.secret_name] in [rule.get("resourceNames") for rule in rights["Role"]]
    documented.bound(rendered, name, "kafka")


def test_a_pinned_authority_takes_the_right_to_write_the_registration(helm: Helm) -> None:
    """No admission policy is shown a registration: who may patch it may have every pod sent anywhere."""
    rendered = helm.render(VARIANTS["minimal"], {"webhook": {"enabled": True, "caBundle": "QUJD"}})
    assert {
        webhook["clientConfig"]["caBundle"] for webhook in rendered.one("MutatingWebhookConfiguration")["webhooks"]
    } == {"QUJD"}
    rules = documented.rights(rendered, _NAME)["ClusterRole"]
    assert [rule["verbs"] for rule in rules if "mutatingwebhookconfigurations" in rule["resources"]] == [["get"]]


def test_its_values_reach_it(helm: Helm, tmp_path: Path) -> None:
    """Those about more than the pod."""
    rendered = helm.render(
        VARIANTS["minimal"], {"webhook": {"enabled": True, "kubernetesTimeout": "5s", "excludedNamespaces": ["infra"]}}
    )
    assert loaded(rendered, tmp_path).kubernetes.timeout.seconds == 5
    hooks = rendered.one("MutatingWebhookConfiguration")["webhooks"]
    assert [hook["namespaceSelector"]["matchExpressions"][0]["values"] for hook in hooks] == [["infra", NAME]] * 2


def test_a_changed_configuration_replaces_the_pods(helm: Helm, full: Rendered) -> None:
    """It is read at the start only."""
    changed = helm.render(VARIANTS["full"], {"webhook": {"kubernetesTimeout": "5s"}})
    marks = [item.pod("Deployment", _NAME)["metadata"]["annotations"]["checksum/config"] for item in (full, changed)]
    assert marks[0] != marks[1]


def test_its_defaults_are_those_of_the_code(full: Rendered, tmp_path: Path) -> None:
    """With the documented names nothing in it is out of the ordinary."""
    found = loaded(full, tmp_path)
    assert found == webhook_settings.WebhookSettings(installation=found.installation)
    text = full.one("ConfigMap", _NAME)["data"]["webhook.yaml"]
    assert set(yaml_texts.document(text)) <= {"configurationName", "certificate", "kubernetes", "installation"}
