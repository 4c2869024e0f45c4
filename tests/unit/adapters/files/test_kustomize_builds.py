"""What overlays of Kustomize make of their bases, and what is said of those that cannot be built."""

import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heartbeat_tuner.adapters.files import kustomize_patches, settings_files
from heartbeat_tuner.adapters.files.manifest_yaml import ManifestError
from heartbeat_tuner.adapters.files.settings_files import FilesRead, SettingsFile

BASE = {
    "base/kustomization.yaml": """
        resources: [deployment.yaml]
        configMapGenerator: [{name: env, literals: [SESSION=45000, POLL=300000]}]
    """,
    "base/deployment.yaml": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: orders, labels: {app: orders}}
        spec:
          replicas: 3
          template:
            spec:
              containers:
                - name: app
                  image: a
                  envFrom: [{configMapRef: {name: env}}]
                  env: [{name: BEAT, value: "3000"}]
                - {name: sidecar, image: b}
    """,
}

TARGET = "target: {kind: Deployment, name: orders}"
FIRST = "/spec/template/spec/containers/0/env/0"
PATCH = """
kind: Deployment
metadata: {name: orders}
spec: {template: {spec: {containers: [{name: app, env: [{name: BEAT, value: "9"}]}]}}}
"""


def read(folder: Path, files: dict[str, str]) -> FilesRead:
    """Write files, and read all of them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return settings_files.read([SettingsFile(str(path.relative_to(folder)), path.read_text(), path) for path in paths])


def values(contents: FilesRead, container: str = "app") -> dict[str, dict[str, str | None]]:
    """Return the variables of a container, by the title of its workload."""
    return {
        place.title.removesuffix(f", container {container}"): {entry.key: entry.text for entry in place.entries}
        for place in contents.places
        if place.title.endswith(f", container {container}")
    }


def overlay(folder: Path, kustomization: str, **more: str) -> FilesRead:
    """Return what an overlay on the base comes to."""
    return read(folder, {**BASE, "prod/kustomization.yaml": f"resources: [../base]\n{kustomization}", **more})


@pytest.mark.parametrize(
    "patches",
    [
        f"patches: [{{{TARGET}, patch: '[{{op: replace, path: {FIRST}/value, value: \"9\"}}]'}}]",
        f"patches: [{{{TARGET}, path: patch.yaml}}]",
        "patches: [{path: patch.yaml}]",
        "patchesStrategicMerge: [patch.yaml]",
        "patches: [{target: {kind: Deploy.*, labelSelector: app=orders}, path: patch.yaml}]",
        f"patchesJson6902: [{{{TARGET}, path: operations.yaml}}]",
    ],
)
def test_a_patch_is_laid_over_the_base(tmp_path: Path, patches: str) -> None:
    """In each notation that Kustomize has; the base alone is deployed by nobody."""
    (tmp_path / "prod").mkdir()
    operations = f'- {{op: replace, path: {FIRST}, value: {{name: BEAT, value: "9"}}}}'
    (tmp_path / "prod/patch.yaml").write_text(PATCH)
    (tmp_path / "prod/operations.yaml").write_text(operations)
    contents = overlay(tmp_path, patches)
    assert contents.problems == []
    assert values(contents) == {"Deployment orders": {"SESSION": "45000", "POLL": "300000", "BEAT": "9"}}
    assert list(values(contents, "sidecar")) == ["Deployment orders"]


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [("merge", {"SESSION": "10000", "POLL": "300000"}), ("replace", {"SESSION": "10000"})],
)
def test_values_of_a_base_are_merged_or_replaced(tmp_path: Path, behavior: str, expected: dict[str, str]) -> None:
    """As the overlay's generator says."""
    generator = f"configMapGenerator: [{{name: env, behavior: {behavior}, literals: [SESSION=10000]}}]"
    contents = overlay(tmp_path, generator)
    assert values(contents) == {"Deployment orders": {**expected, "BEAT": "3000"}}


def test_several_overlays_are_told_apart(tmp_path: Path) -> None:
    """Each has its own values, and says by its folder which it is."""
    dev = {"dev/kustomization.yaml": "resources: [../base]\nnamespace: dev\nreplicas: [{name: orders, count: 1}]\n"}
    contents = overlay(tmp_path, "configMapGenerator: [{name: env, behavior: merge, literals: [SESSION=10000]}]", **dev)
    found = values(contents)
    assert {title: env["SESSION"] for title, env in found.items()} == {
        "Deployment dev/orders in dev": "45000",
        "Deployment orders in prod": "10000",
    }
    sizes = {place.overlay: place.workload.replicas for place in contents.places if place.workload is not None}
    assert sizes == {"dev": 1, "prod": 3}


def test_a_value_of_an_overlay_is_not_sought_in_the_base(tmp_path: Path) -> None:
    """A fix there would change every other overlay."""
    contents = overlay(tmp_path, "")
    assert {place.file for place in contents.places} == {"prod/kustomization.yaml"}
    plain = read(tmp_path / "plain", BASE)
    assert {place.file for place in plain.places if place.workload is not None} == {"base/deployment.yaml"}


