"""Numbers and times, as a page writes them."""

import math

import pytest

from heartbeat_tuner.report import figure_words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "-"),
        (math.inf, "-"),
        (0, "0"),
        (1e-9, "<0.001"),
        (0.0123, "0.0123"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (-0.5, "-0.5"),
    ],
)
def test_a_number_has_three_digits(value: float | None, words: str) -> None:
    """What is not known is no number."""
    assert figure_words.figure(value) == words


@pytest.mark.parametrize(("value", "words"), [(5, "5"), (1000, "1,000"), (50_000, "50k"), (2e6, "2M"), (3e9, "3G")])
def test_a_tick_is_short(value: float, words: str) -> None:
    """Beside an axis there is little room."""
    assert figure_words.tick(value) == words


def test_durations_and_moments_are_those_of_policies() -> None:
    """In UTC, as everything here."""
    assert (figure_words.duration(90_000), figure_words.duration(None)) == ("1m30s", "-")
    assert figure_words.moment(0) == "1970-01-01 00:00 UTC"
