"""The manifests that people apply by hand, which the chart has to equal in substance."""

from collections.abc import Mapping
from typing import Any, Final

from tests.chart.rendering import Rendered
from tests.support import yaml_texts
from tests.support.documents import CHECKOUT

INSTALL: Final = "docs/how-to/install.yaml"
WEBHOOK: Final = "docs/how-to/webhook.yaml"
FIT: Final = "docs/how-to/fit.yaml"
OPERATOR_ROLE: Final = "sandbox/manifests/operator-role.yaml"

RIGHTS: Final = ("ClusterRole", "Role")


def manifest(path: str) -> Rendered:
    """Return the objects of a documented manifest."""
    return Rendered(list(yaml_texts.documents((CHECKOUT / path).read_text())))


def rights(found: Rendered, name: str) -> dict[str, Any]:
    """Return the rules of the roles of that name, by kind."""
    return {
        item["kind"]: item["rules"]
        for item in found.objects
        if item["kind"] in RIGHTS and item["metadata"]["name"] == name
    }


def bound(found: Rendered, name: str, namespace: str) -> None:
    """Check that the roles of that name are bound to the service account of that name, and to nobody else."""
    for kind in rights(found, name):
        binding = found.one(f"{kind}Binding", name)
        assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    assert found.one("ServiceAccount", name)["metadata"]["namespace"] == namespace


def substance(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod template's specification without what is the user's: image, and labels of selectors."""
    spec = dict(pod["spec"])
    (container,) = spec.pop("containers")
    spec["container"] = {name: value for name, value in container.items() if not name.startswith("image")}
    for constraint in spec.get("topologySpreadConstraints", ()):
        assert selects(constraint["labelSelector"]["matchLabels"], pod)
    spec["topologySpreadConstraints"] = [
        {name: value for name, value in constraint.items() if name != "labelSelector"}
        for constraint in spec.get("topologySpreadConstraints", ())
    ]
    return spec


def selects(selector: Mapping[str, str], pod: Mapping[str, Any]) -> bool:
    """Whether a selector is about the pods of a template."""
    labels: Mapping[str, str] = pod["metadata"]["labels"]
    return selector.items() <= labels.items()
