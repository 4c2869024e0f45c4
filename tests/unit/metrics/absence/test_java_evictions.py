"""Java's counters show that a member lost its id; whether its absence shows elsewhere, and what it outlasted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.metrics import quantities
from heartbeat_tuner.metrics.measured import ABSENCE, EVICTION, Evictions, Quantities
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import java_days
from tests.support.counters import Answers
from tests.support.kafkajs_days import Absence

HOURS = 5.0
SESSION_S = 45.0
EVICTED = Absence(at_s=7_000.0, lasts_s=60.0)
SURVIVED = Absence(at_s=12_000.0, lasts_s=30.0)


def measured(shown: Answers, session_s: float | None = SESSION_S) -> Quantities:
    """Return what can be known of a group with one member."""
    return quantities.measured(shown, {}, session_s=lambda _at: session_s)


def values(found: Quantities, name: str) -> list[float]:
    """Return the rows of a quantity, in seconds."""
    return [value_s for _, quantity, _, value_s in quantities.rows(("shop", "orders"), found) if quantity == name]


def test_a_stop_that_ended_in_an_eviction_is_counted_as_one() -> None:
    """Before, nothing at all showed it: no stop seemed to last as long as the session."""
    found = measured(java_days.member([EVICTED, SURVIVED], hours=HOURS))
    (outlasted_s,) = values(found, EVICTION)
    assert SESSION_S - java_days.PERIOD_S / 2 <= outlasted_s <= EVICTED.lasts_s
    assert max(values(found, ABSENCE)) == pytest.approx(SURVIVED.lasts_s, abs=5.0)


@settings(max_examples=25)
@given(
    lasts_s=st.floats(50.0, 200.0), at_s=st.floats(5_000.0, 15_000.0), scrape_s=st.sampled_from([5.0, 15.0, 30.0, 60.0])
)
def test_what_it_outlasted_is_never_more_than_it_was(lasts_s: float, at_s: float, scrape_s: float) -> None:
    """Whether a session is known or not, and however seldom it is scraped; and it is one eviction at most."""
    for session_s in (SESSION_S, None):
        found = measured(
            java_days.member([Absence(at_s, lasts_s)], hours=HOURS, scrape_s=scrape_s, seed=int(at_s)), session_s
        )
        evictions = values(found, EVICTION)
        assert len(evictions) == 1
        assert evictions[0] <= lasts_s + java_days.PERIOD_S / 2 + java_days.JOIN_S


@settings(max_examples=25)
@given(
    lasts_s=st.floats(310.0, 1_500.0),
    at_s=st.floats(5_000.0, 15_000.0),
    scrape_s=st.sampled_from([5.0, 15.0, 30.0]),
)
def test_who_polled_too_late_left_and_was_not_removed(lasts_s: float, at_s: float, scrape_s: float) -> None:
    """It beat on for as long as the poll limit; a longer session would have changed nothing."""
    late = java_days.member(late=[Absence(at_s, lasts_s)], hours=HOURS, scrape_s=scrape_s, seed=int(at_s))
    assert values(measured(late), EVICTION) == []


def test_a_stop_that_shows_in_full_is_not_counted_twice() -> None:
    """Where polls usually follow at once, their gap is the stop, whatever became of the member."""
    found = measured(java_days.member([EVICTED], hours=HOURS, usual_gap_s=0.3))
    assert values(found, EVICTION) == []
    assert max(values(found, ABSENCE)) == pytest.approx(EVICTED.lasts_s, abs=1.0)
    assert isinstance(found.evictions, Evictions)
    assert found.evictions.watched


@pytest.mark.parametrize(
    "missing", [Quantity.JOIN_ANSWERS, Quantity.FAILED_REBALANCES, Quantity.POLL_GAP_MAX, Quantity.HEARTBEATS]
)
def test_counters_that_are_not_exported_are_unknown_and_not_none(missing: Quantity) -> None:
    """Nothing is never taken for zero."""
    shown = java_days.member([EVICTED], hours=HOURS)
    del shown[missing]
    assert isinstance(measured(shown).evictions, Unknown)


def test_of_several_consumers_in_a_process_nothing_is_told() -> None:
    """Nobody knows whose beats stopped."""
    shown = java_days.member([EVICTED], hours=HOURS)
    both = {
        quantity: [Series({**one.labels, "client_id": f"{number}"}, one.samples) for one in group for number in (1, 2)]
        for quantity, group in shown.items()
    }
    assert isinstance(measured(both).evictions, Unknown)
