"""KafkaJS' cadence: a beat waits for the fetch loop."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import kafkajs
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from tests.support import worlds

whole_ms = st.integers(min_value=1, max_value=120_000).map(lambda ms: timedelta(milliseconds=ms))


@pytest.mark.parametrize(
    ("interval", "wait", "brokers", "shortest_s", "longest_s"),
    [
        ("3s", "5s", 1, 5.0, 5.0),
        ("3s", "100ms", 1, 3.0, 3.0),
        ("500ms", "100ms", 1, 0.5, 0.5),
        ("333ms", "5s", 1, 5.0, 5.0),
        ("3s", "2.9s", 1, 5.8, 5.8),
        ("3s", "3s", 1, 3.0, 3.0),
        ("3s", "5s", 2, 3.0, 8.0),
        ("3s", "5s", 3, 3.0, 8.0),
    ],
)
def test_period_is_what_was_measured(
    interval: str, wait: str, brokers: int, shortest_s: float, longest_s: float
) -> None:
    """The period is a multiple of W on one broker, and between H and H + W on several."""
    period = kafkajs.period(worlds.settings("30s", interval, wait), Circumstances(brokers=brokers))
    assert (period.shortest.total_seconds(), period.longest.total_seconds()) == (shortest_s, longest_s)


@given(whole_ms, whole_ms, st.integers(min_value=1, max_value=9))
def test_period_lies_between_interval_and_interval_plus_wait(
    interval: timedelta, wait: timedelta, brokers: int
) -> None:
    """Whatever the settings, no beat is early, and none waits for more than one fetch."""
    period = kafkajs.period(LivenessSettings(worlds.seconds(30), interval, wait), Circumstances(brokers=brokers))
    assert interval <= period.shortest <= period.longest <= interval + wait


@pytest.mark.parametrize("session", ["3s", "2.999s"])
def test_interval_that_is_not_below_the_session_is_a_violation(session: str) -> None:
    """KafkaJS refuses to start; so nobody may write it."""
    (sentence,) = kafkajs.KAFKAJS.violations(worlds.settings(session, "3s"))
    assert "(3s)" in sentence
    assert f"({session})" in sentence


def test_interval_below_the_session_is_sound() -> None:
    """One millisecond is enough for KafkaJS."""
    assert kafkajs.KAFKAJS.violations(worlds.settings("3.001s", "3s")) == ()


def test_explanation_of_one_broker_names_the_beat() -> None:
    """The sentence holds the numbers that a person can check."""
    sentence = kafkajs.KAFKAJS.explain_period(worlds.settings("1s", "333ms", "5s"), Circumstances())
    assert "with a heartbeat interval of 333ms and a fetch wait of 5s, there is a beat every 5s" in sentence


def test_explanation_of_several_brokers_names_the_range() -> None:
    """With several brokers there is no single period to promise."""
    sentence = kafkajs.KAFKAJS.explain_period(worlds.settings("30s", "3s", "5s"), Circumstances(brokers=3))
    assert "with 3 brokers" in sentence
    assert "every 3s to 8s" in sentence


def test_card_has_the_librarys_defaults_and_a_name_for_each_setting() -> None:
    """Defaults are what a group runs with that sets nothing."""
    defaults = dataclasses.replace(worlds.settings("30s", "3s", "5s"), rebalance_timeout=worlds.seconds(60))
    assert defaults == kafkajs.KAFKAJS.defaults
    assert kafkajs.KAFKAJS.default_session_timeout == worlds.seconds(30)
    assert (
        set(kafkajs.KAFKAJS.env_preset) == set(kafkajs.KAFKAJS.settings) == set(Setting) - {Setting.MAX_POLL_INTERVAL}
    )
