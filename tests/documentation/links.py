"""Every link inside the documentation leads to a file that is there, and to a heading of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from tests.documentation.findings import Finding
from tests.documentation.markdown import Page

_ELSEWHERE: Final = ("http://", "https://", "mailto:")
INDEX: Final = "docs/README.md"


def check(page: Page, checkout: Path) -> Iterator[Finding]:
    """Yield the links of a page that lead nowhere."""
    for link in page.links():
        if link.target.startswith(_ELSEWHERE):
            continue
        path, _, anchor = unquote(link.target).partition("#")
        target = (checkout / page.path).parent / path
        if path and not target.exists():
            yield Finding(page.path, link.line, f"the link {link.target} leads to no file: correct the path")
        elif anchor and (not path or target.suffix == ".md"):
            there = Page.read(checkout, target.resolve()) if path else page
            if anchor not in there.anchors():
                known = ", ".join(sorted(there.anchors()))
                yield Finding(page.path, link.line, f"{there.path} has no heading #{anchor}: choose one of {known}")


def unlisted(pages: list[Page], checkout: Path) -> Iterator[Finding]:
    """Yield the pages that the index of tasks names neither by themselves nor by their folder."""
    (index,) = (page for page in pages if page.path == INDEX)
    folder = (checkout / INDEX).parent
    named = {(folder / link.target.partition("#")[0]).resolve() for link in index.links()}
    for page in pages:
        path = checkout / page.path
        if page.path.startswith("docs/") and page.path != INDEX and not {path, *path.parents} & named:
            yield Finding(page.path, 1, f"{INDEX} does not name it: add it under the task that it serves")
