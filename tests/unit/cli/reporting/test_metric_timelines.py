"""What counters show of an hour, stretch by stretch."""

from datetime import timedelta

from heartbeat_tuner.cli.reporting import metric_timelines
from heartbeat_tuner.decision.from_metrics import MetricsView
from heartbeat_tuner.metrics.conventions import java_metrics
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.report.plotted_data import MarkEntry, TimelineEntry
from tests.support import cases, counters, reports, worlds
from tests.support.worlds import HOUR, NOW

CURED_S = reports.CURED.timestamp()


def timeline(*marks: MarkEntry, without: tuple[float, float] | None = None) -> TimelineEntry:
    """Return the timeline of the storm and its cure, without the samples of a time."""
    measured = reports.storm_and_cure()
    observed = measured.observed
    if without is not None:
        observed = {
            quantity: [
                Series.from_raw(
                    series.labels, (pair for pair in series.samples.pairs() if not without[0] < pair[0] <= without[1])
                )
                for series in group
            ]
            for quantity, group in observed.items()
        }
    seen = MetricsView(cases.unmodelled(), measured.group.convention, observed, HOUR, NOW)
    found = metric_timelines.timeline(seen, marks)
    assert found is not None
    return found


def test_a_storm_and_its_cure_show() -> None:
    """36 joins a minute of three members, and none after the change; each was an eviction, in pods that are gone."""
    found = timeline()
    joins, beats = found.lanes
    before = [value for at_s, value in zip(joins.times_s, joins.values, strict=True) if at_s < CURED_S]
    after = [value for at_s, value in zip(joins.times_s, joins.values, strict=True) if at_s > CURED_S + 60]
    assert set(before) == {36.0}
    assert set(after) == {0.0}
    assert beats.values[0] is None
    assert beats.values[-1] == 36.0
    assert len(found.evictions_s) == 3 * 40 * 12
    assert max(found.evictions_s) <= CURED_S


def test_a_stretch_without_a_scrape_is_unknown() -> None:
    """It is not zero: nobody looked."""
    gap = (NOW.timestamp() - 1800, NOW.timestamp() - 1500)
    joins, _ = timeline(without=gap).lanes
    lost = [value for at_s, value in zip(joins.times_s, joins.values, strict=True) if gap[0] < at_s <= gap[1]]
    assert lost == [None] * 5
    assert max(value for value in joins.values if value is not None) == 36.0  # what grew meanwhile is no peak after it


def test_changes_outside_of_the_hour_are_left_out() -> None:
    """Those within are marked."""
    inside, outside = MarkEntry(at_s=CURED_S, label="in"), MarkEntry(at_s=CURED_S - 7200, label="out")
    assert timeline(inside, outside).marks == (inside,)


def test_what_consumers_with_librdkafka_lost_is_marked() -> None:
    """As they count it."""
    lost = counters.counter(worlds.pod(), NOW - HOUR, NOW, lambda age_s: age_s // 1_500)
    joins = counters.counter(worlds.pod(), NOW - HOUR, NOW, lambda age_s: 1 + age_s // 1_500)
    observed = {Quantity.LOST_FOR_SILENCE: [lost], Quantity.REBALANCES: [joins]}
    found = metric_timelines.timeline(MetricsView(cases.unmodelled(), COUNTERS, observed, HOUR, NOW), ())
    assert found is not None
    assert found.evictions_s == tuple(NOW.timestamp() - 3_600 + age_s for age_s in (1_500, 3_000))


def test_a_group_without_counters_has_no_timeline() -> None:
    """Nothing is drawn of nothing."""
    seen = MetricsView(cases.unmodelled(), reports.storm_and_cure().group.convention, {}, HOUR, NOW)
    assert metric_timelines.timeline(seen, ()) is None


def test_evictions_of_java_members_are_lost_ids() -> None:
    """Of pods whose exporter counts them; of others nothing is counted."""
    first, second = worlds.pods(2)
    began = NOW - HOUR - timedelta(minutes=5)
    observed = counters.together(
        {
            Quantity.REBALANCES: [counters.counter(pod, began, NOW, lambda s: 1 + s // 600) for pod in (first, second)],
            Quantity.FAILED_REBALANCES: [counters.counter(first, began, NOW, lambda s: 1 + s // 600)],
            Quantity.JOIN_ANSWERS: [counters.counter(first, began, NOW, lambda s: 1 + s // 600)],
        }
    )
    seen = MetricsView(cases.stated(), java_metrics.JMX_EXPORTER, observed, HOUR, NOW)
    found = metric_timelines.timeline(seen, ())
    assert found is not None
    assert len(found.evictions_s) == 6
    assert [lane.title for lane in found.lanes] == ["joins a minute, all members"]
