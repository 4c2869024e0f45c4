"""An eviction is an absence whose end nobody saw: what it outlasted is known, and nothing more."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.metrics import quantities
from heartbeat_tuner.metrics.absence import lost_sessions, missing_beats
from heartbeat_tuner.metrics.absence.lost_sessions import not_known
from heartbeat_tuner.metrics.measured import ABSENCE, EVICTION, Evictions
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, java_days, kafkajs_days
from tests.support.counters import Answers
from tests.support.java_days import Stop
from tests.support.kafkajs_days import Absence

HOURS = 5.0
EVICTED = Absence(at_s=7_000.0, lasts_s=50.0)
SURVIVED = Absence(at_s=12_000.0, lasts_s=18.0)


def first_lasted_s(observed: Answers, *, timed: bool = True) -> float:
    """Return what is known of the first eviction where nothing tells the session; `timed` by the beats of all hours."""
    beats = missing_beats.of_group(observed) if timed else []
    found = lost_sessions.evictions(observed, beats, not_known)
    assert isinstance(found, Evictions)
    return found.events[0].value_s


def measured(*absences: Absence, scrape_s: float = 15.0, session_s: float | None = 30.0, seed: int = 1) -> Evictions:
    """Return the evictions of a member whose session is 30 s, as its counters show them."""
    observed = kafkajs_days.member(absences, hours=HOURS, scrape_s=scrape_s, seed=seed)
    found = lost_sessions.evictions(observed, missing_beats.of_group(observed), lambda _at: session_s)
    assert isinstance(found, Evictions)
    return found


def test_an_absence_that_ended_in_an_eviction_is_no_absence_but_an_eviction() -> None:
    """Before, it was nothing at all: the day looked as if no absence were as long as the session."""
    observed = kafkajs_days.member([EVICTED, SURVIVED], hours=HOURS)
    found = list(quantities.rows(("shop", "orders"), quantities.measured(observed, {}, session_s=lambda _at: 30.0)))
    absences = [value_s for _, name, _, value_s in found if name == ABSENCE]
    evictions = [value_s for _, name, _, value_s in found if name == EVICTION]
    assert max(absences) == pytest.approx(SURVIVED.lasts_s, abs=5.0)
    assert len(evictions) == 1
    assert 27.0 <= evictions[0] <= EVICTED.lasts_s


@pytest.mark.no_cover
@settings(max_examples=30)
@given(
    lasts_s=st.floats(36.0, 200.0), at_s=st.floats(5_000.0, 15_000.0), scrape_s=st.sampled_from([5.0, 15.0, 30.0, 60.0])
)
def test_what_it_outlasted_is_never_more_than_it_was(lasts_s: float, at_s: float, scrape_s: float) -> None:
    """Whether a session is known or not: a bound must not rest on an absence that there never was."""
    for session_s in (30.0, None):
        found = measured(Absence(at_s, lasts_s), scrape_s=scrape_s, session_s=session_s, seed=int(at_s))
        # A beat is up to a period old when the absence begins, half of one on average.
        assert all(event.value_s <= lasts_s + 2.6 for event in found.events)


def test_without_a_known_session_it_is_what_passed_without_a_beat() -> None:
    """Scrapes and the phase of beats leave that a little shorter than it was."""
    found = measured(Absence(7_000.0, 120.0), session_s=None)
    assert [event.value_s for event in found.events] == [pytest.approx(120.0, abs=20.0)]


def test_a_session_that_is_set_and_not_in_force_is_not_believed() -> None:
    """The application keeps its own: 300 s cannot have passed since a beat that was counted a minute ago."""
    found = measured(EVICTED, session_s=300.0)
    assert all(event.value_s <= EVICTED.lasts_s for event in found.events)


def test_a_member_whose_beats_could_not_be_timed_beat_as_it_did_on_average() -> None:
    """Too few beats for a period of their own still say how far apart they were."""
    observed = kafkajs_days.member([Absence(7_000.0, 120.0)], hours=HOURS)
    assert first_lasted_s(observed, timed=False) == pytest.approx(first_lasted_s(observed), abs=5.0)


def test_without_a_beat_nothing_says_how_long_a_member_was_silent() -> None:
    """It was evicted, and that is all."""
    observed = kafkajs_days.member([EVICTED], hours=HOURS)
    assert first_lasted_s({**observed, Quantity.HEARTBEATS: []}) == 0.0


def test_a_process_that_was_started_again_was_not_evicted() -> None:
    """Its counters begin again; what it counts first is no rejoin."""
    observed = kafkajs_days.member([], hours=HOURS, restart_s=9_000.0)
    found = lost_sessions.evictions(observed, missing_beats.of_group(observed), not_known)
    assert isinstance(found, Evictions)
    assert found.events == ()
    assert found.watched


def test_an_eviction_after_a_restart_is_found() -> None:
    """Each process is looked at by itself: a counter of joins that falls belongs to the next one."""
    observed = kafkajs_days.member([EVICTED, Absence(15_000.0, 60.0)], hours=HOURS, restart_s=9_000.0)
    found = lost_sessions.evictions(observed, missing_beats.of_group(observed), lambda _at: 30.0)
    assert isinstance(found, Evictions)
    assert len(found.events) == 2


def test_counters_that_are_not_exported_are_unknown_and_not_none() -> None:
    """Nothing is never taken for zero."""
    observed = kafkajs_days.member([EVICTED], hours=HOURS)
    less: Answers = {
        quantity: group for quantity, group in observed.items() if quantity is not Quantity.REBALANCE_NOTICES
    }
    assert isinstance(lost_sessions.evictions(less, missing_beats.of_group(less), not_known), Unknown)
    empty = {
        quantity: [Series(item.labels, item.samples[:0]) for item in group] for quantity, group in observed.items()
    }
    assert isinstance(lost_sessions.evictions(empty, [], not_known), Unknown)


@pytest.mark.parametrize("scrape_s", [15.0, 30.0])
def test_missing_beats_are_likely_as_long_as_the_absence_was(scrape_s: float) -> None:
    """On average over the phases of beats and scrapes; what it surely was is 1.75 periods less."""
    chance = random.Random(4)  # noqa: S311 - phases, no secret
    away, surely = [], []
    for seed in range(30):
        absence = Absence(chance.uniform(6_000.0, 12_000.0), 22.0)
        observed = kafkajs_days.member([absence], hours=HOURS, scrape_s=scrape_s, seed=seed, session_s=90.0)
        found = quantities.measured(observed, {}).absences
        assert not isinstance(found, Unknown)
        longest = max(found.observations, key=lambda observation: observation.value_s)
        assert longest.likely_s is not None
        away.append(longest.likely_s - absence.lasts_s)
        surely.append(longest.value_s - absence.lasts_s)
    assert sum(away) / len(away) == pytest.approx(0.0, abs=1.5)
    assert sum(surely) / len(surely) < -6.0


def java_evictions(observed: Answers) -> Evictions | Unknown:
    """Return the evictions of a Java member whose session is 45 s."""
    return quantities.measured(observed, {}, session_s=lambda _at: 45.0).evictions


def test_a_stop_of_java_that_cost_the_membership_is_an_eviction() -> None:
    """Before, nothing of it showed where handlers take long: the pool took its day for one without a long stop."""
    found = java_evictions(java_days.member([Stop(7_000.0, 70.0)], hours=HOURS))
    assert isinstance(found, Evictions)
    (event,) = found.events
    assert 45.0 - java_days.PERIOD_S / 2 <= event.value_s <= 70.0


def test_a_stop_of_java_within_its_session_is_none() -> None:
    """Its members were watched for evictions all the same, and there was none."""
    found = java_evictions(java_days.member([Stop(7_000.0, 30.0, loses_id=False)], hours=HOURS))
    assert isinstance(found, Evictions)
    assert found.events == ()
    assert len(found.watched) > 100


@pytest.mark.parametrize("limit_s", [60.0, 120.0, 300.0])
def test_who_left_for_want_of_a_poll_is_no_eviction(limit_s: float) -> None:
    """Its handler took longer than the poll limit, whatever that is, and it beat until then."""
    handler = Stop(7_000.0, limit_s + 40.0, beats_until_s=limit_s)
    found = java_evictions(java_days.member([handler], hours=HOURS))
    assert isinstance(found, Evictions)
    assert found.events == ()


def test_short_gaps_between_polls_show_stops_whatever_became_of_the_member() -> None:
    """To count the eviction beside would be to count the stop twice."""
    found = java_evictions(java_days.member([Stop(7_000.0, 70.0)], hours=HOURS, handler_s=0.3))
    assert isinstance(found, Unknown)


def test_an_eviction_whose_stop_a_garbage_collector_shows_is_not_counted_beside_it() -> None:
    """The stop is among the absences, in full."""
    observed = java_days.member([Stop(7_000.0, 70.0)], hours=HOURS)
    pauses = [
        (at_s, 70.0 if 0.0 <= at_s - 7_070.0 < java_days.SHOWN_S else 0.1)
        for at_s in observed[Quantity.HEARTBEATS][0].samples.times_s
    ]
    observed[Quantity.GC_PAUSE_MAX] = [counters.series(pauses)]
    found = quantities.measured(observed, {}, session_s=lambda _at: 45.0)
    assert isinstance(found.evictions, Evictions)
    assert found.evictions.events == ()
    assert not isinstance(found.absences, Unknown)
    assert found.absences.largest_s == pytest.approx(70.0)


def with_librdkafka(lasts_s: float, *, loses: bool) -> Answers:
    """Return what a member with librdkafka exports that beats every 3 s, but for an absence after 7,000 s."""
    scrapes = [15.0 * number for number in range(int(HOURS * 240))]

    def beats(at_s: float) -> float:
        return (min(at_s, 7_000.0) + max(0.0, at_s - 7_000.0 - lasts_s)) // 3.0

    lost = [(at_s, float(loses and at_s >= 7_000.0 + lasts_s)) for at_s in scrapes]
    return {
        Quantity.HEARTBEATS: [counters.series([(at_s, beats(at_s)) for at_s in scrapes])],
        Quantity.REBALANCES: [counters.series([(at_s, 1.0 + count) for at_s, count in lost])],
        Quantity.LOST_FOR_SILENCE: [counters.series(lost)],
    }


def test_what_a_member_with_librdkafka_lost_for_silence_is_an_eviction() -> None:
    """It says so itself, and its beats say for how long it was away at least."""
    found = quantities.measured(with_librdkafka(70.0, loses=True), {}, session_s=lambda _at: 45.0)
    assert isinstance(found.evictions, Evictions)
    (event,) = found.evictions.events
    assert 45.0 - 3.0 / 2 <= event.value_s <= 70.0
    assert not isinstance(found.absences, Unknown)
    assert found.absences.largest_s is not None
    assert found.absences.largest_s < 10.0  # the last beats before it, which one scrape shows to be too few


def test_an_absence_with_librdkafka_within_its_session_is_no_eviction() -> None:
    """It shows as missing beats; that nothing was lost was watched as well."""
    found = quantities.measured(with_librdkafka(30.0, loses=False), {}, session_s=lambda _at: 45.0)
    assert isinstance(found.evictions, Evictions)
    assert (found.evictions.events, len(found.evictions.watched) > 100) == ((), True)
    assert not isinstance(found.absences, Unknown)
    (away,) = found.absences.observations
    assert away.likely_s == pytest.approx(30.0, abs=5.0)


def test_short_gaps_between_polls_with_librdkafka_show_no_stop() -> None:
    """They are without the time within poll(), in which an idle consumer spends most of it."""
    observed = with_librdkafka(70.0, loses=True)
    gaps = [(sample.time_s, 0.01) for sample in observed[Quantity.HEARTBEATS][0].samples]
    found = quantities.measured(
        observed | {Quantity.POLL_GAP_MAX: [counters.series(gaps)]}, {}, session_s=lambda _: 45.0
    )
    assert isinstance(found.evictions, Evictions)
    assert len(found.evictions.events) == 1
