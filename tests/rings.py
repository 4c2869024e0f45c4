"""Run the rings of the tests: `python tests/rings.py [ring ...]`.

Four lanes run beside each other: two of rings that mostly wait for real parts; one of rings that compute with real
parts, and one of rings without them, both at a lower priority. A lane that is through helps with those that compute,
and then with those that wait. In each lot the longest ring comes first. All rings run even when one fails, so that one
run shows everything. Where very few tests on real parts failed, these are run once more with nothing beside them: one
that passes then fails nothing, but is named as unsteady, for somebody to look into; its first report stays. At the end
stands what each ring took, how long it kept a core busy, what failed, and what was skipped and why.
"""

import dataclasses
import os
import subprocess
import sys
import textwrap
import threading
import time
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

CHECKOUT = Path(__file__).parents[1]
REPORTS = CHECKOUT / "build" / "rings"
BYTECODE = CHECKOUT / "build" / "bytecode"
"""What Python compiles for the rings; the next run, and the next of hundreds of processes, load it."""
PYTHON = sys.executable
BIN = Path(PYTHON).parent

FEW = 3
"""More failures in one ring than these are no accident of a busy machine; a story that many tests look at is one."""

SETUP = "failed on setup with"
"""How pytest begins to say that a fixture failed."""

SHOWN = 3_000
"""Characters of what a test failed with, in the summary."""


