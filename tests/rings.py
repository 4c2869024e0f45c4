"""Run the rings of the tests, from the quickest to the slowest: `python tests/rings.py [ring ...]`.

All rings run even when one fails, so that one run tells everything. At the end stands what each ring took, what failed,
and what was skipped and why.
"""

import dataclasses
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
REPORTS = CHECKOUT / "build" / "rings"
PYTHON = sys.executable
BIN = Path(PYTHON).parent


PURE = ",".join(
    f"operator/heartbeat_tuner/{layer}/*" for layer in ("domain", "clients", "metrics", "tails", "decision")
)
"""The layers that decide: every branch of them is run by a unit test."""


@dataclasses.dataclass(frozen=True)
class Ring:
    """A name and the commands that make it up; commands with `{report}` write a JUnit report there."""

    name: str
    commands: tuple[tuple[str, ...], ...]


def _pytest(folder: str, *options: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "pytest", f"tests/{folder}", "--junitxml={report}", *options)


RINGS = (
    Ring(
        "lint",
        (
            (str(BIN / "ruff"), "format", "--check", "--quiet"),
            (str(BIN / "ruff"), "check", "--quiet"),
            (str(BIN / "mypy"),),
            (str(BIN / "lint-imports"), "--no-logo"),
            (str(BIN / "codespell"), "operator", "sandbox", "tests", "bench", "docs", "README.md", "CHANGELOG.md"),
        ),
    ),
    Ring(
        "unit",
        (
            _pytest("unit", "--cov", "--cov-report="),
            (PYTHON, "-m", "coverage", "report", "--skip-covered", "--fail-under=100", f"--include={PURE}"),
        ),
    ),
    Ring("integration", (_pytest("integration"),)),
    Ring("spark", (_pytest("spark", "--timeout=300"),)),
    Ring("lab", (_pytest("lab"),)),
    Ring("e2e", (_pytest("e2e", "-m", "not faults"),)),
    Ring("faults", (_pytest("e2e", "-m", "faults"),)),
    Ring("schedules", (_pytest("schedules", "--capture=no"),)),
    Ring("demo", (_pytest("demo", "--capture=no"),)),
)


@dataclasses.dataclass
class Result:
    """What became of one ring."""

    name: str
    took_s: float = 0.0
    ok: bool = True
    passed: int = 0
    failed: int = 0
    skipped: list[str] = dataclasses.field(default_factory=list)


def run(ring: Ring) -> Result:
    """Run one ring, its output going to the terminal as it comes."""
    result, began = Result(ring.name), time.monotonic()
    print(f"\n━━ {ring.name}", flush=True)
    for number, command in enumerate(ring.commands):
        report = REPORTS / f"{ring.name}-{number}.xml"
        report.unlink(missing_ok=True)
        done = subprocess.run([word.format(report=report) for word in command], cwd=CHECKOUT, check=False)
        result.ok = result.ok and done.returncode == 0
        _count(result, report)
    result.took_s = time.monotonic() - began
    return result


def _count(result: Result, report: Path) -> None:
    """Add what a JUnit report says; a command without one counts by its exit status only."""
    if not report.exists():
        return
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        skipped = case.find("skipped")
        if skipped is not None:
            result.skipped.append(f"{case.get('name')}: {skipped.get('message')}")
        elif case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        else:
            result.passed += 1


def main() -> None:
    """Run the rings named on the command line, all by default; exit with status 1 if one failed."""
    known = {ring.name: ring for ring in RINGS}
    unknown = [name for name in sys.argv[1:] if name not in known]
    if unknown:
        sys.exit(f"there is no ring {unknown[0]!r}; the rings are {', '.join(known)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = [run(known[name]) for name in sys.argv[1:] or known]
    print("\n━━ summary")
    for one in results:
        verdict = "ok    " if one.ok else "FAILED"
        print(f"{verdict} {one.name:12} {one.took_s:6.0f} s  {one.passed} passed, {one.failed} failed")
        for skipped in one.skipped:
            print(f"         skipped {skipped}")
    print(f"total: {sum(one.took_s for one in results):.0f} s, skipped: {sum(len(one.skipped) for one in results)}")
    print(f"{sum(one.passed for one in results)} passed, {sum(one.failed for one in results)} failed", flush=True)
    if not all(one.ok for one in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
