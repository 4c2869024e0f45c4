"""Which quantities of a group can be measured with what is exported of it and around its pods, and how to get the rest.

Whether one can be is asked of `quantities.measured` itself, with two quiet samples of everything that is there: so that
nothing else is said here than what is measured later. What a group still needs time for counts as measurable.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.doctor import fixes
from heartbeat_tuner.doctor.findings import DoctorFinding, DoctorSeverity
from heartbeat_tuner.doctor.fixes import Fix
from heartbeat_tuner.domain.evidence import AbsenceSignal, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import measured, quantities
from heartbeat_tuner.metrics.absence import blocks, process_lives
from heartbeat_tuner.metrics.conventions import java_metrics, platform
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

FROM: Final[Mapping[str, tuple[Quantity, ...]]] = MappingProxyType(
    {
        "absences": (),
        "missingBeats": (Quantity.HEARTBEATS,),
        "pollGaps": (Quantity.POLL_GAP_MAX,),
        "outages": measured.SHOW_OUTAGES,
        "rebalanceLatencies": (Quantity.REBALANCE_LATENCY_MAX,),
        "rebalances": (Quantity.REBALANCES,),
        "restarts": process_lives.STARTS,
    }
)
"""The quantities of `quantities.Quantities`, and any of what each needs."""

SHOWN_BY: Final[Mapping[AbsenceSignal, tuple[frozenset[Quantity], ...]]] = MappingProxyType(
    {
        AbsenceSignal.MISSING_BEATS: (frozenset({Quantity.HEARTBEATS}),),
        AbsenceSignal.FAILED_SCRAPES: (frozenset({Quantity.SCRAPED}),),
        AbsenceSignal.POLL_GAP: (frozenset({Quantity.POLL_GAP_MAX}),),
        AbsenceSignal.GC_PAUSE: (
            frozenset({Quantity.GC_PAUSE_MAX}),
            frozenset({Quantity.GC_TIME, Quantity.GC_COUNT}),
        ),
        AbsenceSignal.THROTTLING: (frozenset({Quantity.CPU_THROTTLED_PERIODS}),),
        AbsenceSignal.EVENT_LOOP: (frozenset({Quantity.EVENT_LOOP_LAG_MAX}),),
    }
)
"""What each witness of absences needs, any of several sets. Waiting for a CPU only bounds them: it shows none."""

CAUSES: Final = (Quantity.POD_STARTED, Quantity.POD_READY, Quantity.POD_DELETED)
"""With none of these, every rebalance looks unplanned."""

NODE: Final = frozenset({"kafkajs", "node-rdkafka", "confluent-kafka-javascript"})
"""Libraries whose process has an event loop."""

_OF_BEATS: Final = frozenset({"absences", "missingBeats"})
"""Where heartbeats are counted, these need only time: their period is not known at first."""

_QUIET_AT_S: Final = 90_000.0
_QUIET: Final = 0.5
"""As a poll gap it is no handler at work, as a scrape a success, and it never grows."""


@dataclasses.dataclass(frozen=True, slots=True)
class QuantityCoverage:
    """Whether one quantity of a group can be measured.

    Attributes:
        name: of the quantity.
        measurable: whether it can be.
        because: why it cannot be, as part of a sentence; or what it lacks though it can; empty if nothing.
        fix: how to get it; None where there is nothing to do, or where it cannot be had.
    """

    name: str
    measurable: bool
    because: str = ""
    fix: Fix | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Around:
    """What is exported around the pods of consumers, by any exporter.

    Attributes:
        of_pods: by namespace and pod, the names of metrics that count there.
        unkept: jobs of kube-state-metrics whose series carry the name of their target's pod, and no longer those of the
            pods that they describe.
        unkept_usage: the same of cAdvisor.
    """

    of_pods: Mapping[tuple[str, str], frozenset[str]]
    unkept: tuple[str, ...]
    unkept_usage: tuple[str, ...]

    @classmethod
    def of(cls, series: Collection[Series]) -> "Around":
        """Return what the answer to `discovery.around` says."""
        of_pods: dict[tuple[str, str], set[str]] = {}
        unkept, unkept_usage = set(), set()
        for exported in series:
            name = exported.labels[queries.NAME_LABEL]
            if queries.POD_LABEL in exported.labels:
                place = exported.labels.get(queries.NAMESPACE_LABEL, ""), exported.labels[queries.POD_LABEL]
                of_pods.setdefault(place, set()).add(name)
            elif name in platform.CADVISOR.by_name:
                unkept_usage.add(exported.labels.get("job", ""))
            else:
                unkept.add(exported.labels.get("job", ""))
        by_place = {place: frozenset(names) for place, names in of_pods.items()}
        return cls(by_place, tuple(sorted(unkept)), tuple(sorted(unkept_usage)))


@dataclasses.dataclass(frozen=True, slots=True)
class Covered:
    """What can be measured of one group.

    Attributes:
        quantities: all of them, in the order of `FROM`.
        shown_by: what shows absences, and in how many of its pods.
        findings: what would show more.
    """

    quantities: tuple[QuantityCoverage, ...]
    shown_by: Mapping[AbsenceSignal, int]
    findings: tuple[DoctorFinding, ...]


def covered(
    convention: Convention,
    there: Collection[Quantity],
    *,
    subject: tuple[str, str],
    pods: Collection[str],
    interval: timedelta | None,
    around: Around,
) -> Covered:
    """Return what can be measured of a group.

    Args:
        convention: its exporter.
        there: what that exports of it.
        subject: group and namespace.
        pods: its living pods, one or more.
        interval: between two scrapes; None if it is not known.
        around: what is exported around pods.
    """
    _, namespace = subject
    names = {pod: around.of_pods.get((namespace, pod), frozenset()) for pod in pods}
    of_pods = {pod: _quantities(mine) for pod, mine in names.items()}
    quantity_coverages = tuple(_told(convention, there, of_pods, interval, around))
    shown_by = {
        signal: count
        for signal, sets in SHOWN_BY.items()
        if (count := sum(any(needs <= mine.union(there) for needs in sets) for mine in of_pods.values()))
    }
    limited = not any(platform.CONTAINERS in mine for mine in names.values()) or AbsenceSignal.THROTTLING in shown_by
    findings = tuple(_unseen(convention, subject, shown_by, quantity_coverages, around=around, limited=limited))
    return Covered(quantity_coverages, MappingProxyType(shown_by), findings)


def _told(
    convention: Convention,
    there: Collection[Quantity],
    of_pods: Mapping[str, Collection[Quantity]],
    interval: timedelta | None,
    around: Around,
) -> Iterator[QuantityCoverage]:
    """Give what can be measured of each quantity in the order of `FROM`."""
    measured = quantities.measured(
        {quantity: [_quiet(pod, interval) for pod in sorted(of_pods)] for quantity in there},
        {("", pod): {quantity: [_quiet(pod, interval)] for quantity in group} for pod, group in of_pods.items()},
    )
    every = (
        measured.absences,
        measured.missing_beats,
        measured.poll_gaps,
        measured.outages,
        measured.rebalance_latencies,
        measured.rebalances,
        measured.restarts,
    )
    cluster = fixes.UNKEPT if around.unkept else fixes.KUBE_STATE_METRICS
    caused = any(cause in group for group in of_pods.values() for cause in CAUSES)
    for (name, sources), value in zip(FROM.items(), every, strict=True):
        needs_time = name in _OF_BEATS and Quantity.HEARTBEATS in there
        if name == "rebalances" and not isinstance(value, Unknown) and not caused:
            yield QuantityCoverage(name, measurable=True, because="nothing tells planned ones from others", fix=cluster)
        elif needs_time or not isinstance(value, Unknown):
            yield QuantityCoverage(name, measurable=True)
        elif name == "restarts":
            because = "no series of kube-state-metrics (kube_pod_*) of its pods"
            yield QuantityCoverage(name, measurable=False, because=because, fix=cluster)
        else:
            yield _missing(name, sources, value, convention)


def _missing(name: str, sources: Collection[Quantity], why: Unknown, convention: Convention) -> QuantityCoverage:
    """Return what is to be said of a quantity that a consumer's exporter does not give."""
    if why.reason is Reason.TOO_LITTLE_DATA:
        return QuantityCoverage(name, measurable=False, because=why.message, fix=fixes.SCRAPE_MORE)
    had = [source for source in sources if source in convention.by_quantity or source in convention.withheld]
    if sources and not had:
        return QuantityCoverage(name, measurable=False, because=f"{convention.title} has no metric of it")
    fix = fixes.of_quantities(convention, had) if had else None
    return QuantityCoverage(name, measurable=False, because=why.message, fix=fix)


