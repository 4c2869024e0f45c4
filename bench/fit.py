"""How fast weeks of values become models, and from which size on Spark pays: `make bench-fit`.

A lake of values is made (`bench.fit_data`), and the fit as it is shipped (local Spark of two cores, with its history
on disk) is run on it beside pandas with SciPy's fit group by group, and DuckDB with our fit (`bench.fit_designs`), each
in a process of its own and the best of some runs. Then more rows, fewer and more groups, and the run of a new day
beside a re-scan of all days. Memory is the proportional set size of the process and all that it started, every half
second.
"""

import argparse
import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench import fit_data, plots
from bench.fit_data import Lake

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "fit.json"

_MEMBERS: Final = 30
_DAYS: Final = 14
_TIMES: Final = (1, 4, 16)
_FLEET: Final = 2_000
"""Groups of all lakes but these:"""

_OTHER_FLEETS: Final = (200, 20_000)
_BYTES_A_ROW: Final = 3
"""On disk, with some to spare."""

_BACK: Final = "\r" if sys.stdout.isatty() else ""

_SAMPLE_EVERY_S: Final = 0.5
_TIMEOUT_S: Final = 3_600.0


@dataclasses.dataclass(frozen=True)
class Run:
    """One design on one lake, once.

    Attributes:
        work_s: from the first row read to the fitted models.
        wall_s: of the whole process.
        cpu_s: of the whole process and all that it started, but for what they did in their last half second.
        peak_mib: the most memory that it and what it started had at a time.
        told: what it said itself.
    """

    work_s: float
    wall_s: float
    cpu_s: float
    peak_mib: float
    told: dict[str, Any]


def run(design: str, lake: Path, history: Path | None = None) -> Run:
    """Run a design once in a process of its own."""
    command = [sys.executable, "-m", "bench.fit_designs", design, str(lake)]
    command += ["--history", str(history)] if history else []
    began, peak_kib = time.monotonic(), 0
    cpu_s: dict[int, float] = {}
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        process = subprocess.Popen(command, stdout=said, stderr=complained)
        try:
            while process.poll() is None:
                there = list(_tree(process.pid))
                peak_kib = max(peak_kib, sum(map(_pss_kib, there)))
                cpu_s |= {pid: spent for pid in there if (spent := _cpu_s(pid)) is not None}
                if sys.stdout.isatty():
                    print(f"\r{design}: {time.monotonic() - began:.0f} s, {peak_kib >> 10} MiB ", end="", flush=True)
                assert time.monotonic() - began < _TIMEOUT_S, f"{design} took longer than {_TIMEOUT_S:.0f} s"
                time.sleep(_SAMPLE_EVERY_S)
        finally:
            process.kill()
            process.wait()
        wall_s = time.monotonic() - began
        complained.seek(0)
        assert process.returncode == 0, f"{design} failed: {complained.read().decode()[-2000:]}"
        said.seek(0)
        report = json.load(said)
    print(f"{_BACK}{design}: {report.get('work_s', wall_s):.1f} s of work, {wall_s:.1f} s in all, {peak_kib >> 10} MiB")
    return Run(report.get("work_s", wall_s), wall_s, sum(cpu_s.values()), peak_kib / 1024, report)


def best(design: str, lake: Path, *, times: int) -> Run:
    """Return the quickest of some runs."""
    return min((run(design, lake) for _ in range(times)), key=lambda result: result.work_s)


def _tree(root: int) -> Iterator[int]:
    """Yield a process and all that it started."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from _tree(int(child))


def _cpu_s(pid: int) -> float | None:
    """Return what a process itself has spent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


