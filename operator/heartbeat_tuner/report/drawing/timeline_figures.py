"""What happened to a group: one lane below the other, evictions as strokes, changes as upright lines."""

from datetime import UTC, datetime
from typing import Final

from heartbeat_tuner.report.drawing import scales
from heartbeat_tuner.report.drawing.plot_frame import LEFT, RIGHT, Drawing, PlotFrame
from heartbeat_tuner.report.drawing.scales import Scale
from heartbeat_tuner.report.figure_words import tick
from heartbeat_tuner.report.plotted_data import LaneEntry, TimelineEntry

_LANE: Final = 84
_STROKES: Final = 38
_HEAD: Final = 34
_FOOT: Final = 34
_DAY_S: Final = 86_400.0
_SHORT_S: Final = 600.0
_CLOCK_TICKS: Final = 4
_MOST_LABELS: Final = 3
"""Changes whose words fit above each other."""


def timeline(name: str, entry: TimelineEntry) -> Drawing:
    """Return what happened in a stretch of time.

    Args:
        name: of the figure, unique on its page.
        entry: the stretch.
    """
    rows = len(entry.marks[:_MOST_LABELS])
    top = _HEAD + 13 * max(0, rows - 1)
    bottom = top + _STROKES + _LANE * len(entry.lanes)
    words = f"{entry.counted}: {len(entry.evictions_s)}; changes of values: {len(entry.marks)}."
    plot = PlotFrame(name, entry.title, words, round(bottom + _FOOT))
    x = Scale(entry.since_s, max(entry.until_s, entry.since_s + 1.0), LEFT, RIGHT)
    for since_s, until_s in entry.unknown_s:
        plot.area(x.place(since_s), top, x.place(until_s) - x.place(since_s), bottom - top, "unknown")
    _strokes(plot, entry, x, top)
    for number, lane in enumerate(entry.lanes):
        _lane(plot, lane, x, top + _STROKES + _LANE * number)
    _clock(plot, x, bottom)
    for row, mark in enumerate(entry.marks):
        plot.upright(x.place(mark.at_s), 2, bottom, "new", mark.label if row < _MOST_LABELS else "", row)
    return plot.drawing()


def _strokes(plot: PlotFrame, entry: TimelineEntry, x: Scale, top: float) -> None:
    plot.text(f"{entry.counted}: {len(entry.evictions_s)}", 2, top + 10)
    for place in sorted({x.place(at_s) for at_s in entry.evictions_s}):
        plot.area(place - 0.75, top + 14, 1.5, 14, "stroke")


def _lane(plot: PlotFrame, lane: LaneEntry, x: Scale, top: float) -> None:
    known = [value for value in lane.values if value is not None]
    y = scales.linear(max(known, default=0.0), top + _LANE - 8, top + 24)
    plot.y_axis(y, tick, lane.title)
    points: list[tuple[float, float]] = []
    for at_s, value in zip(lane.times_s, lane.values, strict=False):
        if value is None:
            plot.curve(points, "expected")
            points = []
        else:
            points.append((x.place(at_s), y.place(value)))
    plot.curve(points, "expected")


def _clock(plot: PlotFrame, x: Scale, at: float) -> None:
    """Write moments below: the day where days are shown, the time of day otherwise."""
    length_s = x.high - x.low
    form = "%d %b" if length_s > 2 * _DAY_S else "%H:%M" if length_s > _SHORT_S else "%H:%M:%S"
    for part in range(_CLOCK_TICKS + 1):
        at_s = x.low + (x.high - x.low) * part / _CLOCK_TICKS
        anchor = "end" if part == _CLOCK_TICKS else "middle"
        plot.text(f"{datetime.fromtimestamp(at_s, UTC):{form}}", x.place(at_s), at + 14, "tick", anchor)
    plot.text("UTC", RIGHT, at + 28, "label", "end")
