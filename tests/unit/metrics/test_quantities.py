"""Everything of one group at once: values with their meaning, or why there are none."""

import pytest

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import measured, quantities
from heartbeat_tuner.metrics.measured import Measured, Observation, Quantities, Rebalances
from heartbeat_tuner.metrics.raw.resolver import Observed, PodKey
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters

HERE = ("shop", "orders-0")
HOUR = [30.0 * number for number in range(121)]


def steady(value: float, **labels: str) -> Series:
    """Return a series of an hour with one value."""
    return counters.series(((at_s, value) for at_s in HOUR), **labels)


def everything(**labels: str) -> dict[Quantity, list[Series]]:
    """Return what a Java consumer of one partition exports in a quiet hour, with one spike of everything."""

    def spike(usual: float, largest: float) -> Series:
        return counters.series(((at_s, largest if at_s == 1_800.0 else usual) for at_s in HOUR), **labels)

    return {
        Quantity.HEARTBEATS: [counters.series(((at_s, at_s // 3) for at_s in HOUR), **labels)],
        Quantity.REBALANCES: [counters.series(((at_s, 1.0 if at_s < 2_000.0 else 2.0) for at_s in HOUR), **labels)],
        Quantity.REBALANCE_LATENCY_MAX: [spike(0.1, 2.0)],
        Quantity.HEARTBEAT_RESPONSE_TIME_MAX: [spike(0.005, 3.0)],
        Quantity.COMMIT_LATENCY_MAX: [spike(0.01, 4.0)],
        Quantity.POLL_GAP_MAX: [spike(0.4, 5.0)],
        Quantity.POLL_AGE: [spike(0.0, 9.0)],
        Quantity.ASSIGNED_PARTITIONS: [steady(1.0, **labels)],
    }


PLATFORM: dict[PodKey, Observed] = {
    HERE: {Quantity.POD_STARTED: [steady(-90.0)]},
    ("shop", "other-0"): {Quantity.POD_STARTED: [steady(2_000.0, pod="other-0")]},
}


def known(found: Measured | Unknown) -> Measured:
    """Return what must be known."""
    assert isinstance(found, Measured), found
    return found


def unknown(found: object) -> Unknown:
    """Return why something is not known."""
    assert isinstance(found, Unknown), found
    return found


def without(*left_out: Quantity) -> Quantities:
    """Return what is known if some of it is not exported."""
    observed = {quantity: group for quantity, group in everything().items() if quantity not in left_out}
    return quantities.measured(observed, PLATFORM)


def test_every_quantity_keeps_its_meaning() -> None:
    """A group whose everything is exported: each of its spikes is in the quantity that it is of, and in no other."""
    found = quantities.measured(everything(), PLATFORM)
    assert known(found.absences).largest_s == pytest.approx(4.6)  # the poll gap, beside what is usual
    assert known(found.missing_beats).largest_s == 0.0
    assert known(found.poll_gaps).largest_s == 9.0  # the running one was longer
    assert known(found.outages).largest_s == 4.0
    assert known(found.rebalance_latencies).largest_s == 2.0
    assert isinstance(found.rebalances, Rebalances)
    assert (found.rebalances.planned, found.rebalances.unplanned) == (0, 1)
    assert (found.rebalances.since_s, found.rebalances.until_s) == (0.0, 3_600.0)
    for restarts in (known(found.restarts), known(found.crashes)):
        assert (restarts.count, restarts.largest_s, restarts.blocks) == (0, None, 41)


def test_what_was_watched_is_told_beside_what_was_seen() -> None:
    """A rate needs both."""
    gaps = known(quantities.measured(everything(), PLATFORM).poll_gaps)
    assert (gaps.count, gaps.blocks, gaps.span_s) == (41, 41, 3_690.0)
    assert gaps.observations[20] == Observation("orders-0", 1_800.0, 9.0, 9.0)


def test_a_change_of_ours_makes_its_rebalance_planned() -> None:
    """So does a pod of the group, and not one of somebody else's."""
    found = quantities.measured(everything(), PLATFORM, changed=[1_980.0])
    assert isinstance(found.rebalances, Rebalances)
    assert (found.rebalances.planned, found.rebalances.unplanned) == (1, 0)


def test_a_cooperative_change_of_two_rounds_is_one() -> None:
    """It is told, since no metric tells it."""
    observed = everything()
    observed[Quantity.REBALANCES] = [counters.series((at_s, 1.0 if at_s < 2_000.0 else 3.0) for at_s in HOUR)]
    for cooperative, rounds in ((True, 1), (False, 2)):
        found = quantities.measured(observed, PLATFORM, cooperative=cooperative).rebalances
        assert isinstance(found, Rebalances)
        assert found.unplanned == rounds


def test_outages_are_the_groups_and_poll_gaps_its_members() -> None:
    """All members wait for the same coordinator; each has its own handlers."""
    first, other = everything(pod="orders-0"), everything(pod="orders-1")
    found = quantities.measured(counters.together(first, other), PLATFORM)
    assert {row.pod for row in known(found.outages).observations} == {""}
    assert known(found.outages).count == 40  # the spike fell back to what stood before
    assert {row.pod for row in known(found.poll_gaps).observations} == {"orders-0", "orders-1"}
    assert known(found.poll_gaps).blocks == 82


def test_rows_are_what_a_model_is_fitted_to() -> None:
    """Group, quantity, block and value; what is unknown has none."""
    rows = list(quantities.rows(("shop", "orders"), without(Quantity.POLL_GAP_MAX)))
    assert {row[0] for row in rows} == {("shop", "orders")}
    assert {row[1] for row in rows} == {measured.OUTAGE, measured.REBALANCE_LATENCY, measured.UNPLANNED_REBALANCE}
    assert (("shop", "orders"), "outage", 1_800.0, 4.0) in rows
    assert measured.POLL_GAP in {row[1] for row in quantities.rows(("shop", "orders"), without())}


def test_an_event_is_a_row_with_how_long_it_took() -> None:
    """In the block in which the last member showed it; where no time spent in joins is exported, it counts as 0."""
    spent = counters.series((at_s, 0.5 if at_s < 2_000.0 else 3.5) for at_s in HOUR)
    found = {**everything(), Quantity.REBALANCE_TIME: [spent]}
    for observed, value_s in ((found, 3.0), (everything(), 0.0)):
        rows = list(quantities.rows(("shop", "orders"), quantities.measured(observed, PLATFORM, changed=[1_980.0])))
        assert [row[1:] for row in rows if "Rebalance" in row[1]] == [("plannedRebalance", 1_980.0, value_s)]


@pytest.mark.parametrize("pod_is_new", [False, True])
def test_a_crash_is_no_planned_restart(*, pod_is_new: bool) -> None:
    """A container that was started again, in its pod or in a new one: one row, with the middle of its bounds."""
    begun = counters.series([(0.0, -50.0), (1_800.0, 1_780.0), (3_600.0, 1_780.0)])
    around = {Quantity.CONTAINER_STARTED: [begun], Quantity.POD_STARTED: [begun if pod_is_new else steady(-90.0)]}
    there = [at_s for at_s in HOUR if not 1_700.0 < at_s < 1_800.0]
    observed = everything() | {Quantity.ASSIGNED_PARTITIONS: [counters.series((at_s, 1.0) for at_s in there)]}
    found = quantities.measured(observed, {HERE: around})
    seen, other, name = (
        (found.restarts, found.crashes, "restartDowntime")
        if pod_is_new
        else (found.crashes, found.restarts, "crashDowntime")
    )
    (value,) = known(seen).observations
    assert known(other).count == 0
    assert value.value_s < value.at_most_s
    rows = [row[1:] for row in quantities.rows(("shop", "orders"), found) if row[1].endswith("Downtime")]
    assert rows == [(name, value.block_s, (value.value_s + value.at_most_s) / 2)]


def test_watched_blocks_are_told_by_quantity_for_each_member() -> None:
    """Of an event as well as of its absence: a rate needs the time in which none was seen."""
    observed = counters.together(everything(pod="orders-0"), everything(pod="orders-1"))
    found = dict(quantities.watched(quantities.measured(observed, PLATFORM)))
    names = {"absence", "pollGap", "outage", "rebalanceLatency", "restartDowntime", "crashDowntime"}
    assert set(found) == {*names, "plannedRebalance", "unplannedRebalance"}
    for name, watched in found.items():
        assert (name, len(watched), len(set(watched)), watched[0]) == (name, 82, 41, 0.0)
    assert set(dict(quantities.watched(without(Quantity.REBALANCES)))) == names


def test_nothing_shows_absences_where_nobody_watches() -> None:
    """And what was withheld is told."""
    silent = unknown(without(Quantity.POLL_GAP_MAX, Quantity.HEARTBEATS).absences)
    assert silent.reason is Reason.NO_SERIES
    assert "heartbeats are not counted" in silent.message
    short = {Quantity.HEARTBEATS: [item.until(300.0) for item in everything()[Quantity.HEARTBEATS]]}
    found = quantities.measured(short, {})
    assert "fewer than 10 blocks" in unknown(found.absences).message
    assert "fewer than 10 blocks" in unknown(found.missing_beats).message
    assert unknown(found.missing_beats).reason is Reason.TOO_LITTLE_DATA
    assert unknown(without(Quantity.HEARTBEATS).missing_beats).reason is Reason.NO_SERIES


def test_other_quantities_that_are_not_exported_are_unknown() -> None:
    """Each says what is missing."""
    found = without(*everything())
    assert "time-between-poll-max" in unknown(found.poll_gaps).message
    assert "heartbeat-response-time-max, commit-latency-max" in unknown(found.outages).message
    assert "rebalance-latency-max" in unknown(found.rebalance_latencies).message
    assert "rebalance-total" in unknown(found.rebalances).message
    assert "kube-state-metrics" in unknown(found.restarts).message


def test_series_without_numbers_are_unknown() -> None:
    """Maxima of an idle window are no number, and so no value."""
    idle = {quantity: [item.until(-1.0) for item in group] for quantity, group in everything().items()}
    found = quantities.measured(idle, PLATFORM)
    assert unknown(found.poll_gaps).reason is Reason.NOT_A_NUMBER
    assert unknown(found.outages).reason is Reason.NOT_A_NUMBER
    assert unknown(found.rebalances).reason is Reason.NO_SERIES
    assert unknown(found.restarts).reason is Reason.NOT_A_NUMBER


def test_rare_rebalances_are_not_rare_scrapes() -> None:
    """The latency of a join is a number for a minute; the rest of the time was watched, and none took place."""
    observed = everything()
    pairs = [(HOUR[10], 3.0), (HOUR[60], 4.0), (HOUR[110], 5.0)]
    found = quantities.measured({**observed, Quantity.REBALANCE_LATENCY_MAX: [counters.series(pairs)]}, PLATFORM)
    latencies = known(found.rebalance_latencies)
    assert [observation.value_s for observation in latencies.observations] == [3.0, 4.0, 5.0]
    assert latencies.span_s >= HOUR[-1] - HOUR[0]
    none = quantities.measured({**observed, Quantity.REBALANCE_LATENCY_MAX: [counters.series([])]}, PLATFORM)
    assert known(none.rebalance_latencies).count == 0


@pytest.mark.parametrize("quantity", ["poll_gaps", "outages", "rebalance_latencies"])
def test_maxima_that_are_scraped_too_rarely_are_unknown(quantity: str) -> None:
    """What is pushed every five minutes is not the tail of what happened."""
    observed = {
        name: [Series(series.labels, series.samples[::10]) for series in group] for name, group in everything().items()
    }
    found = unknown(getattr(quantities.measured(observed, PLATFORM), quantity))
    assert found.reason is Reason.TOO_LITTLE_DATA
    assert "a sample every 300 s" in found.message
