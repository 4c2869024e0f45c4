"""Weeks of history for a Prometheus, made in a minute: the metrics of a synthetic fleet as blocks on disk.

A Go program with Prometheus' own library (`tools/backfill`) lets the groups of `sandbox.fleet` live through the days,
scrapes them, and writes a block for each day. `Prometheus(..., history=folder)` serves them. Series have the names and
labels of the recordings in `tests/data/scrapes`, and mean what real ones do: maxima over windows of half a minute,
whole milliseconds, ages, counters that start again with their process, joins counted by every member.

promtool makes blocks too, from OpenMetrics text: 250 bytes a sample, 70 GB for two weeks of 200 groups, and it parses
all of that again for each block.
"""

import dataclasses
import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from sandbox import progress
from sandbox.binaries import Binaries
from sandbox.errors import SandboxError
from sandbox.fleet import GroupTruth

PROGRAM: Final = "backfill"
_TIMEOUT_S: Final = 3600.0


@dataclasses.dataclass(frozen=True)
class Happened:
    """What one group went through.

    Attributes:
        absences: of all members together.
        exceeding: how many of them were longer than so many seconds.
        longest_s: the longest.
        evictions: how many of them outlasted the session timeout.
        outages: of its coordinator.
        downtimes_s: of crashed members, until they joined again.
        rollouts: how often all pods were replaced.
        planned: rebalances by rollouts.
        unplanned: other rebalances.
        member_days: for how long members were there, together.
    """

    absences: int
    exceeding: Mapping[float, int]
    longest_s: float
    evictions: int
    outages: int
    downtimes_s: Sequence[float]
    rollouts: int
    planned: int
    unplanned: int
    member_days: float


@dataclasses.dataclass(frozen=True)
class Backfilled:
    """A history on disk.

    Attributes:
        folder: of the blocks.
        since_s: when it begins, in Unix seconds.
        until_s: when it ends.
        samples: how many samples it holds.
        series: how many series the fullest day has.
        blocks: how many blocks, one for each day of UTC.
        size_bytes: on disk.
        wall_s: how long it took to make.
        groups: what each group went through, by namespace and group.
    """

    folder: Path
    since_s: int
    until_s: int
    samples: int
    series: int
    blocks: int
    size_bytes: int
    wall_s: float
    groups: Mapping[tuple[str, str], Happened]


def backfill(
    folder: Path,
    fleet: Sequence[GroupTruth],
    binaries: Binaries,
    *,
    since_s: int,
    until_s: int,
    interval_s: int = 60,
    seed: int = 1,
) -> Backfilled:
    """Write the history of a fleet, with a progress line for each day that takes long.

    Args:
        folder: gets the blocks; must hold none of these days yet.
        fleet: from `sandbox.fleet`.
        binaries: builds the program if need be.
        since_s: when it begins, in Unix seconds.
        until_s: when it ends; not after now if a Prometheus is to scrape on.
        interval_s: between two scrapes of a target.
        seed: the same gives the same samples.

    Raises:
        SandboxError: the program failed; the message carries what it said.
    """
    folder.mkdir(parents=True, exist_ok=True)
    truth = folder / "fleet.json"
    truth.write_text(json.dumps({"groups": [dataclasses.asdict(item) for item in fleet]}, indent=1))
    options = {"fleet": truth, "out": folder, "since": since_s, "until": until_s, "interval": interval_s, "seed": seed}
    argv: list[str | Path] = [binaries.path_of_own(PROGRAM), *(f"-{name}={value}" for name, value in options.items())]
    doing = f"making {(until_s - since_s) / 86400:g} days of history of {len(fleet)} groups"
    with progress.step(PROGRAM, doing):
        report = _run(argv)
    groups = {(item.namespace, item.group): report["groups"][f"{item.namespace}/{item.group}"] for item in fleet}
    return Backfilled(
        folder=folder,
        since_s=since_s,
        until_s=until_s,
        samples=report["samples"],
        series=report["series"],
        blocks=report["blocks"],
        size_bytes=report["bytes"],
        wall_s=report["wall_s"],
        groups={key: _happened(group) for key, group in groups.items()},
    )


def _run(argv: Sequence[str | Path]) -> dict[str, Any]:
    """Run the program to its end and return what it tells; its progress goes to ours."""
    said: list[str] = []
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None  # noqa: S101 - a pipe was asked for
        assert run.stderr is not None  # noqa: S101 - likewise
        reader = threading.Thread(target=_relay, args=(run.stderr, said), daemon=True)
        reader.start()
        watchdog = threading.Timer(_TIMEOUT_S, run.kill)
        watchdog.start()
        try:
            answer = run.stdout.read()
            reader.join()
        finally:
            watchdog.cancel()
    if run.returncode != 0:
        raise SandboxError(f"{PROGRAM} failed with status {run.returncode}: {' '.join(said[-5:])}")
    report: dict[str, Any] = json.loads(answer)
    return report


def _relay(lines: IO[str], said: list[str]) -> None:
    for line in lines:
        said.append(line.strip())
        progress.say(PROGRAM, said[-1])


def _happened(events: Mapping[str, Any]) -> Happened:
    return Happened(
        absences=events["absences"],
        exceeding={float(level): count for level, count in events["absences_exceeding_s"].items()},
        longest_s=events["longest_absence_s"],
        evictions=events["evictions"],
        outages=events["outages"],
        downtimes_s=tuple(events["downtimes_s"] or ()),
        rollouts=events["rollouts"],
        planned=events["planned_rebalances"],
        unplanned=events["unplanned_rebalances"],
        member_days=events["member_days"],
    )