@dataclasses.dataclass(frozen=True)
class Ring:
    """A name and the commands that make it up; commands with `{report}` write a JUnit report there.

    Attributes:
        waits: most of the time for brokers, sessions and rollouts: how long they take is what is tested.
        pure: starts no real part.
        steady: no failure of it is ever the machine's.
        left_out: why it is run only when it is named; empty for those that are always run.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    waits: bool = False
    pure: bool = False
    steady: bool = False
    left_out: str = ""


def _pytest(folder: str, *options: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "pytest", f"tests/{folder}", "--junitxml={report}", "-o", "cache_dir={cache}", *options)


RINGS = (
    Ring(
        "lint",
        (
            (str(BIN / "ruff"), "format", "--check", "--quiet"),
            (str(BIN / "ruff"), "check", "--quiet"),
            (str(BIN / "mypy"),),
            (str(BIN / "lint-imports"), "--no-logo"),
            (
                str(BIN / "codespell"),
                "operator",
                "sandbox",
                "tests",
                "bench",
                "release",
                "docs",
                "charts",
                "README.md",
                "CHANGELOG.md",
            ),
        ),
        pure=True,
        steady=True,
    ),
    Ring(
        "unit",
        (
            _pytest("unit", "--timeout=180", "-m", "not no_cover", "--cov", "--cov-report="),
            (PYTHON, "-m", "coverage", "report", "--skip-covered", "--fail-under=100"),
            _pytest("unit", "--timeout=180", "-m", "no_cover"),
        ),
        pure=True,
        steady=True,
    ),
    Ring("install", (_pytest("install", "--capture=no"),)),
    Ring("integration", (_pytest("integration"),)),
    Ring("spark", (_pytest("spark", "--timeout=300"),)),
    Ring("chart", (_pytest("chart"),)),
    Ring(
        "e2e", (_pytest("e2e", "-m", "not e2e_java and not faults and not gitops and not static_members"),), waits=True
    ),
    Ring("faults", (_pytest("e2e", "-m", "faults"),), waits=True),
    Ring("e2e-java", (_pytest("e2e", "-m", "e2e_java"),), waits=True),
    Ring("trust", (_pytest("trust", "-m", "not all_walks"),), waits=True),
    Ring(
        "schedules",
        (_pytest("schedules", "--capture=no", "-m", "not all_schedules and not at_once"),),
        waits=True,
        steady=True,
    ),
    Ring("hostile", (_pytest("hostile"),), waits=True),
    Ring("lab", (_pytest("lab"),), waits=True),
    Ring(
        "static-members",
        (_pytest("e2e", "-m", "static_members"),),
        waits=True,
        left_out="it takes most of an hour; a part of it is in e2e; `make static-members` runs it",
    ),
    Ring(
        "gitops",
        (_pytest("e2e", "-m", "gitops"),),
        waits=True,
        left_out="it reapplies manifests for five minutes; a part of it is in e2e and trust; `make gitops` runs it",
    ),
    Ring(
        "all-schedules",
        (_pytest("schedules", "--capture=no", "-m", "not at_once"),),
        waits=True,
        steady=True,
        left_out="it plays 50 schedules in a quarter of an hour; 6 of them are in schedules; `make schedules` runs it",
    ),
    Ring(
        "fault-campaign",
        ((PYTHON, "-m", "tests.schedules"),),
        waits=True,
        steady=True,
        left_out="it plays 200 schedules, an hour or two; `make fault-campaign` runs it",
    ),
    Ring(
        "soak",
        ((PYTHON, "-m", "tests.soak"),),
        waits=True,
        steady=True,
        left_out="it runs two replicas for 24 simulated hours, most of an hour; `make soak` runs it",
    ),
    Ring(
        "release",
        (_pytest("release", "--capture=no"),),
        left_out="it builds the images twice from nothing; `make campaign` runs it; chart has the rest of a release",
    ),
    Ring(
        "fit-k8s",
        (_pytest("executors", "--capture=no"),),
        left_out="it fits twice on a node with real containers; spark has a cluster's workers; `make fit-k8s` runs it",
    ),
    Ring("demo", (_pytest("demo", "--capture=no"),), waits=True),
)


@dataclasses.dataclass
class Result:
    """What became of one ring."""

    name: str
    took_s: float = 0.0
    computed_s: float = 0.0
    """For how long it kept a core busy: its commands, and what they started and saw end."""
    ok: bool = True
    passed: int = 0
    failed: dict[str, str] = dataclasses.field(default_factory=dict)
    """Each test that failed, and with what words."""
    skipped: list[str] = dataclasses.field(default_factory=list)
    unsteady: dict[str, str] = dataclasses.field(default_factory=dict)
    """Each test that passed only when it was run again, and with what words it failed at first."""


def run(ring: Ring, *, beside: bool = False, only_failed: bool = False) -> Result:
    """Run one ring.

    Args:
        ring: which.
        beside: others are shown at the terminal: its output comes as a whole when it has ended. It yields to them
            unless it waits, too.
        only_failed: those of its tests that failed when it was last run.
    """
    result, began = Result(ring.name), time.monotonic()
    again = ["--last-failed", "--last-failed-no-failures=none"] if only_failed else []
    log = REPORTS / f"{ring.name}.log"
    print(f"\n━━ {ring.name}{f' (beside the others; its output goes to {log})' if beside else ''}", flush=True)
    with log.open("wb") as stored:
        for number, command in enumerate(ring.commands):
            report = REPORTS / f"{ring.name}-{number}{'-again' if only_failed else ''}.xml"
            report.unlink(missing_ok=True)
            words = [
                word.format(report=report, cache=REPORTS / f"{ring.name}-{number}.cache") for word in command
            ] + again
            status, computed_s = _ended(
                words if ring.waits or not beside else ["nice", "-n", "10", *words], stored if beside else None
            )
            result.ok = result.ok and status == 0
            result.computed_s += computed_s
            _count(result, report)
    result.took_s = time.monotonic() - began
    if beside:
        verdict = "ok" if result.ok else "FAILED"
        print(f"\n━━ {ring.name}: {verdict} after {result.took_s:.0f} s\n{log.read_text(errors='replace')}", flush=True)
    return result


def _ended(words: Sequence[str], output: IO[bytes] | None) -> tuple[int, float]:
    """Run a command to its end; return its exit status, and for how many seconds it kept a core busy."""
    with subprocess.Popen(
        words,
        cwd=CHECKOUT,
        env=environment(os.environ),
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a ring's commands, which keep what they compile, whatever ours says.

    Where nothing is kept, each start of the operator compiles 1,400 modules: 2.5 s of a core instead of 1.1 s.
    """
    theirs = {"PYTHONPYCACHEPREFIX": str(BYTECODE), **ours}
    theirs.pop("PYTHONDONTWRITEBYTECODE", None)
    return theirs


def lanes(rings: Sequence[Ring]) -> list[list[deque[Ring]]]:
    """Return the lanes of these rings: each takes from its first lot until that is empty, then from the next.

    One that waits leaves most of a core to others, so two of them are begun at once. The first lane is shown.
    """
    waiting = deque(ring for ring in rings if ring.waits)
    computing = deque(ring for ring in rings if not (ring.waits or ring.pure))
    pure = deque(ring for ring in rings if ring.pure)
    both = [[waiting]] * min(2, len(waiting))
    return [lots for lots in (*both, [computing, waiting], [pure, computing, waiting]) if lots[0]]


