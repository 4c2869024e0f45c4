"""What is written and printed: the score, by package, and each mutant that no test noticed."""

import collections
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.mutants.mutant import Mutant
from tests.mutants.trial import Outcome

Result = tuple[Mutant, Outcome]

_ALIVE = (Outcome.SURVIVED, Outcome.UNTRIED)


def figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return how many mutants there were, what became of them, and the share that was noticed.

    A mutant that hangs is noticed; one whose line no test runs is not.
    """
    counts = collections.Counter(outcome for _, outcome in results)
    survived = sum(counts[outcome] for outcome in _ALIVE)
    return {
        "mutants": len(results),
        "killed": counts[Outcome.KILLED],
        "survived": survived,
        "timeouts": counts[Outcome.TIMED_OUT],
        "score": round(1 - survived / len(results), 4) if results else None,
    }


def survivors(results: Sequence[Result]) -> list[Mutant]:
    """Return the mutants that no test noticed, by file and line."""
    alive = [mutant for mutant, outcome in results if outcome in _ALIVE]
    return sorted(alive, key=lambda mutant: (mutant.module.path, mutant.position))


def write(path: Path, results: Sequence[Result], *, commit: str, seed: int) -> None:
    """Write all of it as JSON."""
    packages = sorted({mutant.module.package for mutant, _ in results})
    by_package = {
        package: figures([result for result in results if result[0].module.package == package]) for package in packages
    }
    alive = [
        {
            "file": mutant.module.path,
            "line": mutant.position[0],
            "operator": mutant.operator,
            "before": mutant.before,
            "after": mutant.after,
        }
        for mutant in survivors(results)
    ]
    document = {"commit": commit, "seed": seed, **figures(results), "by_package": by_package, "survivors": alive}
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{json.dumps(document, indent=1)}\n")


def describe(mutant: Mutant) -> str:
    """Return a mutant as a few lines to read."""
    after = mutant.after or "(taken away)"
    return f"{mutant.module.path}:{mutant.position[0]} {mutant.operator}\n  - {mutant.before}\n  + {after}"


def summary(results: Sequence[Result]) -> str:
    """Return the score in a sentence."""
    counted = figures(results)
    return (
        f"{counted['mutants']} mutants: {counted['killed']} killed, {counted['timeouts']} timed out, "
        f"{counted['survived']} survived; score {counted['score']}"
    )
