"""A container's environment, resolved as the kubelet does it. Pure: objects in, variables out.

`envFrom` first, in order; then `env`, in order, which wins; `$(NAME)` refers to what is known by then. `references`
says which ConfigMaps and Secrets are needed, so that the caller can fetch them before.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.node.api import Document

_SELECTED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")

Sources = Mapping[tuple[str, str], Document | None]
"""(kind, name) to the ConfigMap or Secret; None when there is no such object."""


class ContainerConfigError(Exception):
    """The environment cannot be made (yet); the message is the kubelet's."""


@dataclass(frozen=True)
class PodFacts:
    """What `fieldRef` may refer to."""

    pod: Document
    pod_ip: str
    host_ip: str

    def field(self, path: str) -> str:
        """Return the value of one field path.

        Raises:
            ContainerConfigError: the node does not know this path.
        """
        metadata, spec = self.pod["metadata"], self.pod["spec"]
        if match := _SELECTED.fullmatch(path):
            return str(metadata.get(match[1], {}).get(match[2], ""))
        known = {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata["namespace"],
            "metadata.uid": metadata["uid"],
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "status.podIP": self.pod_ip,
            "status.podIPs": self.pod_ip,
            "status.hostIP": self.host_ip,
        }
        if path not in known:
            raise ContainerConfigError(f"unsupported fieldPath: {path}")
        return str(known[path])


def references(container: Document) -> set[tuple[str, str]]:
    """Return (kind, name) of each ConfigMap and Secret the container's environment refers to."""
    return {
        (kind, reference["name"])
        for source in (*container.get("envFrom", ()), *(item.get("valueFrom", {}) for item in container.get("env", ())))
        for kind, reference in _source_references(source)
    }


def resolve(container: Document, facts: PodFacts, sources: Sources) -> dict[str, str]:
    """Return the container's variables.

    Args:
        container: one of the pod's `spec.containers`.
        facts: for `fieldRef`.
        sources: at least what `references` names.

    Raises:
        ContainerConfigError: an object or key that is not optional is missing.
    """
    env: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        for kind, reference in _source_references(source):
            data = _data(kind, reference, facts, sources)
            env |= {source.get("prefix", "") + key: value for key, value in (data or {}).items()}
    for variable in container.get("env", ()):
        # Like the kubelet: an empty value next to no valueFrom sets the variable to nothing.
        value = expand(variable.get("value", ""), env)
        if "valueFrom" in variable:
            found = _value_from(variable["valueFrom"], facts, sources)
            if found is None:
                continue
            value = found
        env[variable["name"]] = value
    return env


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value; an unknown name stays as it is, and `$$` is a dollar sign."""

    def replacement(match: re.Match[str]) -> str:
        return "$" if match[1] is None else env.get(match[1], match[0])

    return _REFERENCE.sub(replacement, text)


def _source_references(source: Document) -> Iterator[tuple[str, Document]]:
    fields = {
        "configMapRef": "ConfigMap",
        "secretRef": "Secret",
        "configMapKeyRef": "ConfigMap",
        "secretKeyRef": "Secret",
    }
    for field, kind in fields.items():
        if field in source:
            yield kind, source[field]


def _value_from(source: Document, facts: PodFacts, sources: Sources) -> str | None:
    """Return the value, or None when an optional one is missing."""
    if "fieldRef" in source:
        return facts.field(source["fieldRef"]["fieldPath"])
    for kind, reference in _source_references(source):
        data = _data(kind, reference, facts, sources)
        if data is not None and reference["key"] in data:
            return data[reference["key"]]
        if reference.get("optional"):
            return None
        namespace, name = facts.pod["metadata"]["namespace"], reference["name"]
        raise ContainerConfigError(f"couldn't find key {reference['key']} in {kind} {namespace}/{name}")
    raise ContainerConfigError(f"unsupported valueFrom: {', '.join(source)}")


def _data(kind: str, reference: Document, facts: PodFacts, sources: Sources) -> dict[str, str] | None:
    """Return the object's data, or None when an optional object is missing."""
    found = sources[kind, reference["name"]]
    if found is None:
        if reference.get("optional"):
            return None
        namespace = facts.pod["metadata"]["namespace"]
        raise ContainerConfigError(f'{kind.lower()} "{reference["name"]}" not found in namespace {namespace}')
    data = found.get("data", {})
    if kind == "Secret":
        return {key: base64.b64decode(value).decode() for key, value in data.items()}
    return dict(data)
