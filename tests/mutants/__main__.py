"""`python -m tests.mutants`: change what decides, one place at a time, and see which changes no unit test notices.

Mutation testing says what coverage cannot: whether a test would fail if the code were wrong. A sample of mutants is
made (`making`, `places`, `sampling`), each is run against the unit tests that can notice it (`recorder`, `covering`),
as if it stood in the checkout (`planted`, `trial`), and what came out is written to `build/mutants.json` (`report`).

A mutant that survives is a question: which behaviour is it that no test asks for? Some change nothing that anybody
could see; no test is missing for these.
"""

import argparse
import functools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from tests.mutants import making, modules, reach, report, sampling, trial
from tests.mutants.covering import Covering
from tests.mutants.modules import CHECKOUT
from tests.mutants.mutant import Mutant
from tests.mutants.report import Result
from tests.mutants.shelves import Shelves
from tests.mutants.trial import Trial

RESULT: Final = CHECKOUT / "build" / "mutants.json"
_SCRATCH: Final = CHECKOUT / "build" / "mutants" / "trials"
_PROCESSES: Final = 2
_PROGRESS: Final = 25


def main() -> None:
    """Record, sample, try, write, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--mutants", type=int, default=500, help="how many to make (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=22, help="of the sample (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="try only those that survived in build/mutants.json")
    options = parser.parse_args()
    began = time.monotonic()
    shelves = Shelves()
    _record(shelves.missing())
    mutants = _sample(options.mutants, options.seed)
    if options.again:
        mutants = _survivors_of_last_run(mutants)
    files = shelves.files()
    importers = reach.importers(files, CHECKOUT)
    covering = Covering(map(shelves.get, files), modules.modules([modules.ROOT]), importers)
    _say(f"{len(mutants)} mutants after {time.monotonic() - began:.0f} s")
    results = list(_tried(mutants, covering))
    _say(f"{report.summary(results)}; {time.monotonic() - began:.0f} s")
    if not options.again:
        report.write(RESULT, results, commit=_commit(), seed=options.seed)


def _record(files: Sequence[str]) -> None:
    """Record test files of which nothing is known, in several processes.

    Raises:
        SystemExit: they could not be run.
    """
    if not files:
        return
    _say(f"recording which lines the tests of {len(files)} files run")
    by_size = sorted(files, key=lambda file: (CHECKOUT / file).stat().st_size)
    recorders = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.recorder", *part], cwd=CHECKOUT, stdout=subprocess.DEVNULL
        )
        for part in (by_size[number::_PROCESSES] for number in range(_PROCESSES))
        if part
    ]
    if any([recorder.wait() for recorder in recorders]):  # noqa: C419 - all are waited for
        sys.exit("the unit tests could not be recorded: run `make unit`")


def _sample(number: int, seed: int) -> list[Mutant]:
    """Return the mutants of a seed."""
    product = modules.modules()
    mutants = {
        module.path: sampling.in_random_order(
            making.changes(module), functools.partial(making.mutant, module), f"{seed} {module.path}"
        )
        for module in product
    }
    return sampling.sample(mutants, {module.path: module.lines for module in product}, number)


def _survivors_of_last_run(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return those that the last run's file names."""
    alive = json.loads(RESULT.read_text())["survivors"]
    names = {(entry["file"], entry["operator"], entry["before"], entry["after"]) for entry in alive}
    return [mutant for mutant in mutants if (mutant.module.path, mutant.operator, mutant.before, mutant.after) in names]


def _tried(mutants: Sequence[Mutant], covering: Covering) -> Iterator[Result]:
    """Run all mutants; say how far it is, and which survive."""
    trials = [_trial(mutant, covering) for mutant in mutants]
    _SCRATCH.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for number, outcome in trial.try_all(trials, CHECKOUT, _SCRATCH):
        results.append((mutants[number], outcome))
        if report.survivors(results[-1:]):
            _say(f"{outcome.value}: {report.describe(mutants[number])}")
        if len(results) % _PROGRESS == 0:
            _say(report.summary(results))
        yield results[-1]


def _trial(mutant: Mutant, covering: Covering) -> Trial:
    path = mutant.module.path
    tests = covering.tests_for(path, mutant.position[0])
    return Trial(mutant.module.name, CHECKOUT / path, mutant.text, covering.lots(path, tests))


def _commit() -> str:
    """Return the commit that is checked out, and whether files differ from it."""
    described = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    return subprocess.run(described, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout.strip()


def _say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    main()
