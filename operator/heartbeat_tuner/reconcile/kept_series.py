"""The raw samples of the record's window, kept between cycles: of the groups that policies name, and of no others.

What is read again replaces what is there: samples that came late are taken in, and none is kept twice. It keeps a large
fleet: the quantities of one pod come from the same scrapes, so their times are one array, and so are the values of
counters that stand still at the same value.
"""

import sys
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Final

from heartbeat_tuner.metrics import queries, resolver
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.resolver import ClientKey, GroupKey, Observed, Place
from heartbeat_tuner.metrics.samples import Samples, Series
from heartbeat_tuner.metrics.vocabulary import Kind
from heartbeat_tuner.reconcile.spans import Span

LATE_S: Final = 60.0
"""A sample is there at the latest so long after its time: a scrape is stored when it ends, 10 s at most by default, and
remote write sends it some seconds later."""

_Labels = tuple[str, ...]
"""Names and values in turn, by name."""


class _Kept:
    """One series.

    Attributes:
        place: where it belongs.
        series: its samples.
        shown_s: when it was seen last, or at most that: it may consist of nothing that is a number.
    """

    __slots__ = ("place", "series", "shown_s")

    def __init__(self, place: Place, series: Series) -> None:
        self.place = place
        self.series = series
        self.shown_s = float("-inf")


