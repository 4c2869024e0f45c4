"""A container's environment comes out as the kubelet makes it."""

import base64
from typing import Any, TypeAlias

import pytest

from sandbox.node.env import ContainerConfigError, PodFacts, expand, references, resolve

Document: TypeAlias = dict[str, Any]

_POD = {
    "metadata": {
        "name": "orders-7",
        "namespace": "shop",
        "uid": "u-1",
        "labels": {"app": "orders", "example.com/slot": "3"},
        "annotations": {"note": "x=y"},
    },
    "spec": {"nodeName": "node-1", "serviceAccountName": "default"},
}
_FACTS = PodFacts(_POD, pod_ip="127.9.0.1", host_ip="127.0.0.1")
_SOURCES = {
    ("ConfigMap", "colours"): {"data": {"SKY": "blue", "GRASS": "green"}},
    ("ConfigMap", "other"): {"data": {"SKY": "grey"}},
    ("ConfigMap", "empty"): {},
    ("ConfigMap", "absent"): None,
    ("Secret", "login"): {"data": {"PASSWORD": base64.b64encode(b"s3cret").decode()}},
    ("Secret", "absent"): None,
}


def _field(path: str) -> Document:
    return {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _key(kind: str, name: str, key: str, **more: object) -> Document:
    return {"name": "X", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key} | more}}


def _from(kind: str, name: str, prefix: str = "", **more: object) -> Document:
    return {f"{kind}Ref": {"name": name} | more} | ({"prefix": prefix} if prefix else {})


@pytest.mark.parametrize(
    ("env_from", "env", "expected"),
    [
        pytest.param([], [{"name": "X", "value": "1"}], {"X": "1"}, id="value"),
        pytest.param([], [{"name": "X"}], {"X": ""}, id="no value is an empty one"),
        pytest.param([], [_field("metadata.name")], {"X": "orders-7"}, id="name"),
        pytest.param([], [_field("metadata.namespace")], {"X": "shop"}, id="namespace"),
        pytest.param([], [_field("metadata.uid")], {"X": "u-1"}, id="uid"),
        pytest.param([], [_field("metadata.labels['example.com/slot']")], {"X": "3"}, id="label"),
        pytest.param([], [_field("metadata.labels['absent']")], {"X": ""}, id="absent label"),
        pytest.param([], [_field("metadata.annotations['note']")], {"X": "x=y"}, id="annotation"),
        pytest.param([], [_field("status.podIP")], {"X": "127.9.0.1"}, id="pod address"),
        pytest.param([], [_field("status.hostIP")], {"X": "127.0.0.1"}, id="host address"),
        pytest.param([], [_field("spec.nodeName")], {"X": "node-1"}, id="node"),
        pytest.param([], [_key("configMap", "colours", "SKY")], {"X": "blue"}, id="config map key"),
        pytest.param([], [_key("secret", "login", "PASSWORD")], {"X": "s3cret"}, id="secret key, decoded"),
        pytest.param([], [_key("configMap", "absent", "A", optional=True)], {}, id="optional map unset"),
        pytest.param([], [_key("configMap", "colours", "A", optional=True)], {}, id="optional key unset"),
        pytest.param([_from("configMap", "colours")], [], {"SKY": "blue", "GRASS": "green"}, id="all of a map"),
        pytest.param([_from("configMap", "other", "MY_")], [], {"MY_SKY": "grey"}, id="prefix"),
        pytest.param([_from("secret", "login")], [], {"PASSWORD": "s3cret"}, id="all of a secret"),
        pytest.param([_from("configMap", "empty")], [], {}, id="map without data"),
        pytest.param([_from("secret", "absent", optional=True)], [], {}, id="optional secret"),
        pytest.param(
            [_from("configMap", "colours"), _from("configMap", "other")],
            [],
            {"SKY": "grey", "GRASS": "green"},
            id="the later envFrom wins",
        ),
        pytest.param(
            [_from("configMap", "other")], [{"name": "SKY", "value": "red"}], {"SKY": "red"}, id="env wins over envFrom"
        ),
        pytest.param(
            [_from("configMap", "other")],
            [{"name": "X", "value": "$(SKY)-$(Y)"}, {"name": "Y", "value": "$(X)!"}],
            {"SKY": "grey", "X": "grey-$(Y)", "Y": "grey-$(Y)!"},
            id="references go backwards only",
        ),
        pytest.param(
            [], [{"name": "X", "value": "1"}, {"name": "X", "value": "2$(X)"}], {"X": "21"}, id="the later one wins"
        ),
    ],
)
def test_the_environment_is_resolved(env_from: list[Document], env: list[Document], expected: dict[str, str]) -> None:
    """Each source, and which wins; a wrong rule here gives consumers other settings than a cluster would."""
    assert resolve({"envFrom": env_from, "env": env}, _FACTS, _SOURCES) == expected


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"env": [_key("configMap", "absent", "A")]}, 'configmap "absent" not found in namespace shop'),
        ({"env": [_key("configMap", "colours", "A")]}, "couldn't find key A in ConfigMap shop/colours"),
        ({"envFrom": [_from("secret", "absent")]}, 'secret "absent" not found in namespace shop'),
        ({"env": [_field("status.phase")]}, "unsupported fieldPath: status.phase"),
        ({"env": [{"name": "X", "valueFrom": {"resourceFieldRef": {}}}]}, "unsupported valueFrom: resourceFieldRef"),
    ],
)
def test_what_cannot_be_resolved_says_so(container: Document, message: str) -> None:
    """Silence would start a consumer without the setting."""
    with pytest.raises(ContainerConfigError) as raised:
        resolve(container, _FACTS, _SOURCES)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)$(B)", "12"),
        ("$(C)", "$(C)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $(A", "$A ${A} $(A"),
        ("costs 5$", "costs 5$"),
    ],
)
def test_references_expand_as_in_kubernetes(text: str, expected: str) -> None:
    """Escapes and unknown names stay what Kubernetes documents."""
    assert expand(text, {"A": "1", "B": "2"}) == expected


def test_all_needed_objects_are_named() -> None:
    """The node fetches these and nothing else; one forgotten would be a KeyError."""
    container = {
        "envFrom": [_from("configMap", "colours"), _from("secret", "login")],
        "env": [_key("configMap", "other", "SKY"), _field("metadata.name"), {"name": "X", "value": "1"}],
    }
    assert references(container) == {("ConfigMap", "colours"), ("Secret", "login"), ("ConfigMap", "other")}
