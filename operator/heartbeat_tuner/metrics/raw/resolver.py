"""What came back from Prometheus, sorted: whose it is, which convention it follows, what it means.

A series is known by its name and its labels together, never by one of them. From here on values are in seconds where
they are times, and what is no measurement is gone: NaN says that nothing happened in a window, and -1 that something
never happened.
"""

import dataclasses
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.samples import Samples, Series
from heartbeat_tuner.metrics.vocabulary import Quantity, ValueKind

GroupKey = tuple[str, str]
"""Namespace and group id."""

ClientKey = tuple[str, str, str]
"""Namespace, pod and a `client.id` that somebody gave."""

NO_OWN_IDS: Final[Mapping[ClientKey, GroupKey]] = MappingProxyType({})

PodKey = tuple[str, str]
"""Namespace and name."""

Observed = Mapping[Quantity, Sequence[Series]]
"""The series of one group in one convention, or of one pod, by what they are."""

NO_CONTAINERS: Final = frozenset({"", "POD"})
"""What the label `container` says where a series is that of a whole pod, or of the container that holds it."""

PER_TARGET: Final = frozenset({Quantity.SCRAPED, Quantity.SCRAPE_TIME})
"""What is known of a pod by each of its targets, and by each that scrapes them."""

_NO_GROUP: Final = "null"
"""What the Java consumer calls its group in `client.id` when it has none."""

_AT_ENDS: Final = 2
"""So many samples more may be at the ends of a series than of its twin, which is of other scrapes of the same time."""

_NUMBERED: Final = re.compile(r"consumer-(?P<group>.+)-[0-9]+", re.DOTALL)

_STREAM_THREAD: Final = re.compile(
    r"(?P<group>.+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-StreamThread-[0-9]+-consumer", re.DOTALL
)
"""What Kafka Streams calls a thread's consumer: the application, which is the group, the process, and the thread."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class SeriesPlace:
    """Where a series belongs.

    Attributes:
        group: whose it is.
        convention: which it follows.
        metric: which of the convention's metrics it is.
        identity: its labels, names and values in turn, without those that say by whom it was scraped: twins have the
            same.
    """

    group: GroupKey
    convention: Convention
    metric: Metric
    identity: tuple[str, ...]


def place_of(
    labels: Mapping[str, str],
    conventions: Sequence[Convention],
    groups: Collection[GroupKey],
    own_ids: Mapping[ClientKey, GroupKey] = NO_OWN_IDS,
) -> SeriesPlace | None:
    """Return where a series belongs; None if it is of no convention, or of none of the groups.

    Args:
        labels: of the series, `__name__` among them.
        conventions: those that may be followed, the likelier first.
        groups: those that are asked for: a `client.id` may read as two groups, of which at most one is meant.
        own_ids: whose a `client.id` is that names no group.
    """
    for convention in conventions:
        metric = convention.metric_of(labels)
        if metric is None:
            continue
        group = _group_of(labels, convention, groups, own_ids)
        if group is None:
            return None
        passing = queries.SCRAPE_LABELS | convention.passing_labels
        own = sorted(pair for pair in labels.items() if pair[0] not in passing)
        identity = tuple(sys.intern(text) for pair in own for text in pair)
        return SeriesPlace(group, convention, metric, identity)
    return None


def by_group(
    answer: Iterable[Series], conventions: Sequence[Convention], groups: Collection[GroupKey]
) -> dict[GroupKey, dict[Convention, dict[Quantity, list[Series]]]]:
    """Return the series of each group in each namespace, by convention and quantity, each once.

    Args:
        answer: what Prometheus answered, with `__name__`.
        conventions: those that may be followed, the likelier first.
        groups: those that are asked for.
    """
    placed = ((place_of(series.labels, conventions, groups), series) for series in answer)
    return sorted_out((place, series.in_unit(place.metric.unit_s)) for place, series in placed if place is not None)


def sorted_out(
    placed: Iterable[tuple[SeriesPlace, Series]],
) -> dict[GroupKey, dict[Convention, dict[Quantity, list[Series]]]]:
    """Return series by group, convention and quantity, each once; they are in seconds, where they are times.

    A pod that is scraped by two jobs, or by two replicas of Prometheus, has every series twice; counted twice, its
    evictions would be too. Of such twins the one with the most samples stays; where they have as many, but for their
    ends, that of the same scrapes for all quantities. Those of different times are no twins: a pod of a StatefulSet
    comes back under its name with another address.
    """
    once: dict[GroupKey, dict[Convention, dict[Quantity, dict[tuple[str, ...], Series]]]] = {}
    for place, series in placed:
        conventions = once.setdefault(place.group, {})
        twins = conventions.setdefault(place.convention, {}).setdefault(place.metric.quantity, {})
        fullest, twin = series, twins.get(place.identity)
        if twin is not None:
            fullest = _succession(twin, fullest) or _fuller(twin, fullest)
        twins[place.identity] = fullest
    return {
        group: {
            convention: {quantity: list(twins.values()) for quantity, twins in by_quantity.items()}
            for convention, by_quantity in by_convention.items()
        }
        for group, by_convention in once.items()
    }


def by_convention(
    series: Sequence[Series], conventions: Sequence[Convention], place: GroupKey
) -> dict[Convention, Observed]:
    """Return the series of one group as each convention reads them, for itself: a policy's own names are in several."""
    return {
        convention: by_group(series, [convention], {place}).get(place, {}).get(convention, {})
        for convention in conventions
    }


