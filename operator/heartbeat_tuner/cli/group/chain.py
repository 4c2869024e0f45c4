"""A link of an explanation, as text and as plain values."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from heartbeat_tuner.cli.group.forecasts import number
from heartbeat_tuner.cli.wording import shown, table, wrapped

LONGEST = 4096


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One number.

    Attributes:
        name: what it is.
        now: what it is now; a word where it is no number; None if it is unknown.
        unit: of it; empty for a count or a word.
        then: what it is at the values recommended; None where that is not asked.
        note: what of it.
    """

    name: str
    now: float | str | None
    unit: str
    then: float | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """One step from what is known to what should be done.

    Attributes:
        name: for programs.
        title: for people.
        rows: its numbers.
        sentences: what they mean.
    """

    name: str
    title: str
    rows: tuple[Row, ...] = ()
    sentences: tuple[str, ...] = ()


def as_lines(place: int, link: Link) -> str:
    """Return a link as a block of lines, numbered."""
    lines = [wrapped(f"{place}. {link.title}", "", "   ")]
    if link.rows:
        both = any(row.then is not None for row in link.rows)
        cells = []
        for row in link.rows:
            then = (with_unit(row.then, row.unit),) if both else ()
            cells.append((shown(row.name), with_unit(row.now, row.unit), *then, shown(row.note, LONGEST)))
        lines += [line.rstrip() for line in table(cells, "   ")]
    lines += [wrapped(shown(sentence, LONGEST), "   ") for sentence in link.sentences]
    return "\n".join(lines)


def as_objects(links: Sequence[Link]) -> list[dict[str, Any]]:
    """Return links as plain values; a number that is infinite is null."""
    return [
        {
            "link": link.name,
            "title": link.title,
            "numbers": [
                {
                    "name": row.name,
                    "now": _plain(row.now),
                    "recommended": _plain(row.then),
                    "unit": row.unit,
                    "note": row.note,
                }
                for row in link.rows
            ],
            "sentences": list(link.sentences),
        }
        for link in links
    ]


def with_unit(value: float | str | None, unit: str) -> str:
    """Return a value of a row as people read it; a dash for what is unknown."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    sentence = number(value) if math.isfinite(value) else "without end"
    return f"{sentence} {unit}".strip()


def _plain(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value
