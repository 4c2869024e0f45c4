"""What a Prometheus has of its consumer groups, what is missing, and how to get it: an inventory in, findings out.

No group is known beforehand: it is read from a label, or from the `client.id` that the Java consumer makes by itself.
Nothing here judges a group; it only says whether it could be judged.
"""

import dataclasses
import difflib
import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.metrics import discovery, fixes, misnamed, queries, resolver, samples
from heartbeat_tuner.metrics.conventions import catalogue, kafkajs
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.fixes import Fix
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

RARE: Final = timedelta(seconds=60)
"""A windowed maximum is shown for 59 to 86 s: scraped more rarely than this, some are never seen."""

SHOWN: Final = 3
"""How many examples a sentence gives."""


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """What a quantity is for: settings that it counts for, and what it tells."""

    settings: tuple[Setting, ...]
    tells: str


_S, _H, _W, _M = (
    Setting.SESSION_TIMEOUT,
    Setting.HEARTBEAT_INTERVAL,
    Setting.FETCH_WAIT,
    Setting.MAX_POLL_INTERVAL,
)

USES: Final[Mapping[Quantity, Use]] = MappingProxyType(
    {
        Quantity.HEARTBEATS: Use((_S, _H, _W), "how often a member beats, and for how long it was silent"),
        Quantity.HEARTBEAT_REQUESTS: Use((_S,), "evictions, as heartbeats that were refused"),
        Quantity.REBALANCE_NOTICES: Use((_S,), "evictions, as rejoins that no rebalance asked for"),
        Quantity.REBALANCES: Use((_S, _H, _W), "how often members rejoin"),
        Quantity.REBALANCE_TIME: Use((_S, _H, _W), "how much of its time the group spends in rebalances"),
        Quantity.FAILED_REBALANCES: Use((_S, _M), "evictions, as member ids that were lost"),
        Quantity.JOIN_ANSWERS: Use((_S, _M), "evictions, told from rebalances that overtook each other"),
        Quantity.POLL_AGE: Use((_M,), "evictions for want of a poll, told from those for silence"),
        Quantity.POLL_GAP_MAX: Use((_M,), "how long handlers take"),
    }
)
"""What is read today, and what for."""


class Severity(enum.StrEnum):
    """How bad a finding is."""

    ERROR = "error"  # of something, nothing can be known
    WARNING = "warning"  # less can be known
    INFO = "info"  # nothing to do


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """Something that is missing or not as it should be.

    Attributes:
        id: stable, for programs.
        severity: how bad it is.
        subject: what it is about, in raw words of Prometheus' labels: groups, client ids, jobs.
        message: a sentence about the subject, which it does not repeat.
        fix: what to do about it; None where there is nothing to do.
    """

    id: str
    severity: Severity
    subject: tuple[str, ...]
    message: str
    fix: Fix | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What Prometheus answered to the queries of `discovery`.

    Attributes:
        kinds: one series for each kind, without values that matter.
        members: recent raw samples of each consumer, with all labels.
        strangers: one example of each unknown name.
        now: when it was asked.
    """

    kinds: Sequence[Series]
    members: Sequence[Series]
    strangers: Sequence[Series]
    now: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class FoundGroup:
    """A consumer group that some exporter shows.

    Attributes:
        namespace: of its pods.
        group: its id.
        convention: the exporter that tells most of it.
        pods: those with a fresh sample.
        members: consumers with one; of an exporter that does not count their joins, pods.
        interval: between two scrapes; None if no two are recent.
        age: of the newest sample; None if none is recent.
        there: what it exports of what is used.
        missing: what it lacks of that, as far as consumers of its kind have it at all.
        measurable: whether its record can be made.
    """

    namespace: str
    group: str
    convention: Convention
    pods: tuple[str, ...]
    members: int
    interval: timedelta | None
    age: timedelta | None
    there: tuple[Quantity, ...]
    missing: tuple[Quantity, ...]
    measurable: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnosis:
    """All groups, by namespace and name, and all findings, the worst first."""

    groups: tuple[FoundGroup, ...]
    findings: tuple[Finding, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all groups can be measured in full."""
        return all(finding.severity is Severity.INFO for finding in self.findings)

    def only(self, group: str) -> "Diagnosis":
        """Return what concerns one group; one that is not there is a finding, which names the nearest that are."""
        mine = tuple(one for one in self.groups if one.group == group)
        if mine:
            return Diagnosis(mine, tuple(one for one in self.findings if one.subject[:1] == (group,)))
        known = sorted({one.group for one in self.groups})
        near = difflib.get_close_matches(group, known, n=SHOWN, cutoff=0.5) or known[:SHOWN]
        nearest = f"; the nearest of {len(known)} are {', '.join(near)}" if near else ""
        told = f"no exporter shows a group of this name{nearest}"
        unknown = Finding("group-unknown", Severity.ERROR, (group,), told, None if near else fixes.NOTHING)
        untold = tuple(one for one in self.findings if one.id in _MAY_HIDE_A_GROUP)
        return Diagnosis((), (unknown, *untold))


