"""What can be measured of a group, by what is exported of it and around its pods."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.doctor import fixes, metric_coverage
from heartbeat_tuner.doctor.metric_coverage import Around, Covered, QuantityCoverage
from heartbeat_tuner.domain.evidence import AbsenceSignal
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, platform
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support.inventories import diagnosed, exported, near, unkept

CLUSTER = (platform.KUBE_STATE_METRICS, platform.KUBE_STATE_METRICS_CONTAINERS, platform.CADVISOR, platform.PROMETHEUS)
OF_JVM = (*CLUSTER, platform.JVM_CLIENT_JAVA)


def covered(
    *around: Convention,
    convention: Convention = java_metrics.JMX_EXPORTER,
    more: Sequence[Series] = (),
    **changes: Any,
) -> Covered:
    """Return what can be measured of a group of this exporter, with these around its pod."""
    diagnosis = diagnosed(exported(convention, **changes), around=[*near(*around), *more])
    (group,) = diagnosis.groups
    assert group.covered is not None
    assert set(group.covered.findings) <= set(diagnosis.findings)
    return group.covered


def rows(found: Covered) -> Mapping[str, QuantityCoverage]:
    """Return its quantities by name."""
    return {quantity.name: quantity for quantity in found.quantities}


def unmeasurable(found: Covered) -> set[str]:
    """Return the names of the quantities that cannot be measured."""
    return {quantity.name for quantity in found.quantities if not quantity.measurable}


def findings(found: Covered) -> set[str]:
    """Return the ids of its findings."""
    return {finding.id for finding in found.findings}


def test_with_everything_around_it_nothing_of_a_java_group_is_missing() -> None:
    """Else each user would be told to install what is there."""
    found = covered(*OF_JVM)
    assert [quantity.name for quantity in found.quantities if quantity.measurable and not quantity.because] == list(
        metric_coverage.FROM
    )
    assert found.findings == ()
    assert set(found.shown_by) == set(metric_coverage.SHOWN_BY) - {AbsenceSignal.EVENT_LOOP}


def test_with_nothing_around_it_restarts_are_missing_and_rebalances_look_unplanned() -> None:
    """And each source that would help is named once, with what to paste."""
    found = covered()
    assert unmeasurable(found) == {"restarts"}
    assert rows(found)["rebalances"].because == "nothing tells planned ones from others"
    assert findings(found) == {"no-kube-state-metrics", "no-cadvisor", "no-garbage-collection"}
    assert all(finding.fix is not None and finding.fix.snippet for finding in found.findings)
    assert set(found.shown_by) == {AbsenceSignal.MISSING_BEATS, AbsenceSignal.POLL_GAP}


@pytest.mark.parametrize(
    ("without", "missing"),
    [
        ({Quantity.HEARTBEATS}, {"missingBeats"}),
        ({Quantity.POLL_GAP_MAX}, {"pollGaps"}),
        ({Quantity.HEARTBEAT_RESPONSE_TIME_MAX}, set()),
        ({Quantity.HEARTBEAT_RESPONSE_TIME_MAX, Quantity.COMMIT_LATENCY_MAX}, {"outages"}),
        ({Quantity.REBALANCE_LATENCY_MAX}, {"rebalanceLatencies"}),
        ({Quantity.REBALANCES}, {"rebalances"}),
    ],
)
def test_what_is_not_exported_cannot_be_measured_and_has_a_fix(without: set[Quantity], missing: set[str]) -> None:
    """One quantity for one metric; outages have two sources, and either will do."""
    found = covered(*OF_JVM, without=without)
    assert unmeasurable(found) == missing
    for name in missing:
        report = rows(found)[name]
        assert report.because
        assert report.fix is not None
        assert report.fix.snippet


def test_a_mean_is_no_maximum() -> None:
    """Who exports the mean only is told that it is no use."""
    found = covered(convention=java_metrics.STRIMZI, without={Quantity.POLL_GAP_MAX})
    assert "only the mean" in rows(found)["pollGaps"].because


def test_what_a_library_has_not_has_no_fix() -> None:
    """KafkaJS counts no gaps between polls: nobody looks for a rule that drops them."""
    found = covered(*CLUSTER, platform.PROM_CLIENT, convention=kafkajs_metrics.EXPORTER)
    assert unmeasurable(found) == {"pollGaps", "outages", "rebalanceLatencies"}
    assert {rows(found)[name].fix for name in unmeasurable(found)} == {None}
    assert found.findings == ()


def test_rare_scrapes_hide_maxima_and_nothing_else() -> None:
    """A scrape every two minutes misses most spikes, and counts every beat."""
    found = covered(*OF_JVM, every=timedelta(minutes=2))
    assert unmeasurable(found) == {"pollGaps", "outages", "rebalanceLatencies"}
    assert {rows(found)[name].fix for name in unmeasurable(found)} == {fixes.SCRAPE_MORE}


def test_beats_alone_show_absences_given_time() -> None:
    """Pushed metrics have no scrape that could fail; the period of the beats is known after a while."""
    found = covered(without=set(java_metrics.JMX_EXPORTER.by_quantity) - {Quantity.HEARTBEATS})
    assert rows(found)["absences"] == QuantityCoverage("absences", measurable=True)
    assert dict(found.shown_by) == {AbsenceSignal.MISSING_BEATS: 1}


def test_a_pod_without_a_cpu_limit_is_not_throttled() -> None:
    """Its usage is there, and no periods of a quota: nothing is missing."""
    usage = Series.from_raw({"__name__": platform.CONTAINERS, "namespace": "shop", "pod": "orders-0"}, [(1.0, 1.0)])
    assert "no-cadvisor" not in findings(covered(more=[usage]))


def test_lost_names_of_pods_are_told_apart_from_what_is_not_scraped() -> None:
    """Who has kube-state-metrics already is not told to install it."""
    state, usage = unkept("kube_pod_start_time", "state"), unkept("container_cpu_cfs_periods_total", "kubelet")
    found = covered(platform.JVM_CLIENT_JAVA, more=[state])
    assert findings(found) == {"labels-not-kept", "no-cadvisor"}
    (report,) = [finding for finding in found.findings if finding.id == "labels-not-kept"]
    assert "restarts are not timed" in report.message
    assert "job state" in report.message
    assert report.fix == rows(found)["restarts"].fix == fixes.UNKEPT
    found = covered(platform.JVM_CLIENT_JAVA, more=[usage])
    assert findings(found) == {"labels-not-kept", "no-kube-state-metrics"}
    assert rows(found)["restarts"].fix == fixes.KUBE_STATE_METRICS


def test_what_is_around_other_pods_is_theirs() -> None:
    """The neighbour's kube-state-metrics is no help."""
    assert unmeasurable(covered(more=near(*OF_JVM, pod="billing-0"))) == {"restarts"}


