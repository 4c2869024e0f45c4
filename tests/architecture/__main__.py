"""`python -m tests.architecture`: measure how the product is built, and say which goals it misses.

Writes `build/architecture.json`, the figures and under `details` what each is made of. With `--lower` it brings the
ceilings of `ceilings.json` down to what was measured. A goal that is missed fails nothing.
"""

import argparse
import json
from typing import Final

from tests.architecture import figures, glossary, goals, source

RESULT: Final = source.CHECKOUT / "build" / "architecture.json"


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.architecture", description=__doc__)
    parser.add_argument("--lower", action="store_true", help="bring ceilings down to the figures that are below them")
    lower: bool = parser.parse_args().lower
    words = glossary.parse(source.glossary_page())
    elsewhere = source.elsewhere()
    measured = figures.measure(source.product(), elsewhere, source.pages(), words)
    beside = figures.by_word(figures.names_and_words(elsewhere, words))
    ceilings = goals.read_ceilings()
    if lower:
        ceilings = goals.lowered(ceilings, measured.figures)
        goals.CEILINGS.write_text(f"{json.dumps(ceilings, indent=2)}\n")
    RESULT.parent.mkdir(exist_ok=True)
    details = {**measured.details, "glossary_beside_the_product": beside}
    RESULT.write_text(f"{json.dumps({**measured.figures, 'details': details}, indent=1)}\n")
    print(goals.table(measured.figures, ceilings))  # noqa: T201 - the table is what it is run for
    print(f"what each is made of: {RESULT.relative_to(source.CHECKOUT)}, details")  # noqa: T201 - likewise


if __name__ == "__main__":
    main()
