"""The picture of the dashboard shows what was answered, and nothing where nothing was."""

import json
from pathlib import Path
from typing import Any

from tests import dashboard_picture, pictures


def test_the_panels_of_the_demo_are_drawn_with_their_marks() -> None:
    """Each panel with data once, each series in its legend, and a mark for the change in each."""
    data = json.loads(pictures.PANELS.read_text())
    drawn = dashboard_picture.render(pictures.PANELS)
    shown = [panel for panel in data["panels"] if panel["series"]]
    assert drawn.count("<section>") == len(shown) >= 6
    assert drawn.count('class="mark new"') == len(shown) * len(data["marks"])
    assert {mark["title"] for mark in data["marks"]} >= {"Values written"}
    assert all(f"</i>{series['name']}</li>" in drawn for panel in shown for series in panel["series"])


def test_nothing_is_drawn_where_samples_are_missing(tmp_path: Path) -> None:
    """A line over a gap would be a value that nobody measured."""
    series: dict[str, Any] = {"name": "<x>", "timesSeconds": [1, 2, 8, 9], "values": [1, 1, 5, 5]}
    panel = {"title": "t", "type": "timeseries", "unit": "s", "series": [series]}
    path = tmp_path / "panels.json"
    path.write_text(json.dumps({"sinceSeconds": 0, "untilSeconds": 10, "marks": [], "panels": [panel]}))
    drawn = dashboard_picture.render(path)
    assert drawn.count('class="curve c0"') == 2
    assert "<x>" not in drawn
