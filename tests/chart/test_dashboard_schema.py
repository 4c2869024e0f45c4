"""The dashboard has the form of Grafana's schema, as `@grafana/schema` has it for dashboards of version 39."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from tests.chart.rendering import CHART

DASHBOARD: Final[dict[str, Any]] = json.loads((CHART / "files" / "dashboard.json").read_text())

COLUMNS: Final = 24

REQUIRED: Final[Mapping[str, set[str]]] = {
    "dashboard": {"schemaVersion", "title", "uid", "panels", "templating", "annotations", "time"},
    "panel": {"id", "type", "title", "gridPos"},
    "target": {"refId", "expr"},
    "annotation": {"name", "datasource", "enable", "iconColor", "target"},
    "variable": {"name", "type"},
}
ALLOWED: Final[Mapping[str, set[str]]] = {
    "dashboard": {
        *("annotations", "description", "editable", "fiscalYearStartMonth", "graphTooltip", "id", "links", "liveNow"),
        *("panels", "refresh", "revision", "schemaVersion", "snapshot", "tags", "templating", "time", "timepicker"),
        *("timezone", "title", "uid", "version", "weekStart"),
    },
    "panel": {
        *("cacheTimeout", "collapsed", "datasource", "description", "fieldConfig", "gridPos", "hideTimeOverride", "id"),
        *("interval", "libraryPanel", "links", "maxDataPoints", "maxPerRow", "options", "panels", "pluginVersion"),
        *("queryCachingTTL", "repeat", "repeatDirection", "targets", "timeFrom", "timeShift", "title"),
        *("transformations", "transparent", "type"),
    },
    "target": {
        *("datasource", "editorMode", "exemplar", "expr", "format", "hide", "instant", "interval", "intervalFactor"),
        *("legendFormat", "queryType", "range", "refId"),
    },
    # the last four are those of Prometheus' own marks
    "annotation": {
        *("builtIn", "datasource", "enable", "filter", "hide", "iconColor", "name", "target", "type"),
        *("tagKeys", "textFormat", "titleFormat", "useValueForTime"),
    },
    "variable": {
        *("allValue", "auto", "auto_count", "auto_min", "current", "datasource", "description", "hide", "includeAll"),
        *("label", "multi", "name", "options", "query", "refresh", "regex", "skipUrlSync", "sort", "type"),
    },
}

PANELS: Final = {"row", "timeseries", "stat", "table", "state-timeline", "bargauge", "gauge", "text", "heatmap"}
"""Panels that every Grafana has."""


def parts(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield kind, name and content of what the schema describes."""
    yield "dashboard", "the whole", dashboard
    for panel in dashboard["panels"]:
        yield "panel", panel["title"], panel
        for target in panel.get("targets", ()):
            yield "target", panel["title"], target
    for mark in dashboard["annotations"]["list"]:
        yield "annotation", mark["name"], mark
        yield "target", mark["name"], mark["target"]
    for variable in dashboard["templating"]["list"]:
        yield "variable", variable["name"], variable


@pytest.mark.parametrize(("kind", "name", "content"), [*parts(DASHBOARD)])
def test_each_part_has_the_fields_of_the_schema(kind: str, name: str, content: Mapping[str, Any]) -> None:
    """A field that Grafana does not know is ignored without a word."""
    assert REQUIRED[kind] <= content.keys() <= ALLOWED[kind], name


def test_panels_are_of_known_types_and_do_not_overlap() -> None:
    """On a grid of 24 columns."""
    taken: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert panel["type"] in PANELS
        assert place.keys() == {"h", "w", "x", "y"}
        assert place["x"] + place["w"] <= COLUMNS, panel["title"]
        for cell in itertools.product(
            range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        ):
            assert taken.setdefault(cell, panel["title"]) == panel["title"], cell


def test_changes_and_reverts_are_marked_in_their_colours() -> None:
    """A revert is bad news, values that landed are good."""
    colours = {mark["name"]: (mark["iconColor"], mark["enable"]) for mark in DASHBOARD["annotations"]["list"]}
    assert colours == {"Changes": ("blue", True), "Landed": ("green", True), "Reverts": ("red", True)}
