"""What each witness of an absence surely shows, and what it leaves open."""

from typing import Any

import pytest

from heartbeat_tuner.domain.evidence import Absence, AbsenceSignal
from heartbeat_tuner.metrics.absence import scrapes, stalls
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters

POD = "orders-0"


def at(*values: float, every_s: float = 30.0, **labels: str) -> Series:
    """Return a series with a sample every 30 seconds, or so many, from 0 on."""
    return counters.series(((number * every_s, value) for number, value in enumerate(values)), **labels)


def bounds(found: list[Absence]) -> list[tuple[float, float, float]]:
    """Return when each was seen, and its bounds."""
    return [(item.seen_s, round(item.at_least_s, 6), round(item.at_most_s, 6)) for item in found]


def test_a_decaying_maximum_shows_a_pause_once() -> None:
    """Micrometer shows a pause for two to three minutes; while it stands, it is the same."""
    found = stalls.gc_pauses(POD, {Quantity.GC_PAUSE_MAX: [at(0.1, 4.0, 4.0, 4.0, 4.0, 0.1)]})
    assert bounds(found) == [(0.0, 0.1, 0.1), (30.0, 4.0, 4.0), (150.0, 0.1, 0.1)]


def gc(times: Series, counts: Series, *buckets: Series) -> list[tuple[float, float, float]]:
    """Return what sum, count and buckets show."""
    mine = {Quantity.GC_TIME: [times], Quantity.GC_COUNT: [counts], Quantity.GC_BUCKETS: buckets}
    found = stalls.gc_pauses(POD, mine)
    assert all((item.pod, item.signal) == (POD, AbsenceSignal.GC_PAUSE) for item in found)
    return bounds(found)


def test_sum_and_count_leave_the_longest_pause_between_mean_and_sum() -> None:
    """Three collections of 6 s together: one of them lasted 2 s at least; nothing happened in the next interval."""
    assert gc(at(1.0, 7.0, 7.0, 8.0), at(10, 13, 13, 14)) == [(30.0, 2.0, 6.0), (90.0, 1.0, 1.0)]


def test_a_restarted_jvm_counts_from_zero() -> None:
    """Both counters fell."""
    assert gc(at(9.0, 2.0), at(10, 4)) == [(30.0, 0.5, 2.0)]


def test_buckets_narrow_it_down() -> None:
    """Of four pauses one was between 1 and 10 s: it cannot have had more than all of them together."""
    buckets = [at(0, 1, le="0.01"), at(0, 3, le="0.1"), at(0, 3, le="1"), at(0, 4, le="10"), at(0, 4, le="+Inf")]
    assert gc(at(0.0, 2.5), at(0, 4), *buckets) == [(30.0, 1.0, 2.5)]
    assert gc(at(0.0, 25.0), at(0, 4), *buckets) == [(30.0, 6.25, 10.0)]
    beyond = [at(0, 0, le="10"), at(0, 4, le="+Inf")]
    assert gc(at(0.0, 80.0), at(0, 4), *beyond) == [(30.0, 20.0, 80.0)]


@pytest.mark.parametrize("edge", ["", "NaN", "a\nb", "1s"])
def test_a_bucket_whose_edge_is_no_number_says_nothing(edge: str) -> None:
    """Labels are a pod's own words: none ends the cycle of all groups."""
    assert gc(at(0.0, 2.5), at(0, 4), at(0, 1, le=edge)) == [(30.0, 0.625, 2.5)]


def test_buckets_of_other_scrapes_say_nothing() -> None:
    """A bucket that was not scraped with the sum tells of another time."""
    assert gc(at(0.0, 2.5), at(0, 4), counters.series([(0, 0), (15, 0), (30, 4)], le="0.1")) == [(30.0, 0.625, 2.5)]


@pytest.mark.parametrize("name", ["ZGC Cycles", "ZGC Major Cycles", "Shenandoah Cycles", "ConcurrentMarkSweep"])
@pytest.mark.parametrize("label", ["gc", "jvm_gc_name"])
def test_cycles_are_no_pauses(name: str, label: str) -> None:
    """The time of such a collector is that of cycles beside which the process runs."""
    cycles: dict[str, Any] = {label: name}
    pauses: dict[str, Any] = {label: "ZGC Pauses"}
    mine = {
        Quantity.GC_TIME: [at(0.0, 20.0, **cycles), at(0.0, 0.1, **pauses)],
        Quantity.GC_COUNT: [at(0, 1, **cycles), at(0, 1, **pauses)],
    }
    assert bounds(stalls.gc_pauses(POD, mine)) == [(30.0, 0.1, 0.1)]


