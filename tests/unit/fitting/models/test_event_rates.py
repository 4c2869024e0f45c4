"""How often events come and how long they last, of the quantities whose values are events."""

import numpy as np
import pytest

from heartbeat_tuner.fitting.models import event_rates
from heartbeat_tuner.tails import histogram, rates
from heartbeat_tuner.tails.histogram import Histogram

VALUES, MEMBER_DAYS, GROUP_DAYS = np.array([30.0, 0.0]), np.array([100.0, 100.0]), np.array([10.0, 50.0])


@pytest.mark.parametrize(
    ("quantity", "exposure"),
    [
        ("restartDowntime", MEMBER_DAYS),
        ("crashDowntime", MEMBER_DAYS),
        ("outage", GROUP_DAYS),
        ("rebalanceLatency", GROUP_DAYS),
        ("plannedRebalance", GROUP_DAYS),
        ("unplannedRebalance", GROUP_DAYS),
    ],
)
def test_events_have_rates_of_whom_they_befall(quantity: str, exposure: np.ndarray) -> None:
    """A restart happens to a member, a rebalance the group."""
    found = event_rates.rates_of(quantity, VALUES, MEMBER_DAYS, GROUP_DAYS)
    assert found == rates.rates(VALUES, exposure).each


def test_what_is_no_event_has_no_rate() -> None:
    """Nor has what nobody watched."""
    assert event_rates.rates_of("absence", VALUES, MEMBER_DAYS, GROUP_DAYS) == [None, None]
    assert event_rates.rates_of("crashDowntime", VALUES, np.zeros(2), GROUP_DAYS) == [None, None]


def test_groups_without_a_restart_have_the_fleets_duration() -> None:
    """As soon as any group has one; rebalances that do not say how long they took have none."""
    counts = histogram.dense([Histogram.of([20.0] * 40), Histogram.of([])])
    own, usual = event_rates.durations_of("restartDowntime", counts)
    assert own is not None
    assert usual is not None
    assert np.exp(own.mean_log) == pytest.approx(20.0, rel=0.02)
    assert np.exp(usual.mean_log) == pytest.approx(20.0, rel=0.02)
    assert own.worth > usual.worth
    assert event_rates.durations_of("plannedRebalance", counts) == [None, None]
    assert event_rates.durations_of("crashDowntime", np.zeros_like(counts)) == [None, None]


def test_no_time_at_all_is_as_short_as_scrapes_resolve() -> None:
    """The logarithm of a surge's zero would say that other restarts may last a day."""
    (law,) = event_rates.durations_of("restartDowntime", histogram.dense([Histogram.of([0.0] * 10 + [20.0] * 10)]))
    assert law is not None
    assert law.mean_log == pytest.approx(np.log(20) / 2, abs=0.02)
    assert law.sd_log < 2.0


def test_a_quick_join_is_as_quick_as_it_was() -> None:
    """It is measured by the client, not by scrapes."""
    (law,) = event_rates.durations_of("rebalanceLatency", histogram.dense([Histogram.of([0.2] * 10)]))
    assert law is not None
    assert np.exp(law.mean_log) == pytest.approx(0.2, rel=0.02)
