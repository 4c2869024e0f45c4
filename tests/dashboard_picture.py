"""The panels of the chart's dashboard as a page: what the demo's Prometheus answered, drawn with the report's figures.

The picture of the documentation shows the panels' own queries, titles, legends and marks, not Grafana's frame.
"""

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.report.drawing import scales
from heartbeat_tuner.report.drawing.plot_frame import LEFT, RIGHT, PlotFrame
from heartbeat_tuner.report.drawing.scales import Scale
from heartbeat_tuner.report.figure_words import tick

_COLOURS: Final = ("#1f6fd1", "#c2410c", "#15803d", "#7e22ce", "#be123c", "#0e7490", "#a16207", "#475569")
_TOP: Final = 28
_BOTTOM: Final = 190
_HEIGHT: Final = 225
_BAR: Final = 20
_LONGEST_STEP_S: Final = 2.0
_STYLE: Final = """
body { font: 14px system-ui, sans-serif; margin: 0; background: #f4f5f7; color: #1f2937; }
main { display: grid; grid-template-columns: repeat(3, 1fr); gap: 8px; padding: 8px; width: 1184px; }
section { background: #fff; border: 1px solid #d8dce3; border-radius: 3px; padding: 6px 10px; }
h2 { font-size: 14px; margin: 0 0 2px; }
svg { width: 100%; display: block; }
text { font-size: 11px; fill: #4b5563; } .grid { stroke: #e5e7eb; } .axis { stroke: #9ca3af; }
.curve { fill: none; stroke-width: 2; } .mark { stroke-width: 1.5; stroke-dasharray: 4 3; stroke: #2563eb; }
ul { list-style: none; margin: 2px 0 0; padding: 0; font-size: 12px; }
li { display: inline-block; margin-right: 10px; }
i { display: inline-block; width: 10px; height: 3px; margin-right: 4px; }
"""


def render(path: Path) -> str:
    """Return the page of what `sandbox.demo.panels` wrote; panels without data are left out, as they show nothing."""
    data = json.loads(path.read_text())
    x = Scale(data["sinceSeconds"], data["untilSeconds"], LEFT, RIGHT)
    panels = [panel for panel in data["panels"] if panel["series"]]
    sections = "".join(_section(f"p{number}", panel, data["marks"], x) for number, panel in enumerate(panels))
    colours = "".join(
        f".c{number} {{ stroke: {colour}; }} rect.c{number} {{ fill: {colour}; opacity: .8; }}"
        for number, colour in enumerate(_COLOURS)
    )
    return f"<!doctype html><meta charset=utf-8><style>{_STYLE}{colours}</style><main>{sections}</main>"


def _section(name: str, panel: Mapping[str, Any], marks: Sequence[Mapping[str, Any]], x: Scale) -> str:
    plot = PlotFrame(name, panel["title"], f"{len(panel['series'])} series", _HEIGHT)
    if panel["type"] == "state-timeline":
        _bars(plot, panel["series"], x)
    else:
        _curves(plot, panel["series"], x, panel["unit"])
    for part in range(5):
        at_s = x.low + (x.high - x.low) * part / 4
        plot.text(f"{at_s - x.low:.0f} s", x.place(at_s), _BOTTOM + 14, "tick", "end" if part == 4 else "middle")
    for mark in marks:
        plot.upright(x.place(mark["atSeconds"]), _TOP - 18, _BOTTOM, "new")
    names = "".join(
        f'<li><i style="background:{_COLOURS[number % len(_COLOURS)]}"></i>{html.escape(series["name"])}</li>'
        for number, series in enumerate(panel["series"])
    )
    return f"<section><h2>{html.escape(panel['title'])}</h2>{plot.drawing().svg}<ul>{names}</ul></section>"


def _curves(plot: PlotFrame, series: Sequence[Mapping[str, Any]], x: Scale, unit: str) -> None:
    highest = max(value for series_ in series for value in series_["values"])
    y = scales.linear(highest or 1.0, _BOTTOM, _TOP)
    plot.y_axis(y, tick, "" if unit == "short" else unit)
    for number, series_ in enumerate(series):
        for stretch in _stretches(series_):
            plot.curve([(x.place(at_s), y.place(value)) for at_s, value in stretch], f"c{number % len(_COLOURS)}")


def _bars(plot: PlotFrame, series: Sequence[Mapping[str, Any]], x: Scale) -> None:
    """Draw a bar for each stretch in which a state holds."""
    for number, series_ in enumerate(series):
        top, style = _TOP + number * (_BAR + 4), f"c{number % len(_COLOURS)}"
        for stretch in _stretches(series_):
            plot.area(x.place(stretch[0][0]), top, x.place(stretch[-1][0]) - x.place(stretch[0][0]), _BAR, style)


def _stretches(series: Mapping[str, Any]) -> list[list[tuple[float, float]]]:
    """Return the samples of a series; where some are missing nothing is known, and nothing is drawn."""
    stretches: list[list[tuple[float, float]]] = []
    for at_s, value in zip(series["timesSeconds"], series["values"], strict=True):
        if not stretches or at_s - stretches[-1][-1][0] > _LONGEST_STEP_S:
            stretches.append([])
        stretches[-1].append((at_s, value))
    return stretches
