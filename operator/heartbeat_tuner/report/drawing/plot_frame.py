"""The frame of a figure: its axes, and lines, areas and marks in it."""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from typing import Final

from heartbeat_tuner.report.drawing.scales import Scale

WIDTH: Final = 420
LEFT: Final = 52
RIGHT: Final = 408
TOP: Final = 26

_LETTER: Final = 6.0
"""About how wide a letter of a label is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Drawing:
    """A finished figure: text that a template takes as it is, since ElementTree has escaped what stands in it."""

    svg: str

    def __html__(self) -> str:
        """Return it for a template that escapes everything else."""
        return self.svg


class PlotFrame:
    """A figure that is being drawn.

    Args:
        name: of the figure, unique on its page: letters, digits and dashes.
        title: what it shows, in a few words.
        description: what can be seen in it, as sentences.
        height: of the figure; its width is always the same.
    """

    def __init__(self, name: str, title: str, description: str, height: int = 250) -> None:
        self.height = height
        self._root = ET.Element(
            "svg",
            {
                "viewBox": f"0 0 {WIDTH} {height}",
                "role": "img",
                "aria-labelledby": f"{name}-t {name}-d",
                "class": "figure",
            },
        )
        ET.SubElement(self._root, "title", {"id": f"{name}-t"}).text = title
        ET.SubElement(self._root, "desc", {"id": f"{name}-d"}).text = description

    def drawing(self) -> Drawing:
        """Return the figure; its texts are escaped."""
        return Drawing(ET.tostring(self._root, encoding="unicode"))

    def text(self, words: str, x: float, y: float, style: str = "label", anchor: str = "start") -> None:
        """Write words at a place."""
        attributes = {"x": f"{x:g}", "y": f"{y:g}", "class": style, "text-anchor": anchor}
        ET.SubElement(self._root, "text", attributes).text = words

    def x_axis(self, scale: Scale, label: Callable[[float], str], title: str, *, at: float, top: float = TOP) -> None:
        """Draw ticks and grid lines of the horizontal axis, and what it is of."""
        for value in scale.ticks():
            place = scale.place(value)
            self._line(place, top, place, at, "grid")
            self.text(label(value), place, at + 14, "tick", "middle")
        self._line(LEFT, at, RIGHT, at, "axis")
        self.text(title, RIGHT, at + 28, "label", "end")

    def y_axis(self, scale: Scale, label: Callable[[float], str], title: str) -> None:
        """Draw ticks and grid lines of the vertical axis, and what it is of."""
        for value in scale.ticks(4):
            place = scale.place(value)
            self._line(LEFT, place, RIGHT, place, "grid")
            self.text(label(value), LEFT - 6, place + 4, "tick", "end")
        self.text(title, 2, min(scale.start, scale.end) - 12, "label")

    def curve(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """Draw a line through places."""
        if len(points) > 1:
            path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
            ET.SubElement(self._root, "path", {"d": path, "class": f"curve {style}"})

    def area(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """Draw a filled rectangle."""
        sides = {"x": x, "y": y, "width": max(width, 0.5), "height": max(height, 0.5)}
        ET.SubElement(self._root, "rect", {name: f"{side:g}" for name, side in sides.items()} | {"class": style})

    def upright(self, x: float, top: float, bottom: float, style: str, words: str = "", row: int = 0) -> None:
        """Draw an upright line, with words beside its top; words of another row stand lower."""
        self._line(x, top, x, bottom, f"mark {style}")
        if words:
            fits = x + 4 + _LETTER * len(words) <= WIDTH
            self.text(
                words, x + 4 if fits else x - 4, top + 11 + 13 * row, f"label {style}", "start" if fits else "end"
            )

    def level(self, y: float, style: str, words: str) -> None:
        """Draw a level line, with words above its right end."""
        self._line(LEFT, y, RIGHT, y, f"mark {style}")
        self.text(words, RIGHT, y - 4, f"label {style}", "end")

    def dot(self, x: float, y: float, style: str) -> None:
        """Draw a dot."""
        ET.SubElement(self._root, "circle", {"cx": f"{x:g}", "cy": f"{y:g}", "r": "4.5", "class": f"dot {style}"})

    def _line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        ET.SubElement(self._root, "line", {name: f"{end:g}" for name, end in ends.items()} | {"class": style})
