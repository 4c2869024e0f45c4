"""What test files import: those that import nothing of a folder, however far down, can run no line of it."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.mutants.modules import ROOT

_FOLDERS: Final = (ROOT, "tests", "bench", "sandbox")


def files_that_reach(packages: Sequence[str], files: Sequence[str], checkout: Path) -> list[str]:
    """Return the files that import a module below one of the packages, or a module that does, and so on.

    Args:
        packages: folders, by path from the checkout.
        files: Python files, likewise.
        checkout: where all of them are.
    """
    imports = dict(_imports(checkout))
    reaching: set[str] = {
        name for name, path in _names(checkout) if path.startswith(tuple(f"{package}/" for package in packages))
    }
    size = 0
    while len(reaching) > size:
        size = len(reaching)
        reaching |= {name for name, imported in imports.items() if not reaching.isdisjoint(imported)}
    return [file for file in files if _name(Path(file)) in reaching]


def importers(files: Sequence[str], checkout: Path) -> dict[str, set[str]]:
    """Return which of the files import a module themselves, by the module's name."""
    importing: defaultdict[str, set[str]] = defaultdict(set)
    by_name = {_name(Path(file)): file for file in files}
    for name, imported in _imports(checkout):
        if name in by_name:
            for module in imported:
                importing[module].add(by_name[name])
    return importing


def _imports(checkout: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield each module, and all that it may import: what is imported from a module may be one, too."""
    for name, path in _names(checkout):
        imported: set[str] = set()
        for node in ast.walk(ast.parse((checkout / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        yield name, imported


def _names(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield each module with its path."""
    for folder in _FOLDERS:
        for path in sorted((checkout / folder).rglob("*.py")):
            relative = path.relative_to(checkout)
            yield _name(relative), relative.as_posix()


def _name(path: Path) -> str:
    """Return the name that a file is imported by."""
    parts = path.with_suffix("").parts
    parts = parts[1:] if parts[0] == ROOT else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
