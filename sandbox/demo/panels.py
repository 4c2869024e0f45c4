"""What the chart's dashboard shows of the demo's group, as the demo's Prometheus answers its panels.

Grafana itself is not part of the sandbox. The queries, titles and marks are the dashboard's own; `tests.pictures` draws
the picture of the documentation from what is written here.
"""

import json
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sandbox import network, scenario
from sandbox.demo.story import GROUP, NAMESPACE
from sandbox.errors import SandboxError

DATA: Final = scenario.CHECKOUT / "build" / "demo-panels.json"

_DASHBOARD: Final = scenario.CHECKOUT / "charts" / "heartbeat-tuner" / "files" / "dashboard.json"
_ROW: Final = "One group"
_SHOWN: Final = frozenset({"timeseries", "state-timeline"})
_VARIABLES: Final = {
    "$namespace": NAMESPACE,
    "$policy": GROUP,
    "$tuner": scenario.LEASE_NAMESPACE,
    "$__rate_interval": "30s",
}
_STEP_S: Final = 1.0
_TIMEOUT_S: Final = 10.0


def write(url: str, *, since_s: float) -> None:
    """Write what the panels of one group show, and the marks of its changes and reverts.

    Args:
        url: of the Prometheus.
        since_s: where the panels begin, in Unix seconds.

    Raises:
        SandboxError: it did not answer.
    """
    dashboard, until_s = json.loads(_DASHBOARD.read_text()), time.time()
    panels = [_panel(url, panel, since_s, until_s) for panel in _of_row(dashboard["panels"])]
    marks = [mark for asked in dashboard["annotations"]["list"] for mark in _marks(url, asked, until_s)]
    document = {"sinceSeconds": since_s, "untilSeconds": until_s, "marks": marks, "panels": panels}
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_text(json.dumps(document, indent=1) + "\n")


def _of_row(panels: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the panels of the row that are drawn over time."""
    inside = False
    for panel in panels:
        if panel["type"] == "row":
            inside = panel["title"] == _ROW
        elif inside and panel["type"] in _SHOWN:
            yield panel


def _panel(url: str, panel: Mapping[str, Any], since_s: float, until_s: float) -> dict[str, Any]:
    series = [
        {
            "name": _legend(target["legendFormat"], answer["metric"]),
            "timesSeconds": [round(float(at_s), 1) for at_s, _ in answer["values"]],
            "values": [float(value) for _, value in answer["values"]],
        }
        for target in panel["targets"]
        for answer in _ask(url, "query_range", query=_filled(target["expr"]), start=since_s, end=until_s, step=_STEP_S)
    ]
    unit = panel["fieldConfig"]["defaults"].get("unit", "")
    return {"title": panel["title"], "type": panel["type"], "unit": unit, "series": series}


def _marks(url: str, asked: Mapping[str, Any], until_s: float) -> list[dict[str, Any]]:
    answers = _ask(url, "query", query=_filled(asked["target"]["expr"]), time=until_s)
    return [{"title": asked["titleFormat"], "atSeconds": float(answer["value"][1]) / 1000} for answer in answers]


def _filled(expression: str) -> str:
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression


def _legend(form: str, labels: Mapping[str, str]) -> str:
    for name, value in labels.items():
        form = form.replace("{{" + name + "}}", value)
    return form


def _ask(url: str, path: str, **query: object) -> list[dict[str, Any]]:
    port = urllib.parse.urlsplit(url).port or 0
    answer = network.page(port, f"/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout_s=_TIMEOUT_S)
    if not answer:
        raise SandboxError(f"Prometheus did not answer a query of the dashboard: {query['query']}")
    result: list[dict[str, Any]] = json.loads(answer)["data"]["result"]
    return result
