"""Which stretches of time have been read: pure arithmetic on spans, in Unix seconds.

A span is open at its beginning and closed at its end, as Prometheus' range selectors are: two that touch share no
sample and leave none out.
"""

from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of time, without its first moment."""

    after_s: float
    until_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.until_s - self.after_s


Spans = tuple[Span, ...]
"""Spans that neither overlap nor touch, oldest first."""


def with_span(spans: Spans, new: Span) -> Spans:
    """Return spans with another one; those that it touches become one with it."""
    apart = [one for one in spans if one.until_s < new.after_s or one.after_s > new.until_s]
    touched = [one for one in spans if one.after_s <= new.until_s and one.until_s >= new.after_s]
    whole = Span(
        min([new.after_s, *(one.after_s for one in touched)]), max([new.until_s, *(one.until_s for one in touched)])
    )
    return tuple(sorted([*apart, whole]))


def only_after(spans: Spans, time_s: float) -> Spans:
    """Return what of the spans is after a time."""
    return tuple(Span(max(one.after_s, time_s), one.until_s) for one in spans if one.until_s > time_s)


def newest_missing(spans: Spans, within: Span) -> Span | None:
    """Return the newest stretch of a time that no span covers; None if there is none."""
    until_s = within.until_s
    for one in reversed(spans):
        if one.until_s < until_s:
            break
        until_s = min(until_s, one.after_s)
    if until_s <= within.after_s:
        return None
    older = [one.until_s for one in spans if one.until_s < until_s]
    return Span(max([within.after_s, *older]), until_s)


def reach_s(spans: Spans, until_s: float) -> float | None:
    """Return how far back the time up to `until_s` is covered without a hole; None if that moment is not covered."""
    return next((one.after_s for one in spans if one.after_s < until_s <= one.until_s), None)