def test_a_sum_without_its_count_says_nothing() -> None:
    """How many pauses it was nobody knows; of another collector's count neither."""
    assert stalls.gc_pauses(POD, {Quantity.GC_TIME: [at(0.0, 20.0)]}) == []
    assert gc(at(0.0, 20.0, gc="a"), at(0, 1, gc="b")) == []


def throttled(**given: Series) -> list[tuple[float, float, float]]:
    """Return what the CPU quota shows."""
    found = stalls.throttling(POD, {Quantity[f"CPU_{name.upper()}"]: [item] for name, item in given.items()})
    assert all(item.signal is AbsenceSignal.THROTTLING for item in found)
    return bounds(found)


def test_throttling_shows_single_stops_and_bounds_their_sum() -> None:
    """60 stops of 50 ms in 30 s: one of them surely, 3 s if all follow upon each other."""
    shown = throttled(throttled_periods=at(0, 60, 60), throttled_time=at(0.0, 3.0, 3.0), periods=at(0, 300, 600))
    assert shown == [(30.0, 0.05, 3.0)]


def test_throttled_time_is_counted_on_each_processor() -> None:
    """Eight threads that stand for 90 ms count 720 ms: a stop still ends with its period."""
    shown = throttled(throttled_periods=at(0, 100), throttled_time=at(0.0, 72.0), periods=at(0, 300))
    assert shown == [(30.0, 0.1, 10.0)]


def test_without_the_time_only_a_bound_is_known() -> None:
    """Usual charts drop the seconds; the share of periods is left, or else all of the time."""
    assert throttled(throttled_periods=at(0, 60), periods=at(0, 300)) == [(30.0, 0.0, 6.0)]
    assert throttled(throttled_periods=at(0, 60)) == [(30.0, 0.0, 30.0)]
    assert throttled(throttled_periods=at(0, 60), periods=at(0, 30)) == [(30.0, 0.0, 30.0)]


def test_a_container_that_begins_anew_was_not_throttled_by_that() -> None:
    """Its counter falls to zero, and grows from there."""
    assert throttled(throttled_periods=at(60, 0, 3)) == [(60.0, 0.0, 30.0)]


def test_pressure_is_a_bound_and_no_absence() -> None:
    """All of the process waited for 40 s on 30 s of a clock: some processors more than others."""
    found = stalls.cpu_stalls(POD, {Quantity.CPU_STALLED_TIME: [at(0.0, 0.0, 2.0, 42.0)]})
    assert bounds(found) == [(60.0, 0.0, 2.0), (90.0, 0.0, 30.0)]


def test_each_delay_of_the_event_loop_is_its_own() -> None:
    """It is reset by each scrape: two of the same length are two."""
    found = stalls.event_loop(POD, {Quantity.EVENT_LOOP_LAG_MAX: [at(2.0, 2.0)]})
    assert bounds(found) == [(0.0, 2.0, 2.0), (30.0, 2.0, 2.0)]


def test_short_poll_gaps_show_stops_beside_what_is_usual() -> None:
    """Half a second is a fetch; 6 s of a member that polls every half second is a stop of 5.5 s at least."""
    found = stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [at(0.5, 0.5, 6.0, 6.0, 0.5), at()]})
    assert bounds(found) == [(60.0, 5.5, 6.0)]


def test_a_long_gap_in_which_the_member_beat_on_is_a_handler() -> None:
    """The Java client beats beside its handler: 100 s without a poll, and never two scrapes without a beat."""
    gaps = at(0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 100.0, 0.5)
    for beats, shown in (
        (at(*range(10, 110, 10)), []),
        (at(10, 20, 30, 40, 40, 40, 40, 40, 50, 60), [(240.0, 99.5, 100.0)]),
        (at(10, 20, 30, 40, 40, 40, 40, 50, 60, 70), []),  # 30 beats of 3 s are missing, and 34 would be
        (at(10, 20, 30, 40, 50, 50, 50, 50, 50, 50), [(240.0, 99.5, 100.0)]),
        (at(10), [(240.0, 99.5, 100.0)]),
        (at(), [(240.0, 99.5, 100.0)]),
    ):
        found = stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [gaps], Quantity.HEARTBEATS: [beats]})
        assert bounds(found) == shown, beats


