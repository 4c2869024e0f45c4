"""`python -m tests.golden`: accept what is decided now as what shall be decided; `make golden-accept` runs it.

Prints how each decision differs from the one that was accepted before, and writes it. Read the differences: each is a
change that users see.
"""

import sys
from pathlib import Path

from heartbeat_tuner.domain.errors import TunerError
from tests.golden import cases, files
from tests.golden.cases import CaseError


def accept(folder: Path = files.CASES) -> str:
    """Write the decisions of all cases; return what changed by that, empty if nothing did.

    Raises:
        CaseError: an input cannot be read; the message names it.
    """
    changes = []
    for name in files.names(folder):
        try:
            decision = files.text_of(cases.decision_of(files.read_input(name, folder)))
        except (CaseError, TunerError) as error:
            raise CaseError(f"case {name}: {error}") from error
        changes.append(files.difference(name, files.accepted(name, folder), decision))
        files.decision_file(name, folder).write_text(decision)
    for name in files.orphans(folder):
        changes.append(files.difference(name, files.accepted(name, folder), ""))
        files.decision_file(name, folder).unlink()
    return "".join(changes)


def main() -> None:
    """Accept, and say what changed."""
    try:
        print(accept() or "no decision has changed")  # noqa: T201 - what changed has to be read
    except CaseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