@pytest.mark.parametrize(
    ("convention", "around"),
    [
        (java_metrics.MICROMETER, platform.JVM_MICROMETER),
        (java_metrics.OPENTELEMETRY, platform.JVM_OPENTELEMETRY),
        (java_metrics.JMX_EXPORTER, platform.JVM_CLIENT_JAVA),
    ],
    ids=lambda convention: convention.name,
)
def test_each_form_of_the_collectors_metrics_shows_its_pauses(convention: Convention, around: Convention) -> None:
    """And where it is missing, the fix is that exporter's."""
    assert covered(around, convention=convention).shown_by[AbsenceSignal.GC_PAUSE] == 1
    (report,) = [
        finding for finding in covered(convention=convention).findings if finding.id == "no-garbage-collection"
    ]
    assert report.fix == fixes.of_gc(convention)


def test_a_group_without_a_living_pod_is_not_spoken_of() -> None:
    """It is stale, and that is told: what is around its pods is no matter."""
    diagnosis = diagnosed(exported(java_metrics.JMX_EXPORTER, age=timedelta(minutes=5)), around=[])
    assert [group.covered for group in diagnosis.groups] == [None]
    assert [finding.id for finding in diagnosis.findings] == ["stale"]


def test_names_of_pods_and_jobs_are_sorted_out() -> None:
    """A row with a pod is of that pod; one without is of a job that lost its pods."""
    found = Around.of(
        [*near(platform.PROMETHEUS), unkept("kube_pod_start_time", "b"), unkept("kube_pod_start_time", "a")]
    )
    assert found.of_pods == {("shop", "orders-0"): {"up", "scrape_duration_seconds"}}
    assert (found.unkept, found.unkept_usage) == (("a", "b"), ())
