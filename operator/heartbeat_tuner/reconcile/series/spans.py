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
    apart = [span for span in spans if span.until_s < new.after_s or span.after_s > new.until_s]
    touched = [span for span in spans if span.after_s <= new.until_s and span.until_s >= new.after_s]
    whole = Span(
        min([new.after_s, *(span.after_s for span in touched)]), max([new.until_s, *(span.until_s for span in touched)])
    )
    return tuple(sorted([*apart, whole]))


def only_after(spans: Spans, time_s: float) -> Spans:
    """Return what of the spans is after a time."""
    return tuple(Span(max(span.after_s, time_s), span.until_s) for span in spans if span.until_s > time_s)


def newest_missing(spans: Spans, within: Span) -> Span | None:
    """Return the newest stretch of a time that no span covers; None if there is none."""
    until_s = within.until_s
    for span in reversed(spans):
        if span.until_s < until_s:
            break
        until_s = min(until_s, span.after_s)
    if until_s <= within.after_s:
        return None
    older = [span.until_s for span in spans if span.until_s < until_s]
    return Span(max([within.after_s, *older]), until_s)


def reach_s(spans: Spans, until_s: float) -> float | None:
    """Return how far back the time up to `until_s` is covered without a hole; None if that moment is not covered."""
    return next((span.after_s for span in spans if span.after_s < until_s <= span.until_s), None)