class KeptSeries:
    """The series of the groups that are asked for.

    Args:
        conventions: those that they may follow, the likelier first.
    """

    def __init__(self, conventions: Sequence[Convention]) -> None:
        self._conventions = conventions
        self._groups: frozenset[GroupKey] = frozenset()
        self._own_ids: Mapping[ClientKey, GroupKey] = resolver.NO_OWN_IDS
        self._kept: dict[_Labels, _Kept] = {}
        self._by_group: dict[GroupKey, list[_Kept]] = {}
        self._newest_s: dict[str, float] = {}
        self._times: dict[tuple[str, str], array[float]] = {}
        self._constants: weakref.WeakValueDictionary[tuple[float, int], array[float]] = weakref.WeakValueDictionary()

    def keep_only(
        self, groups: Collection[GroupKey], own_ids: Mapping[ClientKey, GroupKey] = resolver.NO_OWN_IDS
    ) -> frozenset[GroupKey]:
        """Keep the series of these groups from now on, and forget all others.

        Args:
            groups: those to keep.
            own_ids: whose a `client.id` is that names no group.

        Returns:
            The groups that a `client.id` has come to: what was read of them before was not kept.
        """
        if self._groups == groups and self._own_ids == own_ids:
            return frozenset()
        grown = frozenset(group for key, group in own_ids.items() if self._own_ids.get(key) != group)
        self._groups, self._own_ids = frozenset(groups), dict(own_ids)
        for key, kept in list(self._kept.items()):
            place = self._place_of(kept.series.labels)
            if place is None:
                del self._kept[key]
            else:
                kept.place = place
        self._index()
        return grown

    def forget_all(self) -> None:
        """Begin anew."""
        self._kept.clear()
        self._newest_s.clear()
        self._times.clear()
        self._index()

    def take(self, found: Sequence[Series], span: Span, *, keep_after_s: float) -> frozenset[GroupKey]:
        """Let what was found in a span stand for what was known of it.

        Args:
            found: everything that Prometheus had of a quantity in the span.
            span: what was read.
            keep_after_s: older samples are forgotten.

        Returns:
            The groups of which samples came so late that more may have come before this span, unseen.
        """
        late: set[GroupKey] = set()
        for series in found:
            key = _key(series.labels)
            kept = self._kept.get(key)
            if kept is None:
                place = self._place_of(series.labels)
                if place is None:
                    continue
                labels = {sys.intern(name): sys.intern(value) for name, value in series.labels.items()}
                kept = _Kept(place, Series(labels, Samples(array("d"), array("d"))))
                self._kept[_key(labels)] = kept
                self._by_group.setdefault(place.group, []).append(kept)
            new = series.samples.between(*span)
            if kept.place.metric.quantity.kind is Kind.COUNTER and _is_late(kept.series.samples, new, span):
                late.add(kept.place.group)
            kept.shown_s = max(kept.shown_s, new.times_s[-1] if new else span.until_s)
            self._put(kept, _spliced(kept.series.samples, new, span, keep_after_s))
        return frozenset(late)

    def forget_until(self, time_s: float) -> None:
        """Forget all samples up to a time, and series that have not been seen since."""
        for key, kept in list(self._kept.items()):
            samples = kept.series.samples
            if samples and samples.times_s[0] <= time_s:
                self._put(kept, samples.between(time_s, float("inf")))
            if not kept.series.samples and kept.shown_s <= time_s:
                del self._kept[key]
        self._newest_s = {name: newest_s for name, newest_s in self._newest_s.items() if newest_s > time_s}
        self._index()

    def newest_s(self, namespace: str) -> float | None:
        """Return the time of the newest sample of a namespace; None if there is none."""
        return self._newest_s.get(namespace)

    def of_group(self, group: GroupKey) -> Mapping[Convention, Observed]:
        """Return the series of a group by convention and quantity, each once and in seconds."""
        placed = ((one.place, one.series) for one in self._by_group.get(group, ()))
        return resolver.sorted_out(placed).get(group, {})

    def sizes(self) -> tuple[int, int]:
        """Return how many series and samples are kept."""
        return len(self._kept), sum(len(one.series.samples) for one in self._kept.values())

    def _place_of(self, labels: Mapping[str, str]) -> Place | None:
        return resolver.place_of(labels, self._conventions, self._groups, self._own_ids)

    def _index(self) -> None:
        self._by_group = {}
        for kept in self._kept.values():
            self._by_group.setdefault(kept.place.group, []).append(kept)
        pods = {self._pod(kept) for kept in self._kept.values()}
        self._times = {pod: times_s for pod, times_s in self._times.items() if pod in pods}

    def _put(self, kept: _Kept, samples: Samples) -> None:
        times_s, values = samples.times_s, samples.values
        if times_s:
            namespace = kept.place.group[0]
            self._newest_s[namespace] = max(self._newest_s.get(namespace, times_s[-1]), times_s[-1])
            times_s = self._same_times(self._pod(kept), times_s)
            if samples.stands_still:
                values = self._constants.setdefault((values[0], len(values)), values)
        kept.series = Series(kept.series.labels, Samples(times_s, values))

    def _same_times(self, pod: tuple[str, str], times_s: "array[float]") -> "array[float]":
        known = self._times.get(pod)
        if known is not None and len(known) == len(times_s) and known.tobytes() == times_s.tobytes():
            return known
        self._times[pod] = times_s
        return times_s

    @staticmethod
    def _pod(kept: _Kept) -> tuple[str, str]:
        return kept.place.group[0], kept.series.labels.get(queries.POD_LABEL, "")


def _key(labels: Mapping[str, str]) -> _Labels:
    return tuple(chain.from_iterable(sorted(labels.items())))


def _spliced(old: Samples, new: Samples, span: Span, keep_after_s: float) -> Samples:
    """Return old samples with those of a span replaced by new ones."""
    first = bisect_right(old.times_s, keep_after_s)
    before = slice(first, max(first, bisect_right(old.times_s, span.after_s)))
    behind = slice(max(first, bisect_right(old.times_s, span.until_s)), None)
    return Samples(
        old.times_s[before] + new.times_s + old.times_s[behind], old.values[before] + new.values + old.values[behind]
    )


def _is_late(old: Samples, new: Samples, span: Span) -> bool:
    """Whether samples begin with a span, as near as they are scraped, though there were none just before it."""
    if not new:
        return False
    interval_s = new.times_s[1] - new.times_s[0] if len(new) > 1 else 0.0
    if new.times_s[0] > span.after_s + min(LATE_S, max(LATE_S / 2, interval_s)):
        return False
    return not old or old.times_s[-1] < new.times_s[0] - LATE_S
