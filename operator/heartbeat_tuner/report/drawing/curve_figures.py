"""What a model says of a group: how long absences last, and what each session timeout costs and evicts."""

from collections.abc import Sequence
from typing import Final

from heartbeat_tuner.report.drawing import scales
from heartbeat_tuner.report.drawing.plot_frame import LEFT, RIGHT, TOP, Drawing, PlotFrame
from heartbeat_tuner.report.drawing.scales import Scale
from heartbeat_tuner.report.figure_words import figure, tick
from heartbeat_tuner.report.report_data import GroupEntry

_BOTTOM: Final = 210.0
_SESSION: Final = "sessionTimeout"
_LEAST_PER_MONTH: Final = 1e-3
"""Rates below it are as good as never, and drawn at the bottom."""

_FAR_ABOVE: Final = 1e4


def survival(name: str, group: GroupEntry) -> Drawing | None:
    """Return how many absences a month last longer than a time, with the sessions now and recommended.

    Args:
        name: of the figure, unique on its page.
        group: whose.
    """
    entry = group.survival
    if entry is None or not entry.times_s:
        return None
    now_s, new_s = sessions_s(group)
    x = _across([*entry.times_s, now_s, *([] if new_s is None else [new_s])])
    y = _rates(group, entry.at_most)
    words = f"{entry.title} that last longer than the session evict a live member. Session now {now_s:g} s."
    plot = PlotFrame(name, "How long absences last", words if new_s is None else f"{words} Recommended {new_s:g} s.")
    plot.x_axis(x, scales.seconds_label, "lasts longer than", at=_BOTTOM)
    plot.y_axis(y, tick, "absences a month, whole group")
    plot.curve(_points(x, y, entry.times_s, entry.at_most), "most")
    plot.curve(_points(x, y, entry.times_s, entry.per_month), "expected")
    plot.level(y.place(group.allowed_per_month), "limit", f"allowed: {figure(group.allowed_per_month)} a month")
    _sessions(plot, x, now_s, new_s)
    return plot.drawing()


def costs(name: str, group: GroupEntry) -> Drawing | None:
    """Return what each session timeout costs, with the band of those that cost at most 5 % more than the best."""
    entry = group.costs
    if entry is None or not entry.sessions_s:
        return None
    now_s, new_s = sessions_s(group)
    per_month = group.allowed_per_month
    x, forecast = _across([*entry.sessions_s, now_s]), group.forecast
    dots = [] if forecast is None else [forecast.now.stalled_per_day]
    highest = max([*sorted(entry.stalled_per_day)[: max(1, len(entry.stalled_per_day) * 9 // 10)], *dots])
    y = scales.linear(highest, _BOTTOM, TOP)
    plot = PlotFrame(name, "What each session timeout costs", _cost_words(group, now_s, new_s))
    refused = [at for at, most in zip(entry.sessions_s, entry.evictions_at_most, strict=False) if most > per_month]
    if refused:
        plot.area(LEFT, TOP, x.place(max(refused)) - LEFT, _BOTTOM - TOP, "refused")
        plot.text("evicts more than allowed", LEFT + 4, _BOTTOM - 6, "label limit")
    if entry.band_s is not None:
        low, high = (x.place(edge) for edge in entry.band_s)
        plot.area(low, TOP, high - low, _BOTTOM - TOP, "band")
        plot.text("within 5 %", min((low + high) / 2, RIGHT - 36), _BOTTOM - 20, "label quiet", "middle")
    plot.x_axis(x, scales.seconds_label, "session timeout", at=_BOTTOM)
    plot.y_axis(y, tick, "stalled partition-seconds a day")
    plot.curve(_points(x, y, entry.sessions_s, entry.stalled_per_day), "expected")
    _sessions(plot, x, now_s, new_s)
    if forecast is not None:
        plot.dot(x.place(now_s), y.place(forecast.now.stalled_per_day), "now")
        if forecast.recommended is not None and new_s is not None:
            plot.dot(x.place(new_s), y.place(forecast.recommended.stalled_per_day), "new")
    return plot.drawing()


def evictions(name: str, group: GroupEntry) -> Drawing | None:
    """Return how many live members each session timeout evicts, expected and at most, and how many are allowed."""
    entry = group.costs
    if entry is None or not entry.sessions_s:
        return None
    now_s, new_s = sessions_s(group)
    x = _across([*entry.sessions_s, now_s])
    y = _rates(group, entry.evictions_at_most)
    words = f"The longer the session, the fewer live members are evicted. Allowed: {figure(group.allowed_per_month)}."
    plot = PlotFrame(name, "How many live members each session timeout evicts", words)
    plot.x_axis(x, scales.seconds_label, "session timeout", at=_BOTTOM)
    plot.y_axis(y, tick, "evictions a month, whole group")
    plot.curve(_points(x, y, entry.sessions_s, entry.evictions_at_most), "most")
    plot.curve(_points(x, y, entry.sessions_s, entry.evictions_per_month), "expected")
    plot.level(y.place(group.allowed_per_month), "limit", f"allowed: {figure(group.allowed_per_month)} a month")
    _sessions(plot, x, now_s, new_s)
    return plot.drawing()


def sessions_s(group: GroupEntry) -> tuple[float, float | None]:
    """Return the session timeouts now and recommended, in seconds; the latter is None where it does not move."""
    entry = next((setting for setting in group.settings if setting.key == _SESSION), None)
    if entry is None:
        return 0.0, None
    is_new = entry.recommended_ms is not None and entry.recommended_ms != entry.now_ms
    return entry.now_ms / 1000, (entry.recommended_ms or 0) / 1000 if is_new else None


def _across(times_s: Sequence[float]) -> Scale:
    above = [time_s for time_s in times_s if time_s > 0] or [1.0]
    low, high = min(above), max(above)
    return Scale(low, high if high > low else 2 * low, LEFT, RIGHT, is_log=True)


def _rates(group: GroupEntry, at_most: Sequence[float]) -> Scale:
    """Return a scale of rates a month around what is allowed; what is far above it is as bad as any."""
    allowed = max(group.allowed_per_month, 10 * _LEAST_PER_MONTH)
    high = min(max([*at_most, 10 * allowed]), _FAR_ABOVE * allowed)
    return Scale(_LEAST_PER_MONTH, high, _BOTTOM, TOP, is_log=True)


def _points(x: Scale, y: Scale, across: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Return the places of a curve: from the last before it comes into the figure to the first after it leaves it."""
    inside = [place for place, value in enumerate(values) if y.low <= value <= y.high] or [0]
    shown = slice(max(0, inside[0] - 1), inside[-1] + 2)
    return [(x.place(at), y.place(value)) for at, value in zip(across[shown], values[shown], strict=True)]


def _sessions(plot: PlotFrame, x: Scale, now_s: float, new_s: float | None) -> None:
    if now_s > 0:
        plot.upright(x.place(now_s), TOP, _BOTTOM, "now", f"now {scales.seconds_label(now_s)}")
    if new_s is not None:
        plot.upright(x.place(new_s), TOP, _BOTTOM, "new", f"recommended {scales.seconds_label(new_s)}", row=1)


def _cost_words(group: GroupEntry, now_s: float, new_s: float | None) -> str:
    forecast = group.forecast
    if forecast is None:
        return f"The session is {now_s:g} s now."
    words = f"With a session of {now_s:g} s it is {figure(forecast.now.stalled_per_day)} now."
    if forecast.recommended is None or new_s is None:
        return words
    return f"{words} {figure(forecast.recommended.stalled_per_day)} is expected with {new_s:g} s."