_MAY_HIDE_A_GROUP: Final = frozenset({"group-not-told", "labels-unknown", "namespace-not-told", "names-unknown"})


@dataclasses.dataclass(slots=True)
class _Seen:
    """What one exporter shows of one group."""

    quantities: set[Quantity] = dataclasses.field(default_factory=set)
    members: list[Series] = dataclasses.field(default_factory=list)
    jobs: set[str] = dataclasses.field(default_factory=set)


_ByGroup = dict[resolver.GroupKey, dict[Convention, _Seen]]


def diagnose(inventory: Inventory, conventions: Sequence[Convention]) -> Diagnosis:
    """Return what the inventory says.

    Args:
        inventory: what Prometheus answered.
        conventions: those that were looked for, the likelier first.
    """
    seen: _ByGroup = {}
    puzzles = misnamed.Puzzles()
    told_by_pod: dict[tuple[Convention, str, str], str] = {}
    for series in inventory.members:
        convention = _convention_of(series.labels, conventions)
        if convention is None:
            puzzles.unknown_labels(series.labels)
            continue
        group = resolver.group_named(series.labels, convention)
        namespace = series.labels.get(queries.NAMESPACE_LABEL, "")
        puzzles.place(series.labels)
        if group is not None and not resolver.is_groupless(group, convention):
            told_by_pod[convention, namespace, series.labels.get(convention.client_label, "")] = group
            _seen(seen, namespace, group, convention).members.append(series)
    for series in inventory.kinds:
        labels = series.labels
        convention = _convention_of(labels, conventions)
        metric = None if convention is None else convention.metric_of(labels)
        if convention is None or metric is None:
            continue  # another request than heartbeats, or told by its members already
        namespace = labels.get(queries.NAMESPACE_LABEL, "")
        client = labels.get(convention.client_label, "")
        group = told_by_pod.get((convention, namespace, client)) or resolver.group_named(labels, convention)
        if group is None and _is_tuned(convention):
            puzzles.no_group(labels, client)
        elif group is None:
            continue  # a client of its own id, of a library whose groups are not tuned anyway
        elif not resolver.is_groupless(group, convention):
            mine = _seen(seen, namespace, group, convention)
            mine.quantities.add(metric.quantity)
            mine.jobs.add(labels.get(discovery.JOB_LABEL, ""))
    groups = tuple(
        _group(place, by_convention, inventory.now) for place, by_convention in sorted(seen.items()) if place[0]
    )
    whole = {
        (one.namespace, job)
        for one in groups
        if one.measurable
        for job in seen[one.namespace, one.group][one.convention].jobs
    }
    found = [
        *(finding for one in groups for finding in _of_group(one)),
        *_untold(puzzles),
        *_strange(inventory.strangers, whole),
    ]
    if not groups and not any(one.severity is Severity.ERROR for one in found):
        found.append(_nothing())
    ranks = list(Severity)
    return Diagnosis(groups, tuple(sorted(found, key=lambda one: (ranks.index(one.severity), one.id, one.subject))))


def _convention_of(labels: Mapping[str, str], conventions: Iterable[Convention]) -> Convention | None:
    """Return the convention of which a series is, whichever of its metrics it is."""
    name = labels.get(queries.NAME_LABEL, "")
    return next((one for one in conventions if name in one.by_name and one.carries(labels)), None)


def _seen(seen: _ByGroup, namespace: str, group: str, convention: Convention) -> _Seen:
    return seen.setdefault((namespace, group), {}).setdefault(convention, _Seen())


def _group(place: resolver.GroupKey, by_convention: Mapping[Convention, _Seen], now: datetime) -> FoundGroup:
    """Return what is known of a group from the exporter that tells most of it."""
    convention, mine = max(
        by_convention.items(),
        key=lambda item: (len(item[1].quantities & set(item[0].needed)), len(item[1].quantities)),
    )
    newest_s = samples.newest_s(mine.members)
    interval_s = samples.scrape_interval_s(mine.members)
    missing = [one for one in USES if _has(convention, one) and one not in mine.quantities]
    age = None if newest_s is None else max(timedelta(0), now - datetime.fromtimestamp(newest_s, now.tzinfo))
    interval = None if interval_s is None else timedelta(seconds=interval_s)
    fresh = age is not None and age <= _stale_after(interval)
    since_s = (now - _stale_after(interval)).timestamp()
    alive = [one for one in mine.members if one.samples and one.samples[-1].time_s >= since_s]
    pods = {one.labels.get(queries.POD_LABEL, "") for one in alive} - {""}
    return FoundGroup(
        *place,
        convention=convention,
        pods=tuple(sorted(pods)),
        members=len(_consumers(alive, convention)) or len(pods),
        interval=interval,
        age=age,
        there=tuple(one for one in USES if one in mine.quantities),
        missing=tuple(missing),
        measurable=fresh and bool(pods) and not set(missing) & set(convention.needed) and _is_tuned(convention),
    )


def _consumers(alive: Iterable[Series], convention: Convention) -> set[frozenset[tuple[str, str]]]:
    """Return the consumers that count their joins, each once however often it is scraped."""
    return {
        frozenset(pair for pair in one.labels.items() if pair[0] not in queries.SCRAPE_LABELS)
        for one in alive
        if (metric := convention.metric_of(one.labels)) is not None and metric.quantity is Quantity.REBALANCES
    }


