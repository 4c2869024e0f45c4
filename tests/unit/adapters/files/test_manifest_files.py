"""Manifest files that nobody wrote by hand: whatever stands in them, they are read or refused in a sentence."""

import contextlib
import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.adapters.files import manifest_files
from heartbeat_tuner.adapters.files.manifest_yaml import ManifestError

KINDS = [*manifest_files.POD_SPECS, "ConfigMap", "List", "DeploymentList", "ConfigMapList", "CronJob", "Service", ""]
FIELDS = (
    "kind metadata name namespace spec template jobTemplate containers env envFrom value valueFrom configMapKeyRef key "
    "optional prefix configMapRef secretRef data items << ="
)
KEYS = st.sampled_from(FIELDS.split())
TOKENS = (
    "kind: metadata: name: Pod List items: spec: containers: - ? & * ! !!str a b <<: = | > { } [ ] , &a *a 1:1:1 1.5"
)
WORDS = st.sampled_from([*TOKENS.split(), "\n", "\n  ", "\n    ", "---\n", "'", '"', "\t", "%TAG ! x\n", "\\ud800"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.datetimes(),
    st.binary(max_size=5),
    st.sampled_from(["app", "orders", "a", "30000", *KINDS]),
    st.text(max_size=8),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.integers() | st.text(max_size=3), inner),
    max_leaves=12,
)


def partly(shape: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return mappings of a shape whose values are now and then something else."""
    return st.fixed_dictionaries({}, optional={key: strategy | VALUES for key, strategy in shape.items()}) | VALUES


NAMES = st.sampled_from(["app", "orders", "settings", "a b", ""])
REFERENCE = partly({"name": NAMES, "key": NAMES, "optional": st.booleans()})
ENTRY = partly({"name": NAMES, "value": st.text(max_size=5), "valueFrom": partly({"configMapKeyRef": REFERENCE})})
SOURCE = partly({"prefix": NAMES, "configMapRef": REFERENCE})
CONTAINER = partly({"name": NAMES, "env": st.lists(ENTRY, max_size=3), "envFrom": st.lists(SOURCE, max_size=3)})
POD = partly({"containers": st.lists(CONTAINER, max_size=3)})
METADATA = partly({"name": NAMES, "namespace": NAMES})
OBJECT = partly(
    {
        "kind": st.sampled_from(KINDS),
        "metadata": METADATA,
        "spec": partly({"template": partly({"spec": POD}), "containers": st.lists(CONTAINER, max_size=2)}),
        "data": partly({"app": st.text(max_size=5)}),
        "items": st.lists(partly({"kind": st.sampled_from(KINDS), "metadata": METADATA}), max_size=2),
    }
)


def read(text: str) -> None:
    """Read a file; a sentence may come of it, nothing else."""
    with contextlib.suppress(ManifestError):
        assert all(workload.containers for workload in manifest_files.read([("file", text)]).workloads)


@settings(max_examples=300)
@given(objects=st.lists(OBJECT, max_size=4), flow=st.booleans())
def test_documents_of_any_shape_are_read_or_refused(*, objects: list[Any], flow: bool) -> None:
    """Where a mapping is asked for, a list may stand, and the other way round."""
    read(yaml.safe_dump_all(objects, default_flow_style=flow, allow_unicode=True))


@settings(max_examples=300)
@given(st.lists(WORDS | st.characters(exclude_categories=["Cs"]), max_size=40).map(" ".join))
def test_texts_of_any_sort_are_read_or_refused(text: str) -> None:
    """What is nearly YAML, too."""
    read(text)


def test_json_is_read() -> None:
    """It is YAML, and what kubectl writes with `-o json`."""
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "app"}]}}
    (found,) = manifest_files.read([("file", json.dumps(pod))]).workloads
    assert found.title == "Pod a"
