"""The bundle for the Operator Lifecycle Manager (OLM): the chart's own objects, in the form that OLM installs.

A bundle is a folder of manifests with a ClusterServiceVersion, which carries the Deployment and its rights. It takes no
values, so it is what the chart installs with its defaults, and its configuration is a ConfigMap that the user writes.
OLM installs no admission policies, so the chart's fences are not in it. docs/how-to/olm.md says what to do.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import yaml

from release.archives import Entry, tar_gz
from release.versions import semantic

NAME: Final = "heartbeat-tuner"
CHANNEL: Final = "alpha"
"""The only channel; `v1alpha1` is what it serves."""

CARRIED: Final = frozenset({"CustomResourceDefinition", "NetworkPolicy", "PodDisruptionBudget"})
"""Kinds that are in the bundle as they are."""

IN_THE_VERSION: Final = frozenset(
    {"Deployment", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
)
"""Kinds that OLM makes from the ClusterServiceVersion."""

LEFT_OUT: Final = frozenset({"Namespace", "ConfigMap", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"})
"""Kinds of the chart that are not in the bundle."""

_LABEL: Final = "operators.operatorframework.io.bundle"
_ANNOTATIONS: Final = {
    f"{_LABEL}.mediatype.v1": "registry+v1",
    f"{_LABEL}.manifests.v1": "manifests/",
    f"{_LABEL}.metadata.v1": "metadata/",
    f"{_LABEL}.package.v1": NAME,
    f"{_LABEL}.channels.v1": CHANNEL,
    f"{_LABEL}.channel.default.v1": CHANNEL,
}
_OF_HELM: Final = frozenset({"app.kubernetes.io/managed-by", "helm.sh/chart"})
_CHECKSUM: Final = "checksum/config"
"""The chart's annotation of pods, by which a change of the configuration replaces them; here nothing knows it."""


def bundle(documents: Iterable[Mapping[str, Any]], about: Mapping[str, Any], version: str) -> bytes:
    """Return the bundle as an archive: `manifests`, `metadata`, and a Dockerfile for the bundle's image.

    Args:
        documents: what the chart installs with its defaults.
        about: its Chart.yaml.
        version: of the release, as Python writes it.

    Raises:
        ValueError: the chart has a kind of object that this module does not know.
    """
    objects = list(documents)
    labels = "".join(f"LABEL {key}={value}\n" for key, value in _ANNOTATIONS.items())
    return tar_gz(
        [
            Entry(
                "bundle.Dockerfile",
                f"FROM scratch\n{labels}COPY manifests /manifests/\nCOPY metadata /metadata/\n".encode(),
            ),
            _yaml("metadata/annotations.yaml", {"annotations": _ANNOTATIONS}),
            _yaml(f"manifests/{NAME}.clusterserviceversion.yaml", service_version(objects, about, version)),
            *_carried(objects),
        ]
    )


def service_version(documents: Iterable[Mapping[str, Any]], about: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the ClusterServiceVersion; arguments are those of `bundle`."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for document in documents:
        by_kind.setdefault(document["kind"], []).append(document)
    if unknown := by_kind.keys() - CARRIED - IN_THE_VERSION - LEFT_OUT:
        raise ValueError(f"the chart has a {min(unknown)}, and release/olm.py does not say where it goes in a bundle")
    annotations = about["annotations"]
    deployments = by_kind["Deployment"]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{NAME}.v{semantic(version)}",
            "annotations": {
                "alm-examples": json.dumps(yaml.safe_load(annotations["artifacthub.io/crdsExamples"])),
                "capabilities": "Basic Install",
                "categories": "Streaming & Messaging",
                "containerImage": deployments[0]["spec"]["template"]["spec"]["containers"][0]["image"],
                "description": about["description"],
            },
        },
        "spec": {
            "displayName": NAME,
            "description": _DESCRIPTION,
            "version": semantic(version),
            "maturity": CHANNEL,
            "minKubeVersion": about["kubeVersion"].removeprefix(">=").removesuffix("-0"),
            "keywords": about["keywords"],
            "provider": {"name": NAME},
            "installModes": [
                {"type": kind, "supported": kind == "AllNamespaces"}
                for kind in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {"owned": yaml.safe_load(annotations["artifacthub.io/crds"])},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": list(_permissions(by_kind, "ClusterRole")),
                    "permissions": list(_permissions(by_kind, "Role")),
                    "deployments": [
                        {
                            "name": deployment["metadata"]["name"],
                            "label": _metadata(deployment)["labels"],
                            "spec": _spec(deployment),
                        }
                        for deployment in deployments
                    ],
                },
            },
        },
    }


_DESCRIPTION: Final = """\
Tunes the liveness of Kafka consumers: session timeout, heartbeat interval, fetch wait and max poll interval, computed
from delays that your Prometheus has measured. A policy only recommends until its mode is `Apply`.

Before the operator can start, its namespace needs a ConfigMap `heartbeat-tuner` with a `config.yaml` that names your
Prometheus and your Kafka clusters. The chart's fences, admission policies that hold the operator to what it is for, are
not part of this bundle: render them from the chart of the same version.
"""


def _carried(documents: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    for document in documents:
        if document["kind"] in CARRIED:
            path = f"manifests/{document['metadata']['name']}.{document['kind'].lower()}.yaml"
            yield _yaml(path, {**document, "metadata": _metadata(document)})


def _permissions(by_kind: Mapping[str, list[Mapping[str, Any]]], kind: str) -> Iterator[dict[str, Any]]:
    """Yield the rules of each account that a role of this kind is bound to."""
    rules = {role["metadata"]["name"]: role["rules"] for role in by_kind.get(kind, ())}
    for binding in by_kind.get(f"{kind}Binding", ()):
        for subject in binding["subjects"]:
            yield {"serviceAccountName": subject["name"], "rules": rules[binding["roleRef"]["name"]]}


def _metadata(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's metadata without its namespace and without what says that Helm installed it."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "namespace"}
    if "labels" in metadata:
        metadata["labels"] = {key: value for key, value in metadata["labels"].items() if key not in _OF_HELM}
    return metadata


def _spec(deployment: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Deployment's spec without the checksum of a configuration that OLM does not know."""
    spec = copy.deepcopy(dict(deployment["spec"]))
    del spec["template"]["metadata"]["annotations"][_CHECKSUM]
    return spec


def _yaml(path: str, document: Mapping[str, Any]) -> Entry:
    return Entry(path, yaml.safe_dump(dict(document), sort_keys=False).encode())
