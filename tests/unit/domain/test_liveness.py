"""Settings: positive whole milliseconds, each under its name."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import TUNED, CurrentSettings, LivenessSettings, Setting, ValueSource
from tests.support import worlds


@pytest.mark.parametrize("field", ["session_timeout", "heartbeat_interval", "fetch_wait", "max_poll_interval"])
@pytest.mark.parametrize("value", [timedelta(0), timedelta(milliseconds=-1)])
def test_values_must_be_positive(field: str, value: timedelta) -> None:
    """A timeout of nothing divides by zero somewhere else; it is refused here."""
    with pytest.raises(ValueError, match="must be greater than zero"):
        dataclasses.replace(worlds.settings(), **{field: value})


def test_values_must_be_whole_milliseconds() -> None:
    """What a client cannot be told cannot be decided on."""
    with pytest.raises(ValueError, match="must be a whole number of milliseconds"):
        LivenessSettings(worlds.seconds(30), worlds.seconds(3), timedelta(microseconds=400))


def test_each_value_is_found_under_its_name() -> None:
    """S, H, W and M are not taken for one another."""
    found = worlds.java_settings("30s", "3s", "5m")
    assert [found[setting] for setting in TUNED] == [worlds.seconds(number) for number in (30, 3, 0.5, 300)]


def test_a_client_without_a_poll_limit_has_no_such_value() -> None:
    """What a library does not know is neither shown nor written."""
    assert Setting.MAX_POLL_INTERVAL not in worlds.settings().by_setting
    assert LivenessSettings.of(worlds.settings().by_setting) == worlds.settings()
    assert LivenessSettings.of(worlds.java_settings().by_setting) == worlds.java_settings()


def test_changed_names_what_differs_in_order() -> None:
    """Only what differs is written."""
    assert liveness.changed(worlds.settings(), worlds.settings()) == ()
    assert liveness.changed(worlds.settings("1s", "3s", "5s"), worlds.settings("30s", "3s", "1s")) == (
        Setting.SESSION_TIMEOUT,
        Setting.FETCH_WAIT,
    )


def test_assumed_values_are_told_from_seen_ones() -> None:
    """A library default that nobody set is marked."""
    sources = {**dict.fromkeys(Setting, ValueSource.POD), Setting.FETCH_WAIT: ValueSource.DEFAULT}
    assert CurrentSettings(worlds.settings(), sources).assumed == (Setting.FETCH_WAIT,)


@pytest.mark.parametrize("source", [ValueSource.POD, ValueSource.GROUP])
def test_pods_run_with_values_whatever_the_broker_prescribes_to_their_group(source: ValueSource) -> None:
    """Of a group whose session is the broker's, it is no value of the pods; a poll limit is."""
    theirs, written = worlds.java_settings("45s", "3s", "5m"), worlds.java_settings("20s", "5s", "5m")
    sources = dict.fromkeys((Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL), source)
    current = CurrentSettings(theirs, {Setting.MAX_POLL_INTERVAL: ValueSource.POD, **sources})
    assert current.runs(theirs)
    assert current.runs(written) is (source is ValueSource.GROUP)
    assert not current.runs(worlds.java_settings("45s", "3s", "6m"))
