"""The CustomResourceDefinition: structural, bounded, and the one that is checked in."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from click.testing import CliRunner
from pydantic import BaseModel, Field, create_model

from heartbeat_tuner.api import crd
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionType, PredictedFigures
from heartbeat_tuner.cli import crds
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict

pytestmark = pytest.mark.no_cover  # walks through the whole schema

CHECKED_IN = Path(__file__).parents[3] / "crds"
NOT_STRUCTURAL = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "const", "prefixItems", "title", "definitions"}


def schema_of(part: str, kind: crd.ObjectKind = crd.POLICY) -> dict[str, Any]:
    """Return the schema of spec or status."""
    (version,) = crd.manifest(kind)["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"][part]
    return schema


def nodes(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema node with its path."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")


ALL_NODES = [
    *nodes(schema_of("spec"), "spec"),
    *nodes(schema_of("status"), "status"),
    *nodes(schema_of("spec", crd.MODEL), "model"),
]
PATHS = [path for path, _ in ALL_NODES]


def test_the_files_that_users_apply_are_made_from_the_models() -> None:
    """Whoever changes a model regenerates the files: make docs."""
    assert {path.name: path.read_text() for path in CHECKED_IN.iterdir()} == {
        kind.file_name: crd.to_yaml(kind) for kind in crd.KINDS
    }


def test_the_command_prints_all_of_them() -> None:
    """As one stream that kubectl takes."""
    printed = CliRunner().invoke(crds.command).output
    assert list(yaml.safe_load_all(printed)) == [crd.manifest(kind) for kind in crd.KINDS]


@pytest.mark.parametrize("kind", crd.KINDS, ids=[kind.name for kind in crd.KINDS])
def test_yaml_has_no_anchors_and_reads_back(kind: crd.ObjectKind) -> None:
    """A manifest is read by people, too."""
    assert yaml.safe_load(crd.to_yaml(kind)) == crd.manifest(kind)
    assert "&id" not in crd.to_yaml(kind)


@pytest.mark.parametrize(("path", "node"), ALL_NODES, ids=PATHS)
def test_every_node_is_structural(path: str, node: dict[str, Any]) -> None:
    """The API server would mark the CRD NonStructuralSchema."""
    assert not NOT_STRUCTURAL & node.keys(), path
    assert "type" in node or node.get("x-kubernetes-int-or-string"), path
    assert node.get("default", ...) is not None, path


@pytest.mark.parametrize(("path", "node"), ALL_NODES, ids=PATHS)
def test_what_cel_reads_is_bounded(path: str, node: dict[str, Any]) -> None:
    """Rules are refused when their estimated cost is beyond the budget, and it is estimated by size."""
    if node.get("type") == "string" and "enum" not in node and node.get("format") != "date-time":
        assert node["maxLength"] <= 4096, path
    if node.get("type") == "array":
        assert node["maxItems"] <= 16, path


@pytest.mark.parametrize(("path", "node"), ALL_NODES, ids=PATHS)
def test_every_rule_has_a_message(path: str, node: dict[str, Any]) -> None:
    """A refusal without a sentence shows the user an expression."""
    for rule in node.get("x-kubernetes-validations", ()):
        assert rule.get("message") or rule["messageExpression"], path


def fields_of(node: dict[str, Any], path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, name and schema of every field, of objects in lists too."""
    for name, child in node.get("properties", {}).items():
        yield f"{path}.{name}", name, child
        yield from fields_of(child, f"{path}.{name}")
    if "items" in node:
        yield from fields_of(node["items"], f"{path}[]")


ALL_FIELDS = [
    entry
    for kind in crd.KINDS
    for entry in fields_of(crd.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind.name)
]
FIELD_PATHS = [path for path, _, _ in ALL_FIELDS]

SPEC_LEAVES = [
    (path, node)
    for path, _, node in ALL_FIELDS
    if path.startswith("ConsumerGroupPolicy.spec.") and not {"properties", "items"} & node.keys()
]


@pytest.mark.parametrize(("path", "name", "node"), ALL_FIELDS, ids=FIELD_PATHS)
def test_fields_follow_the_conventions_of_kubernetes(path: str, name: str, node: dict[str, Any]) -> None:
    """No floating-point numbers, times are called so, and `kubectl explain` describes each field.

    Earlier names are as they were.
    """
    assert node.get("type") != "number", path
    assert node.get("items", {}).get("type") != "number", path
    is_earlier = node.get("description", "").startswith("Earlier name of")
    assert node.get("format") != "date-time" or name.endswith("Time") or is_earlier, path
    assert name[0].islower(), path
    assert "_" not in name, path
    assert name == "metadata" or node["description"], path


