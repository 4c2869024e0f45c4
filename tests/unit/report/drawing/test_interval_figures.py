"""Before and after a change, with the interval of each."""

import pytest

from heartbeat_tuner.report.drawing import interval_figures
from heartbeat_tuner.report.plotted_data import ChangeEntry, RateEntry
from tests.support.pages import parsed


def change(before: RateEntry | None, after: RateEntry | None) -> ChangeEntry:
    """Return a change with what was counted."""
    return ChangeEntry(at_s=0.0, kind="set", moved=(), before=before, after=after)


def test_both_rates_are_drawn_with_their_intervals() -> None:
    """A rate that is three times another lies three times as far."""
    drawing = interval_figures.effect(
        "c",
        change(
            RateEntry(episodes=30, days=10, per_day_lower=2.0, per_day_upper=4.0),
            RateEntry(episodes=10, days=10, per_day_lower=0.5, per_day_upper=1.8),
        ),
    )
    assert drawing is not None
    elements = [attributes for _, attributes in parsed(drawing.svg).tags]
    dots = {element.get("class"): float(element.get("cx", "")) - 52 for element in elements if element.get("cx")}
    assert dots["dot now"] == pytest.approx(3 * dots["dot new"], rel=0.01)
    before, after = "30 in 10 days, so 2 to 4 a day at 95 %", "10 in 10 days, so 0.5 to 1.8 a day at 95 %"
    assert f"before: {before}; after: {after}." in parsed(drawing.svg).text


@pytest.mark.parametrize("after", [None, RateEntry(episodes=0, days=0.0, per_day_lower=0.0, per_day_upper=1e6)])
def test_nothing_is_drawn_before_anything_was_counted(after: RateEntry | None) -> None:
    """An interval of a millionfold says nothing."""
    assert interval_figures.effect("c", change(None, after)) is None


def test_an_upper_end_that_nobody_knows_has_no_end() -> None:
    """The line runs to the edge."""
    rate = RateEntry(episodes=1, days=1, per_day_lower=0.1)
    drawing = interval_figures.effect("c", change(None, rate))
    assert drawing is not None
    assert 'L408 74" class="curve new"' in drawing.svg
    assert interval_figures.rate_words(rate) == "1 in 1 day, so 0.1 to not known how many a day at 95 %"


def test_a_rate_of_no_time_has_no_dot() -> None:
    """Its interval alone is drawn: a mean of nothing would be zero."""
    before = RateEntry(episodes=1, days=0.0, per_day_lower=46, per_day_upper=10_200)
    drawing = interval_figures.effect(
        "c", change(before, RateEntry(episodes=0, days=1, per_day_lower=0, per_day_upper=3))
    )
    assert drawing is not None
    dots = [attributes["class"] for tag, attributes in parsed(drawing.svg).tags if tag == "circle"]
    assert dots == ["dot new"]
    assert "1 in under 0.01 days" in parsed(drawing.svg).text


def test_the_words_have_stalled_partition_seconds_where_they_are_known() -> None:
    """The interval is that of the rate: what one eviction stalls has none."""
    rate = RateEntry(episodes=14, days=14, per_day_lower=0.5, per_day_upper=2.0, stalled_each=40.0)
    words = interval_figures.rate_words(rate)
    assert words.endswith(": 20 to 80 stalled partition-s a day, where one eviction stalls 40")
    unknown = RateEntry(episodes=0, days=0.0, per_day_lower=0.0, stalled_each=40.0)
    assert "stalled" not in interval_figures.rate_words(unknown)
