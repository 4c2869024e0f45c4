"""Run what is too long for CI: `python -m tests.campaign [PART ...]`; `make campaign` runs all.

CI plays a sample of the schedules, of what happens to slots, of the lab and of static members; here is the whole of
each. Parts run one after the other: they measure rollouts and sessions, and a neighbour would change what they measure.
The result is the page `docs/campaign.md`, and `build/campaign.json`,
`{"parts": [{"name", "ok", "seconds", "commit", "day"}]}`. Both are written after each part. Earlier results are read
from the page, which is committed: a part that is run alone, on whatever machine, replaces its own result, and the
others stay with the commit at which they ran.
"""

import dataclasses
import datetime as dt
import json
import os
import platform
import re
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

_ROW: Final = re.compile(r"^\| ([\w-]+) \| (passed|\*\*failed\*\*) \| (\d+) \| `(\w+\+?)` \| ([\d-]+) \|", re.MULTILINE)
"""A part of the page that was run."""

_WRITTEN: Final = (":!docs/campaign.md", ":!docs/lab.md", ":!tests/lab/verdicts.yaml")
"""What the parts before have written."""

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
    Part(
        "slots",
        (rings.PYTHON, "-m", "pytest", "-q", "tests/unit/membership/test_machine.py", "--hypothesis-profile=thorough"),
        "3,000 random orders of what happens to slots: no id is given twice in any",
    ),
    Part(
        "walks",
        (rings.PYTHON, "-m", "pytest", "-q", "tests/trust/test_walk.py"),
        "45 random walks of people, Git and operators over one workload: nothing that was taken back is written again",
    ),
    Part(
        "fault-campaign",
        _ring("fault-campaign"),
        "200 random schedules over replicas, sources, webhook, static ids, models and persons at once: no harm",
    ),
    Part(
        "soak",
        _ring("soak"),
        "24 simulated hours of 500 policies that change, and of parts that break: no leak, and all converges",
    ),
    Part("static-members", _ring("static-members"), "no id is given twice, whatever happens to pods and nodes"),
    Part("gitops", _ring("gitops"), "manifests that are reapplied for five minutes cost no rollout"),
    Part("install", _ring("install"), "the chart is installed, upgraded, rolled back and removed on a node"),
    Part(
        "fit-k8s",
        _ring("fit-k8s"),
        "a fit with two executors as restricted pods gives the days and models of one pod, and uses every right it has",
    ),
    Part(
        "release",
        _ring("release"),
        "both images have the same digests when they are made again, and bills list what images have",
    ),
    Part("lab", (rings.PYTHON, "-m", "tests.lab"), "every client beats as its card says"),
)


@dataclasses.dataclass(frozen=True)
class Result:
    """How a part ended.

    Attributes:
        commit: that was checked out.
        day: on which it ended, in UTC, as `YYYY-MM-DD`.
    """

    name: str
    ok: bool
    seconds: int
    commit: str
    day: str


def run(part: Part) -> Result:
    """Run a part, and show its output."""
    print(f"\n━━ campaign: {part.name}", flush=True)
    at = commit()
    began_s = time.monotonic()
    done = subprocess.run(part.command, cwd=CHECKOUT, check=False)
    seconds = round(time.monotonic() - began_s)
    return Result(part.name, done.returncode == 0, seconds, at, dt.datetime.now(dt.UTC).date().isoformat())


def commit() -> str:
    """Return the commit that is checked out, with a `+` if files differ from it that the campaign does not write."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, check=True, capture_output=True, text=True
        ).stdout.strip()

    return git("rev-parse", "--short=10", "HEAD") + (
        "+" if git("status", "--porcelain", "--untracked-files=no", "--", ".", *_WRITTEN) else ""
    )


def page(results: Sequence[Result], *, machine: str) -> str:
    """Return the page of the campaign, in Markdown: a row for each part, the missing ones too.

    Args:
        results: the last of each part that was run.
        machine: a few words on it.
    """
    by_name = {result.name: result for result in results}
    head = ["| part | result | seconds | commit | day | what it proves |", "|---|---|---|---|---|---|"]
    rows = [f"| {part.name} | {_cells(by_name.get(part.name))} | {part.proves} |" for part in PARTS]
    return PREFACE + f"Run on {machine}.\n\n" + "\n".join([*head, *rows]) + "\n"


def _cells(result: Result | None) -> str:
    if result is None:
        return "not run yet | | |"
    outcome = "passed" if result.ok else "**failed**"
    return f"{outcome} | {result.seconds} | `{result.commit}` | {result.day}"


def known_results(text: str) -> list[Result]:
    """Return the results that a page has, of parts that still exist."""
    known = {part.name for part in PARTS}
    rows = [
        Result(name, outcome == "passed", int(seconds), at, day)
        for name, outcome, seconds, at, day in _ROW.findall(text)
    ]
    return [result for result in rows if result.name in known]


def merged(earlier: Sequence[Result], result: Result) -> list[Result]:
    """Return the results with one more, in place of the same part's earlier one, in the order of the parts."""
    by_name = {noted.name: noted for noted in (*earlier, result)}
    return [by_name[part.name] for part in PARTS if part.name in by_name]


def write(results: Sequence[Result]) -> None:
    """Write the results for programs, and the page."""
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"parts": [dataclasses.asdict(result) for result in results]}, indent=1) + "\n")
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    PAGE.write_text(page(results, machine=machine))


def main() -> None:
    """Run the parts named, else all, and write the page; exit with status 1 if one failed."""
    known = {part.name: part for part in PARTS}
    for name in sys.argv[1:]:
        if name not in known:
            sys.exit(f"there is no part {name!r}; the parts are {', '.join(known)}")
    results = known_results(PAGE.read_text())
    ran = sys.argv[1:] or list(known)
    for name in ran:
        results = merged(results, run(known[name]))
        write(results)
    print("\n━━ campaign")
    for result in results:
        print(f"{'ok    ' if result.ok else 'FAILED'} {result.name:16} {result.seconds:6} s at {result.commit}")
    if not all(result.ok for result in results if result.name in ran):
        sys.exit(1)


if __name__ == "__main__":
    main()
