"""The files that are measured: the product's modules, everybody else's, and the pages of the documentation.

The product is `operator/heartbeat_tuner`: what the wheel and the images ship. `sandbox/`, `bench/`, `tests/`,
`release/` and the generators of pages serve the people who work on it: of them, one figure counts names that say
nothing, and no other figure anything.
"""

import ast
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
PRODUCT: Final = "operator/heartbeat_tuner"
GLOSSARY: Final = "docs/reference/glossary.md"

_ELSEWHERE: Final = ("sandbox", "bench", "tests", "release", "docs")
_PAGES: Final = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


@dataclasses.dataclass(frozen=True)
class Module:
    """One Python file.

    Attributes:
        path: from the checkout, with slashes.
        text: the source.
    """

    path: str
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The source, parsed."""
        return ast.parse(self.text, filename=self.path)

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of the tree, which every figure walks through."""
        return tuple(ast.walk(self.tree))

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return Path(self.path).stem

    @property
    def folder(self) -> str:
        """Where the file is."""
        return Path(self.path).parent.as_posix()

    @property
    def lines(self) -> int:
        """How many lines it has, as `wc -l` counts them."""
        return self.text.count("\n")


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One page of the documentation: its path from the checkout, and its Markdown."""

    path: str
    text: str


def product(checkout: Path = CHECKOUT) -> list[Module]:
    """Return the product's modules, by path."""
    return list(_modules(checkout, PRODUCT))


def elsewhere(checkout: Path = CHECKOUT) -> list[Module]:
    """Return the modules of sandbox, benches, tests, release and the generators of pages, by path."""
    return [module for folder in _ELSEWHERE for module in _modules(checkout, folder)]


def pages(checkout: Path = CHECKOUT) -> list[Page]:
    """Return the pages that people read; the glossary is left out, since it lists the words that nobody should use."""
    paths = [*(checkout / name for name in _PAGES), *sorted((checkout / "docs").rglob("*.md"))]
    return [
        Page(path.relative_to(checkout).as_posix(), path.read_text()) for path in paths if path != checkout / GLOSSARY
    ]


def glossary_page(checkout: Path = CHECKOUT) -> str:
    """Return the page that says which words are used."""
    return (checkout / GLOSSARY).read_text()


def _modules(checkout: Path, folder: str) -> Iterator[Module]:
    for path in sorted((checkout / folder).rglob("*.py")):
        yield Module(path.relative_to(checkout).as_posix(), path.read_text())