def _unseen(
    convention: Convention,
    subject: tuple[str, str],
    shown_by: Mapping[AbsenceSignal, int],
    quantity_coverages: Collection[QuantityCoverage],
    *,
    around: Around,
    limited: bool,
) -> Iterator[DoctorFinding]:
    """Give what is not exported around a group's pods, each source once.

    Args:
        convention: the group's exporter.
        subject: group and namespace.
        shown_by: what shows absences.
        quantity_coverages: what can be measured.
        around: what is exported around pods.
        limited: whether its pods may have a CPU limit; without one, nothing throttles them.
    """
    by_name = {coverage.name: coverage for coverage in quantity_coverages}
    if not by_name["restarts"].measurable or by_name["rebalances"].because:
        untimed = "restarts are not timed, and planned rebalances are not distinguished from others"
        if around.unkept:
            yield DoctorFinding(
                "labels-not-kept", DoctorSeverity.INFO, subject, _lost(untimed, around.unkept), fixes.UNKEPT
            )
        else:
            message = f"{untimed}: no series of kube-state-metrics (kube_pod_*) of its pods"
            yield DoctorFinding(
                "no-kube-state-metrics", DoctorSeverity.INFO, subject, message, fixes.KUBE_STATE_METRICS
            )
    if AbsenceSignal.THROTTLING not in shown_by and limited:
        untimed = "CPU throttling is not seen"
        if around.unkept_usage:
            yield DoctorFinding(
                "labels-not-kept", DoctorSeverity.INFO, subject, _lost(untimed, around.unkept_usage), fixes.UNKEPT
            )
        else:
            message = f"{untimed}: no series of cAdvisor (container_cpu_*) of its pods"
            yield DoctorFinding("no-cadvisor", DoctorSeverity.INFO, subject, message, fixes.CADVISOR)
    if AbsenceSignal.GC_PAUSE not in shown_by and not set(convention.libraries).isdisjoint(java_metrics.LIBRARIES):
        message = "pauses of garbage collection are not seen: no metrics of the JVM (jvm_gc_*) of its pods"
        yield DoctorFinding("no-garbage-collection", DoctorSeverity.INFO, subject, message, fixes.of_gc(convention))
    if AbsenceSignal.EVENT_LOOP not in shown_by and not NODE.isdisjoint(convention.libraries):
        message = "delays of the event loop are not seen: no nodejs_eventloop_lag_max_seconds of its pods"
        yield DoctorFinding("no-event-loop", DoctorSeverity.INFO, subject, message, fixes.EVENT_LOOP)


def _lost(untimed: str, jobs: Collection[str]) -> str:
    named = ", ".join(job or "(none)" for job in jobs)
    return f"{untimed}: what job {named} says of pods has their names under exported_pod"


def _quantities(names: Collection[str]) -> frozenset[Quantity]:
    return frozenset(
        metric.quantity
        for name in names
        for convention in platform.CONVENTIONS
        for metric in convention.by_name.get(name, ())
    )


def _quiet(pod: str, interval: timedelta | None) -> Series:
    """Return two samples of something that stands still, a scrape apart."""
    between_s = blocks.BLOCK_S if interval is None else interval.total_seconds()
    return Series.from_raw({queries.POD_LABEL: pod}, [(_QUIET_AT_S - between_s, _QUIET), (_QUIET_AT_S, _QUIET)])
