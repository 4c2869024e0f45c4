"""How much does `check` find in settings as people have them? `python -m bench.check` writes `build/bench/check.json`.

Each case of tests/check_cases is checked by a process of its own, as somebody's CI does it, and compared with the
verdict that was written by hand:

- `exact`: cases in which all values were read, and exactly the expected errors and warnings found;
- `missed_danger`: the share of expected errors and warnings that were not found;
- `false_alarms`: the share of errors and warnings found that nobody expected;
- `unread`: cases in which a value that stands in the file was not read, or nothing was said at all;
- `p95_seconds`: what a call takes of a processor, in 19 of 20 cases; `p95_clock_seconds` is the same by the clock.

A call finds its bytecode, as it does where pip installed it: pip compiles what it installs. One call before the first
case writes it to `build/bench`.

Names of cases or families on the command line check those alone, and print what differs.
"""

import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.domain import durations
from tests.support import check_cases
from tests.support.check_cases import CheckCase

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "check.json"

BYTECODE: Final = REPORT.parent / "bytecode"

GOALS: Final = {"missed_danger": 0.05, "false_alarms": 0.02, "unread": 0, "p95_seconds": 0.3}

_ALARMS: Final = {"error", "warning"}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one case came to.

    Attributes:
        missed: rules that were expected and not found, one for each time.
        surplus: those that were found and not expected.
        read: whether all values of the files were read, and something was said.
        seconds: of the processor, that the call took.
        clock: the same, by the clock.
        complaint: what went wrong outside of findings; empty if nothing did.
    """

    case: CheckCase
    missed: Sequence[str]
    surplus: Sequence[str]
    read: bool
    seconds: float
    clock: float
    complaint: str

    @property
    def exact(self) -> bool:
        """Whether the case came out as written."""
        return self.read and not self.missed and not self.surplus


def outcome(case: CheckCase) -> Outcome:
    """Check one case in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = case.write(Path(folder))
        began = time.monotonic()
        before = _processor_seconds()
        done = subprocess.run(
            [sys.executable, "-m", "heartbeat_tuner", "check", "--output=json", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=_environment(),
        )
        seconds, clock = _processor_seconds() - before, time.monotonic() - began
    if done.returncode not in {0, 1} or not done.stdout:  # a traceback ends with status 1, too
        return Outcome(
            case, list(case.expect), [], read=False, seconds=seconds, clock=clock, complaint=done.stderr.strip()[-300:]
        )
    return judged(case, json.loads(done.stdout), seconds, clock)


def _environment() -> dict[str, str]:
    """Return the environment of a call that reads and writes bytecode, whatever this process does."""
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**rest, "PYTHONPYCACHEPREFIX": str(BYTECODE)}


def _processor_seconds() -> float:
    """Return the processor time of all processes that have ended: the machine may be shared."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def judged(case: CheckCase, document: Mapping[str, Any], seconds: float, clock: float) -> Outcome:
    """Compare what the command said with the case's verdict."""
    findings = [finding for subject in document["checked"] for finding in subject["findings"]]
    alarms = Counter(finding["rule"] for finding in findings if finding["severity"] in _ALARMS)
    expected = Counter(case.expect)
    unread = list((Counter(map(_wanted, case.reads)) - Counter(_read(document["checked"]))).elements())
    silent = not findings and not case.reads
    complaint = f"not read: {unread}; read: {_read(document['checked'])}" if unread else ""
    return Outcome(
        case,
        list((expected - alarms).elements()),
        list((alarms - expected).elements()),
        read=not unread and not silent,
        seconds=seconds,
        clock=clock,
        complaint=complaint,
    )


def _wanted(consumer: Mapping[str, str]) -> tuple[str, ...]:
    """Return a consumer of a case in a form that compares."""
    values = {
        check_cases.LETTERS[letter]: durations.to_ms(durations.parse(text))
        for letter, text in consumer.items()
        if letter in check_cases.LETTERS
    }
    return (consumer["client"], *(f"{name}={values[name]}" for name in sorted(values)))


def _read(subjects: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the consumers that the command read, in the same form."""
    return [
        (
            subject["client"] or "?",
            *(
                f"{name}={value['milliseconds']}"
                for name, value in sorted(subject["settings"].items())
                if value["origin"] == "given"
            ),
        )
        for subject in subjects
        if subject["settings"]
    ]


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the figures of all cases."""
    expected = sum(len(each.case.expect) for each in outcomes)
    surplus = sum(len(each.surplus) for each in outcomes)
    missed = sum(len(each.missed) for each in outcomes)
    seconds, clock = (sorted(values) for values in zip(*((each.seconds, each.clock) for each in outcomes), strict=True))
    at = int(0.95 * (len(outcomes) - 1))
    return {
        "cases": len(outcomes),
        "exact": sum(each.exact for each in outcomes),
        "missed_danger": round(missed / max(expected, 1), 4),
        "false_alarms": round(surplus / max(expected - missed + surplus, 1), 4),
        "unread": sum(not each.read for each in outcomes),
        "p95_seconds": round(seconds[at], 3),
        "p95_clock_seconds": round(clock[at], 3),
    }


def main(names: Sequence[str]) -> None:
    """Check the cases, print what differs, and write the report; exit with status 1 if a goal is missed."""
    chosen = [case for case in check_cases.cases() if not names or {case.name, case.family} & set(names)]
    outcome(chosen[0])  # writes the bytecode
    outcomes = [outcome(case) for case in chosen]
    for each in outcomes:
        if not each.exact:
            print(f"{each.case}: missed {each.missed}, surplus {each.surplus} {each.complaint}")
    report = figures(outcomes)
    print(json.dumps(report))
    if names:
        return
    families = {
        family: figures([each for each in outcomes if each.case.family == family]) for family in _families(outcomes)
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({**report, "goals": GOALS, "families": families}, indent=2) + "\n")
    over = [name for name, most in GOALS.items() if report[name] > most]
    if over:
        raise SystemExit(f"goals missed: {', '.join(over)}")


def _families(outcomes: Sequence[Outcome]) -> list[str]:
    return sorted({each.case.family for each in outcomes})


if __name__ == "__main__":
    main(sys.argv[1:])
