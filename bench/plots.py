"""Plots for the pages of `docs`: lines on logarithmic axes, as SVG, with no library."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

_WIDTH: Final = 640
_HEIGHT: Final = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 40, 50
_COLOURS: Final = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df")


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a plot.

    Attributes:
        name: stands at its end.
        points: x and y, both positive, in order of x.
    """

    name: str
    points: Sequence[tuple[float, float]]


def logarithmic(title: str, x: str, y: str, lines: Sequence[Line]) -> str:
    """Return a plot with logarithmic axes as the text of an SVG file.

    Args:
        title: above it.
        x: what the horizontal axis is.
        y: what the vertical axis is.
        lines: at least one, of at least one point.
    """
    xs = [point[0] for line in lines for point in line.points]
    ys = [point[1] for line in lines for point in line.points]
    across, up = _Axis(xs, _LEFT, _WIDTH - _RIGHT), _Axis(ys, _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        "<style>text {font-size: 12px}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-weight="bold">{escape(title)}</text>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(x)}</text>',
        f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y)}</text>',
    ]
    for tick in across.ticks:
        at = across.place(tick)
        parts.append(f'<path d="M{at:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_number(tick)}</text>')
    for tick in up.ticks:
        at = up.place(tick)
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(across.place(item), up.place(other)) for item, other in line.points]
        path = "L".join(f"{item:.1f} {other:.1f}" for item, other in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{item:.1f}" cy="{other:.1f}" r="3" fill="{colour}"/>' for item, other in places]
        end = places[-1]
        parts.append(f'<text x="{end[0] + 8:.1f}" y="{end[1] + 4:.1f}" fill="{colour}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """Powers of ten that hold all values, between two places."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self._low, self._high = low, max(high, low + 1)
        self._begin, self._end = begin, end

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]

    def place(self, value: float) -> float:
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return self._begin + part * (self._end - self._begin)


def _number(value: float) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g} {name}"
    return f"{value:g}"
