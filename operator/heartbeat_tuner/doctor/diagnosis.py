"""What a Prometheus has of its consumer groups, what is missing, and how to get it: an inventory in, findings out.

No group is known beforehand: it is read from a label, or from the `client.id` that the Java consumer makes by itself.
Nothing here judges a group; it only says whether it could be judged.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from heartbeat_tuner.doctor import discovery, group_findings, metric_coverage, misnamed
from heartbeat_tuner.doctor.findings import DoctorSeverity
from heartbeat_tuner.doctor.inventory import Diagnosis, FoundGroup, Inventory, is_tuned, stale_after
from heartbeat_tuner.doctor.metric_coverage import Around
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import counter_steps, queries, resolver, samples
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity


@dataclasses.dataclass(slots=True)
class _Seen:
    """What one exporter shows of one group."""

    quantities: set[Quantity] = dataclasses.field(default_factory=set)
    members: list[Series] = dataclasses.field(default_factory=list)
    jobs: set[str] = dataclasses.field(default_factory=set)


_ByGroup = dict[resolver.GroupKey, dict[Convention, _Seen]]

_Client = tuple[Convention, str, str]
"""A convention, a namespace and a `client.id`."""


def diagnose(inventory: Inventory, conventions: Sequence[Convention]) -> Diagnosis:
    """Return what the inventory says.

    Args:
        inventory: what Prometheus answered.
        conventions: those that were looked for, the likelier first.
    """
    seen: _ByGroup = {}
    puzzles = misnamed.Puzzles()
    by_client = _read_members(inventory.members, conventions, seen, puzzles)
    _read_kinds(inventory.kinds, conventions, seen, puzzles, by_client)
    around = None if inventory.around is None else Around.of(inventory.around)
    several = (_group(place, by_convention, inventory.now, around) for place, by_convention in seen.items() if place[0])
    groups = tuple(sorted(several, key=_rank))
    exported = [(group, job) for group in groups for job in seen[group.namespace, group.group][group.convention].jobs]
    whole = {(group.namespace, job) for group, job in exported if group.measurable}
    shown = {(group.namespace, job) for group, job in exported}
    findings = [
        *(finding for group in groups for finding in group_findings.of_group(group)),
        *(finding for group in groups if group.covered is not None for finding in group.covered.findings),
        *group_findings.without_group(puzzles),
        *group_findings.of_strangers(inventory.strangers, whole, shown),
    ]
    ranks = list(DoctorSeverity)
    findings.sort(key=lambda finding: (ranks.index(finding.severity), finding.id, finding.subject))
    if not groups and not any(finding.severity is DoctorSeverity.ERROR for finding in findings):
        findings.append(group_findings.nothing())  # behind what may be consumers under other names
    return Diagnosis(groups, tuple(findings))


def _read_members(
    members: Iterable[Series], conventions: Sequence[Convention], seen: _ByGroup, puzzles: misnamed.Puzzles
) -> dict[_Client, str]:
    """Enter consumers under their groups; return which group each client is in."""
    by_client: dict[_Client, str] = {}
    for series in members:
        convention = _convention_of(series.labels, conventions)
        if convention is None:
            puzzles.unknown_labels(series.labels)
            continue
        group = resolver.group_named(series.labels, convention)
        namespace = series.labels.get(queries.NAMESPACE_LABEL, "")
        puzzles.place(series.labels)
        if group is not None and not resolver.is_groupless(group, convention):
            if not convention.group_label:  # else each kind has its group, and there may be no client.id to tell it by
                by_client[convention, namespace, convention.client_id(series.labels)] = group
            _seen(seen, namespace, group, convention).members.append(series)
    return by_client


def _read_kinds(
    kinds: Iterable[Series],
    conventions: Sequence[Convention],
    seen: _ByGroup,
    puzzles: misnamed.Puzzles,
    by_client: Mapping[_Client, str],
) -> None:
    """Enter under each group what is exported of it."""
    for series in kinds:
        labels = series.labels
        convention = _convention_of(labels, conventions)
        metric = None if convention is None else convention.metric_of(labels)
        if convention is None or metric is None:
            continue  # another request than heartbeats, or told by its members already
        namespace = labels.get(queries.NAMESPACE_LABEL, "")
        client = convention.client_id(labels)
        group = by_client.get((convention, namespace, client)) or resolver.group_named(labels, convention)
        if group is None and is_tuned(convention):
            puzzles.no_group(labels, client)
        elif group is None:
            continue  # a client of its own id, of a library whose groups are not tuned anyway
        elif not resolver.is_groupless(group, convention):
            mine = _seen(seen, namespace, group, convention)
            mine.quantities.add(metric.quantity)
            mine.jobs.add(labels.get(discovery.JOB_LABEL, ""))


def _convention_of(labels: Mapping[str, str], conventions: Iterable[Convention]) -> Convention | None:
    """Return the convention of which a series is, whichever of its metrics it is."""
    name = labels.get(queries.NAME_LABEL, "")
    return next(
        (convention for convention in conventions if name in convention.by_name and convention.carries(labels)), None
    )


def _seen(seen: _ByGroup, namespace: str, group: str, convention: Convention) -> _Seen:
    return seen.setdefault((namespace, group), {}).setdefault(convention, _Seen())


def _group(
    place: resolver.GroupKey, by_convention: Mapping[Convention, _Seen], now: datetime, around: Around | None
) -> FoundGroup:
    """Return what is known of a group from the exporter that tells most of it."""
    namespace, group = place
    convention, mine = max(
        by_convention.items(),
        key=lambda item: (len(item[1].quantities & set(item[0].needed)), len(item[1].quantities)),
    )
    newest_s = samples.newest_s(mine.members)
    interval_s = samples.scrape_interval_s(mine.members)
    missing = [use for use in USES if _has(convention, use) and use not in mine.quantities]
    age = None if newest_s is None else max(timedelta(0), now - datetime.fromtimestamp(newest_s, now.tzinfo))
    interval = None if interval_s is None else timedelta(seconds=interval_s)
    fresh = age is not None and age <= stale_after(interval)
    since_s = (now - stale_after(interval)).timestamp()
    alive = [member for member in mine.members if member.samples and member.samples[-1].time_s >= since_s]
    pods = {series.labels.get(queries.POD_LABEL, "") for series in alive} - {""}
    return FoundGroup(
        *place,
        convention=convention,
        pods=tuple(sorted(pods)),
        members=len(_consumers(alive, convention)) or len(pods),
        interval=interval,
        age=age,
        there=tuple(use for use in USES if use in mine.quantities),
        missing=tuple(missing),
        rejoins=_rejoins(alive, convention, now),
        measurable=fresh and bool(pods) and not set(missing) & set(convention.needed) and is_tuned(convention),
        covered=None
        if around is None or not (fresh and pods)
        else metric_coverage.covered(
            convention,
            mine.quantities,
            subject=(group, namespace),
            pods=pods,
            interval=interval,
            around=around,
        ),
    )


def _rank(group: FoundGroup) -> tuple[float, bool, int, str, str]:
    """Order groups: by rejoins, then those of which nothing can be known, then by what they lack."""
    return -(group.rejoins or 0.0), group.measurable, -len(group.missing), group.namespace, group.group


def _rejoins(alive: Iterable[Series], convention: Convention, now: datetime) -> float | None:
    """Return how often a member rejoined lately, on average; its first join does not count."""
    since_s = (now - discovery.RECENT).timestamp()
    grown = [
        counter_steps.increase(series, since_s=since_s, born_at_zero=False)
        for series in alive
        if (metric := convention.metric_of(series.labels)) is not None and metric.quantity is Quantity.REBALANCES
    ]
    return sum(grown) / len(grown) if grown else None


def _consumers(alive: Iterable[Series], convention: Convention) -> set[frozenset[tuple[str, str]]]:
    """Return the consumers that count their joins, each once however often it is scraped."""
    return {
        frozenset(pair for pair in series.labels.items() if pair[0] not in queries.SCRAPE_LABELS)
        for series in alive
        if (metric := convention.metric_of(series.labels)) is not None and metric.quantity is Quantity.REBALANCES
    }


def _has(convention: Convention, quantity: Quantity) -> bool:
    """Whether consumers of this kind have a quantity, exported or not."""
    return quantity in convention.by_quantity or quantity in convention.withheld