def run_all(rings: Sequence[Ring]) -> list[Result]:
    """Run rings in lanes; return what became of them, in their order."""
    found: dict[str, Result] = {}

    def taken(lot: deque[Ring]) -> Iterator[Ring]:
        while True:
            try:
                yield lot.popleft()
            except IndexError:  # another lane may have taken the last
                return

    def lane(*lots: deque[Ring], beside: bool) -> None:
        for lot in lots:
            for ring in taken(lot):
                found[ring.name] = run(ring, beside=beside)

    shown, *others = lanes(rings)
    beside = [threading.Thread(target=lane, args=lots, kwargs={"beside": True}) for lots in others]
    for thread in beside:
        thread.start()
    lane(*shown, beside=False)
    for thread in beside:
        thread.join()
    return [found[ring.name] for ring in rings]


def try_again(ring: Ring, first: Result) -> Result:
    """Run what failed once more, where it is little and may have been the machine's doing; return what holds then."""
    if first.ok or ring.steady or not 0 < failures(first.failed) <= FEW:
        return first
    print(f"\n━━ {ring.name}: {len(first.failed)} failed and run once more, alone", flush=True)
    second = run(ring, only_failed=True)
    return dataclasses.replace(
        first,
        ok=second.ok,
        took_s=first.took_s + second.took_s,
        computed_s=first.computed_s + second.computed_s,
        passed=first.passed + second.passed,
        failed=second.failed,
        unsteady={name: words for name, words in first.failed.items() if name not in second.failed},
    )


def failures(failed: Mapping[str, str]) -> int:
    """Return how many things failed: a fixture that fails lets every test of it fail, with the same words."""
    return len({words if words.startswith(SETUP) else name for name, words in failed.items()})


def _count(result: Result, report: Path) -> None:
    """Add what a JUnit report says; a command without one counts by its exit status only."""
    if not report.exists():
        return
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        skipped = case.find("skipped")
        failures = [*case.iter("failure"), *case.iter("error")]
        if skipped is not None:
            result.skipped.append(f"{case.get('name')}: {skipped.get('message')}")
        elif failures:
            result.failed[f"{case.get('classname')}::{case.get('name')}"] = str(failures[0].get("message"))
        else:
            result.passed += 1


def main() -> None:
    """Run the rings named on the command line, else all but those left out; exit with status 1 if one failed."""
    known = {ring.name: ring for ring in RINGS}
    unknown = [name for name in sys.argv[1:] if name not in known]
    if unknown:
        sys.exit(f"there is no ring {unknown[0]!r}; the rings are {', '.join(known)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    chosen = [known[name] for name in sys.argv[1:]] or [ring for ring in RINGS if not ring.left_out]
    results = [try_again(ring, first) for ring, first in zip(chosen, run_all(chosen), strict=True)]
    print("\n━━ summary")
    for result in results:
        verdict = "ok    " if result.ok else "FAILED"
        spent = f"{result.took_s:6.0f} s, {result.computed_s:5.0f} s of a core"
        print(f"{verdict} {result.name:12} {spent}  {result.passed} passed, {len(result.failed)} failed")
        for name, words in result.failed.items():
            print(textwrap.indent(f"FAILED {name}: {words[:SHOWN]}", 9 * " "))
        for name, words in result.unsteady.items():
            print(f"         UNSTEADY, passed only when run again: {name}")
            print(textwrap.indent(f"at first: {words[:SHOWN]}", 11 * " "))
        for skipped in result.skipped:
            print(f"         skipped {skipped}")
    for ring in RINGS:
        if ring.left_out and not sys.argv[1:]:
            print(f"skipped {ring.name}: {ring.left_out}")
    computed_s = sum(result.computed_s for result in results)
    print(f"total: {time.monotonic() - began:.0f} s, {computed_s:.0f} s of a core")
    print(f"skipped: {sum(len(result.skipped) for result in results)}")
    print(
        f"{sum(result.passed for result in results)} passed, {sum(len(result.failed) for result in results)} failed",
        flush=True,
    )
    if not all(result.ok for result in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