def test_a_long_gap_is_a_handler_where_no_beat_is_missing() -> None:
    """Scrapes are too rare to see four seconds of silence between two beats a second; their count is not."""
    gaps = at(0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 4.2, 4.2, 4.2, 4.2, every_s=5)
    steady, paused = at(*range(5, 55, 5), every_s=5), at(5, 10, 15, 20, 25, 30, 31, 36, 41, 46, every_s=5)
    for beats, shown in ((steady, []), (paused, [(30.0, 4.0, 4.2)])):
        found = stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [gaps], Quantity.HEARTBEATS: [beats]})
        assert [bound for bound in bounds(found) if bound[1] > 1.0] == shown, beats.samples.values


def test_beats_of_another_bean_of_the_process_count_as_well() -> None:
    """Strimzi's Bridge says in a label from which MBean a series is."""
    gaps = at(0.2, 0.2, 0.3, 0.2, 4.2, 4.2, every_s=5, type="consumer-metrics")
    beats = at(*range(5, 35, 5), every_s=5, type="consumer-coordinator-metrics")
    found = stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [gaps], Quantity.HEARTBEATS: [beats]})
    assert [item for item in found if item.at_least_s > 1.0] == []


def test_one_long_gap_is_not_what_is_usual_however_long_it_is_shown() -> None:
    """It stands in most samples of a short time."""
    gaps = at(0.2, 0.3, *[8.4] * 12, 0.2, 0.3, every_s=5)
    assert bounds(stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [gaps]})) == [(10.0, 8.1, 8.4)]


def test_the_first_polls_of_a_new_member_are_no_absence() -> None:
    """They find the coordinator and join: it has not beaten yet."""
    gaps = at(0.2, *[3.8] * 12, 0.2, 0.3, 0.2, 0.3, every_s=5)
    beats = at(0, 0, *range(2, 72, 5), every_s=5)
    found = stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [gaps], Quantity.HEARTBEATS: [beats]})
    assert [item for item in found if item.at_least_s > 1.0] == []


def test_a_gap_that_shows_when_a_longer_one_is_gone_is_not_placed() -> None:
    """It was at some time of more than a minute, the longer one's among them."""
    gaps = at(0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 8.4, 8.4, 4.1, 4.1)
    found = stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [gaps]})
    assert [item.at_most_s for item in found if item.at_least_s > 1.0] == [8.4]


def test_long_poll_gaps_are_handlers() -> None:
    """A member that usually takes a second or more is at work, however long it takes once."""
    assert stalls.poll_gaps(POD, {Quantity.POLL_GAP_MAX: [at(1.0, 1.0, 60.0)]}) == []


def failed(
    up: Series, *more: Series, others: bool = True, took: Series | None = None, **mine: Series
) -> list[tuple[float, float, float]]:
    """Return what failed scrapes show; every other pod was scraped in all blocks, or none."""
    found = {Quantity.SCRAPED: [up, *more], **{Quantity[name.upper()]: [item] for name, item in mine.items()}}
    if took is not None:
        found[Quantity.SCRAPE_TIME] = [took]
    neighbour = [at(1, 1, 1, 1, 1, 1, pod="orders-1")] if others else []
    scraped = scrapes.scraped_blocks({Quantity.SCRAPED: [up, *more, *neighbour]})
    shown = scrapes.failed_scrapes(POD, found, scraped=scraped)
    assert all(item.signal is AbsenceSignal.FAILED_SCRAPES for item in shown)
    return bounds(shown)


GONE = at(1, 0, 0, 1)
TIMEOUTS = at(0.01, 10.0, 10.0, 2.0)


