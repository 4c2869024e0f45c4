"""A change before and after: the rate of evictions of both, with the interval in which each lies at 95 %."""

from heartbeat_tuner.report.drawing import scales
from heartbeat_tuner.report.drawing.plot_frame import LEFT, RIGHT, Drawing, PlotFrame
from heartbeat_tuner.report.figure_words import figure, tick
from heartbeat_tuner.report.plotted_data import ChangeEntry, RateEntry

_ROWS = {"before": 40.0, "after": 74.0}
_BOTTOM = 96.0


def effect(name: str, change: ChangeEntry) -> Drawing | None:
    """Return both rates above each other; None where nothing was counted after the change.

    Args:
        name: of the figure, unique on its page.
        change: with what was counted.
    """
    if change.after is None or not change.after.days > 0:
        return None
    rates = {"after": change.after} if change.before is None else {"before": change.before, "after": change.after}
    ends = [end for rate in rates.values() for end in (_mean(rate), rate.per_day_lower, rate.per_day_upper or 0.0)]
    x = scales.linear(max(ends), LEFT, RIGHT)
    words = "; ".join(f"{row}: {rate_words(rate)}" for row, rate in rates.items())
    plot = PlotFrame(name, "Evictions before and after the change", f"{words}.", 130)
    plot.x_axis(x, tick, "episodes of evictions a day", at=_BOTTOM, top=20)
    for row, rate in rates.items():
        style, y = "now" if row == "before" else "new", _ROWS[row]
        low = x.place(rate.per_day_lower)
        high = RIGHT if rate.per_day_upper is None else x.place(rate.per_day_upper)
        plot.text(row, 2, y + 4, f"label {style}")
        plot.curve([(low, y), (high, y)], style)
        if rate.days > 0:
            plot.dot(x.place(_mean(rate)), y, style)
    return plot.drawing()


def rate_words(rate: RateEntry) -> str:
    """Return a rate with its interval, in words."""
    upper = "not known how many" if rate.per_day_upper is None else figure(rate.per_day_upper)
    days = f"{figure(rate.days)} day{'' if rate.days == 1 else 's'}" if rate.days > 0 else "under 0.01 days"
    words = f"{rate.episodes} in {days}, so {figure(rate.per_day_lower)} to {upper} a day at 95 %"
    if rate.stalled_each is None or rate.per_day_upper is None:
        return words
    least, most = (figure(end * rate.stalled_each) for end in (rate.per_day_lower, rate.per_day_upper))
    return (
        f"{words}: {least} to {most} stalled partition-s a day, where one eviction stalls {figure(rate.stalled_each)}"
    )


def _mean(rate: RateEntry) -> float:
    return rate.episodes / rate.days if rate.days > 0 else 0.0
