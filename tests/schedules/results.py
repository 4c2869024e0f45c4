"""What came of the seeds of the fault campaign: `build/fault-campaign.json`, to which its processes add.

A campaign takes an hour. One that was broken off goes on with the seeds that are left, as long as the operator is the
same: rows of another operator are dropped.
"""

import fcntl
import json
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.schedules.at_once import SEEDS

CHECKOUT: Final = Path(__file__).parents[2]
RESULT: Final = CHECKOUT / "build" / "fault-campaign.json"

Row = dict[str, Any]


def operator_tree() -> str:
    """Return which operator is played: Git's name of its folder in the newest commit, with a `+` if files differ."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "HEAD:operator") + ("+" if git("status", "--porcelain", "--", "operator") else "")


def seeds_left(text: str, operator: str) -> list[int]:
    """Return which seeds have to be played: all, unless a campaign over the same operator was broken off.

    Args:
        text: of the result; empty if there is none.
        operator: as `operator_tree` has it.
    """
    if operator.endswith("+"):
        return list(SEEDS)  # files that are not committed may have changed since
    passed = {row["seed"] for row in _rows(text, operator) if row["ok"]}
    return [seed for seed in SEEDS if seed not in passed] or list(SEEDS)


def added(text: str, operator: str, row: Row) -> str:
    """Return the text of the result with the row of one more seed; an older row of it is replaced."""
    others = [other for other in _rows(text, operator) if other["seed"] != row["seed"]]
    rows = sorted([*others, row], key=lambda row: int(row["seed"]))
    summary = {
        "operator": operator,
        "played": len(rows),
        "of": len(SEEDS),
        "failed": [row["seed"] for row in rows if not row["ok"]],
    }
    return json.dumps({**summary, "seeds": rows}, indent=1) + "\n"


def add(row: Row) -> None:
    """Add the row of a seed to the result."""
    RESULT.parent.mkdir(exist_ok=True)
    with RESULT.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # other processes add to it, too
        file.seek(0)
        text = added(file.read(), operator_tree(), row)
        file.truncate(0)
        file.write(text)


def _rows(text: str, operator: str) -> list[Row]:
    result: dict[str, Any] = json.loads(text or "{}")
    rows: list[Row] = result.get("seeds", []) if result.get("operator") == operator else []
    return rows
