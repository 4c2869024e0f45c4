"""What the ring of static members measured: a file for programs, a table for people."""

import dataclasses
import json
from pathlib import Path
from typing import Any, Final

from tests.e2e.static_members import Cost, Kind

FILE: Final = Path(__file__).parents[2] / "build" / "static-members.json"


class Figures:
    """Rows by table; each is written at once, so that a run which was ended has left what it measured."""

    def __init__(self) -> None:
        self._tables: dict[str, list[dict[str, Any]]] = {}

    def add(self, table: str, kind: Kind, cost: Cost, **columns: object) -> None:
        """Add a row."""
        rows = self._tables.setdefault(table, [])
        rows.append({"protocol": kind.protocol, "library": kind.library, **columns, **dataclasses.asdict(cost)})
        rows[-1]["stop_s"] = round(cost.stop_s, 1)
        rows.sort(key=lambda row: (row["protocol"], row["library"]))
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(self._tables, indent=1) + "\n")

    def __str__(self) -> str:
        return "\n\n".join(_table(rows) for rows in self._tables.values())


def _table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table in Markdown, in which documentation has them too."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [[f"{value:.1f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
