"""What is said of groups whose metrics lack something, and of series that are of no group."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.doctor import discovery, fixes, misnamed
from heartbeat_tuner.doctor.findings import DoctorFinding, DoctorSeverity
from heartbeat_tuner.doctor.fixes import Fix
from heartbeat_tuner.doctor.inventory import SHOWN, FoundGroup, is_tuned, stale_after
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.domain import durations
from heartbeat_tuner.metrics.conventions import kafkajs_metrics
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

_NOTHING_COUNTED: Final = "no heartbeat and no rebalance can be counted by them"

_STATISTICS: Final = (
    "statistics of librdkafka (cgrp): they count neither heartbeats nor evictions. rebalance_cnt counts assignments "
    "and revocations, of which one rebalance may be two; rebalance_age is in ms; assignment_size has partitions"
)

RARE: Final = timedelta(seconds=60)
"""A windowed maximum is shown for 59 to 86 s: scraped more rarely than this, some are never seen."""


def of_group(group: FoundGroup) -> Iterator[DoctorFinding]:
    """Give what is wrong with the metrics of one group."""
    subject, convention = (group.group, group.namespace), group.convention
    if not is_tuned(convention):
        message = f"{convention.title} is known, but too little of it to tune the group"
        yield DoctorFinding("not-tuned", DoctorSeverity.INFO, subject, message)
        return
    needed = [quantity for quantity in group.missing if quantity in convention.needed]
    if needed:
        yield DoctorFinding(
            "needed-missing",
            DoctorSeverity.ERROR,
            subject,
            f"nothing can be known of it: {convention.title} does not export {_named(convention, needed)}",
            fixes.of_quantities(convention, group.missing),
        )
        return
    yield from _optional(group)
    yield from _scrapes(group)


def _optional(group: FoundGroup) -> Iterator[DoctorFinding]:
    """Give what a group lacks of the quantities without which it can be measured all the same."""
    subject, convention = (group.group, group.namespace), group.convention
    optional = list(group.missing)
    if convention is kafkajs_metrics.EXPORTER and Quantity.HEARTBEATS in optional:
        optional.remove(Quantity.HEARTBEATS)
        yield DoctorFinding(
            "nothing-accepted",
            DoctorSeverity.INFO,
            subject,
            "no heartbeat was accepted: all are refused, or kafkajs-prometheus-exporter is not attached",
            fixes.of_quantities(convention, [Quantity.HEARTBEATS]),
        )
    if optional:
        by_design = "; members of KIP-848 groups have no such counter" if optional == [Quantity.JOIN_ANSWERS] else ""
        yield DoctorFinding(
            "quantity-missing",
            DoctorSeverity.WARNING,
            subject,
            f"less can be known of it: {convention.title} does not export {_named(convention, optional)}{by_design}",
            fixes.of_quantities(convention, optional),
        )


def _scrapes(group: FoundGroup) -> Iterator[DoctorFinding]:
    """Give whether a group is scraped any more, and often enough."""
    subject = (group.group, group.namespace)
    if group.age is None or group.age > stale_after(group.interval):
        ago = f"more than {durations.show(discovery.RECENT)}" if group.age is None else durations.about(group.age)
        message = f"its newest sample is {ago} old: its pods ended, or are not scraped any more"
        yield DoctorFinding(
            "stale", DoctorSeverity.ERROR, subject, message, Fix("look at the targets of Prometheus (Status > Targets)")
        )
    elif group.interval is not None and group.interval > RARE:
        message = (
            f"it is scraped every {durations.about(group.interval)}: a maximum is shown for about a minute, so that "
            f"some are never seen"
        )
        yield DoctorFinding("rarely-scraped", DoctorSeverity.WARNING, subject, message, fixes.SCRAPE_MORE)


def _named(convention: Convention, missing: Sequence[Quantity]) -> str:
    """Return quantities with their metrics and what they are for, as part of a sentence."""
    terms = []
    for quantity in missing:
        metric = convention.by_quantity.get(quantity)
        name = quantity.camel if metric is None else " or ".join(metric.names)
        terms.append(f"{name} ({USES[quantity].tells})")
    return ", ".join(terms)


def without_group(puzzles: misnamed.Puzzles) -> Iterator[DoctorFinding]:
    """Give the series that are of no group, and why."""
    for places, labels in puzzles.without_place.items():
        lacking = " and ".join(places)
        kind = "namespace-not-told" if queries.NAMESPACE_LABEL in places else "pod-not-told"
        message = f"series of consumers carry no label {lacking}, so that nobody knows whose they are"
        for job, fix in labels.items():
            yield DoctorFinding(kind, DoctorSeverity.ERROR, (job,), message, fix)
    for (namespace, job), clients in puzzles.without_group.items():
        count = len(clients)
        message = f"{count} client.id{' says' if count == 1 else 's say'} nothing of the consumer's group"
        subject = (job, namespace, *sorted(clients)[:SHOWN])
        yield DoctorFinding("group-not-told", DoctorSeverity.ERROR, subject, message, fixes.OWN_CLIENT_ID)
    for job, (name, fix) in puzzles.with_other_labels.items():
        message = "a metric of consumers has labels that no known exporter gives it"
        yield DoctorFinding("labels-unknown", DoctorSeverity.ERROR, (job, name), message, fix)


def of_strangers(
    strangers: Iterable[Series], whole: Collection[tuple[str, str]], shown: Collection[tuple[str, str]]
) -> Iterator[DoctorFinding]:
    """Give unknown names that look like a consumer's, by namespace and job, with the mapping that makes them known.

    Beside groups that are measured in full they are somebody's recording rules, and no news.

    Args:
        strangers: one example of each name.
        whole: namespaces and jobs with groups that are measured in full.
        shown: namespaces and jobs with any group.
    """
    for place, examples in misnamed.by_place(strangers).items():
        countable = {name: labels for name, labels in examples.items() if discovery.likely(name) is not None}
        statistics = sorted(name for name in examples if re.fullmatch(discovery.STATISTICS, name))
        rates = sorted(examples.keys() - countable.keys() - set(statistics))
        if countable and place not in whole:
            yield _unknown_names(place, countable)
        if rates and not countable and place not in shown:
            message = f"only rates and means are exported of consumers: {_NOTHING_COUNTED}"
            yield DoctorFinding("only-rates", DoctorSeverity.WARNING, _subject(place, rates), message, fixes.TOTALS)
        if statistics:
            subject = _subject(place, statistics)
            yield DoctorFinding("librdkafka-statistics", DoctorSeverity.INFO, subject, _STATISTICS, fixes.WATCHED)


def _unknown_names(place: tuple[str, str], examples: Mapping[str, Mapping[str, str]]) -> DoctorFinding:
    """Return what names may be; one name alone that other programs have too is nobody's fault."""
    names, mapping = sorted(examples), misnamed.mapping(examples)
    subject = _subject(place, names)
    if len(names) == 1 and discovery.is_generic(names[0]):
        message = "1 unknown name may be of consumers, or of something else that is called so"
        return DoctorFinding("names-unknown", DoctorSeverity.INFO, subject, message, mapping)
    message = f"{len(names)} unknown name{'' if len(names) == 1 else 's'} may be of consumers"
    return DoctorFinding("names-unknown", DoctorSeverity.WARNING, subject, message, mapping)


def _subject(place: tuple[str, str], names: Sequence[str]) -> tuple[str, ...]:
    namespace, job = place
    return (job, namespace, *names[:SHOWN])


def nothing() -> DoctorFinding:
    """Return that no exporter is known in all of Prometheus."""
    return DoctorFinding(
        "no-consumers", DoctorSeverity.ERROR, (), "no exporter of consumer groups is known here", fixes.NOTHING
    )
