"""watchNamespaces: Roles where policies are, instead of one ClusterRole."""

from pathlib import Path

import pytest

from heartbeat_tuner import settings
from heartbeat_tuner.settings import webhook_settings
from tests.chart import documented
from tests.chart.rendering import NAME, VARIANTS, Helm, RefusedError, Rendered
from tests.support import yaml_texts

NAMESPACES = ["shop", "billing"]
COMPONENTS = (NAME, f"{NAME}-webhook", f"{NAME}-fit")


@pytest.fixture
def some(variants: dict[str, Rendered]) -> Rendered:
    """What comes with everything on for two namespaces."""
    return variants["namespaced"]


def test_each_namespace_has_the_rules_that_the_cluster_would_have(some: Rendered, full: Rendered) -> None:
    """Bound there to the same accounts, and nothing in any other namespace."""
    for name in COMPONENTS:
        wanted = documented.rights(full, name)["ClusterRole"]
        for namespace in NAMESPACES:
            there = Rendered([item for item in some.objects if item["metadata"].get("namespace") == namespace])
            role, binding = there.one("Role", f"{name}-watched"), there.one("RoleBinding", f"{name}-watched")
            assert role["rules"] == [rule for rule in wanted if "resourceNames" not in rule]
            assert binding["roleRef"]["name"] == role["metadata"]["name"]
            assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": NAME}]
    assert {item["metadata"].get("namespace", NAME) for item in some.objects} == {NAME, *NAMESPACES}


def test_what_is_left_of_the_cluster_is_the_webhook_s_registration(some: Rendered, helm: Helm) -> None:
    """Without webhook and definitions nothing of the release stands outside of namespaces."""
    assert some.names("ClusterRole") == [f"{NAME}-webhook"]
    (rule,) = some.one("ClusterRole", f"{NAME}-webhook")["rules"]
    assert (rule["resources"], rule["resourceNames"]) == (["mutatingwebhookconfigurations"], [NAME])
    off = {"enabled": False}
    without = helm.render(VARIANTS["namespaced"], {"webhook": off, "fences": off, "crds": {"install": False}})
    assert [item for item in without.objects if "namespace" not in item["metadata"]] == []


def test_all_three_are_told(some: Rendered, tmp_path: Path) -> None:
    """Operator, webhook and fit look there only, and the API server asks about pods there only."""
    text = some.one("ConfigMap")["data"]["config.yaml"]
    found = settings.Settings.model_validate(yaml_texts.document(text))
    assert list(found.kubernetes.namespaces) == NAMESPACES
    (tmp_path / "webhook.yaml").write_text(some.one("ConfigMap", f"{NAME}-webhook")["data"]["webhook.yaml"])
    assert list(webhook_settings.load(tmp_path / "webhook.yaml").kubernetes.namespaces) == NAMESPACES
    (container,) = some.pod("CronJob", f"{NAME}-fit")["spec"]["containers"]
    assert [arg for arg in container["args"] if "namespace" in arg] == [
        f"--namespace={namespace}" for namespace in NAMESPACES
    ]
    for hook in some.one("MutatingWebhookConfiguration")["webhooks"]:
        _, inside = hook["namespaceSelector"]["matchExpressions"]
        assert inside == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": NAMESPACES}


def test_the_fit_may_be_for_fewer_and_not_for_others(helm: Helm) -> None:
    """Where it has no right it would fail every night."""
    rendered = helm.render(VARIANTS["namespaced"], {"fitting": {"namespaces": ["shop"]}})
    (container,) = rendered.pod("CronJob", f"{NAME}-fit")["spec"]["containers"]
    assert [arg for arg in container["args"] if "namespace" in arg] == ["--namespace=shop"]
    with pytest.raises(RefusedError, match=r"fitting\.namespaces names audit, where the fit may write no models"):
        helm.render(VARIANTS["namespaced"], {"fitting": {"namespaces": ["audit"]}})


def test_a_namespace_is_named_once_and_rightly(helm: Helm) -> None:
    """By the schema, with the path."""
    for wrong, pointer in ((["shop", "shop"], "/watchNamespaces"), (["Shop"], "/watchNamespaces/0")):
        with pytest.raises(RefusedError, match=pointer):
            helm.render(VARIANTS["minimal"], {"watchNamespaces": wrong})