@pytest.mark.parametrize(
    ("kustomization", "words"),
    [
        ("resources: [gone.yaml]", "a/kustomization.yaml builds on gone.yaml, which cannot be read"),
        ("resources: [../a]", "builds on itself"),
        ("resources: [d.yaml]\npatches: [{path: gone.yaml}]", "the patch gone.yaml cannot be read"),
        (
            "resources: [d.yaml]\npatches: [{target: {kind: Deployment, name: other}, patch: '{}'}]",
            "a/kustomization.yaml patches Deployment other, which is not there",
        ),
        ("resources: [d.yaml]\npatches: [{target: {name: '(a+)+'}, patch: '{}'}]", "is not understood"),
        ("resources: [d.yaml]\npatches: [{target: {labelSelector: 'a in (b)'}, patch: '{}'}]", "write name=value"),
        (
            "resources: [d.yaml]\npatches: [{target: {kind: Deployment}, patch: '[{op: remove, path: /spec/x}]'}]",
            "a patch leads to '/spec/x', which is not there",
        ),
        ("resources: [", "kustomization.yaml"),
    ],
)
def test_what_cannot_be_built_is_a_problem(tmp_path: Path, kustomization: str, words: str) -> None:
    """Nothing passes in silence, and what was read stays."""
    contents = read(tmp_path, {"a/kustomization.yaml": kustomization, "a/d.yaml": BASE["base/deployment.yaml"]})
    assert any(words in problem.message for problem in contents.problems), contents.problems
    assert all(title == "Deployment orders" for title in values(contents))


def test_a_problem_of_a_base_is_said_once(tmp_path: Path) -> None:
    """By the name that the base has in the files, however many overlays build on it."""
    files = {f"{name}/kustomization.yaml": "resources: [../base]" for name in ("dev", "prod")}
    contents = read(
        tmp_path, {**files, "base/kustomization.yaml": "resources: [gone.yaml, d.yaml]", "base/d.yaml": "a: ["}
    )
    gone, broken = contents.problems
    assert gone.message == "base/kustomization.yaml builds on gone.yaml, which cannot be read"
    assert broken.message.startswith("base/d.yaml, line 2 is no YAML")


def test_other_machines_are_not_asked(tmp_path: Path) -> None:
    """And a patch for what is there is no mistake."""
    kustomization = "resources: ['https://example.com/base?ref=v1']\npatches: [{target: {name: orders}, patch: '{}'}]\n"
    contents = read(tmp_path, {"kustomization.yaml": kustomization})
    assert (contents.places, contents.problems) == ([], [])


_WORDS = st.sampled_from(
    [
        "name",
        "kind",
        "Deployment",
        "orders",
        "metadata",
        "data",
        "d.yaml",
        "../a",
        ".",
        "",
        "\0",
        "x" * 300,
        "merge",
        "a: [b",
    ]
)
_KEYS = st.sampled_from(
    [
        *("resources", "bases", "components", "patches", "patchesStrategicMerge", "patchesJson6902", "replicas"),
        *("configMapGenerator", "namespace", "name", "target", "patch", "path", "op", "kind", "behavior", "literals"),
        *("labelSelector", "files", "envs", "count", "$patch", "metadata", "spec"),
    ]
)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(document=st.dictionaries(_KEYS, _ANYTHING, max_size=5), manifest=_ANYTHING)
def test_whatever_stands_there_is_built_or_a_problem(document: object, manifest: object, tmp_path: Path) -> None:
    """A kustomization is anybody's file, and so is what it builds on."""
    files = {"a/kustomization.yaml": json.dumps(document), "a/d.yaml": json.dumps(manifest)}
    read(tmp_path, files)


def test_a_patch_may_delete(tmp_path: Path) -> None:
    """An object, a container or a variable."""
    gone = "kind: Deployment\nmetadata: {name: orders}\n$patch: delete\n"
    (tmp_path / "prod").mkdir()
    (tmp_path / "prod/patch.yaml").write_text(gone)
    assert values(overlay(tmp_path, "patches: [{path: patch.yaml}]")) == {}
    containers = [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y"}]}, {"name": "b"}]
    patch = [{"name": "a", "env": [{"name": "X", "$patch": "delete"}]}, {"name": "b", "$patch": "delete"}]
    assert kustomize_patches.merged(containers, patch, "containers") == [{"name": "a", "env": [{"name": "Y"}]}]
    assert kustomize_patches.merged(containers, [{"$patch": "replace"}, {"name": "c"}], "containers") == [{"name": "c"}]
    assert kustomize_patches.merged({"a": 1, "b": 2}, {"a": None}) == {"b": 2}
    assert kustomize_patches.merged({"a": 1}, {"$patch": "replace", "b": 2}) == {"b": 2}


def test_operations_add_and_remove() -> None:
    """At the end of a list, in the middle, and in a mapping."""
    document = {"env": [{"name": "X"}], "a/b": 1}
    operations = [
        {"op": "add", "path": "/env/-", "value": {"name": "Z"}},
        {"op": "add", "path": "/env/1", "value": {"name": "Y"}},
        {"op": "remove", "path": "/a~1b"},
        {"op": "test", "path": "/nowhere", "value": 1},
    ]
    assert kustomize_patches.operated(document, operations) == {"env": [{"name": "X"}, {"name": "Y"}, {"name": "Z"}]}
    assert document["env"] == [{"name": "X"}]
    with pytest.raises(ManifestError, match="'/env/9'"):
        kustomize_patches.operated(document, [{"op": "replace", "path": "/env/9", "value": 1}])