def _has(convention: Convention, quantity: Quantity) -> bool:
    """Whether consumers of this kind have a quantity, exported or not."""
    return quantity in convention.by_quantity or quantity in convention.withheld


def _is_tuned(convention: Convention) -> bool:
    return not set(convention.libraries).isdisjoint(catalogue.LIBRARIES)


def _stale_after(interval: timedelta | None) -> timedelta:
    return max(STALE_AFTER, STALE_SCRAPES * (interval or timedelta(0)))


def _of_group(group: FoundGroup) -> Iterator[Finding]:
    """Give what is wrong with the metrics of one group."""
    subject, convention = (group.group, group.namespace), group.convention
    if not _is_tuned(convention):
        told = f"{convention.title} is known, but too little of it to tune the group"
        yield Finding("not-tuned", Severity.INFO, subject, told)
        return
    needed = [one for one in group.missing if one in convention.needed]
    if needed:
        yield Finding(
            "needed-missing",
            Severity.ERROR,
            subject,
            f"nothing can be known of it: {convention.title} does not export {_told(convention, needed)}",
            fixes.of_quantities(convention, group.missing),
        )
        return
    optional = list(group.missing)
    if convention is kafkajs.EXPORTER and Quantity.HEARTBEATS in optional:
        optional.remove(Quantity.HEARTBEATS)
        yield Finding(
            "nothing-accepted",
            Severity.INFO,
            subject,
            "no heartbeat was accepted: all are refused, or kafkajs-prometheus-exporter is not attached",
            fixes.of_quantities(convention, [Quantity.HEARTBEATS]),
        )
    if optional:
        by_design = "; members of KIP-848 groups have no such counter" if optional == [Quantity.JOIN_ANSWERS] else ""
        yield Finding(
            "quantity-missing",
            Severity.WARNING,
            subject,
            f"less can be known of it: {convention.title} does not export {_told(convention, optional)}{by_design}",
            fixes.of_quantities(convention, optional),
        )
    if group.age is None or group.age > _stale_after(group.interval):
        ago = f"more than {durations.show(discovery.RECENT)}" if group.age is None else durations.about(group.age)
        told = f"its newest sample is {ago} old: its pods ended, or are not scraped any more"
        yield Finding(
            "stale", Severity.ERROR, subject, told, Fix("look at the targets of Prometheus (Status > Targets)")
        )
    elif group.interval is not None and group.interval > RARE:
        told = (
            f"it is scraped every {durations.about(group.interval)}: a maximum is shown for about a minute, so that "
            f"some are never seen"
        )
        yield Finding("rarely-scraped", Severity.WARNING, subject, told, fixes.SCRAPE_MORE)


def _told(convention: Convention, missing: Sequence[Quantity]) -> str:
    """Return quantities with their metrics and what they are for, as part of a sentence."""
    terms = []
    for quantity in missing:
        metric = convention.by_quantity.get(quantity)
        name = quantity.camel if metric is None else " or ".join(metric.names)
        terms.append(f"{name} ({USES[quantity].tells})")
    return ", ".join(terms)


def _untold(puzzles: misnamed.Puzzles) -> Iterator[Finding]:
    """Give the series that are of no group, and why."""
    for places, labels in puzzles.without_place.items():
        lacking = " and ".join(places)
        kind = "namespace-not-told" if queries.NAMESPACE_LABEL in places else "pod-not-told"
        told = f"series of consumers carry no label {lacking}, so that nobody knows whose they are"
        for job, fix in labels.items():
            yield Finding(kind, Severity.ERROR, (job,), told, fix)
    for (namespace, job), clients in puzzles.without_group.items():
        count = len(clients)
        told = f"{count} client.id{' says' if count == 1 else 's say'} nothing of the consumer's group"
        subject = (job, namespace, *sorted(clients)[:SHOWN])
        yield Finding("group-not-told", Severity.ERROR, subject, told, fixes.OWN_CLIENT_ID)
    for job, (name, fix) in puzzles.with_other_labels.items():
        told = "a metric of consumers has labels that no known exporter gives it"
        yield Finding("labels-unknown", Severity.ERROR, (job, name), told, fix)


def _strange(strangers: Iterable[Series], whole: Collection[tuple[str, str]]) -> Iterator[Finding]:
    """Give unknown names that look like a consumer's, by namespace and job, with the mapping that makes them known.

    Beside groups that are measured in full they are somebody's recording rules, and no news.
    """
    for (namespace, job), examples in misnamed.by_place(strangers).items():
        if (namespace, job) not in whole:
            names = sorted(examples)
            told = f"{len(names)} unknown name{'' if len(names) == 1 else 's'} may be of consumers"
            subject = (job, namespace, *names[:SHOWN])
            yield Finding("names-unknown", Severity.WARNING, subject, told, misnamed.mapping(examples))


def _nothing() -> Finding:
    return Finding("no-consumers", Severity.ERROR, (), "no exporter of consumer groups is known here", fixes.NOTHING)