@pytest.mark.parametrize(("path", "node"), SPEC_LEAVES, ids=[path for path, _ in SPEC_LEAVES])
def test_what_people_write_has_an_example(path: str, node: dict[str, Any]) -> None:
    """In the description, which `kubectl explain` shows, unless the values are few or there is a default."""
    assert "such as" in node["description"] or "enum" in node or "default" in node or node["type"] == "boolean", path


def test_fractions_are_stored_as_text() -> None:
    """As short as they can be; whole numbers and words are left alone."""
    figures = PredictedFigures(
        evictions_per_month=0.044,
        evictions_per_month_upper=3.0,
        stalled_partition_seconds_per_day=1e-5,
        detection_seconds=22.5,
    )
    assert fields.stored(figures) == {
        "evictionsPerMonth": "0.044",
        "evictionsPerMonthUpper": "3",
        "stalledPartitionSecondsPerDay": "1e-05",
        "detectionSeconds": "22.5",
    }
    assert PredictedFigures.model_validate(fields.stored(figures)) == figures
    assert all(re.fullmatch(crd.NUMBER, text) for text in fields.stored(figures).values())


def test_reasons_and_verdicts_stay_open() -> None:
    """A definition older than the operator does not refuse a status for a word it does not know."""
    status = schema_of("status")["properties"]
    for name, words in (("reason", Reason), ("verdict", Verdict)):
        assert "enum" not in status[name]
        assert max(len(word.value) for word in words) <= status[name]["maxLength"]
    kind = status["conditions"]["items"]["properties"]["type"]
    assert "enum" not in kind
    assert max(len(word.value) for word in ConditionType) <= kind["maxLength"]


def test_conditions_merge_by_type() -> None:
    """As every Kubernetes tool expects of them."""
    conditions = schema_of("status")["properties"]["conditions"]
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert conditions["maxItems"] >= len(ConditionType)


@pytest.mark.parametrize("kind", crd.KINDS, ids=[kind.name for kind in crd.KINDS])
def test_printer_columns_show_fields_that_exist(kind: crd.ObjectKind) -> None:
    """A mistyped path shows an empty column for ever."""
    (version,) = crd.manifest(kind)["spec"]["versions"]
    known = {"metadata.creationTimestamp"}
    for part in {"spec", "status"} & version["schema"]["openAPIV3Schema"]["properties"].keys():
        known |= {path for path, _ in nodes(schema_of(part, kind), part)}
    conditions = {f'status.conditions[?(@.type=="{condition}")].reason' for condition in ConditionType}
    for column in version["additionalPrinterColumns"]:
        assert column["jsonPath"].removeprefix(".") in known | conditions


def node_of(annotation: Any) -> dict[str, Any]:
    """Return the structural schema of a model with one field `one` of that type."""
    return crd.structural(create_model("Made", one=(annotation, ...)).model_json_schema())


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        (int | str, r"^\.one: anyOf is not structural$"),
        (int | str | None, r"^\.one: anyOf is not structural$"),
        (list[int | str], r"^\.one\[\]: anyOf is not structural$"),
        (tuple[int, str], r"^\.one: prefixItems is not structural$"),
        (Annotated[int, Field(gt=0)], r"^\.one: numeric exclusive bounds are not structural$"),
        (Annotated[int, Field(lt=9)], r"^\.one: numeric exclusive bounds are not structural$"),
    ],
)
def test_what_kubernetes_would_refuse_is_refused_by_path(annotation: Any, sentence: str) -> None:
    """A mistake in a model fails here, and not at an installation."""
    with pytest.raises(crd.NotStructuralError, match=sentence):
        node_of(annotation)


def test_additional_properties_beside_properties_are_refused() -> None:
    """Kubernetes wants one or the other."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    with pytest.raises(crd.NotStructuralError, match=r"^\.: additionalProperties beside properties"):
        crd.structural(schema)


def test_an_optional_field_is_one_that_may_be_left_out() -> None:
    """Null has no place in a structural schema; neither has a default of null."""

    class Optional(BaseModel):
        one: Annotated[str | None, Field(max_length=4, description="One.")] = None

    assert crd.structural(Optional.model_json_schema())["properties"]["one"] == {
        "type": "string",
        "maxLength": 4,
        "description": "One.",
    }