def by_pod(
    answer: Iterable[Series], conventions: Sequence[Convention], pods: Collection[PodKey]
) -> dict[PodKey, dict[Quantity, list[Series]]]:
    """Return what is exported around these pods, by quantity; each series once.

    Unlike a consumer's, such a series may be of one container of the pod: where a convention always has the label, it
    says so, and series of whole pods, which would count their containers once more, are left out. Of twins the fuller
    stays, but windowed maxima join: one that is reset by each scrape shows to each of two replicas only a part.

    Args:
        answer: what Prometheus answered, with `__name__`.
        conventions: of `conventions.platform`.
        pods: those that are asked for.
    """
    once: dict[PodKey, dict[Quantity, dict[frozenset[tuple[str, str]], Series]]] = {}
    for series in answer:
        place = (series.labels.get(queries.NAMESPACE_LABEL, ""), series.labels.get(queries.POD_LABEL, ""))
        metric, convention = next(
            ((metric, known) for known in conventions if (metric := known.metric_of(series.labels)) is not None),
            (None, None),
        )
        if place not in pods or metric is None or convention is None:
            continue
        if "container" in convention.with_labels and series.labels["container"] in NO_CONTAINERS:
            continue
        scraped_by = queries.SCRAPE_LABELS - convention.with_labels
        if metric.quantity in PER_TARGET:
            scraped_by = frozenset()
        own = frozenset(pair for pair in series.labels.items() if pair[0] not in scraped_by)
        twins = once.setdefault(place, {}).setdefault(metric.quantity, {})
        twins[own] = _joined(twins.get(own), series.in_unit(metric.unit_s), metric.quantity)
    return {
        place: {quantity: list(twins.values()) for quantity, twins in by_quantity.items()}
        for place, by_quantity in once.items()
    }


def followed(
    by_convention: Mapping[Convention, Observed], conventions: Sequence[Convention]
) -> tuple[Convention, Observed]:
    """Return the convention that tells most of a group, and what it tells; the first of them if none tells anything.

    Args:
        by_convention: of one group, from `by_group`.
        conventions: those that may be followed, the likelier first; not empty.
    """

    def telling(convention: Convention) -> tuple[int, int]:
        observed = by_convention.get(convention, {})
        return sum(1 for quantity in convention.needed if observed.get(quantity)), len(observed)

    best = max(conventions, key=telling)
    return best, by_convention.get(best, {})


