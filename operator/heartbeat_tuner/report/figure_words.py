"""Numbers and times as a page writes them."""

import math
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain import durations

UNKNOWN: Final = "-"
"""What stands where nothing is known."""

_HARDLY: Final = 1e-3
_MANY: Final = 1_000.0


def figure(value: float | None) -> str:
    """Return a number with three significant digits; `UNKNOWN` for what is not known."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if 0 < value < _HARDLY:
        return f"<{_HARDLY:g}"
    return f"{value:,.0f}" if abs(value) >= _MANY else f"{value:.3g}"


def tick(value: float) -> str:
    """Return a number as an axis shows it: `50k` for 50,000, so that all fit."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return figure(value)


def duration(value_ms: int | None) -> str:
    """Return whole milliseconds as policies write a duration; `UNKNOWN` for what is not known."""
    return UNKNOWN if value_ms is None else durations.show(timedelta(milliseconds=value_ms))


def moment(at_s: float) -> str:
    """Return Unix seconds as a date and a time of day in UTC."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"
