"""A number of seconds is not read as milliseconds: nobody derives values from it."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.kafka_groups import Cluster
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.limits import plausibility
from tests.support import worlds

BROKER = worlds.cluster(low="6s")
S_IN_SECONDS = worlds.settings("30ms", "3s", "5s")


def unreadable(
    now: LivenessSettings, *, source: ValueSource = ValueSource.POD, on: Cluster | None = BROKER, consumer: bool = False
) -> Finding | None:
    """Return what is wrong with values that were read."""
    current = CurrentSettings(now, dict.fromkeys(now.by_setting, source))
    group = dataclasses.replace(worlds.group(), consumer_protocol=consumer)
    return plausibility.unreadable(worlds.policy(), current, group, on)


def test_a_setting_without_a_variable_has_its_own_name() -> None:
    """As where no policy names any."""
    current = CurrentSettings(S_IN_SECONDS, dict.fromkeys(Setting, ValueSource.POD))
    found = plausibility.unreadable(worlds.policy(env_names={}), current, worlds.group(), None)
    assert found is not None
    assert found.message.startswith("sessionTimeout reads as 30 ms")
    assert found.facts == {
        "place": "sessionTimeout",
        "ms": 30,
        "setting": "sessionTimeout",
        "value": "30ms",
        "least": "500ms",
    }


@pytest.mark.parametrize(
    ("now", "on", "sentence"),
    [
        (worlds.settings("5.999s"), BROKER, "group.min.session.timeout.ms is 6s"),
        (worlds.settings("6s"), BROKER, None),
        (worlds.settings("30m"), BROKER, None),
        (worlds.settings("31m"), BROKER, "group.max.session.timeout.ms is 30m"),
        (worlds.STORM, worlds.cluster(low="1s"), None),
        (worlds.settings("1s"), None, None),
        (worlds.settings("1s"), dataclasses.replace(BROKER, bounds_assumed=True), None),
        (worlds.settings("30s", "3ms"), BROKER, "heartbeatInterval of 3ms"),
        (worlds.settings("30s", "3s", "5ms"), BROKER, None),
        (worlds.java_settings(poll="300ms"), BROKER, "maxPollInterval of 300ms"),
    ],
)
def test_limits_are_the_brokers_where_they_are_known(
    now: LivenessSettings, on: Cluster | None, sentence: str | None
) -> None:
    """A member with another session never joins; and nobody runs with a session of 30 ms anywhere."""
    found = unreadable(now, on=on)
    assert (found is not None and sentence is not None and sentence in found.message) or (
        found is None and sentence is None
    )


def test_what_nobody_wrote_is_no_value_that_was_misread() -> None:
    """An assumed default, or what the broker prescribes."""
    assert unreadable(worlds.settings("1s"), source=ValueSource.DEFAULT) is None
    assert unreadable(worlds.settings("30ms"), source=ValueSource.GROUP) is None
    assert unreadable(worlds.settings("1s"), consumer=True) is None


@given(
    st.integers(min_value=1, max_value=400),
    st.integers(min_value=1, max_value=40),
    st.integers(min_value=0, max_value=400),
)
def test_nothing_is_derived_from_seconds(session: int, interval: int, evictions: int) -> None:
    """Whatever the record shows: no value, no write, no health."""
    now = LivenessSettings(
        timedelta(milliseconds=session), timedelta(milliseconds=interval), timedelta(milliseconds=5_000)
    )
    decision = decide(worlds.situation(now=now, seen=worlds.record(evictions=evictions)))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNKNOWN, Reason.SETTING_UNREADABLE)
    assert (decision.target, decision.to_apply) == (None, None)
