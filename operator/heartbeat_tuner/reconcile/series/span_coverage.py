"""Which stretches of each quantity have been read for each group; from that, what is still to be read.

A new policy, a query that failed, an operator that has just started: all of it is a stretch that is missing.
"""

import functools
import math
from collections.abc import Callable, Collection, Mapping
from typing import Final

from heartbeat_tuner.metrics.raw.resolver import GroupKey
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series import spans
from heartbeat_tuner.reconcile.series.reading_plan import LONGEST_S, WINDOW_S, Ask, Missing, overlapping
from heartbeat_tuner.reconcile.series.spans import Span, Spans

_NOTHING: Final[Spans] = ()


class SpanCoverage:
    """The spans that were read, within the window that ends now.

    Attributes:
        until_s: the end of the window.
    """

    def __init__(self) -> None:
        self.until_s = -math.inf
        self._read: dict[Quantity, dict[GroupKey, Spans]] = {}

    def move_to(self, until_s: float, wanted: Mapping[Quantity, Collection[GroupKey]]) -> None:
        """Let the window end at a later time, and forget what is not wanted any more."""
        self.until_s = until_s
        begin_s = until_s - WINDOW_S
        cut = functools.cache(lambda known: spans.only_after(known, begin_s))  # most groups were read with others
        self._read = {
            quantity: {group: cut(self._read.get(quantity, {}).get(group, _NOTHING)) for group in groups}
            for quantity, groups in wanted.items()
        }

    def want_also(self, wanted: Mapping[Quantity, Collection[GroupKey]]) -> bool:
        """Want these up to the same time, too; return whether one of them is new."""
        fresh = [
            (quantity, group)
            for quantity, groups in wanted.items()
            for group in groups
            if group not in self._read.setdefault(quantity, {})
        ]
        for quantity, group in fresh:
            self._read[quantity][group] = _NOTHING
        return bool(fresh)

    def reach_s(self, quantity: Quantity, group: GroupKey) -> float | None:
        """Return how far back from now a group is covered without a hole; None if it is not covered up to now."""
        return spans.reach_s(self._read[quantity][group], self.until_s)

    def covers(self, quantity: Quantity, group: GroupKey, time_s: float) -> bool:
        """Whether the stretch that ends at a time was read."""
        return spans.reach_s(self._read[quantity].get(group, _NOTHING), time_s) is not None

    def add(self, ask: Ask) -> None:
        """Note that something was read."""
        read, namespaces = self._read[ask.quantity], frozenset(ask.namespaces)
        with_it = functools.cache(lambda known: spans.with_span(known, ask.span))
        for group, known in read.items():
            if group[0] in namespaces:
                read[group] = with_it(known)

    def forget_until(self, time_s: float, group: GroupKey) -> None:
        """Take what was read of a group before a time for unread."""
        for read in self._read.values():
            if group in read:
                read[group] = spans.only_after(read[group], time_s)

    def missing(self, newest_s: Callable[[str], float | None]) -> Missing:
        """Return the newest stretch of each quantity and namespace that one of its groups lacks.

        Args:
            newest_s: the time of a namespace's newest sample.
        """
        within = Span(self.until_s - WINDOW_S, self.until_s)
        stretches: dict[str, dict[Quantity, Span]] = {}
        for quantity, read in self._read.items():
            for namespace, known in {(group[0], known) for group, known in read.items()}:
                stretch = spans.newest_missing(known, within)
                if stretch is None:
                    continue
                if stretch.until_s == self.until_s:
                    stretch = overlapping(stretch, within, newest_s(namespace))
                other = stretches.setdefault(namespace, {}).get(quantity, stretch)
                until_s = max(stretch.until_s, other.until_s)
                after_s = max(min(stretch.after_s, other.after_s), until_s - LONGEST_S)
                stretches[namespace][quantity] = Span(after_s, until_s)
        return stretches
