"""Run what is too long for CI: `python -m tests.campaign [PART ...]`; `make campaign` runs all.

CI plays a sample of the schedules, of the lab and of static members; here is the whole of each. Parts run one after the
other: they measure rollouts and sessions, and a neighbour would change what they measure. The result is
`build/campaign.json`, `{"parts": [{"name", "ok", "seconds"}]}` with the commit, and the page `docs/campaign.md`.
"""

import dataclasses
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests import rings

CHECKOUT: Final = Path(__file__).parents[1]
RESULT: Final = CHECKOUT / "build" / "campaign.json"
PAGE: Final = CHECKOUT / "docs" / "campaign.md"

PREFACE: Final = """# The campaign

`make campaign` runs what is too long for CI, before each release and after each change of what is written, gathered or
decided. This page is its last result; `build/campaign.json` is the same for programs.

"""


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the campaign.

    Attributes:
        command: that runs it, and fails if the part does.
        proves: what holds when it passes.
    """

    name: str
    command: tuple[str, ...]
    proves: str


def _ring(name: str) -> tuple[str, ...]:
    return (rings.PYTHON, "tests/rings.py", name)


PARTS: Final = (
    Part(
        "schedules",
        _ring("all-schedules"),
        "50 random schedules of kills, stops and cuts: no two writers, no stale write",
    ),
    Part("static-members", _ring("static-members"), "no id is given twice, whatever happens to pods and nodes"),
    Part("gitops", _ring("gitops"), "manifests that are reapplied for five minutes cost no rollout"),
    Part("install", _ring("install"), "the chart is installed, upgraded, rolled back and removed on a node"),
    Part("lab", (rings.PYTHON, "-m", "tests.lab"), "every client beats as its card says"),
)


@dataclasses.dataclass(frozen=True)
class Result:
    """How a part ended."""

    name: str
    ok: bool
    seconds: int


def run(part: Part) -> Result:
    """Run a part, and show its output."""
    print(f"\n━━ campaign: {part.name}", flush=True)
    began_s = time.monotonic()
    done = subprocess.run(part.command, cwd=CHECKOUT, check=False)
    return Result(part.name, done.returncode == 0, round(time.monotonic() - began_s))


def commit() -> str:
    """Return the commit that is checked out, with a `+` if files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, check=True, capture_output=True, text=True
        ).stdout.strip()

    return git("rev-parse", "--short=10", "HEAD") + (
        "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    )


def page(results: Sequence[Result], *, day: dt.date, at: str, machine: str) -> str:
    """Return the page of a whole campaign, in Markdown.

    Args:
        results: of all parts.
        day: on which it ended.
        at: the commit.
        machine: a few words on it.
    """
    proves = {part.name: part.proves for part in PARTS}
    rows = [
        f"| {result.name} | {'passed' if result.ok else '**failed**'} | {result.seconds} | {proves[result.name]} |"
        for result in results
    ]
    head = ["| part | result | seconds | what it proves |", "|---|---|---|---|"]
    return PREFACE + f"Last run on {day}, at commit `{at}`, on {machine}.\n\n" + "\n".join([*head, *rows]) + "\n"


def main() -> None:
    """Run the parts named, else all and write the page; exit with status 1 if one failed."""
    known = {part.name: part for part in PARTS}
    for name in sys.argv[1:]:
        if name not in known:
            sys.exit(f"there is no part {name!r}; the parts are {', '.join(known)}")
    at = commit()
    results = [run(known[name]) for name in sys.argv[1:] or known]
    RESULT.parent.mkdir(exist_ok=True)
    written = {"commit": at, "parts": [dataclasses.asdict(result) for result in results]}
    RESULT.write_text(json.dumps(written, indent=1) + "\n")
    if not sys.argv[1:]:
        machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
        PAGE.write_text(page(results, day=dt.datetime.now(dt.UTC).date(), at=at, machine=machine))
    print("\n━━ campaign")
    for result in results:
        print(f"{'ok    ' if result.ok else 'FAILED'} {result.name:16} {result.seconds:6} s")
    if not all(result.ok for result in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
