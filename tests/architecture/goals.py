"""What the figures should come to, and what they must not exceed again.

A goal is where the product is to get; the table says which are missed, and fails nothing. A ceiling is where a figure
is: `ceilings.json` holds one for each, a unit test fails when a figure is above its own, and ceilings only ever fall.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

GOALS: Final[Mapping[str, int]] = {
    "input_spread": 11,
    "files_per_folder_max": 15,
    "functions_over_40": 15,
    "functions_over_60": 0,
    "files_over_300": 8,
    "duplicate_names": 0,
    "glossary_findings": 0,
    "names_elsewhere": 0,
    "product_lines": 46_417,  # 5 % less than before the rooms were sorted, at cb24a5f
}
"""The most that each figure should be."""

CEILINGS: Final = Path(__file__).with_name("ceilings.json")

_LOOK: Final[Mapping[str, str]] = {
    "input_spread": "input.files",
    "files_per_folder_max": "files_per_folder",
    "functions_over_40": "functions_over_40",
    "functions_over_60": "functions_over_40",
    "files_over_300": "files_over_300",
    "duplicate_names": "classes_twice and modules_twice",
    "glossary_findings": "glossary",
    "names_elsewhere": "names_elsewhere",
    "product_lines": "files_over_300",
}
"""Which of the details say what a figure is made of."""

_REMEDY: Final[Mapping[str, str]] = {
    "input_spread": "give the new code the one fact that it needs instead of the whole input",
    "files_per_folder_max": "put the new file into a room with one job, or make one",
    "functions_over_40": "split the new long function: it does two things",
    "functions_over_60": "split the new long function: it does two things",
    "files_over_300": "split the file that grew: two jobs live in it",
    "duplicate_names": "give the new class or module a name of its own",
    "glossary_findings": "use the words of docs/reference/glossary.md",
    "names_elsewhere": "call the parameter or the variable what it is, as docs/reference/glossary.md says",
    "product_lines": "take out what is not used any more, or raise the ceiling by the lines that a new feature needs",
}


def read_ceilings(path: Path = CEILINGS) -> dict[str, int]:
    """Return the ceilings, by figure."""
    ceilings: dict[str, int] = json.loads(path.read_text())
    return ceilings


def lowered(ceilings: Mapping[str, int], figures: Mapping[str, int]) -> dict[str, int]:
    """Return the ceilings brought down to figures that are below them; none rises."""
    return {name: min(ceilings.get(name, figure), figure) for name, figure in figures.items()}


def above_ceilings(figures: Mapping[str, int], ceilings: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence for each figure that is above its ceiling: which, by how much, where to look, what to do."""
    for name, figure in figures.items():
        if name not in ceilings:
            yield f"{name} has no ceiling: run `make architecture LOWER=1`"
        elif figure > ceilings[name]:
            yield (
                f"{name} is {figure}, and must not be above {ceilings[name]}, what it was before: {_REMEDY[name]}; "
                f"`make architecture` lists what it is made of in build/architecture.json under details, {_LOOK[name]}"
            )


def table(figures: Mapping[str, int], ceilings: Mapping[str, int]) -> str:
    """Return the figures beside their ceilings and goals, and a line that says which goals are missed."""
    rows = [f"{'figure':22} {'now':>7} {'ceiling':>8} {'goal':>8}"]
    for name, figure in figures.items():
        met = "" if figure <= GOALS[name] else "  missed"
        rows.append(f"{name:22} {figure:>7} {ceilings.get(name, '-'):>8} {GOALS[name]:>8}{met}")
    missed = [name for name, figure in figures.items() if figure > GOALS[name]]
    rows.append(f"goals missed: {', '.join(missed)}" if missed else "all goals are met")
    return "\n".join(rows)
