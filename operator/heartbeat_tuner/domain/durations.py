"""Durations as the API writes them: Go's notation (`45s`, `1h30m`, `333ms`), without days.

Used at every edge where a person reads or writes a duration: policies, status, messages. Inside, a duration is a
`timedelta`; Kafka's clients want whole milliseconds.
"""

import functools
import re
from datetime import datetime, timedelta
from typing import Final

GO_DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
"""What the API accepts: no sign, no spaces, units from milliseconds to hours."""

DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?d([0-9]+(\.[0-9]+)?(ms|s|m|h))*|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$"
"""What people may write in the configuration: the same, and days first."""

_TERM: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_UNIT_MS: Final = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0, "h": 3_600_000.0}

_DAYS: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)d")
_HOURS_A_DAY: Final = 24

DAY_S: Final = 86_400.0

MONTH_DAYS: Final = 30.0
"""What an objective calls a month."""

LONGEST: Final = timedelta(hours=2_562_047)
"""What Go's durations hold, in whole hours: 292 years."""

YEARS: Final = range(2020, 2200)
"""The years in which we may have written; others are not ours, and arithmetic with them may overflow."""


_CACHED: Final = 4_096
"""Durations: ten thousand policies have some hundreds of different ones, forty each, and are read again and again."""

_SHORT: Final = 32
"""Characters; longer texts are not remembered: who writes one must not take memory by it."""


def parse(text: str) -> timedelta:
    """Return the duration that `text` says, rounded to whole milliseconds.

    Raises:
        ValueError: `text` is not in Go's notation, or longer than Go can hold; the message shows what is right.
    """
    return _cached(text) if len(text) <= _SHORT else _parsed(text)


def parse_days(text: str) -> timedelta:
    """Return the duration that a person typed: as `parse`, and days may come first (`14d`, `1d12h`).

    In policies too, whole days only. What programs write and read, such as a status, is in Go's notation.

    Raises:
        ValueError: as of `parse`.
    """
    days = _DAYS.match(text)
    if days is None:
        return parse(text)
    hours = parse(f"{float(days[1]) * _HOURS_A_DAY:.9f}h")
    return hours + parse(text[days.end() :]) if days.end() < len(text) else hours


def _parsed(text: str) -> timedelta:
    if not re.fullmatch(GO_DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is not a duration; write it like 45s, 333ms, 1h30m (units ms, s, m, h)")
    total_ms = sum(float(number) * _UNIT_MS[unit] for number, unit in _TERM.findall(text))
    if total_ms > to_ms(LONGEST):
        raise ValueError(f"{text!r} is longer than {show(LONGEST)}, the longest duration there is")
    return timedelta(milliseconds=round(total_ms))


_cached: Final = functools.lru_cache(maxsize=_CACHED)(_parsed)


@functools.lru_cache(maxsize=_CACHED)
def show(duration: timedelta) -> str:
    """Return the shortest Go notation of `duration`, to the millisecond.

    | seconds | shown    |
    |---------|----------|
    | 0.333   | `333ms`  |
    | 1       | `1s`     |
    | 1.5     | `1.5s`   |
    | 90      | `1m30s`  |
    | 86400   | `24h`    |
    """
    total_ms = to_ms(duration)
    if total_ms == 0:
        return "0s"
    if total_ms < 1_000:  # noqa: PLR2004 - a second
        return f"{total_ms}ms"
    hours, rest_ms = divmod(total_ms, 3_600_000)
    minutes, rest_ms = divmod(rest_ms, 60_000)
    terms = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest_ms / 1_000:g}s" if rest_ms else ""]
    return "".join(terms)


def about(duration: timedelta) -> str:
    """Return seconds to two significant digits, for figures that were measured: `0.51 s`, `5 s`, `120 s`."""
    return f"{float(f'{duration.total_seconds():.2g}'):g} s"


def to_ms(duration: timedelta) -> int:
    """Return whole milliseconds, rounded to the nearest."""
    return round(duration / timedelta(milliseconds=1))


def ceil_to_second(duration: timedelta) -> timedelta:
    """Return `duration` rounded up to whole seconds, computed in whole milliseconds."""
    return timedelta(seconds=-(-to_ms(duration) // 1_000))


def may_be_ours(moment: datetime) -> bool:
    """Whether we may have written a moment down: anybody who may edit an object can write any moment there."""
    return moment.year in YEARS


def moment_of(text: object) -> datetime | None:
    """Return the moment that a text in an object names; None where it names none, has no offset, or is not ours."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and may_be_ours(moment) else None
