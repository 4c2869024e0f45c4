"""The raw samples of the record's window, kept between cycles: of the groups that policies name, and of no others.

What is read again replaces what is there: samples that came late are taken in, and none is kept twice. It keeps a large
fleet: the quantities of one pod come from the same scrapes, so their times are kept once, a counter that stands still
is its one value, and all else is packed (`splicing`). A cycle brings little that is new, of very many series: none is
looked at twice in it, and of what was there no more than its end is.
"""

import dataclasses
import weakref
from array import array
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries, resolver
from heartbeat_tuner.metrics.raw.label_sets import Labels
from heartbeat_tuner.metrics.raw.resolver import ClientKey, GroupKey, Observed, SeriesPlace
from heartbeat_tuner.metrics.raw.samples import Course, Samples, Series
from heartbeat_tuner.metrics.vocabulary import Quantity, ValueKind
from heartbeat_tuner.reconcile.series import splicing
from heartbeat_tuner.reconcile.series.spans import Span
from heartbeat_tuner.reconcile.series.splicing import NO_NUMBERS, Numbers, Splice, Values

BEATS: Final = frozenset({Quantity.HEARTBEATS, Quantity.HEARTBEAT_REQUESTS})
"""Counters that move all the time in a group to which nothing happens. All others stand still in it: whatever happens
to a member ends with a join."""

LATE_S: Final = 60.0
"""A sample is there at the latest so long after its time: a scrape is stored when it ends, 10 s at most by default, and
remote write sends it some seconds later."""


class _StoredSeries:
    """One series.

    Attributes:
        labels: its labels.
        place: where it belongs.
        times_s: when it was scraped; the same object as that of others of the same scrapes.
        values: what was then; a number if it was the same always.
        shown_s: when it was seen last, or at most that: it may consist of nothing that is a number.
    """

    __slots__ = ("labels", "place", "shown_s", "times_s", "values")

    def __init__(self, labels: Labels, place: SeriesPlace) -> None:
        self.labels = labels
        self.place = place
        self.times_s: Numbers = NO_NUMBERS
        self.values: Values = NO_NUMBERS
        self.shown_s = float("-inf")


