"""What happened, in the order in which it did."""

from heartbeat_tuner.report.drawing import timeline_figures
from heartbeat_tuner.report.plotted_data import LaneEntry, MarkEntry, TimelineEntry
from tests.support.pages import ParsedPage, parsed


def drawn(**changes: object) -> ParsedPage:
    """Return the figure of a hundred seconds."""
    entry = TimelineEntry.model_validate({"title": "a time", "since_s": 0.0, "until_s": 100.0, **changes})
    return parsed(timeline_figures.timeline("t", entry).svg)


def test_what_nobody_knows_breaks_the_line() -> None:
    """No line is drawn through a time without a value."""
    lane = LaneEntry(title="joins", times_s=(10, 20, 30, 40, 50), values=(1, 2, None, 3, 4))
    paths = [attributes["d"] for tag, attributes in drawn(lanes=(lane,)).tags if tag == "path"]
    assert [path.count("L") for path in paths] == [1, 1]


def test_many_changes_are_all_marked_and_the_first_are_named() -> None:
    """More words than three would cover the figure."""
    marks = tuple(MarkEntry(at_s=10.0 * number, label=f"change {number}") for number in range(6))
    figure = drawn(marks=marks)
    assert [attributes.get("class") for tag, attributes in figure.tags if tag == "line"].count("mark new") == 6
    assert ["change 2" in figure.text, "change 3" in figure.text] == [True, False]
    assert "changes of values: 6" in figure.text


def test_evictions_at_one_place_are_one_stroke() -> None:
    """A storm of thousands is no page of megabytes; the number is told."""
    figure = drawn(evictions_s=tuple(number / 100 for number in range(10_000)))
    strokes = [attributes for _, attributes in figure.tags if attributes.get("class") == "stroke"]
    assert 300 < len(strokes) <= 3_600
    assert "evictions: 10000" in figure.text


def test_days_are_shown_where_there_are_days() -> None:
    """And seconds where there are minutes."""
    assert "01 Jan" in drawn(until_s=40 * 86_400.0).text
    assert "00:01:40" in drawn().text
    assert "12:00" in drawn(until_s=86_400.0).text


def test_what_is_unknown_is_grey() -> None:
    """From where to where."""
    figure = drawn(unknown_s=((25.0, 75.0),))
    (grey,) = [attributes for _, attributes in figure.tags if attributes.get("class") == "unknown"]
    assert (float(grey["x"]), float(grey["width"])) == (52 + 0.25 * 356, 0.5 * 356)