def test_failed_scrapes_show_an_absence_between_two_that_succeeded() -> None:
    """From the first that failed to when the last gave up, and at most between the two that did not."""
    assert failed(GONE, took=TIMEOUTS) == [(90.0, 40.0, 92.0)]
    assert failed(GONE) == [(90.0, 30.0, 90.0)]
    assert failed(at(1, 0, 1), took=at(0.01, 10.0, 0.01)) == [(60.0, 10.0, 60.01)]


def test_a_run_that_has_not_ended_or_not_begun_is_none() -> None:
    """Who never came back is dead, and nobody knows since when one was away who was never there."""
    assert failed(at(1, 0, 0)) == []
    assert failed(at(0, 0, 1, 1)) == []


def test_a_late_answer_shows_an_absence_that_ended_with_it() -> None:
    """A stopped process answers as soon as it goes on: alone, or after scrapes that gave up."""
    took = at(0.01, 0.01, 4.3, 0.01, 0.01)
    assert failed(at(1, 1, 1, 1, 1), took=took) == [(60.0, 4.3, 34.3)]
    took = at(0.01, 5.0, 1.3, 0.01, 0.01)
    assert failed(at(1, 0, 1, 1, 1), took=took) == [(60.0, 31.3, 61.3)]
    took = at(0.01, 4.3, 4.4, 0.01, 0.01, 0.01, 0.01)
    assert failed(at(1, 1, 1, 1, 1, 1, 1), took=took) == [(30.0, 4.3, 34.3), (60.0, 4.4, 34.4)]


def test_an_exporter_that_is_slow_is_not_late() -> None:
    """Thousands of series take their time; a process that begins answers its first scrapes late, too."""
    assert failed(at(1, 1, 1, 1, 1), took=at(2.0, 2.0, 4.3, 2.0, 2.0)) == []
    assert failed(at(0, 1, 1, 1, 1), took=at(0.01, 2.1, 0.01, 0.01, 0.01)) == []


def test_a_late_answer_of_another_target_is_none_meanwhile() -> None:
    """Both ports of a stopped process are late: neither speaks against the other."""
    up, took = (1, 1, 1, 1, 1), (0.01, 0.01, 4.3, 0.01, 0.01)
    mine = {
        Quantity.SCRAPED: [at(*up), at(*up, job="other")],
        Quantity.SCRAPE_TIME: [at(*took), at(*took, job="other")],
    }
    found = scrapes.failed_scrapes(POD, mine, scraped={0.0: {"orders-1"}, 90.0: {"orders-1"}})
    assert bounds(found) == [(60.0, 4.3, 34.3)] * 2
    mine[Quantity.SCRAPE_TIME] = mine[Quantity.SCRAPE_TIME][:1]  # the other one was prompt, as far as is known
    assert scrapes.failed_scrapes(POD, mine, scraped={0.0: {"orders-1"}, 90.0: {"orders-1"}}) == []


def test_where_nobody_was_scraped_it_was_prometheus() -> None:
    """A block without another target's success says nothing of this one."""
    assert failed(GONE, others=False, took=TIMEOUTS) == []
    assert failed(at(1, 1, 1, 1, 1, 1, 0, 0, 1), took=None) == []


def test_a_restart_is_no_absence() -> None:
    """Whether a counter fell, or Kubernetes tells of it."""
    counts = at(5, 9, 1, 2)
    assert failed(GONE, rebalances=counts) == []
    assert failed(GONE, container_started=at(50.0, 50.0)) == []
    assert failed(GONE, container_restarts=at(0, 0, 1, 1)) == []
    assert failed(GONE, pod_deleted=at(60.0)) == []
    assert failed(GONE, container_started=at(-500.0), container_restarts=at(2, 2), rebalances=at(1, 2, 3, 4)) != []
    assert failed(GONE, pod_deleted=at(), heartbeats=at(1, 2, 3, 4)) != []


def test_a_pod_is_there_while_one_of_its_targets_is() -> None:
    """A port that never answers is no target of the consumer; one that answers meanwhile speaks for the process."""
    assert failed(GONE, at(0, 0, 0, 0, job="other")) == [(90.0, 30.0, 90.0)]
    assert failed(GONE, at(1, 1, 1, 1, job="other")) == []
    early_and_late = counters.series([(25.0, 1.0), (95.0, 1.0)], job="other")
    assert failed(GONE, early_and_late) == [(90.0, 30.0, 90.0)]