class KeptSeries:
    """The series of the groups that are asked for.

    Args:
        conventions: those that they may follow, the likelier first.
    """

    def __init__(self, conventions: Sequence[Convention]) -> None:
        self._conventions = conventions
        self._groups: dict[GroupKey, GroupKey] = {}
        self._own_ids: Mapping[ClientKey, GroupKey] = resolver.NO_OWN_IDS
        self._kept: dict[Labels, _StoredSeries] = {}
        self._by_group: dict[GroupKey, list[_StoredSeries]] = {}
        self._newest_s: dict[str, float] = {}
        self._splices: dict[tuple[str, str], Splice] = {}
        self._others: set[Labels] = set()
        self._still: set[GroupKey] = set()
        self._stirred: set[GroupKey] = set()
        self._constants: weakref.WeakValueDictionary[tuple[float, int], array[float]] = weakref.WeakValueDictionary()

    def keep_only(
        self, groups: AbstractSet[GroupKey], own_ids: Mapping[ClientKey, GroupKey] = resolver.NO_OWN_IDS
    ) -> frozenset[GroupKey]:
        """Keep the series of these groups from now on, and forget all others.

        Args:
            groups: those to keep.
            own_ids: whose a `client.id` is that names no group.

        Returns:
            The groups that a `client.id` has come to: what was read of them before was not kept.
        """
        if self._groups.keys() == groups and self._own_ids == own_ids:
            return frozenset()
        grown = frozenset(group for key, group in own_ids.items() if self._own_ids.get(key) != group)
        gone = self._groups.keys() - groups
        others_too = self._own_ids != own_ids or not self._groups.keys() >= groups
        self._groups, self._own_ids = {group: group for group in groups}, dict(own_ids)
        self._others.clear()
        for group, those in list(self._by_group.items()):
            if group in gone or others_too:
                self._place_again(group, those, is_gone=group in gone)
        return grown

    def keep_also(self, groups: AbstractSet[GroupKey]) -> None:
        """Keep the series of these groups, too."""
        self.keep_only(self._groups.keys() | groups, self._own_ids)

    def begin_reading(self) -> None:
        """Look from now on which groups stand still."""
        self._still.clear()
        self._stirred.clear()

    def stands_still(self, group: GroupKey) -> bool:
        """Whether a group has newer samples than before the reading, and no counter but those of its beats moved."""
        return group in self._still and group not in self._stirred

    def forget_all(self) -> None:
        """Begin again."""
        self._kept.clear()
        self._by_group.clear()
        self._newest_s.clear()
        self._splices.clear()

    def take(self, answer: Sequence[Series], span: Span, *, keep_after_s: float) -> frozenset[GroupKey]:
        """Let what was found in a span stand for what was known of it.

        Args:
            answer: what Prometheus had of a quantity in the span.
            span: what was read.
            keep_after_s: older samples are forgotten.

        Returns:
            The groups of which samples came so late that more may have come before this span, unseen.
        """
        late: set[GroupKey] = set()
        for series in answer:
            labels = series.labels if isinstance(series.labels, Labels) else Labels(series.labels)
            stored_series = self._kept.get(labels) or self._begun(labels)
            if stored_series is None:
                continue
            new = series.samples.between(*span)
            quantity = stored_series.place.metric.quantity
            if quantity.kind is ValueKind.COUNTER:
                if _is_late(stored_series.times_s, new.times_s, span):
                    late.add(stored_series.place.group)
                if quantity not in BEATS:
                    (self._still if _goes_on(stored_series, new) else self._stirred).add(stored_series.place.group)
            stored_series.shown_s = max(stored_series.shown_s, new.times_s[-1] if new else span.until_s)
            self._put(stored_series, new, span, keep_after_s)
        return frozenset(late)

    def forget_until(self, time_s: float) -> None:
        """Forget all samples up to a time, and series that have not been seen since."""
        gone: list[_StoredSeries] = []
        for stored_series in self._kept.values():
            if stored_series.times_s and splicing.first_of(stored_series.times_s) <= time_s:
                self._put(stored_series, Samples(NO_NUMBERS, NO_NUMBERS), Span(time_s, time_s), time_s)
            if stored_series.shown_s <= time_s and not stored_series.times_s:
                gone.append(stored_series)
        for stored_series in gone:
            del self._kept[stored_series.labels]
        for group in {stored.place.group for stored in gone}:
            left = [stored for stored in self._by_group.pop(group) if stored.times_s or stored.shown_s > time_s]
            if left:
                self._by_group[group] = left
        self._newest_s = {name: newest_s for name, newest_s in self._newest_s.items() if newest_s > time_s}
        self._splices.clear()

    def newest_s(self, namespace: str) -> float | None:
        """Return the time of the newest sample of a namespace; None if there is none."""
        return self._newest_s.get(namespace)

    def of_group(self, group: GroupKey) -> Mapping[Convention, Observed]:
        """Return the series of a group by convention and quantity, each once and in seconds."""
        times: dict[int, array[float]] = {}
        placed: list[tuple[SeriesPlace, Series]] = []
        for stored_series in self._by_group.get(group, ()):
            times_s = times.get(id(stored_series.times_s))
            if times_s is None:
                times_s = times[id(stored_series.times_s)] = splicing.unpacked(stored_series.times_s)
            values = stored_series.values
            plain = self._constant(values, len(times_s)) if isinstance(values, float) else splicing.unpacked(values)
            course = splicing.course_of(values)
            series, unit_s = (
                Series(stored_series.labels, Samples(times_s, plain, course)),
                stored_series.place.metric.unit_s,
            )
            if unit_s != 1.0 or course is Course.UNKNOWN or plain[0] < 0:
                series = series.in_unit(unit_s)
            placed.append((stored_series.place, series))
        return resolver.sorted_out(placed).get(group, {})

    def sizes(self) -> tuple[int, int]:
        """Return how many series and samples are kept."""
        return len(self._kept), sum(len(stored_series.times_s) for stored_series in self._kept.values())

    def _begun(self, labels: Labels) -> _StoredSeries | None:
        """Return a series that was not there; None if it is of none of the groups."""
        if labels in self._others:
            return None
        place = resolver.place_of(labels, self._conventions, self._groups, self._own_ids)
        if place is None:
            self._others.add(labels)
            return None
        place = dataclasses.replace(place, group=self._groups[place.group])  # one object for all series of a group
        stored_series = self._kept[labels] = _StoredSeries(labels, place)
        self._by_group.setdefault(place.group, []).append(stored_series)
        return stored_series

    def _place_again(self, group: GroupKey, those: Sequence[_StoredSeries], *, is_gone: bool) -> None:
        """Look again whose series these of a group are; one that names its group cannot have come to another."""
        left: list[_StoredSeries] = []
        for stored_series in those:
            if not stored_series.place.convention.group_label:
                place = resolver.place_of(stored_series.labels, self._conventions, self._groups, self._own_ids)
            else:
                place = None if is_gone else stored_series.place
            if place is None:
                del self._kept[stored_series.labels]
                continue
            stored_series.place = place
            (left if place.group == group else self._by_group.setdefault(place.group, [])).append(stored_series)
        if left:
            self._by_group[group] = left
        else:
            del self._by_group[group]

    def _put(self, stored_series: _StoredSeries, new: Samples, span: Span, keep_after_s: float) -> None:
        """Let new samples stand for those of a span."""
        splice = self._spliced(stored_series, new.times_s, span, keep_after_s)
        if not splice.times_s:
            stored_series.times_s = stored_series.values = NO_NUMBERS
            return
        stored_series.values = splicing.with_values(stored_series.values, new.values, splice)
        stored_series.times_s = splice.times_s
        namespace, newest_s = stored_series.place.group[0], splicing.last_of(splice.times_s)
        if newest_s > self._newest_s.get(namespace, float("-inf")):
            self._newest_s[namespace] = newest_s

    def _spliced(self, stored_series: _StoredSeries, new: "array[float]", span: Span, keep_after_s: float) -> Splice:
        """Return what becomes of a series' times: that of another series of the pod, if it is the same."""
        pod = stored_series.place.group[0], stored_series.labels.get(queries.POD_LABEL, "")
        known = self._splices.get(pod)
        asked = (stored_series.times_s, new, span, keep_after_s)
        if known is not None and known.old is stored_series.times_s and known[1:4] == asked[1:]:
            return known
        begin = splicing.count_until(stored_series.times_s, keep_after_s)
        end = max(begin, splicing.count_until(stored_series.times_s, span.after_s))
        behind = max(begin, splicing.count_until(stored_series.times_s, span.until_s))
        times_s = splicing.joined(stored_series.times_s, new, begin, end, behind)
        fullest_s = times_s if known is None else known.fullest_s
        if splicing.are_the_same(fullest_s, times_s):  # read in other pieces
            times_s = fullest_s
        elif len(times_s) > len(fullest_s):
            fullest_s = times_s
        splice = self._splices[pod] = Splice(*asked, begin, end, behind, times_s, fullest_s)
        return splice

    def _constant(self, value: float, count: int) -> "array[float]":
        return self._constants.setdefault((value, count), array("d", [value]) * count)


def _goes_on(stored_series: _StoredSeries, new: Samples) -> bool:
    """Whether new samples of a counter show newer scrapes than were known, and the same number."""
    if not new or not stored_series.times_s or new.times_s[-1] <= splicing.last_of(stored_series.times_s):
        return False
    values = stored_series.values
    last = values if isinstance(values, float) else splicing.last_of(values)
    return new.values.count(last) == len(new.values)


def _is_late(old: Numbers, new: "array[float]", span: Span) -> bool:
    """Whether samples begin with a span, as near as they are scraped, though there were none just before it."""
    if not new:
        return False
    interval_s = new[1] - new[0] if len(new) > 1 else 0.0
    if new[0] > span.after_s + min(LATE_S, max(LATE_S / 2, interval_s)):
        return False
    return not old or splicing.last_of(old) < new[0] - LATE_S
