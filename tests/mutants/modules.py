"""The product's modules that are changed: those of the rooms that decide, judge and name."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
ROOT: Final = "operator"
"""The folder that the product is imported from."""

PACKAGES: Final = tuple(
    f"{ROOT}/heartbeat_tuner/{room}" for room in ("decision", "membership", "metrics", "doctor", "lint", "limits")
)
"""Folders from the checkout; one that does not exist is passed over."""


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    """One Python file.

    Attributes:
        path: from the checkout, with slashes.
        package: the one of the folders that it lies below, by its last name.
        text: the source.
    """

    path: str
    package: str
    text: str

    @property
    def name(self) -> str:
        """The name it is imported by."""
        parts = Path(self.path).relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")


def modules(packages: Sequence[str] = PACKAGES, checkout: Path = CHECKOUT) -> list[Module]:
    """Return the modules below the folders, by path."""
    return [
        Module(path.relative_to(checkout).as_posix(), Path(package).name, path.read_text(encoding="utf-8"))
        for package in packages
        for path in sorted((checkout / package).rglob("*.py"))
    ]
