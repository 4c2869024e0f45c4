"""Curves say what the decision says."""

import math

import pytest

from heartbeat_tuner.cli.reporting import model_curves
from heartbeat_tuner.clients import catalogue
from tests.support import cases, fitted, worlds


def test_the_cost_curve_goes_through_the_values_recommended() -> None:
    """And its band is where the decision says that costs are about the same."""
    case = cases.by_model()
    curve = model_curves.costs(case)
    assert curve is not None
    assert case.found is not None
    assert case.found.target is not None
    assert case.found.new is not None
    session_s = case.found.target.session_timeout.total_seconds()
    below = max(place for place, at_s in enumerate(curve.sessions_s) if at_s <= session_s)
    near = sorted(curve.stalled_per_day[below : below + 2])
    assert near[0] * 0.98 <= case.found.new.net_per_day <= near[-1] * 1.02
    assert curve.band_s is not None
    assert curve.band_s[0] <= session_s <= curve.band_s[1]
    assert curve.heartbeat_ms == 1000 * case.found.target.heartbeat_interval.total_seconds()
    assert list(curve.evictions_at_most) == sorted(curve.evictions_at_most, reverse=True)


def test_absences_get_rarer_the_longer_they_are() -> None:
    """At most is never less than expected."""
    curve = model_curves.survival(cases.by_model())
    assert curve is not None
    assert list(curve.per_month) == sorted(curve.per_month, reverse=True)
    assert all(most >= mean * 0.999 for mean, most in zip(curve.per_month, curve.at_most, strict=True))


def test_long_handlers_are_absences_of_a_client_whose_beat_waits_for_them() -> None:
    """Of KafkaJS they are all that there is."""
    model = fitted.fitted(quantities=cases.MODEL.quantities)
    kafkajs = cases.by_model(now=worlds.settings(), client=catalogue.client("kafkajs"), model=model)
    curve = model_curves.survival(kafkajs)
    assert curve is not None
    assert "handlers" in curve.title
    assert max(curve.per_month) > 1


def test_without_a_model_there_are_no_curves() -> None:
    """Nothing is drawn that nobody measured."""
    case = cases.by_model(model=cases.unmodelled().model)
    assert model_curves.costs(case) is None
    assert model_curves.survival(case) is None


@pytest.mark.parametrize("session", ["1s", "45s", "5m"])
def test_what_is_set_is_within_the_curve(session: str) -> None:
    """However short or long it is."""
    curve = model_curves.costs(cases.by_model(now=worlds.java_settings(session=session)))
    assert curve is not None
    seconds = {"1s": 1.0, "45s": 45.0, "5m": 300.0}[session]
    assert curve.sessions_s[0] <= max(seconds, 6.0)
    assert curve.sessions_s[-1] >= seconds
    assert all(map(math.isfinite, curve.stalled_per_day))
