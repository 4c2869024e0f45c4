"""Go's notation for durations, read and written."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain import durations

TABLE = (
    ("333ms", 333),
    ("1s", 1_000),
    ("1.5s", 1_500),
    ("1m", 60_000),
    ("1m30s", 90_000),
    ("1h0.25s", 3_600_250),
    ("24h", 86_400_000),
    ("336h", 1_209_600_000),
)


@pytest.mark.parametrize(("text", "milliseconds"), TABLE)
def test_text_is_read(text: str, milliseconds: int) -> None:
    """Each unit counts for what it is, alone and in company."""
    assert durations.parse(text) == timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize(("text", "milliseconds"), [*TABLE, ("0s", 0), ("999ms", 999), ("59.999s", 59_999)])
def test_shortest_text_is_written(text: str, milliseconds: int) -> None:
    """A duration is shown in as few terms as it takes."""
    assert durations.show(timedelta(milliseconds=milliseconds)) == text


@pytest.mark.parametrize(
    "text", ["", "45", "45 s", "-45s", "1d", "s", "1.s", ".5s", "45s\n", "\u0664\u0665s", "1e3s", "45S"]
)
def test_other_notations_are_refused_and_shown_the_right_one(text: str) -> None:
    """A person who wrote it wrongly sees how it is written."""
    with pytest.raises(ValueError, match=r"is not a duration; write it like 45s, 333ms, 1h30m"):
        durations.parse(text)


@pytest.mark.parametrize("text", ["2562048h", "9" * 31 + "h", "9" * 310 + "ms"])
def test_durations_longer_than_go_can_hold_are_refused(text: str) -> None:
    """A number that no calculation survives is a mistake of its author, not an overflow somewhere behind."""
    with pytest.raises(ValueError, match=r"is longer than 2562047h"):
        durations.parse(text)


@pytest.mark.parametrize(
    ("text", "hours"), [("14d", 336), ("1d", 24), ("0.5d", 12), ("1d12h", 36), ("36h", 36), ("1d90m", 25.5)]
)
def test_a_person_may_type_days(text: str, hours: float) -> None:
    """Before the other units, whole or not; policies have none, since the API server reads durations as Go does."""
    assert durations.parse_days(text) == timedelta(hours=hours)
    assert ("d" in text) != (re.fullmatch(durations.GO_DURATION_PATTERN, text) is not None)


@pytest.mark.parametrize("text", ["d", "-1d", "1d1d", "1h1d", "1d5", "1 d", "1D", "1e3d", "999999999d", "\u0661d"])
def test_other_texts_with_days_are_refused(text: str) -> None:
    """As every other text that is not a duration."""
    with pytest.raises(ValueError, match=r"is not a duration|is longer than"):
        durations.parse_days(text)


def test_fractions_of_a_millisecond_are_rounded_away() -> None:
    """Kafka's clients know whole milliseconds only."""
    assert durations.parse("1.0004s") == timedelta(seconds=1)
    assert durations.parse("0.4ms") == timedelta(0)


def test_a_hair_under_a_second_is_shown_as_one() -> None:
    """Rounding must not leave `1000ms` behind."""
    assert durations.show(timedelta(microseconds=999_600)) == "1s"


@given(st.integers(min_value=0, max_value=2_562_047 * 3_600_000))
def test_what_is_shown_is_read_back(milliseconds: int) -> None:
    """A status that shows a value and reads it again has the same value."""
    duration = timedelta(milliseconds=milliseconds)
    assert durations.parse(durations.show(duration)) == duration


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_refused_by_name(text: str) -> None:
    """No text ends in anything but a duration or a ValueError."""
    try:
        assert durations.parse(text) >= timedelta(0)
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017 - both outcomes are allowed, and one has a rule of its own


@pytest.mark.parametrize(("milliseconds", "whole"), [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60)])
def test_rounding_up_to_whole_seconds(milliseconds: int, whole: int) -> None:
    """A floor that is rounded down would be none."""
    assert durations.ceil_to_second(timedelta(milliseconds=milliseconds)) == timedelta(seconds=whole)


@pytest.mark.parametrize(("measured_s", "text"), [(0.514, "0.51 s"), (5.005, "5 s"), (12.3, "12 s"), (124.9, "120 s")])
def test_measured_figures_have_two_significant_digits(measured_s: float, text: str) -> None:
    """A status does not move with each scrape, and nobody reads 1.2e+02."""
    assert durations.about(timedelta(seconds=measured_s)) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-02T12:00:00.5Z", datetime(2026, 3, 2, 12, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-03-02T12:00:00", None),
        ("0001-01-01T00:00:00Z", None),
        ("soon", None),
        (None, None),
    ],
)
def test_only_a_moment_that_we_may_have_written_is_believed(text: str | None, moment: datetime | None) -> None:
    """Who may edit an object can write anything there; one without an offset is anybody's guess."""
    assert durations.moment_of(text) == moment
