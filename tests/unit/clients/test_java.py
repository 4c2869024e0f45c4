"""The Java consumer's cadence: a thread of its own beats, whatever the handler does."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import java
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.domain.liveness import TUNED, LivenessSettings
from tests.support import worlds

whole_ms = st.integers(min_value=1, max_value=120_000).map(lambda ms: timedelta(milliseconds=ms))


@given(whole_ms, whole_ms, st.integers(min_value=1, max_value=9))
def test_only_the_interval_moves_the_beat(interval: timedelta, wait: timedelta, brokers: int) -> None:
    """Neither the fetch wait nor the number of brokers delays a beat; the thread's own nap does."""
    period = java.period(
        LivenessSettings(worlds.seconds(45), interval, wait, worlds.seconds(300)), Circumstances(brokers=brokers)
    )
    assert (period.shortest, period.longest) == (interval, interval + timedelta(milliseconds=100))


@pytest.mark.parametrize(("interval", "measured_s"), [("3s", 3.002), ("1s", 1.033), ("333ms", 0.336)])
def test_period_holds_what_was_measured(interval: str, measured_s: float) -> None:
    """Idle, busy and with slow answers (lab, Kafka 4.4.0)."""
    period = java.period(worlds.java_settings("45s", interval), Circumstances())
    assert period.shortest.total_seconds() <= measured_s <= period.longest.total_seconds()


@pytest.mark.parametrize(("session", "sound"), [("3s", False), ("2.999s", False), ("3.001s", True)])
def test_interval_must_be_below_the_session(session: str, sound: bool) -> None:  # noqa: FBT001 - a table's column
    """The consumer throws when it is built; so nobody may write it."""
    sentences = java.JAVA.violations(worlds.java_settings(session, "3s"))
    assert (sentences == ()) is sound
    assert sound or ("(3s)" in sentences[0] and f"({session})" in sentences[0])


def test_explanation_names_the_beat_and_clears_the_handler() -> None:
    """Who comes from KafkaJS looks for the handler first."""
    sentence = java.JAVA.explain_period(worlds.java_settings("6s", "2s"), Circumstances())
    assert "a heartbeat interval of 2s, there is a beat every 2s to 2.1s, however long a handler takes" in sentence


def test_card_has_the_librarys_defaults_and_a_name_for_each_setting() -> None:
    """Defaults are what a group runs with that sets nothing."""
    assert java.JAVA.defaults == worlds.java_settings("45s", "3s", "5m")
    assert set(java.JAVA.env_preset) == set(java.JAVA.settings) == set(TUNED)