def group_named(labels: Mapping[str, str], convention: Convention) -> str | None:
    """Return the group that a series names by itself, where no groups are known beforehand; None if it names none.

    Who ends in the pod's own name has an instance id, though it may end in a number as well (`orders-0`).
    """
    if convention.group_label:
        return labels.get(convention.group_label) or None
    names = readings(convention.client_id(labels), labels.get(queries.POD_LABEL, ""))
    return names[-1] if names else None


def is_groupless(group: str, convention: Convention) -> bool:
    """Whether this is what the Java consumer says of itself when it is in no group."""
    return group == _NO_GROUP and not convention.group_label


def _group_of(
    labels: Mapping[str, str],
    convention: Convention,
    groups: Collection[GroupKey],
    own_ids: Mapping[ClientKey, GroupKey],
) -> GroupKey | None:
    """Return the group of a series among those asked for; None if it is of none of them, or cannot be told."""
    namespace = labels.get(queries.NAMESPACE_LABEL, "")
    if convention.group_label:
        names = [labels.get(convention.group_label, "")]
    else:
        client_id, pod = convention.client_id(labels), labels.get(queries.POD_LABEL, "")
        owner = own_ids.get((namespace, pod, unquoted(client_id)))
        if owner in groups:
            return owner
        names = readings(client_id, pod)
    return next((place for group in names if (place := (namespace, group)) in groups), None)


def unquoted(client_id: str) -> str:
    """Return a client id without the quotes that JMX puts around one with characters that it quotes."""
    return client_id.removeprefix('"').removesuffix('"')


def readings(client_id: str, pod: str) -> list[str]:
    """Return the groups of which the Java consumer may have made this `client.id`, the likelier first.

    It is `consumer-<group>-<number>` or `consumer-<group>-<instance id>`; Kafka Streams has ids of its own. Any end
    could be an instance id: only the pod's name is taken for one, and a number goes before it.
    """
    if (thread := _STREAM_THREAD.fullmatch(bare := unquoted(client_id))) is not None:
        return [thread["group"]]
    numbered = _NUMBERED.fullmatch(bare)
    readings = [] if numbered is None else [numbered["group"]]
    prefix, ending = "consumer-", f"-{pod}"
    if pod and bare.startswith(prefix) and bare.endswith(ending) and len(bare) > len(prefix) + len(ending):
        readings.append(bare[len(prefix) : -len(ending)])
    return readings


def _succession(series: Series, other: Series) -> Series | None:
    """Return two series as one, with the labels of the later, where one ends before the other begins; else None."""
    if not series.samples or not other.samples:
        return None
    if series.samples.is_before(other.samples):
        return Series(other.labels, series.samples + other.samples)
    return Series(series.labels, other.samples + series.samples) if other.samples.is_before(series.samples) else None


def _fuller(series: Series, other: Series) -> Series:
    """Return which of two twins stays.

    By the count alone a single sample that came late would take one counter of a pod from other scrapes than the rest.
    Counters of no common moment show no eviction, however many there are.
    """
    more = len(series.samples) - len(other.samples)
    if abs(more) > _AT_ENDS or not _is_of_same_time(series.samples, other.samples):
        return series if more >= 0 else other
    return min(series, other, key=lambda twin: sorted(twin.labels.items()))


def _is_of_same_time(samples: Samples, others: Samples) -> bool:
    """Whether two begin, and end, within two scrapes of each other."""
    if not samples or not others:
        return False
    times_s, others_s = samples.times_s, others.times_s
    near_s = 2.0 * max((each[-1] - each[0]) / len(each) for each in (times_s, others_s))
    return abs(times_s[0] - others_s[0]) <= near_s and abs(times_s[-1] - others_s[-1]) <= near_s


def _joined(known: Series | None, other: Series, quantity: Quantity) -> Series:
    """Return what stands for two series that are the same, or of one pod after the other."""
    if known is None:
        return other
    if (both := _succession(known, other)) is not None:
        return both
    if quantity.kind is ValueKind.WINDOWED_MAX:
        return Series.from_raw(known.labels, sorted({*known.samples, *other.samples}))
    return max(known, other, key=lambda series: (len(series.samples), sorted(series.labels.items())))
