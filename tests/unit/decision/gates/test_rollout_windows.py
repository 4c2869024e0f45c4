"""Windows in which a rollout may begin: on a zone's clock, through the nights on which that clock jumps."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.gates import rollout_windows
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import Window
from heartbeat_tuner.domain.reasons import Reason
from tests.support import worlds
from tests.support.pipelines import first_hold

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia")


def window(schedule: str, duration: str = "3h", zone: str = "Europe/Berlin") -> Window:
    """Return a window."""
    return Window(schedule, durations.parse(duration), ZoneInfo(zone))


def at(text: str) -> datetime:
    """Return the moment that is written, in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


WEEKDAYS = window("0 2 * * 1-5")
NIGHT = window("30 22 * * 5", "4h")
IN_SPRING = window("30 2 * * *", "1h")
IN_AUTUMN = window("30 2 * * *", "2h")


@pytest.mark.parametrize(
    ("window", "now", "is_open"),
    [
        (WEEKDAYS, "2026-03-02T01:59:59+01:00", False),
        (WEEKDAYS, "2026-03-02T02:00:00+01:00", True),
        (WEEKDAYS, "2026-03-02T04:59:59+01:00", True),
        (WEEKDAYS, "2026-03-02T05:00:00+01:00", False),
        (WEEKDAYS, "2026-03-01T03:00:00+01:00", False),  # a Sunday
        (NIGHT, "2026-03-06T22:30:00+01:00", True),
        (NIGHT, "2026-03-07T02:29:59+01:00", True),  # past midnight, on a day that the schedule does not name
        (NIGHT, "2026-03-07T02:30:00+01:00", False),
        (window("0 0 1 * *", "168h", "UTC"), "2026-03-07T23:59:59+00:00", True),
        (window("0 0 1 * *", "168h", "UTC"), "2026-03-08T00:00:00+00:00", False),
        # The clock jumps from 02:00 to 03:00: 02:30 does not come, the window opens when the clock has jumped.
        (IN_SPRING, "2026-03-29T01:59:59+01:00", False),
        (IN_SPRING, "2026-03-29T03:00:00+02:00", True),
        (IN_SPRING, "2026-03-29T03:59:59+02:00", True),
        (IN_SPRING, "2026-03-29T04:00:00+02:00", False),
        # What it lasts is time that passes: three hours from 01:00 end at 05:00.
        (window("0 1 * * *"), "2026-03-29T04:59:59+02:00", True),
        (window("0 1 * * *"), "2026-03-29T05:00:00+02:00", False),
        # The clock jumps from 03:00 back to 02:00: 02:30 comes twice, and opens the window once.
        (IN_AUTUMN, "2026-10-25T02:29:59+02:00", False),
        (IN_AUTUMN, "2026-10-25T02:30:00+02:00", True),
        (IN_AUTUMN, "2026-10-25T03:29:59+01:00", True),
        (IN_AUTUMN, "2026-10-25T03:30:00+01:00", False),
        (window("30 2 * * *", "1h"), "2026-10-25T02:30:00+01:00", False),
        (window("30 2 * * *", "1h"), "2026-10-25T03:05:00+01:00", False),  # an hour ago it was 02:05 again
        (window("0 1 * * *"), "2026-10-25T02:59:59+01:00", True),
        (window("0 1 * * *"), "2026-10-25T03:00:00+01:00", False),
    ],
)
def test_when_a_window_is_open(window: Window, now: str, is_open: bool) -> None:  # noqa: FBT001 - a table's column
    """From its opening on, on its zone's clock, for as long as it lasts."""
    assert rollout_windows.is_open(window, at(now)) is is_open


@pytest.mark.parametrize(
    ("window", "now", "opens"),
    [
        (WEEKDAYS, "2026-03-06T02:00:00+01:00", "2026-03-09T02:00:00+01:00"),
        (IN_SPRING, "2026-03-28T12:00:00+01:00", "2026-03-29T03:00:00+02:00"),
        (IN_AUTUMN, "2026-10-25T02:10:00+01:00", "2026-10-26T02:30:00+01:00"),
        (window("0 3 29 2 *", zone="Asia/Kolkata"), "2026-03-01T00:00:00+00:00", "2028-02-29T03:00:00+05:30"),
        (window("0 3 13 * 5", zone="UTC"), "2026-03-01T00:00:00+00:00", "2026-03-06T03:00:00+00:00"),
    ],
)
def test_when_a_window_opens_next(window: Window, now: str, opens: str) -> None:
    """In its own zone; of two kinds of days either will do."""
    opening, _ = rollout_windows.next_opening([window], at(now))
    assert opening.isoformat() == opens


def test_the_first_of_several_windows_is_told() -> None:
    """By the moment, not by what the clocks of their zones show."""
    tokyo, berlin = window("0 9 * * *", zone="Asia/Tokyo"), window("0 2 * * *")
    opening, next_window = rollout_windows.next_opening([berlin, tokyo], at("2026-03-01T20:00:00+00:00"))
    assert (opening.isoformat(), next_window) == ("2026-03-02T09:00:00+09:00", tokyo)


FIELDS = st.tuples(
    st.sampled_from(["0", "30", "*/20", "5,50"]),
    st.sampled_from(["*", "2", "1-3", "23", "*/6", "0,12"]),
    st.sampled_from(["*", "1", "28-31", "29"]),
    st.sampled_from(["*", "3", "10", "2"]),
    st.sampled_from(["*", "1-5", "0", "6"]),
).map(" ".join)
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2031, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


@given(FIELDS, st.sampled_from(ZONES), st.integers(1, 7 * 24 * 60), MOMENTS)
def test_a_window_is_open_from_its_opening_on_and_no_longer(
    schedule: str, zone: str, minutes: int, now: datetime
) -> None:
    """Whatever the clock does: open where an opening lies within its duration before now, as if asked step by step."""
    window = Window(schedule, timedelta(minutes=minutes), ZoneInfo(zone))
    opening = rollout_windows.first_opening(window, after=now).astimezone(UTC)
    assert opening > now
    assert rollout_windows.is_open(window, opening)
    assert rollout_windows.is_open(window, opening + window.duration - timedelta(seconds=1))
    after = rollout_windows.first_opening(window, after=opening).astimezone(UTC)
    assert rollout_windows.is_open(window, opening + window.duration) is (after <= opening + window.duration)


NOON_IN_BERLIN = worlds.NOW  # a Monday, 13:00 there


@pytest.mark.parametrize(
    "shut",
    [(), (window("0 12 * * *"),), (WEEKDAYS, window("55 12 * * 1", "10m"))],
    ids=["none", "open", "the second is open"],
)
def test_without_windows_or_in_one_nothing_is_held(shut: tuple[Window, ...]) -> None:
    """One open window is enough."""
    assert first_hold(worlds.storm(policy=worlds.policy(windows=shut)), worlds.settings()) is None


def test_outside_of_all_windows_a_cure_waits_too() -> None:
    """Nobody may be watching."""
    hold = first_hold(worlds.storm(policy=worlds.policy(windows=(window("0 2 * * 6"), WEEKDAYS))), worlds.settings())
    assert hold is not None
    assert hold.reason is Reason.OUTSIDE_WINDOW
