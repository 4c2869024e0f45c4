"""A mutant: the product's source with one change."""

import dataclasses

from tests.mutants.modules import Module
from tests.mutants.places import Position


@dataclasses.dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one change.

    Attributes:
        module: as it is.
        position: where it is changed.
        operator: by what.
        text: the changed source.
    """

    module: Module
    position: Position
    operator: str
    text: str

    @property
    def before(self) -> str:
        """The line, as it is."""
        return self.module.text.splitlines()[self.position[0] - 1].strip()

    @property
    def after(self) -> str:
        """The changed line; empty where it was taken away."""
        changed = self.text.splitlines()
        if len(changed) < len(self.module.text.splitlines()):
            return ""
        return changed[self.position[0] - 1].strip()