@dataclasses.dataclass(frozen=True)
class Bench:
    """What is measured, and where.

    Attributes:
        folder: for lakes and histories, which go when they are not needed any more.
        part: of the full size.
        times: runs of which the best counts.
    """

    folder: Path
    part: float
    times: int

    def lake(self, groups: int, members: int, days: int = 1) -> tuple[Path, Lake]:
        """Make a lake, after a look at the disk."""
        lake = Lake(max(20, round(groups * self.part)), members, days)
        free = shutil.disk_usage(self.folder).free
        assert free > _BYTES_A_ROW * lake.rows, f"{lake.rows:,} rows need {_BYTES_A_ROW * lake.rows >> 20} MiB of disk"
        place = self._place()
        fit_data.write(place, lake)
        return place, lake

    def first_days(self, place: Path, lake: Lake, days: int) -> tuple[Path, Lake]:
        """Give the first days of a lake as one."""
        some = self._place()
        fit_data.first_days(place, some, days)
        return some, dataclasses.replace(lake, days=days)

    def all(self) -> dict[str, Any]:
        """Return every figure. One lake serves all that has the same groups: a shorter one is its first days."""
        place, lake = self.lake(_FLEET, _MEMBERS, max(_TIMES))
        found = {**self.main_size(*self.first_days(place, lake, 1)), **self.incremental(place, lake)}
        sizes = [self._line(*self.first_days(place, lake, days)) for days in _TIMES]
        shutil.rmtree(place.parent)
        sizes += [self._line(*self.lake(groups, _MEMBERS * _FLEET // groups)) for groups in _OTHER_FLEETS]
        return {**found, "sizes": sizes}

    def main_size(self, place: Path, lake: Lake) -> dict[str, Any]:
        """Return ours beside the others on one day, which goes after it."""
        with tempfile.TemporaryDirectory(dir=self.folder) as history:
            run("ours", place, Path(history))
            run("same", place, Path(history))
        ours, theirs, ducks = (best(name, place, times=self.times) for name in ("ours", "pandas", "duckdb"))
        shutil.rmtree(place.parent)
        assert ours.told["models"] == theirs.told["models"] == ducks.told["models"] == lake.groups
        return {
            "rows": lake.rows,
            "groups": lake.groups,
            "wall_s": round(ours.work_s, 2),
            "peak_mib": round(ours.peak_mib),
            "ratio_to_pandas": round(theirs.work_s / ours.work_s, 2),
            "ratio_to_duckdb": round(ducks.work_s / ours.work_s, 3),
            "designs": {name: _told(item) for name, item in (("ours", ours), ("pandas", theirs), ("duckdb", ducks))},
        }

    def incremental(self, place: Path, lake: Lake) -> dict[str, Any]:
        """Return what the run of a new day takes, as part of a re-scan of all; both on the first days of a lake.

        Others share the machine, and what they take of its cores is no part of the CPU's share. The mean of two runs
        of the new day counts.
        """
        some, fewer = self.first_days(place, lake, _DAYS)
        history = some.parent / "history"
        rescan = run("ours", some, history)
        added = [self._new_day(some, history) for _ in range(2)]
        shutil.rmtree(some.parent)
        return {
            "incremental_share": round(sum(item.work_s for item in added) / len(added) / rescan.work_s, 3),
            "incremental_cpu_share": round(sum(item.cpu_s for item in added) / len(added) / rescan.cpu_s, 3),
            "incremental": {
                "rows": fewer.rows,
                "rows_of_the_new_day": fewer.rows // fewer.days,
                "rescan": _told(rescan),
                "new_day": [_told(item) for item in added],
            },
        }

    def _new_day(self, lake: Path, history: Path) -> Run:
        """Forget the last day, and run for it."""
        shutil.rmtree(max(history.iterdir()))
        return run("ours", lake, history)

    def _line(self, place: Path, lake: Lake) -> dict[str, Any]:
        """Return ours and DuckDB on a lake, which goes after it."""
        runs = {name: _told(best(name, place, times=1)) for name in ("ours", "duckdb")}
        shutil.rmtree(place.parent)
        return {"rows": lake.rows, "groups": lake.groups, "days": lake.days, **runs}

    def _place(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="lake-", dir=self.folder)) / "lake"


def _told(run: Run) -> dict[str, Any]:
    rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in run.told.items()}
    return {**rounded, "process_s": round(run.wall_s, 2), "cpu_s": round(run.cpu_s, 1), "peak_mib": round(run.peak_mib)}


def plot(found: dict[str, Any]) -> str:
    """Return seconds over rows, of ours and DuckDB, as SVG."""
    by_rows = [size for size in found["sizes"] if size["groups"] == found["groups"]]
    named = (("heartbeat-tuner", "ours"), ("DuckDB, our fit", "duckdb"))
    lines = [plots.Line(name, [(by_row["rows"], by_row[key]["work_s"]) for by_row in by_rows]) for name, key in named]
    theirs = found["designs"]["pandas"]["work_s"]
    lines.append(plots.Line("pandas + SciPy", [(found["rows"], theirs)]))
    return plots.logarithmic(f"Rows to models, {found['groups']:,} groups", "rows", "seconds", lines)


def main() -> None:
    """Measure, print and write `build/bench/fit.json` and a plot beside it."""
    parser = argparse.ArgumentParser(description="How fast the fit is.")
    parser.add_argument("--part", type=float, default=1.0, help="of the groups, for a quick look (0.02)")
    parser.add_argument("--times", type=int, default=3, help="runs of which the best counts")
    asked = parser.parse_args()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fit-", dir=REPORT.parent) as folder:
        found = Bench(Path(folder), asked.part, asked.times).all()
    found["machine"] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": [round(item, 1) for item in os.getloadavg()],
    }
    REPORT.write_text(json.dumps(found, indent=2) + "\n")
    REPORT.with_suffix(".svg").write_text(plot(found))
    print(json.dumps(found, indent=2))
    print(f"written to {REPORT}")


if __name__ == "__main__":
    main()
