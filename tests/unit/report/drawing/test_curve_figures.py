"""What is drawn of a model lies where its numbers say."""

import re

from heartbeat_tuner.report.drawing import curve_figures
from heartbeat_tuner.report.drawing.plot_frame import Drawing
from heartbeat_tuner.report.plotted_data import CostEntry
from heartbeat_tuner.report.report_data import GroupEntry, SettingEntry
from tests.support.pages import parsed


def group(*, now_ms: int, recommended_ms: int | None, allowed: float = 1.0) -> GroupEntry:
    """Return a group whose sessions of 10, 20, 40 and 80 s cost 9, 5, 6 and 12, and evict ever less."""
    costs = CostEntry(
        heartbeat_ms=1000,
        sessions_s=(10, 20, 40, 80),
        stalled_per_day=(9, 5, 6, 12),
        evictions_per_month=(5, 0.5, 0.05, 1e-5),
        evictions_at_most=(1e9, 0.9, 0.1, 2e-5),
        band_s=(18.0, 25.0),
    )
    session = SettingEntry(name="session timeout", key="sessionTimeout", now_ms=now_ms, recommended_ms=recommended_ms)
    return GroupEntry(
        namespace="",
        group="g",
        client="KafkaJS",
        verdict="Change",
        allowed_per_month=allowed,
        settings=(session,),
        costs=costs,
    )


def drawn(drawing: Drawing | None) -> list[dict[str, str]]:
    """Return the attributes of a figure's elements."""
    assert drawing is not None
    return [attributes for _, attributes in parsed(drawing.svg).tags]


def places(elements: list[dict[str, str]], style: str) -> list[tuple[float, float]]:
    """Return the points of a curve."""
    (path,) = [element for element in elements if element.get("class") == f"curve {style}"]
    return [(float(x), float(y)) for x, y in re.findall(r"([0-9.]+) ([0-9.]+)", path.get("d", ""))]


def lines(elements: list[dict[str, str]], style: str) -> list[float]:
    """Return where upright lines stand."""
    return [float(element.get("x1", "")) for element in elements if element.get("class") == f"mark {style}"]


def test_sessions_stand_where_the_curve_has_them() -> None:
    """Now and recommended, and the dearer the higher."""
    elements = drawn(curve_figures.costs("g1", group(now_ms=40_000, recommended_ms=20_000)))
    curve = places(elements, "expected")
    assert (lines(elements, "now"), lines(elements, "new")) == ([curve[2][0]], [curve[1][0]])
    heights = [y for _, y in curve]
    assert heights[1] == max(heights)
    assert heights[3] == min(heights)


def test_sessions_that_evict_more_than_allowed_are_marked() -> None:
    """Up to the longest of them."""
    elements = drawn(curve_figures.costs("g1", group(now_ms=40_000, recommended_ms=None, allowed=0.5)))
    (refused,) = [element for element in elements if element.get("class") == "refused"]
    end = float(refused.get("x", "")) + float(refused.get("width", ""))
    assert abs(end - places(elements, "expected")[1][0]) < 0.2
    assert lines(elements, "new") == []


def test_rates_far_above_and_far_below_leave_the_figure() -> None:
    """The curve comes in once and goes out once: no line runs along an edge."""
    elements = drawn(curve_figures.evictions("g1", group(now_ms=40_000, recommended_ms=20_000)))
    heights = [y for _, y in places(elements, "most")]
    assert heights == sorted(heights)
    assert len(set(heights)) == len(heights)


def test_a_session_that_does_not_move_is_marked_once() -> None:
    """It is not recommended: it is set."""
    elements = drawn(curve_figures.evictions("g1", group(now_ms=40_000, recommended_ms=40_000)))
    assert len(lines(elements, "now")) == 1
    assert lines(elements, "new") == []


def test_a_model_that_knows_no_band_has_a_curve() -> None:
    """Nothing else is missing."""
    entry = group(now_ms=40_000, recommended_ms=None)
    assert entry.costs is not None
    bare = entry.model_copy(update={"costs": entry.costs.model_copy(update={"band_s": None})})
    elements = drawn(curve_figures.costs("g1", bare))
    assert len(places(elements, "expected")) == 4
    assert not [element for element in elements if element.get("class") == "band"]


def test_where_no_session_evicts_more_than_allowed_none_is_marked() -> None:
    """An objective that allows everything refuses nothing."""
    elements = drawn(curve_figures.costs("g1", group(now_ms=40_000, recommended_ms=None, allowed=1e12)))
    assert not [element for element in elements if element.get("class") == "refused"]
