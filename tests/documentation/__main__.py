"""`make docs-check`: check words, links and commands of the documentation; exit status 1 if something was found.

With `--words` it lists only the words; a path limits what is listed to pages and modules below it.
"""

import sys
import time

from tests.documentation import checks
from tests.support.documents import CHECKOUT


def main(arguments: list[str]) -> int:
    """Print the findings, and return the exit status."""
    began = time.monotonic()
    below = [argument for argument in arguments if not argument.startswith("--")]
    found = sorted(
        finding for finding in checks.all_findings(CHECKOUT) if not below or finding.path.startswith(tuple(below))
    )
    sys.stdout.writelines(f"{finding}\n" for finding in found)
    pages = len(checks.pages(CHECKOUT))
    took_s = time.monotonic() - began
    sys.stdout.write(f"{len(found)} findings on {pages} pages and in what users read elsewhere, {took_s:.1f} s\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
